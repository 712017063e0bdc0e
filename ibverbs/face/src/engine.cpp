// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "engine.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include <cerrno>
#include <cstdlib>
#include <new>

#include <freehca/firmware_cmds/firmware.hpp>
#include <freehca/firmware_cmds/query.hpp>
#include <freehca/hca/kinds/resizable_completion_queue.hpp>
#include <freehca/hca/kinds/rss_queue_pair.hpp>
#include <freehca/hca/ports.hpp>
#include <freehca/texts/names.hpp>

#include "environment.hpp"
#include "errors.hpp"
#include "events.hpp"

namespace freehca::ibverbs {

namespace {

std::mutex opening;

/// The rings of completion queues whose resize has not ended. Calls resize one after another, but
/// a resize may stay in doubt.
constexpr std::uint32_t resizes = 4;

verbs_budget kinds(const object_limits& limits) {
  verbs_budget b = verbs_budget{}
                       .with<protection_domain>(limits.domains)
                       .with<memory_region>(limits.regions)
                       .with<memory_window>(limits.windows)
                       .with<address_handle>(limits.address_handles)
                       .with<extended_completion_queue>(limits.completion_queues)
                       .with<completion_ring>(resizes)
                       .with<shared_receive_queue>(limits.shared_receive_queues)
                       .with<queue_pair>(limits.queue_pairs)
                       .with<raw_ethernet_queue_pair>(limits.queue_pairs)
                       .with<xrc_domain>(1u << xrc_domain::log_domains_of_owner)
                       .with<xrc_receive_queue>(limits.shared_receive_queues)
                       .with<xrc_queue_pair>(limits.queue_pairs)
                       .with<receive_queue_range>(limits.queue_pairs)
                       .with<receive_work_queue>(limits.queue_pairs)
                       .with<rss_queue_pair>(limits.queue_pairs)
                       .with<multicast_table>(1)
                       .with<group_membership>(limits.group_members)
                       .with<flow_rule>(limits.flow_rules);
  b.requests = limits.requests;
  return b;
}

/// Storage that takes memory only where it is touched.
std::byte* reserve(std::size_t bytes) {
  void* const made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return made == MAP_FAILED ? nullptr : static_cast<std::byte*>(made);
}

/// Reads FREEHCA_PART_ID. False: `why` has what is wrong.
bool read_part_id(std::uint32_t& to, std::string& why) {
  const char* const text = environment("FREEHCA_PART_ID");
  if (*text == '\0') return true;
  constexpr unsigned long most = 0xfffe;  // 0xffff is what an empty slot answers
  char* end = nullptr;
  errno = 0;
  const unsigned long number = std::strtoul(text, &end, 0);
  const bool is_number = *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
  if (is_number && number != 0 && number <= most) {
    to = static_cast<std::uint32_t>(number);
    return true;
  }
  why = std::string("FREEHCA_PART_ID: '") + text +
        "' is no part number: 1 to 65534, or 0x1 to 0xfffe";
  return false;
}

}  // namespace

engine* engine::present_ = nullptr;

engine* engine::get(std::string& why) {
  const uncancellable stays;
  const std::lock_guard held(opening);
  if (present_ != nullptr) return present_;
  static const int once = pthread_atfork(nullptr, nullptr, &engine::forked);
  static_cast<void>(once);
  std::unique_ptr<engine> made(new engine);
  if (const status s = made->open(why); !s.ok()) {
    if (why.empty()) why = words(s);
    return nullptr;
  }
  return present_ = made.release();
}

/// In a forked child, whose only thread this is. The parent's adapter stays as it was at the fork;
/// another thread of the parent may have held any lock of it.
void engine::forked() {
  new (&opening) std::mutex;
  forget_contexts();
  host::forked();
  if (present_ == nullptr) return;
  present_->dead_ = true;
  present_ = nullptr;
}

void engine::leave() {
  // A handler that called exit() may have interrupted this thread while it held the lock. The
  // kernel then takes back what the process holds.
  constexpr unsigned longest_wait = 1000;  // milliseconds
  for (unsigned waited = 0; !lock.try_lock(); ++waited) {
    if (waited == longest_wait) return;
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  lock.unlock();
  host_->leave(*this);
}

void engine::tear_down() {
  const guard held(lock);
  if (any_context() || dead_.exchange(true)) return;
  // Whatever does not answer is reset by the platform when the process is gone.
  constexpr std::uint64_t longest = clock::seconds(5);
  operation down;
  down.set_deadline(host_->platform().now() + longest);
  device_.tear_down(down);
  static_cast<void>(finish(down));
}

engine::engine() : monitor_(monitor_receivers(*this)) {}

status engine::open(std::string& why) {
  if (!read_part_id(part_id_, why)) return driver_error::bad_argument;
  host_ = host::open(why);
  if (host_ == nullptr) return driver_error::no_resource;
  if (const status s = bring_up(); !s.ok()) {
    const sequence_failure& failed = device_.failure();
    why = failed.cause.ok() ? words(s)
                            : std::string(name_of(failed.step)) + ": " + words(failed.cause);
    return s;
  }
  host_->start([this] {
    const guard held(lock);
    poll_events_if_any();
    return objects_.next_deadline();
  });
  return {};
}

status engine::bring_up() {
  const guard held(lock);
  device_setup setup;
  const host_settings& how = host_->settings();
  setup.platform = host_->platform();
  setup.budget = how.budget;
  steer_by_rules(setup, false);
  setup.storage_bytes = device::storage_bytes(setup.budget);
  setup.storage = device_storage_ = reserve(setup.storage_bytes);
  setup.health_interval = how.health_interval;
  setup.port_wait = how.port_wait;
  setup.take_over = how.take_over;
  setup.entry = {[](void* self) noexcept { return static_cast<const engine_lock*>(self)->held(); },
                 &lock};
  const verbs_budget objects = kinds(how.limits);
  const std::size_t object_bytes = verbs::storage_bytes(setup.budget, objects);
  object_storage_ = reserve(object_bytes);
  if (device_storage_ == nullptr || object_storage_ == nullptr) return driver_error::no_memory;
  FREEHCA_TRY(device_.open(setup));
  FREEHCA_TRY(monitor_.start(device_));
  operation up;
  device_.bring_up(up);
  FREEHCA_TRY(finish(up));
  FREEHCA_TRY(objects_.open(device_, objects, object_storage_, object_bytes, event_receivers()));
  ports_.resize(device_.capabilities().ports);
  FREEHCA_TRY(host_->prepare_ports(*this));
  return read_tables();
}

const device_clock* engine::clock() {
  if (!clock_sought_) {
    firmware_command<commands::query_fw> place;
    firmware_command<commands::query_hca> rate;
    device_.commands().submit(place);
    device_.commands().submit(rate);
    const bool asked = finish(place).ok();
    clock_found_ =
        finish(rate).ok() && asked && clock_.find(device_, place.output, rate.output).ok();
    clock_sought_ = true;
    poll_events_if_any();
  }
  return clock_found_ ? &clock_ : nullptr;
}

status engine::read_tables() {
  for (unsigned port = 1; port <= ports(); ++port)
    if (device_.port(port).link_layer == layouts::port_type::ib)
      FREEHCA_TRY(read_tables(port, ports_[port - 1]));
  return {};
}

status engine::read_tables(unsigned port, port_tables& to) {
  const port_attributes& attributes = device_.port(port);
  guid_query guids;
  guids.start(device_.commands(), port, 0);
  FREEHCA_TRY(finish(guids));
  for (unsigned i = 0; i < attributes.gid_table_length && i < 8; ++i)
    to.guids.push_back(guids.guid(i));
  to.guids.resize(attributes.gid_table_length);
  pkey_query keys;
  for (unsigned block = 0; to.pkeys.size() < attributes.pkey_table_length; ++block) {
    keys.restart();
    keys.start(device_.commands(), port, block);
    FREEHCA_TRY(finish(keys));
    for (unsigned i = 0; i < 32 && to.pkeys.size() < attributes.pkey_table_length; ++i)
      to.pkeys.push_back(keys.pkey(i));
  }
  return {};
}

void engine::take_table(unsigned port, port_change what, unsigned block, const subnet_query& read) {
  // Blocks that change while the tables are read for the first time are read twice.
  if (!is_port(port)) return;
  port_tables& to = ports_[port - 1];
  using guids = layouts::guid_info;
  using pkeys = layouts::pkey_table;
  if (what == port_change::guids) {
    const auto from = read.attribute<guids>();
    for (unsigned i = 0; i < layouts::guids_per_block; ++i)
      if (const std::size_t at = block * layouts::guids_per_block + i; at < to.guids.size())
        to.guids[at] = layouts::load_be<std::uint64_t>(from.bytes_of<&guids::guids>() + 8 * i);
  } else {
    const auto from = read.attribute<pkeys>();
    for (unsigned i = 0; i < layouts::pkeys_per_block; ++i)
      if (const std::size_t at = block * layouts::pkeys_per_block + i; at < to.pkeys.size())
        to.pkeys[at] = layouts::load_be<std::uint16_t>(from.bytes_of<&pkeys::pkeys>() + 2 * i);
  }
}

void engine::run() {
  const unsigned ended = objects_.is_open() ? objects_.poll() : device_.poll();
  if (ended == 0)
    host_->wait(objects_.is_open() ? objects_.next_deadline() : device_.next_deadline());
}

void engine::poll_events() {
  if (host_->is_gone() && !reported_gone_) {
    reported_gone_ = true;
    device_.mark_as_lost();
  }
  objects_.poll_all(1000);
}

namespace {

/// Leaves the adapter when the process ends in order.
struct at_exit {
  ~at_exit() {
    if (engine* const here = engine::present(); here != nullptr) here->leave();
  }
} leaves;

}  // namespace

}  // namespace freehca::ibverbs
