// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "listener.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include <freehca/layouts/eqe.hpp>
#include <freehca/layouts/hcr.hpp>
#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/query_dev_cap.hpp>
#include <freehca/layouts/query_fw.hpp>
#include <freehca/layouts/query_port.hpp>
#include <freehca/layouts/register_map.hpp>
#include <freehca/layouts/smp.hpp>

#include "mailboxes.hpp"
#include "text.hpp"

namespace freehca::recorder {

using namespace layouts;
using guard = std::lock_guard<std::recursive_mutex>;

namespace {

constexpr std::uint32_t all_ones = ~std::uint32_t{0};
std::atomic<listener*> ears{nullptr};

/// Registers that the adapter changes when a read returns 0. A second read is not a repetition.
bool takes_when_read(std::uint64_t at) {
  return at == bar0::ownership || at == bar0::flash_semaphore;
}

}  // namespace

void listen(listener* who) {
  ears = who;
}

listener::listener(const freehca::platform& inner, recording_options how)
    : inner_(inner),
      how_(std::move(how)),
      known_(known_part_of(*inner.operations)),
      rings_(
          memory_,
          [this](std::uint64_t address, bytes data) {
            if (data.empty()) return;
            entry e = make(entry_kind::store);
            e.at = address;
            e.data = std::move(data);
            records_.push_back(std::move(e));
          },
          [this](const ring& of, std::uint64_t address, bytes data) {
            take_entry(of, address, std::move(data));
          },
          [this](const std::byte* segment) { identities_.learn_address(segment); }) {
  outer_ = known_;
  began_ = known_.now(inner_.context);
  // With BlueFlame the WQEs would be register writes, including their payload.
  outer_.combines_writes = false;
  outer_.now = [](void* c) { return of(c).known_.now(of(c).inner_.context); };
  if (known_.log != nullptr)
    outer_.log = [](void* c, const log_record& r) { of(c).known_.log(of(c).inner_.context, r); };
  if (known_.trace != nullptr)
    outer_.trace = [](void* c, const trace_record& r) {
      of(c).known_.trace(of(c).inner_.context, r);
    };
  wrap_configuration();
  wrap_memory();
  wrap_interrupts();
}

void listener::step(const std::string& name) {
  const guard alone(alone_);
  entry e = make(entry_kind::step);
  e.name = name;
  records_.push_back(std::move(e));
}

std::string listener::text() const {
  const guard alone(alone_);
  std::vector<entry> all = records_;
  if (!how_.keep_identity) identities_.replace(all);
  const bool kept = how_.keep_identity;
  const auto choose = [kept](std::uint64_t own, std::uint64_t replaced) {
    return kept && own != 0 ? own : replaced;
  };
  return to_text(all, facts_, choose(identities_.own_guid(), identities::node_guid),
                 choose(identities_.own_mac(), identities::mac), how_.label, kept);
}

std::size_t listener::records() const {
  const guard alone(alone_);
  std::size_t count = 0;
  for (const entry& e : records_) count += e.has_result ? 2 : 1;
  return count;
}

/// Time since the recorder's beginning. The recording must not reveal how long the machine has run.
std::uint64_t listener::now() const {
  return known_.now(inner_.context) - began_;
}

entry listener::make(entry_kind kind) const {
  entry e;
  e.kind = kind;
  e.time = now();
  return e;
}

void listener::call(const char* name, std::uint64_t at, std::uint64_t width, std::uint64_t value,
                    bool reads) {
  entry e = make(entry_kind::call);
  e.name = name;
  e.at = at;
  e.width = width;
  e.value = value;
  e.has_result = reads;
  records_.push_back(std::move(e));
}

const listener::bar* listener::bar_of(const std::byte* at) const {
  for (const bar& b : bars_)
    if (b.region.base != nullptr && at >= b.region.base && at < b.region.base + b.region.bytes)
      return &b;
  return nullptr;
}

/// Records a read of a register. Repeated reads with the same value are one record, as are reads of
/// the command register while GO is set. Reads during a reset are not recorded. The number of such
/// reads depends on clocks, so it must not be in the recording.
void listener::read(const std::byte* where, std::uint32_t value) {
  const guard alone(alone_);
  const bar* b = bar_of(where);
  if (b == nullptr) return;
  const auto at = static_cast<std::uint64_t>(where - b->region.base);
  const bool registers = b == &bars_[0];
  if (resetting_ && value == all_ones) return;
  resetting_ = false;
  if (registers && at == bar0::hcr_status) return polled(value);
  const std::uint64_t key = at | (registers ? 0 : std::uint64_t{1} << 63);
  const auto last = last_reads_.find(key);
  const bool again = last != last_reads_.end() && last->second == value;
  if (again && !(registers && takes_when_read(at) && value == 0)) return;
  last_reads_[key] = value;
  call(b->read, at, 4, value, true);
}

void listener::writes(const std::byte* where, std::uint64_t value, unsigned width) {
  const guard alone(alone_);
  const bar* b = bar_of(where);
  if (b == nullptr) return;
  const auto at = static_cast<std::uint64_t>(where - b->region.base);
  rings_.flush();
  last_reads_.clear();
  const bool registers = b == &bars_[0];
  if (registers && at >= bar0::hcr && at < bar0::hcr + hcr::bytes && width == 4) {
    store_be(register_ + (at - bar0::hcr), static_cast<std::uint32_t>(value));
    if (at == bar0::hcr_status) post();
  }
  call(b->write, at, width, value);
  if (!registers || at != bar0::reset) return;
  resetting_ = true;
  awaiting_ = false;
  under_way_.clear();
  live_.clear();
  rings_.forget();
}

void listener::stored(const std::byte* to, std::size_t count) {
  const guard alone(alone_);
  if (const auto address = memory_.address_of(to)) rings_.stored(*address, count);
}

void listener::loads(const std::byte* from) {
  const guard alone(alone_);
  if (const auto address = memory_.address_of(from)) rings_.loads(*address);
}

bytes listener::mailbox(std::uint64_t address) const {
  const std::byte* from = address == 0 ? nullptr : memory_.host_of(address, mailbox_bytes);
  return from == nullptr ? bytes() : bytes(from, from + mailbox_bytes);
}

/// Called before the driver sets GO.
void listener::post() {
  const auto words = image<hcr>::from_bytes(register_);
  if (!words.get<&hcr::go>()) return;
  awaiting_ = true;
  entry e = make(entry_kind::command);
  e.opcode = words.get<&hcr::opcode>();
  e.opcode_modifier = static_cast<std::uint8_t>(words.get<&hcr::opcode_modifier>());
  e.input_modifier = static_cast<std::uint32_t>(words.get<&hcr::in_modifier>());
  e.input = words.get<&hcr::in_param>();
  e.output = words.get<&hcr::out_param>();
  e.token = static_cast<std::uint16_t>(words.get<&hcr::token>());
  e.event = words.get<&hcr::e>();
  if (has_input_mailbox(e.opcode)) {
    entry box = make(entry_kind::store);
    box.at = e.input;
    box.name = "input_mailbox";
    box.of = static_cast<std::uint64_t>(e.opcode);
    box.data = mailbox(e.input);
    rings_.before(e, box.data);
    learn(e, false, box.data);
    if (!box.data.empty()) records_.push_back(std::move(box));
  } else {
    rings_.before(e, {});
  }
  // Record that the driver has cleared the output mailbox: the adapter may leave parts unchanged.
  if (has_output_mailbox(e.opcode)) {
    entry box = make(entry_kind::store);
    box.at = e.output;
    box.name = "output_mailbox";
    box.of = static_cast<std::uint64_t>(e.opcode);
    box.data = mailbox(e.output);
    const bool cleared = std::all_of(box.data.begin(), box.data.end(),
                                     [](std::byte b) { return b == std::byte{0}; });
    if (cleared && !box.data.empty()) records_.push_back(std::move(box));
  }
  under_way_[e.token] = e;
  records_.push_back(std::move(e));
}

/// `last_word` is the value that the driver read from the command register.
void listener::polled(std::uint32_t last_word) {
  std::byte seen[hcr::bytes];
  std::memcpy(seen, register_, sizeof seen);
  store_be(seen + hcr{}.go.offset, last_word);
  const auto now = image<hcr>::from_bytes(seen), posted = image<hcr>::from_bytes(register_);
  if (!awaiting_ || now.get<&hcr::go>() || now.get<&hcr::t>() != posted.get<&hcr::t>()) return;
  awaiting_ = false;
  call("read_bar0", bar0::hcr_status, 4, last_word, true);
  if (posted.get<&hcr::e>()) return;
  const auto found = under_way_.find(static_cast<std::uint16_t>(posted.get<&hcr::token>()));
  if (found == under_way_.end()) return;
  const entry command = std::move(found->second);
  under_way_.erase(found);
  // The driver reads an immediate output by other accesses, which are recorded too.
  complete(command, static_cast<std::uint8_t>(now.get<&hcr::status>()), 0);
}

void listener::complete(const entry& command, std::uint8_t status, std::uint64_t output) {
  bytes box;
  if (status == 0 && has_output_mailbox(command.opcode)) box = mailbox(command.output);
  if (!box.empty()) {
    learn_facts(command, box);
    learn(command, true, box);
    entry e = make(entry_kind::write);
    e.at = command.output;
    e.name = "output_mailbox";
    e.of = static_cast<std::uint64_t>(command.opcode);
    e.index = command.token;
    e.data = std::move(box);
    records_.push_back(std::move(e));
  }
  entry e = command;
  e.kind = entry_kind::answer;
  e.time = now();
  e.status = status;
  e.output = output;
  records_.push_back(e);
  if (status != 0) return;
  rings_.after(command);
  follow(command);
}

/// Updates the live objects, which are stored with the command that queries their context.
void listener::follow(const entry& c) {
  struct life {
    opcode made, ended, query;
  };
  constexpr life lives[] = {{opcode::sw2hw_eq, opcode::hw2sw_eq, opcode::query_eq},
                            {opcode::sw2hw_cq, opcode::hw2sw_cq, opcode::query_cq},
                            {opcode::rst2init_qp, opcode::to_rst_qp, opcode::query_qp},
                            {opcode::sw2hw_mpt, opcode::hw2sw_mpt, opcode::query_mpt}};
  for (const life& l : lives) {
    if (c.opcode == l.made) live_.insert({l.query, c.input_modifier});
    if (c.opcode == l.ended) live_.erase({l.query, c.input_modifier});
  }
  if (c.opcode == opcode::close_hca) live_.clear();
}

std::vector<live_object> listener::live_objects() const {
  const guard alone(alone_);
  std::vector<live_object> all;
  for (const auto& [query, number] : live_) all.push_back({query, number});
  return all;
}

void listener::take_entry(const ring& of, std::uint64_t address, bytes data) {
  const auto event = image<eqe_command>::from_bytes(data.data());
  entry e = make(entry_kind::write);
  e.at = address;
  e.name = of.kind == ring_kind::event_queue ? "eqe" : "cqe";
  e.of = of.number;
  e.index = of.consumer;
  e.data = std::move(data);
  records_.push_back(std::move(e));
  if (of.kind == ring_kind::event_queue) learn_port_change(event);
  if (of.kind != ring_kind::event_queue ||
      event.get<&eqe_command::event_type>() != event_type::command_completion)
    return;
  const auto found = under_way_.find(static_cast<std::uint16_t>(event.get<&eqe_command::token>()));
  if (found == under_way_.end()) return;
  const entry command = std::move(found->second);
  under_way_.erase(found);
  complete(command, static_cast<std::uint8_t>(event.get<&eqe_command::status>()),
           event.get<&eqe_command::out_param>());
}

/// Learns identities from a mailbox. With keep_identity nothing is blanked, but the values are
/// still learnt, because the header has them.
void listener::learn(const entry& command, bool output, bytes& box) {
  bytes copy = box;
  identities_.learn_mailbox(command, output, copy);
  if (!how_.keep_identity) box = std::move(copy);
}

void listener::learn_facts(const entry& c, const bytes& output) {
  if (c.opcode == opcode::query_fw)
    facts_.log_max_commands = static_cast<unsigned>(
        image<query_fw>::from_bytes(output.data()).get<&query_fw::log_max_outstanding_cmd>());
  if (c.opcode == opcode::query_dev_cap)
    facts_.ports =
        image<query_dev_cap>::from_bytes(output.data()).get<&query_dev_cap::num_ports>() == 1 ? 1
                                                                                              : 2;
  if (c.opcode == opcode::query_port && c.input_modifier >= 1 && c.input_modifier <= 2) {
    const auto answer = image<query_port>::from_bytes(output.data());
    const port_type can = answer.get<&query_port::supported_port_type>();
    facts_.vpi[c.input_modifier - 1] = can == port_type::vpi;
    facts_.ethernet[c.input_modifier - 1] =
        can == port_type::ethernet ||
        (can == port_type::vpi && answer.get<&query_port::suggested_type>());
  }
  if (c.opcode == opcode::mad_ifc) learn_port(c.input_modifier & 0xff, output);
}

void listener::learn_port_change(const image<eqe_command>& event) {
  if (event.get<&eqe_command::event_type>() != event_type::port_change) return;
  const auto e = image<eqe_port_change>::from_bytes(event.data());
  const auto port = e.get<&eqe_port_change::port>();
  if (port >= 1 && port <= 2 &&
      e.get<&eqe_port_change::event_sub_type>() ==
          static_cast<std::uint64_t>(port_change_subtype::active))
    facts_.active[port - 1] = true;
}

void listener::learn_port(unsigned port, const bytes& packet) {
  const auto head = image<smp>::from_bytes(packet.data());
  if (port < 1 || port > 2 || head.get<&smp::status>() != 0 ||
      head.get<&smp::attribute_id>() != static_cast<std::uint64_t>(smp_attribute::port_info))
    return;
  const auto info = image<port_info>::from_bytes(packet.data() + smp{}.data.offset);
  if (info.get<&port_info::state>() == port_state::active) facts_.active[port - 1] = true;
  const auto lid = static_cast<unsigned>(info.get<&port_info::lid>());
  const auto sm_lid = static_cast<unsigned>(info.get<&port_info::master_sm_lid>());
  const auto unicast = [](unsigned l) { return l != 0 && l < first_multicast_lid; };
  if (unicast(lid)) facts_.lid[port - 1] = lid;
  // The model's subnet manager is not a port of the adapter. If the card's port is the manager, the
  // model's manager gets another LID.
  const unsigned beside = unicast(lid + 1) ? lid + 1 : lid - 1;
  if (unicast(sm_lid)) facts_.sm_lid[port - 1] = sm_lid == lid ? beside : sm_lid;
}

}  // namespace freehca::recorder

namespace freehca::routed {

using freehca::recorder::ears;

void heard_mmio_read(const std::byte* at, std::uint32_t value) noexcept {
  if (auto* who = ears.load()) who->read(at, value);
}
void hears_mmio_write(const std::byte* at, std::uint64_t value, unsigned bytes) noexcept {
  if (auto* who = ears.load()) who->writes(at, value, bytes);
}
void heard_dma_store(const std::byte* to, std::size_t bytes) noexcept {
  if (auto* who = ears.load()) who->stored(to, bytes);
}
void hears_dma_load(const std::byte* from, std::size_t) noexcept {
  if (auto* who = ears.load()) who->loads(from);
}

}  // namespace freehca::routed
