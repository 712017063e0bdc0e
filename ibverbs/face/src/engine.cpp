// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "engine.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <freehca/captures/packet_file.hpp>
#include <freehca/hal/text.hpp>
#include <freehca/hca/ports.hpp>
#include <freehca/layouts/set_port_info.hpp>

#include "errors.hpp"
#include "events.hpp"

namespace freehca::ibverbs {

namespace {

std::mutex opening;

budget sizes() {
  budget b;
  b.log_qps = b.log_cqs = b.log_mpts = object_limits::log_numbers;
  b.log_srqs = 11;
  b.log_mtts = object_limits::log_translations;
  b.log_completion_eq_entries = object_limits::log_numbers + 1;
  b.context_bytes = std::size_t{96} << 20;
  b.queue_bytes = std::size_t{4} << 30;
  b.doorbell_bytes = std::size_t{4} << 20;
  return b;
}

verbs_budget kinds() {
  verbs_budget b = verbs_budget{}
                       .with<protection_domain>(object_limits::domains)
                       .with<memory_region>(object_limits::regions)
                       .with<address_handle>(object_limits::address_handles)
                       .with<completion_queue>(object_limits::completion_queues)
                       .with<shared_receive_queue>(object_limits::shared_receive_queues)
                       .with<queue_pair>(object_limits::queue_pairs);
  b.requests = object_limits::requests;
  return b;
}

/// Storage that takes memory only where it is touched.
std::byte* reserve(std::size_t bytes) {
  void* const made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return made == MAP_FAILED ? nullptr : static_cast<std::byte*>(made);
}

const char* environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// The file that a variable names for a report of this process; "": none. Of a launcher's processes
/// only the first one writes it: its children inherit the variable.
const char* report_file(const char* name) {
  const char* const process = environment("FREEHCA_PROCESS");
  const bool is_first = *process == '\0' || std::strtol(process, nullptr, 10) == getpid();
  return is_first ? environment(name) : "";
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
  if (present_ == nullptr) return;
  present_->dead_ = true;
  present_ = nullptr;
  in_program::adapter::forget_present();
}

void engine::leave() {
  // A handler that called exit() may have interrupted this thread while it held the lock. The
  // kernel then takes the process out of the fabric.
  constexpr unsigned longest_wait = 1000;  // milliseconds
  for (unsigned waited = 0; !lock.try_lock(); ++waited) {
    if (waited == longest_wait) return;
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  lock.unlock();
  adapter_->stop_helper();
  const guard held(lock);
  write_counters();
  adapter_->leave_link();
  link_.reset();
}

status engine::open(std::string& why) {
  const std::string name = environment("FREEHCA_FABRIC");
  link_ = fabric_link::join(name.empty() ? "default" : name, why);
  if (link_ == nullptr) return driver_error::no_resource;
  in_program::adapter_options how;
  how.link = link_.get();
  // The low byte of a GUID names the port.
  how.model.node_guid += std::uint64_t{0x10} * link_->slot();
  how.model.subnet_manager = false;
  if (const char* const path = report_file("FREEHCA_CAPTURE"); *path != '\0') {
    auto file = std::make_shared<captures::packet_file>();
    if (const int error = file->create(path, false); error != 0) {
      why = std::string("the capture ") + path + " cannot be written: " + std::strerror(error);
      return driver_error::no_resource;
    }
    how.model.capture[0] = true;
    how.on_packet = [file, ends = false](std::uint64_t now, const std::byte* from,
                                         std::size_t bytes) mutable {
      if (ends || file->append(now, from, bytes)) return;
      ends = true;
      std::fprintf(stderr, "freehca: the capture ends early: %s\n", std::strerror(errno));
    };
  }
  const bool explains = *environment("FREEHCA_EXPLAIN") != '\0';
  how.on_remark = [explains](const model::remark& what) {
    if (what.kind == model::remark_kind::complaint || (explains && model::explains(what.kind)))
      std::fprintf(stderr, "freehca: %.*s\n", static_cast<int>(what.text.size()), what.text.data());
  };
  adapter_ = std::make_unique<in_program::adapter>(how);
  FREEHCA_TRY(bring_up());
  adapter_->run_in_real_time();
  in_real_time_ = true;
  adapter_->start_helper([this] {
    const guard held(lock);
    poll_events_if_any();
  });
  return {};
}

status engine::bring_up() {
  device_setup setup;
  setup.platform = adapter_->platform();
  setup.budget = sizes();
  setup.storage_bytes = device::storage_bytes(setup.budget);
  setup.storage = device_storage_ = reserve(setup.storage_bytes);
  setup.health_interval = clock::never;  // an adapter inside the program does not die unseen
  setup.port_wait = 0;                   // take_lid() makes the port active
  const verbs_budget objects = kinds();
  const std::size_t object_bytes = verbs::storage_bytes(setup.budget, objects);
  object_storage_ = reserve(object_bytes);
  if (device_storage_ == nullptr || object_storage_ == nullptr) return driver_error::no_memory;
  FREEHCA_TRY(device_.open(setup));
  operation up;
  device_.bring_up(up);
  FREEHCA_TRY(finish(up));
  FREEHCA_TRY(objects_.open(device_, objects, object_storage_, object_bytes, event_receivers()));
  FREEHCA_TRY(take_lid());
  return read_tables();
}

/// Does what a subnet manager does for a port: gives it the LID that the fabric has for it, and
/// makes it active.
status engine::take_lid() {
  using info = layouts::port_info;
  using layouts::smp;
  port_query read;
  const auto look = [&] {
    read.restart();
    read.start(device_.commands(), 1);
    return finish(read);
  };
  // The link trains with the switch port. Each look moves the clock.
  constexpr unsigned most_looks = 10'000;
  for (unsigned i = 0;; ++i) {
    FREEHCA_TRY(look());
    if (read.attribute<info>().get<&info::state>() != layouts::port_state::down) break;
    if (i == most_looks) return transport_error::timeout;
    adapter_->skip_to(adapter_->time() + clock::milliseconds(1));
    adapter_->work();
  }
  for (const auto state : {layouts::port_state::armed, layouts::port_state::active}) {
    FREEHCA_TRY(look());
    layouts::image<info> attributes = read.attribute<info>();
    attributes.set<&info::lid>(link_->lid()).set<&info::master_sm_lid>(link_->lid());
    attributes.set<&info::state>(state);
    attributes.set<&info::physical_state>(layouts::port_physical_state::no_change);
    firmware_command<commands::mad_ifc<smp>> set(std::uint32_t{1}, std::uint32_t{0});
    set.input = layouts::set_port_info(attributes, 1);
    device_.commands().submit(set);
    FREEHCA_TRY(finish(set));
    if (set.output.get<&smp::status>() != layouts::mad_status::success)
      return transport_error::bad_reply;
  }
  for (unsigned i = 0; !device_.port(1).active(); ++i) {
    if (i == most_looks) return transport_error::timeout;
    adapter_->skip_to(adapter_->time() + clock::milliseconds(1));
    run();
  }
  return {};
}

status engine::read_tables() {
  guid_query guids;
  guids.start(device_.commands(), 1, 0);
  FREEHCA_TRY(finish(guids));
  for (unsigned i = 0; i < device_.port(1).gid_table_length && i < 8; ++i)
    guids_.push_back(guids.guid(i));
  guids_.resize(device_.port(1).gid_table_length);
  pkey_query keys;
  for (unsigned block = 0; pkeys_.size() < device_.port(1).pkey_table_length; ++block) {
    keys.restart();
    keys.start(device_.commands(), 1, block);
    FREEHCA_TRY(finish(keys));
    for (unsigned i = 0; i < 32 && pkeys_.size() < device_.port(1).pkey_table_length; ++i)
      pkeys_.push_back(keys.pkey(i));
  }
  return {};
}

void engine::run() {
  const bool any = adapter_->work();
  const unsigned ended = objects_.is_open() ? objects_.poll() : device_.poll();
  if (in_real_time_ || any || ended != 0) return;
  const std::uint64_t due = objects_.is_open() ? objects_.next_deadline() : device_.next_deadline();
  adapter_->skip_to(std::max(due, adapter_->time() + 1));
}

void engine::poll_events() {
  // What one call delivers may make more due.
  constexpr unsigned most_turns = 1000;
  for (unsigned i = 0; i < most_turns; ++i)
    if (objects_.poll() == 0 && objects_.next_deadline() != 0) return;
}

void engine::write_counters() const {
  const char* const path = report_file("FREEHCA_COUNTERS");
  if (*path == '\0' || adapter_ == nullptr) return;
  std::FILE* const file = std::fopen(path, "we");
  if (file == nullptr) return;
  std::fprintf(file, "lid %u\n", unsigned{link_->lid()});
  adapter_->model().counters(
      [](const model::counter& c, void* to) {
        std::fprintf(static_cast<std::FILE*>(to), "%s %llu\n", c.name,
                     static_cast<unsigned long long>(c.value));
      },
      file);
  std::fclose(file);
}

namespace {

/// Leaves the fabric when the process ends in order.
struct at_exit {
  ~at_exit() {
    if (engine* const here = engine::present(); here != nullptr) here->leave();
  }
} leaves;

}  // namespace

}  // namespace freehca::ibverbs
