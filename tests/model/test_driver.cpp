// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "test_driver.hpp"

#include <freehca/layouts/query_dev_cap.hpp>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <freehca/layouts/cmpt.hpp>

#include "basis/adapter.hpp"
#include "basis/adapter_limits.hpp"
#include "basis/capabilities.hpp"
#include "faults/fault_text.hpp"

namespace freehca::model::test {

using layouts::command_status;
using layouts::opcode;

namespace {

/// Has the adapter misbehave as an environment variable asks for, in the words of the x-fault
/// properties: so is shown which tests fail without a command, an event or a work request
/// (tests/model/model_page.py).
template <class Judge>
Judge asked_for(const char* variable, const char* (*parse)(std::string_view, Judge&)) {
  Judge judge;
  const char* text = std::getenv(variable);
  const char* why = text == nullptr ? nullptr : parse(text, judge);
  if (why != nullptr) {
    std::fprintf(stderr, "%s=%s: %s\n", variable, text, why);
    std::abort();
  }
  return judge;
}

}  // namespace

test_driver::test_driver(test_host& h, device& d)
    : host(h),
      hca(d),
      input(h.allocate()),
      output(h.allocate()),
      windows(offers(d.how(), capability::memory_windows)) {
  h.attach(d);
  if (auto judge = asked_for<command_judge>("FREEHCA_FAULT_COMMAND", parse_command_fault))
    d.judge_commands(std::move(judge));
  if (auto judge = asked_for<event_judge>("FREEHCA_FAULT_EVENT", parse_event_fault))
    d.judge_events(std::move(judge));
  if (auto judge = asked_for<request_judge>("FREEHCA_FAULT_OPCODE", parse_request_fault))
    d.judge_requests(std::move(judge));
}

bool test_driver::start_firmware() {
  return map(opcode::map_fa, 0, host.allocate(1024, 1024 * 4096), 10) == command_status::ok &&
         command(opcode::run_fw).status == command_status::ok;
}

bool test_driver::read_capabilities() {
  using l = layouts::query_dev_cap;
  layouts::image<l> cap;
  if (query(opcode::query_dev_cap, cap).status != command_status::ok) return false;
  constexpr auto b0 = static_cast<std::uint64_t>(layouts::dev_cap_flag::vep_uc_steering) |
                      static_cast<std::uint64_t>(layouts::dev_cap_flag::vep_mc_steering);
  b0_steering_ = (cap.get<&l::flags>() & b0) == b0;
  constexpr auto checksums = static_cast<std::uint64_t>(layouts::dev_cap_flag::ipoib_checksum);
  ipoib_checksums_ = (cap.get<&l::flags>() & checksums) != 0;
  return true;
}

bool test_driver::prepare_context_memory() {
  const outcome size = command(opcode::set_icm_size, std::uint64_t{1} << 30);
  if (size.status != command_status::ok) return false;
  unsigned log = 0;
  while (std::uint64_t{1} << log < size.output) ++log;
  if (map(opcode::map_icm_aux, 0, host.allocate(std::size_t{1} << log, std::size_t{4096} << log),
          log) != command_status::ok)
    return false;
  // 64 pages hold each of these tables but the MTTs; the control table's parts are far apart.
  for (const std::uint64_t table : {qpc, rdmarc, altc, auxc, srqc, cqc, eqc, dmpt, mc, mtt})
    if (lend(table, 6) != command_status::ok) return false;
  for (unsigned type = 0; type < layouts::cmpt_types; ++type)
    if (lend(cmpt +
                 layouts::cmpt_offset(static_cast<layouts::cmpt_type>(type), 0, entry_bytes::cmpt),
             6) != command_status::ok)
      return false;
  return true;
}

layouts::image<layouts::init_hca> test_driver::profile() const {
  using l = layouts::init_hca;
  layouts::image<l> p;
  p.set<&l::version>(layouts::init_hca_version);
  p.set<&l::qpc_base>(qpc)
      .set<&l::log_num_qps>(log_qps)
      .set<&l::srqc_base>(srqc)
      .set<&l::log_num_srqs>(log_srqs);
  p.set<&l::cqc_base>(cqc)
      .set<&l::log_num_cqs>(log_cqs)
      .set<&l::altc_base>(altc)
      .set<&l::auxc_base>(auxc);
  p.set<&l::eqc_base>(eqc)
      .set<&l::log_num_eqs>(log_eqs)
      .set<&l::rdmarc_base>(rdmarc)
      .set<&l::log_rd_per_qp>(log_rd);
  if (multicast == steering::by_rules) {
    p.set<&l::dmfs>(true).set<&l::dmfs_base>(mc);
    p.set<&l::dmfs_log_entry_sz>(log_mc_entry).set<&l::dmfs_log_table_sz>(log_mc_table);
  } else {
    p.set<&l::mc_base>(mc)
        .set<&l::log_mc_entry_sz>(log_mc_entry)
        .set<&l::log_mc_hash_sz>(log_mc_table - 1);
    p.set<&l::log_mc_table_sz>(log_mc_table).set<&l::uc_steering>(b0_steering_);
  }
  p.set<&l::dmpt_base>(dmpt)
      .set<&l::log_mpt_sz>(log_mpts)
      .set<&l::mtt_base>(mtt)
      .set<&l::cmpt_base>(cmpt);
  p.set<&l::log_max_uars>(10).set<&l::mw_enable>(windows);
  p.set<&l::host_is_big_endian>(big_endian).set<&l::checksum_enable>(ipoib_checksums_);
  p.set<&l::cqe_64b>(large_entries).set<&l::eqe_64b>(large_entries);
  return p;
}

test_driver::buffer test_driver::make_buffer(std::size_t pages) {
  buffer b;
  b.mtt = next_mtt_;
  next_mtt_ += pages * layouts::mtt::bytes;
  const std::uint64_t first = host.allocate(pages);
  layouts::image<layouts::write_mtt_header> head;
  head.set<&layouts::write_mtt_header::mtt_base_addr>(b.mtt);
  host.store(input, head);
  for (std::size_t i = 0; i < pages; ++i) {
    b.pages.push_back(first + (pages - 1 - i) * 4096);
    layouts::image<layouts::mtt> m;
    m.set<&layouts::mtt::ptag>(b.pages.back()).set<&layouts::mtt::present>(true);
    host.store(input + head.size() + i * m.size(), m);
  }
  if (command(opcode::write_mtt, input, static_cast<std::uint32_t>(pages)).status !=
      command_status::ok)
    __builtin_trap();
  return b;
}

layouts::image<layouts::eqc> test_driver::eq_context(const queue& q, unsigned vector) const {
  using l = layouts::eqc;
  layouts::image<l> c;
  c.set<&l::state>(layouts::eq_state::armed)
      .set<&l::log_eq_size>(q.log_entries)
      .set<&l::intr>(vector);
  c.set<&l::mtt_base_addr>(q.where.mtt);
  return c;
}

test_driver::queue test_driver::make_queue(std::uint32_t number, std::uint32_t log_entries) {
  queue q;
  q.number = number;
  q.log_entries = log_entries;
  q.stride = large_entries ? 64 : 32;
  q.where = make_buffer(((std::size_t{1} << log_entries) * q.stride + 4095) / 4096);
  return q;
}

outcome test_driver::make_eq(queue& q, std::uint32_t number, unsigned vector,
                             std::uint32_t log_entries) {
  q = make_queue(number, log_entries);
  return command_with(opcode::sw2hw_eq, eq_context(q, vector), number);
}

layouts::image<layouts::cqc> test_driver::cq_context(const queue& q, std::uint32_t eqn) const {
  using l = layouts::cqc;
  layouts::image<l> c;
  c.set<&l::log_cq_size>(q.log_entries).set<&l::usr_page>(uar).set<&l::comp_eqn>(eqn);
  c.set<&l::mtt_base_addr>(q.where.mtt).set<&l::db_rec_addr>(q.doorbell_record);
  return c;
}

outcome test_driver::make_cq(queue& q, std::uint32_t number, std::uint32_t eqn,
                             std::uint32_t log_entries) {
  q = make_queue(number, log_entries);
  q.doorbell_record = host.allocate();
  return command_with(opcode::sw2hw_cq, cq_context(q, eqn), number);
}

template <class Entry>
bool test_driver::next_entry(queue& q, layouts::image<Entry>& out) {
  const std::uint32_t entries = 1u << q.log_entries;
  const std::size_t at = std::size_t{q.consumer & (entries - 1)} * q.stride + q.stride - 32;
  out = layouts::image<Entry>::from_bytes(bytes_of(q.where, at));
  if (out.template get<&Entry::owner>() != ((q.consumer & entries) != 0)) return false;
  ++q.consumer;
  return true;
}

bool test_driver::next_event(queue& eq, layouts::image<layouts::eqe>& out) {
  return next_entry(eq, out);
}

void test_driver::ring_eq(const queue& eq, bool arm) {
  layouts::image<layouts::eq_doorbell> d;
  d.set<&layouts::eq_doorbell::arm>(arm).set<&layouts::eq_doorbell::consumer_counter>(eq.consumer &
                                                                                      0xffffff);
  hca.write_uar(layouts::uar::eq_doorbell_of(eq.number), layouts::load_be<std::uint32_t>(d.data()),
                4);
}

bool test_driver::next_completion(queue& cq, layouts::image<layouts::cqe>& out) {
  return next_entry(cq, out);
}

void test_driver::tell_consumer(const queue& cq) {
  auto r = host.load<layouts::cq_doorbell_record>(cq.doorbell_record);
  r.set<&layouts::cq_doorbell_record::update_ci>(cq.consumer & 0xffffff);
  host.store(cq.doorbell_record, r);
}

void test_driver::arm_cq(queue& cq, layouts::cq_arm what) {
  tell_consumer(cq);
  layouts::image<layouts::cq_doorbell> d;
  d.set<&layouts::cq_doorbell::cmd_sn>(cq.arm_sn & 3).set<&layouts::cq_doorbell::cmd>(what);
  d.set<&layouts::cq_doorbell::cqn>(cq.number).set<&layouts::cq_doorbell::ci>(cq.consumer &
                                                                              0xffffff);
  using record = layouts::cq_doorbell_record;
  host.store(cq.doorbell_record, host.load<record>(cq.doorbell_record)
                                     .set<&record::cmd_sn>(cq.arm_sn & 3)
                                     .set<&record::cmd>(what)
                                     .set<&record::arm_ci>(cq.consumer & 0xffffff));
  hca.write_uar(std::uint64_t{uar} * 4096 + layouts::uar::cq_doorbell,
                layouts::load_be<std::uint64_t>(d.data()), 8);
}

layouts::image<layouts::mpt> test_driver::mpt_context(std::uint32_t key, std::uint32_t pd,
                                                      const buffer& b, std::uint64_t start,
                                                      std::uint64_t length) const {
  using l = layouts::mpt;
  layouts::image<l> m;
  m.set<&l::status>(layouts::mpt_status::software).set<&l::mio>(true).set<&l::region>(true);
  m.set<&l::local_read>(true)
      .set<&l::local_write>(true)
      .set<&l::remote_read>(true)
      .set<&l::remote_write>(true);
  m.set<&l::atomic>(true)
      .set<&l::mem_key>(layouts::mpt_key_of(key))
      .set<&l::pd>(pd)
      .set<&l::enable_invalidate>(true);
  m.set<&l::start>(start).set<&l::length>(length).set<&l::mtt_addr>(b.mtt).set<&l::entity_size>(12);
  return m;
}

std::uint32_t test_driver::make_region(std::uint32_t index, std::uint32_t pd, const buffer& b,
                                       std::uint64_t start, std::uint64_t length,
                                       layouts::command_status* status) {
  const std::uint32_t key = layouts::key_of_mpt(index | 0x5a000000);
  const outcome r = command_with(opcode::sw2hw_mpt, mpt_context(key, pd, b, start, length), index);
  if (status != nullptr) *status = r.status;
  else if (r.status != command_status::ok) __builtin_trap();
  return key;
}

std::uint64_t test_driver::counter_named(const char* name) const {
  counter c{};
  for (std::size_t i = 0; hca.counter_at(i, c); ++i)
    if (std::strcmp(c.name, name) == 0) return c.value;
  __builtin_trap();
}

}  // namespace freehca::model::test
