// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The least driver that a test of the model needs: commands through the HCR, bring-up, queues,
// regions.
#pragma once

#include <cstdint>
#include <vector>

#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/cqc.hpp>
#include <freehca/layouts/cqe.hpp>
#include <freehca/layouts/doorbell.hpp>
#include <freehca/layouts/eq_doorbell.hpp>
#include <freehca/layouts/eqc.hpp>
#include <freehca/layouts/eqe.hpp>
#include <freehca/layouts/hcr.hpp>
#include <freehca/layouts/init_hca.hpp>
#include <freehca/layouts/map.hpp>
#include <freehca/layouts/mpt.hpp>
#include <freehca/layouts/mtt.hpp>
#include <freehca/layouts/register_map.hpp>

#include "test_host.hpp"

namespace freehca::model::test {

/// How a polled command ended.
struct outcome {
  layouts::command_status status;
  std::uint64_t output = 0;
};

/// Who finds the members of a multicast group: B0 or A0 by what QUERY_DEV_CAP says, or
/// device-managed.
enum class steering : std::uint8_t { by_groups, by_rules };

class test_driver {
 public:
  test_driver(test_host& h, device& d);

  std::uint32_t read(std::uint32_t offset) {
    return static_cast<std::uint32_t>(hca.read_registers(offset, 4));
  }
  void write(std::uint32_t offset, std::uint32_t value) { hca.write_registers(offset, value, 4); }

  /// Writes a command to the register, GO last.
  void post(layouts::opcode o, std::uint64_t in, std::uint32_t modifier, unsigned opcode_modifier,
            std::uint64_t out, std::uint16_t token, bool event) {
    using layouts::hcr;
    layouts::image<hcr> h;
    h.set<&hcr::in_param>(in)
        .set<&hcr::in_modifier>(modifier)
        .set<&hcr::out_param>(out)
        .set<&hcr::token>(token);
    h.set<&hcr::go>(true).set<&hcr::e>(event).set<&hcr::t>(toggle_);
    h.set<&hcr::opcode_modifier>(opcode_modifier).set<&hcr::opcode>(o);
    toggle_ = !toggle_;
    for (std::uint32_t at = 0; at < hcr::bytes; at += 4)
      write(layouts::bar0::hcr + at, layouts::load_be<std::uint32_t>(h.data() + at));
  }
  bool go() {
    layouts::image<layouts::hcr> h = command_register();
    return h.get<&layouts::hcr::go>();
  }
  layouts::image<layouts::hcr> command_register() {
    layouts::image<layouts::hcr> h;
    for (std::uint32_t at = 0; at < layouts::hcr::bytes; at += 4)
      layouts::store_be(h.data() + at, read(layouts::bar0::hcr + at));
    return h;
  }
  /// A polled command, run to its end. A GO bit that stays traps.
  outcome command(layouts::opcode o, std::uint64_t in = 0, std::uint32_t modifier = 0,
                  unsigned opcode_modifier = 0, std::uint64_t out = 0) {
    post(o, in, modifier, opcode_modifier, out, layouts::polled_token, false);
    host.run();
    const layouts::image<layouts::hcr> h = command_register();
    if (h.get<&layouts::hcr::go>()) __builtin_trap();
    return {h.get<&layouts::hcr::status>(), h.get<&layouts::hcr::out_param>()};
  }
  /// The same with T in the input mailbox.
  template <class T>
  outcome command_with(layouts::opcode o, const layouts::image<T>& in, std::uint32_t modifier = 0,
                       unsigned opcode_modifier = 0) {
    std::memset(host.at(input), 0, layouts::mailbox_bytes);
    host.store(input, in);
    return command(o, input, modifier, opcode_modifier);
  }
  /// The same with T from the output mailbox.
  template <class T>
  outcome query(layouts::opcode o, layouts::image<T>& out, std::uint32_t modifier = 0,
                unsigned opcode_modifier = 0) {
    const outcome r = command(o, 0, modifier, opcode_modifier, output);
    out = host.load<T>(output);
    return r;
  }

  layouts::command_status map(layouts::opcode o, std::uint64_t va, std::uint64_t pa,
                              unsigned log_pages) {
    layouts::image<layouts::map_entry> e;
    e.set<&layouts::map_entry::va>(va)
        .set<&layouts::map_entry::pa>(pa)
        .set<&layouts::map_entry::log2size>(log_pages);
    return command_with(o, e, 1).status;
  }
  /// Lends 2^log_pages fresh pages at `va` of ICM.
  layouts::command_status lend(std::uint64_t va, unsigned log_pages) {
    const std::uint64_t at =
        host.allocate(std::size_t{1} << log_pages, std::size_t{4096} << log_pages);
    lent.push_back(at);
    return map(layouts::opcode::map_icm, va, at, log_pages);
  }

  /// From reset to INIT_HCA, one step after the other; false at the first that fails.
  bool start_firmware();
  bool read_capabilities();
  bool prepare_context_memory();
  layouts::image<layouts::init_hca> profile() const;
  bool bring_up() {
    return start_firmware() && read_capabilities() && prepare_context_memory() &&
           command_with(layouts::opcode::init_hca, profile()).status == layouts::command_status::ok;
  }

  /// A buffer of `pages` pages in reverse order on the bus, so that none is contiguous, with its
  /// MTTs.
  struct buffer {
    std::uint64_t mtt = 0;             ///< offset of the first MTT entry
    std::vector<std::uint64_t> pages;  ///< bus addresses
  };
  buffer make_buffer(std::size_t pages);
  std::byte* bytes_of(const buffer& b, std::size_t offset) {
    return host.at(b.pages[offset / 4096] + offset % 4096);
  }

  struct queue {
    std::uint32_t number = 0, log_entries = 0, stride = 32, consumer = 0;
    buffer where;
    std::uint64_t doorbell_record = 0;  ///< CQs
    std::uint8_t arm_sn = 1;
  };
  layouts::image<layouts::eqc> eq_context(const queue& q, unsigned vector) const;
  outcome make_eq(queue& q, std::uint32_t number, unsigned vector, std::uint32_t log_entries = 6);
  layouts::image<layouts::cqc> cq_context(const queue& q, std::uint32_t eqn) const;
  outcome make_cq(queue& q, std::uint32_t number, std::uint32_t eqn, std::uint32_t log_entries = 6);

  /// The next event, if there is one; takes it.
  bool next_event(queue& eq, layouts::image<layouts::eqe>& out);
  void ring_eq(const queue& eq, bool arm);
  bool next_completion(queue& cq, layouts::image<layouts::cqe>& out);
  void arm_cq(queue& cq, layouts::cq_arm what);
  void tell_consumer(const queue& cq);

  layouts::image<layouts::mpt> mpt_context(std::uint32_t key, std::uint32_t pd, const buffer& b,
                                           std::uint64_t start, std::uint64_t length) const;
  /// Registers `b` at virtual address `start`; returns the key. Access rights: all.
  std::uint32_t make_region(std::uint32_t index, std::uint32_t pd, const buffer& b,
                            std::uint64_t start, std::uint64_t length,
                            layouts::command_status* status = nullptr);

  std::uint64_t counter_named(const char* name) const;

  test_host& host;
  device& hca;
  const std::uint64_t input, output;  ///< mailboxes
  std::vector<std::uint64_t> lent;    ///< bus addresses of the context tables, as they were lent
  bool large_entries = false;
  bool big_endian = false;  ///< the host, for atomics
  steering multicast = steering::by_groups;
  bool windows;  ///< ask INIT_HCA for memory windows

  // The tables, each aligned to its size and lent whole.
  static constexpr unsigned log_qps = 10, log_rd = 2, log_srqs = 8, log_cqs = 9, log_eqs = 6,
                            log_mpts = 10, log_mc_table = 8, log_mc_entry = 9;
  static constexpr std::uint64_t qpc = 0x0, rdmarc = 0x100000, altc = 0x200000, auxc = 0x300000,
                                 srqc = 0x400000, cqc = 0x500000, eqc = 0x600000, dmpt = 0x700000,
                                 mc = 0x800000, mtt = 0x900000, cmpt = 0x1'0000'0000;
  static constexpr std::uint32_t uar = 200;  ///< UAR page of CQs and QPs

 private:
  queue make_queue(std::uint32_t number, std::uint32_t log_entries);
  template <class Entry>
  bool next_entry(queue& q, layouts::image<Entry>& out);

  bool toggle_ = true, b0_steering_ = false, ipoib_checksums_ = false;
  std::uint64_t next_mtt_ = 0x1000;
};

}  // namespace freehca::model::test
