// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The contexts of the bench's objects, as the driver fills its own (Linux 6.1 mlx4/mr.c, eq.c,
// cq.c, srq.c, hw/mlx4/qp.c).
#include <freehca/hal/cache.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/layouts/cqc.hpp>
#include <freehca/layouts/doorbell.hpp>
#include <freehca/layouts/eqc.hpp>
#include <freehca/layouts/mpt.hpp>
#include <freehca/layouts/srqc.hpp>
#include <freehca/layouts/wqe.hpp>

#include "bench.hpp"

namespace freehca::conformance {

using namespace layouts;

namespace {

constexpr unsigned log_entries = 4;  // of every ring
constexpr unsigned log_page = 12;
constexpr std::uint32_t psn = 0x100;

struct commands_of {
  opcode make, unmake;
};

constexpr commands_of commands_for(object o) {
  switch (o) {
    case object::region:
      return {opcode::sw2hw_mpt, opcode::hw2sw_mpt};
    case object::event_queue:
      return {opcode::sw2hw_eq, opcode::hw2sw_eq};
    case object::completion_queue:
      return {opcode::sw2hw_cq, opcode::hw2sw_cq};
    case object::shared_queue:
      return {opcode::sw2hw_srq, opcode::hw2sw_srq};
    case object::queue_pair:
      break;
  }
  return {opcode::rst2init_qp, opcode::to_rst_qp};
}

opcode command_to(qp_state to) {
  switch (to) {
    case qp_state::init:
      return opcode::rst2init_qp;
    case qp_state::rtr:
      return opcode::init2rtr_qp;
    case qp_state::rts:
      return opcode::rtr2rts_qp;
    case qp_state::sq_drained:
      return opcode::rts2sqd_qp;
    default:
      return opcode::to_err_qp;
  }
}

bool leads_elsewhere(opcode o) {
  switch (o) {
    case opcode::init2init_qp:
    case opcode::init2rtr_qp:
    case opcode::rtr2rts_qp:
    case opcode::rts2rts_qp:
    case opcode::rts2sqd_qp:
    case opcode::sqd2rts_qp:
    case opcode::sqd2sqd_qp:
    case opcode::sqerr2rts_qp:
    case opcode::to_err_qp:
      return true;
    default:
      return false;
  }
}

}  // namespace

void bench::note_taken(const call& c) {
  for (unsigned i = 0; i < object_kinds; ++i) {
    const auto o = static_cast<object>(i);
    if (c.what == commands_for(o).make) of(o).given = true;
    // Of another number: the object's own may be with hardware still.
    if (c.what == commands_for(o).unmake && c.modifier == number(o)) of(o).given = false;
  }
  // What leads out of RESET although it should not.
  if (leads_elsewhere(c.what)) of(object::queue_pair).given = true;
}

void bench::describe(object o) {
  const scratch& s = of(o);
  const uar_page& uar = adapter().uar();
  switch (o) {
    case object::region: {
      image<mpt> m;
      m.set<&mpt::status>(mpt_status::software).set<&mpt::mio>(true).set<&mpt::region>(true);
      m.set<&mpt::local_read>(true).set<&mpt::local_write>(true);
      m.set<&mpt::mem_key>(s.own).set<&mpt::pd>(adapter().numbers().pds.first());
      m.set<&mpt::length>(dma_arena::page).set<&mpt::entity_size>(log_page);
      m.set<&mpt::mtt_addr>(translation(o));
      return put(m);
    }
    case object::event_queue: {
      image<eqc> m;
      m.set<&eqc::state>(eq_state::fired).set<&eqc::log_eq_size>(log_entries);
      m.set<&eqc::mtt_base_addr>(translation(o));
      return put(m);
    }
    case object::completion_queue: {
      image<cqc> m;
      event_context& teller = adapter().completion_contexts() != 0
                                  ? adapter().completion_context(0)
                                  : adapter().asynchronous_context();
      m.set<&cqc::log_cq_size>(log_entries).set<&cqc::usr_page>(uar.index);
      m.set<&cqc::comp_eqn>(teller.eqn()).set<&cqc::mtt_base_addr>(translation(o));
      m.set<&cqc::db_rec_addr>(s.record.device_address);
      return put(m);
    }
    case object::shared_queue: {
      image<srqc> m;
      m.set<&srqc::log_srq_size>(log_entries).set<&srqc::srqn>(s.own);
      m.set<&srqc::log_srq_stride>(1).set<&srqc::pd>(adapter().numbers().pds.first());
      m.set<&srqc::mtt_base_addr>(translation(o)).set<&srqc::db_rec_addr>(s.record.device_address);
      if (can().has(dev_cap_flag::xrc))
        m.set<&srqc::xrcd>(can().raw.get<&query_dev_cap::num_rsvd_xrcds>());
      return put(m);
    }
    case object::queue_pair:
      return describe(qp_service::rc, qp_state::init);
  }
}

status bench::make(object o) {
  describe(o);
  return issue({.what = commands_for(o).make, .modifier = number(o), .input = true});
}

status bench::unmake(object o) {
  if (!of(o).given) return {};
  const bool is_pair = o == object::queue_pair;
  const status s =
      is_pair ? reset_queue_pair()
              : issue({.what = commands_for(o).unmake,
                       .modifier = number(o),
                       .opcode_modifier = static_cast<unsigned>(hw2sw_modifier::no_output)});
  // A row may have taken it back already, by another number that means the same.
  if (!s.is(is_pair ? command_status::bad_qp_state : command_status::bad_resource_state)) return s;
  of(o).given = false;
  return {};
}

void bench::describe(qp_service service, qp_state to) {
  const scratch& s = of(object::queue_pair);
  const unsigned port_number = where_.port;
  image<qpc> c;
  c.set<&qpc::state>(to).set<&qpc::service>(service).set<&qpc::pm_state>(path_migration::migrated);
  c.set<&qpc::pd>(adapter().numbers().pds.first()).set<&qpc::usr_page>(adapter().uar().index);
  c.set<&qpc::local_qpn>(s.own);
  c.set<&qpc::log_sq_size>(log_entries).set<&qpc::log_sq_stride>(2);
  c.set<&qpc::log_rq_size>(log_entries).set<&qpc::log_rq_stride>(0);
  c.set<&qpc::cqn_send>(number(object::completion_queue));
  c.set<&qpc::cqn_recv>(number(object::completion_queue));
  c.set<&primary_path::counter_index>(0xff);
  std::uint32_t options = 0;
  if (to == qp_state::init) {
    c.set<&qpc::db_rec_addr>(s.record.device_address);
    c.set<&qpc::mtt_base>(translation(object::queue_pair));
    options = qp_optpar::pkey_index;
    if (service == qp_service::ud) options |= qp_optpar::qkey;
    else options |= qp_optpar::rre | qp_optpar::rwe | qp_optpar::rae;
    c.set<&primary_path::sched_queue>(sched_queue_ib(port_number, 0));
  } else if (to == qp_state::rtr) {
    c.set<&primary_path::sched_queue>(sched_queue_ib(port_number, 0));
    options = qp_optpar::pkey_index;
    if (service == qp_service::ud) {
      c.set<&qpc::mtu>(ib_mtu::mtu_4096).set<&qpc::msg_max>(13);
    } else {
      c.set<&qpc::mtu>(port().active_mtu)
          .set<&qpc::msg_max>(can().raw.get<&query_dev_cap::log_max_msg_sz>());
      c.set<&qpc::remote_qpn>(s.own).set<&qpc::next_rcv_psn>(psn);
      c.set<&primary_path::rlid>(port().lid);
      options |= qp_optpar::primary_path | qp_optpar::sched_queue;
    }
    if (service == qp_service::rc) {
      c.set<&qpc::min_rnr_nak>(12).set<&qpc::rra_max>(0);
      options |= qp_optpar::rra_max | qp_optpar::min_rnr_nak;
    }
  } else if (to == qp_state::rts) {
    c.set<&qpc::next_send_psn>(psn);
    if (service == qp_service::rc) {
      c.set<&qpc::retry_count>(7).set<&qpc::rnr_retry>(7).set<&primary_path::ack_timeout>(14);
      options = qp_optpar::sra_max | qp_optpar::retry_count | qp_optpar::rnr_retry |
                qp_optpar::ack_timeout;
    }
  }
  image<qp_mailbox> m;
  m.set<&qp_mailbox::opt_param_mask>(options);
  m.set_bytes<&qp_mailbox::context>(c.data());
  put(m);
}

status bench::transition(opcode o) {
  const bool plain = o == opcode::to_err_qp || o == opcode::rts2sqd_qp;
  return issue({.what = o, .modifier = number(object::queue_pair), .input = !plain});
}

answer bench::bring_to(qp_service service, qp_state to) {
  if (to == qp_state::reset) return command_status::ok;
  constexpr qp_state way[] = {qp_state::init, qp_state::rtr, qp_state::rts};
  for (const qp_state next : way) {
    describe(service, next);
    // Its entries are the software's until the device is told of them.
    if (next == qp_state::init) {
      image<wqe_ctrl> empty;
      empty.set<&wqe_ctrl::owner>(true).set<&wqe_ctrl::ds>(4);
      for (std::size_t i = 0; i < 1u << log_entries; ++i) {
        std::byte* const entry = of(object::queue_pair).buffer.host + i * wqe_basic_block;
        dma::store_bytes(entry, empty.data(), wqe_ctrl::bytes);
        cache::clean(entry, wqe_ctrl::bytes);
      }
    }
    if (const answer a = transition(command_to(next)); !a.is_ok() || next == to) return a;
  }
  if (const answer a = transition(command_to(to)); !a.is_ok() || to != qp_state::sq_drained)
    return a;
  // The answer says that it has begun to drain.
  const answer settled = settled_state().got;
  return settled == answer(to) ? answer(command_status::ok) : settled;
}

finding bench::state() {
  const status s =
      issue({.what = opcode::query_qp, .modifier = number(object::queue_pair), .output = true});
  if (!s.ok()) return s;
  return answer(context_of(output<qp_mailbox>()).get<&qpc::state>());
}

finding bench::settled_state() {
  const std::uint64_t end = clock::after(now(), clock::seconds(2));
  for (;;) {
    const finding f = state();
    if (f.got != answer(qp_state::sq_draining) || now() >= end) return f;
  }
}

status bench::reset_queue_pair() {
  return issue({.what = opcode::to_rst_qp,
                .modifier = number(object::queue_pair),
                .opcode_modifier = static_cast<unsigned>(to_rst_qp_modifier::no_output)});
}

void bench::tell_of_receives(unsigned count) {
  image<rq_doorbell_record> told;
  told.set<&rq_doorbell_record::wqe_counter>(count);
  const dma_region& record = of(object::queue_pair).record;
  dma::store_bytes(record.host, told.data(), rq_doorbell_record::bytes);
  cache::clean(record.host, rq_doorbell_record::bytes);
}

}  // namespace freehca::conformance
