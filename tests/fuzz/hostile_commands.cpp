// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <cstring>
#include <vector>

#include <freehca/layouts/mad.hpp>

#include "hostile_guest.hpp"

namespace freehca::fuzz {

using layouts::opcode;

namespace {

/// All that have a name. Made before anything runs: what is made in a run does not outlive it.
const std::vector<opcode> opcodes = [] {
  std::vector<opcode> found;
  const char* const none = layouts::name_of(static_cast<opcode>(0));
  for (unsigned o = 0; o < 0x1000; ++o)
    if (std::strcmp(layouts::name_of(static_cast<opcode>(o)), none) != 0)
      found.push_back(static_cast<opcode>(o));
  return found;
}();

}  // namespace

void hostile_guest::write_datagram(std::byte* to) {
  using m = layouts::mad;

  using enum layouts::mad_class;
  constexpr layouts::mad_class classes[] = {subnet_lid_routed, subnet_directed_route, subnet_admin,
                                            subnet_admin,      performance,           performance,
                                            vendor_range1,     communication};
  constexpr std::uint8_t methods[] = {0x01, 0x02, 0x03, 0x05, 0x06, 0x07, 0x12, 0x15, 0x81, 0x92};
  constexpr std::uint16_t attributes[] = {0x01, 0x02, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15,
                                          0x16, 0x17, 0x18, 0x19, 0x1a, 0x1d, 0x1f, 0x20,
                                          0x30, 0x31, 0x33, 0x34, 0x35, 0x36, 0x38, 0xff00};
  std::memset(to, 0, layouts::mad_ifc_mad_bytes);
  layouts::image<m> head;
  const layouts::mad_class of = classes[script.byte() % std::size(classes)];
  head.set<&m::base_version>(layouts::mad_base_version).set<&m::mgmt_class>(of);
  head.set<&m::class_version>(of == subnet_admin ? 2 : 1)
      .set<&m::method>(
          static_cast<layouts::mad_method>(methods[script.byte() % std::size(methods)]));
  head.set<&m::attribute_id>(attributes[script.byte() % std::size(attributes)])
      .set<&m::attribute_modifier>(number());
  std::memcpy(to, head.data(), head.size());
  damage(to, 256, 12);
}

layouts::image<layouts::qpc> hostile_guest::context_for(const test_qp& qp) {
  return ready_context(qp, pairs[1].number);
}

void hostile_guest::fill_mailbox(opcode o) {
  std::byte* box = host->at(driver->input);
  std::memset(box, 0, layouts::mailbox_bytes);
  test_qp& qp = some_queue_pair();
  switch (o) {
    case opcode::rst2init_qp:
    case opcode::init2init_qp:
    case opcode::init2rtr_qp:
    case opcode::rtr2rts_qp:
    case opcode::rts2rts_qp:
    case opcode::sqd2sqd_qp:
    case opcode::sqd2rts_qp:
    case opcode::sqerr2rts_qp: {
      layouts::image<layouts::qp_mailbox> m;
      m.set<&layouts::qp_mailbox::opt_param_mask>(script.byte() < 0x80 ? 0 : number());
      const auto context = o == opcode::rst2init_qp ? first_context(qp) : context_for(qp);
      m.set_bytes<&layouts::qp_mailbox::context>(context.data());
      put_in_mailbox(m);
      break;
    }
    case opcode::sw2hw_cq:
    case opcode::modify_cq:
      put_in_mailbox(driver->cq_context(cq, eqn));
      break;
    case opcode::sw2hw_eq:
      put_in_mailbox(driver->eq_context(eq, script.byte()));
      break;
    case opcode::sw2hw_srq: {
      using s = layouts::srqc;
      layouts::image<s> c;
      c.set<&s::log_srq_size>(4).set<&s::srqn>(71).set<&s::log_srq_stride>(1).set<&s::cqn>(cqn);
      c.set<&s::pd>(pd).set<&s::db_rec_addr>(qp.record).set<&s::mtt_base_addr>(qp.ring.mtt);
      put_in_mailbox(c);
      break;
    }
    case opcode::sw2hw_mpt:
      put_in_mailbox(driver->mpt_context(key, pd, data, region_start, 4096 * region_pages));
      break;
    case opcode::init_hca:
      put_in_mailbox(driver->profile());
      break;
    case opcode::map_fa:
    case opcode::map_icm:
    case opcode::map_icm_aux:
      for (unsigned n = script.byte() % 4, i = 0; i <= n; ++i) {
        using e = layouts::map_entry;
        layouts::image<e> entry;
        entry.set<&e::va>(std::uint64_t{number()} << 12)
            .set<&e::pa>(address() & ~std::uint64_t{4095});
        entry.set<&e::log2size>(script.byte() % 32);
        put_in_mailbox(entry, i * e::bytes);
      }
      break;
    case opcode::mad_ifc:
      return write_datagram(box);
    default:
      break;
  }
  damage(box, 256, 8);
}

void hostile_guest::command() {
  const std::uint8_t kind = script.byte();
  const opcode o = kind == 0xff ? static_cast<opcode>(script.word() & 0xfff)
                                : opcodes[script.byte() % opcodes.size()];
  fill_mailbox(o);
  const std::uint64_t in = kind < 0xc0 ? driver->input : address();
  const std::uint64_t out = kind % 8 != 0 ? driver->output : address();
  driver->post(o, in, number(), kind % 4 == 0 ? script.byte() & 0xf : 0, out, kind, kind % 16 == 3);
  host->run();
}

}  // namespace freehca::fuzz
