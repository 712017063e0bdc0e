// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The adapter is a PCI function that is bound to vfio-pci.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>

#include <freehca/hca/device.hpp>
#include <freehca/vfio_host/sleep.hpp>
#include <freehca/vfio_host/vfio_device.hpp>

#include "engine.hpp"
#include "environment.hpp"
#include "ethernet_ports.hpp"

namespace freehca::ibverbs {

namespace {

/// The driver's memory is locked from the first to the last moment. So there is less of it than
/// inside a program, where only memory that is touched exists.
constexpr host_settings vfio_settings() {
  host_settings s{};
  s.limits = {.queue_pairs = 4'000,
              .completion_queues = 4'000,
              .shared_receive_queues = 1'000,
              .regions = 4'000,
              .domains = 2'000,
              .address_handles = 4'000,
              .windows = 2'000,
              .group_members = 1'024,
              .flow_rules = 1'024,  // a group member is one where the device steers by rules
              .completions = 65'535,
              .requests = 1'000'000};
  budget& b = s.budget;
  b.log_qps = b.log_cqs = b.log_mpts = 13;  // the firmware keeps up to 1088 queue pairs
  b.log_srqs = 11;
  b.log_mcgs = 10;
  // The largest entry: the device says how many queue pairs an entry of a rule has room for.
  b.log_mcg_entry_bytes = 12;
  b.log_mtts = 20;
  b.log_completion_eq_entries = 14;
  b.context_bytes = std::size_t{32} << 20;
  b.queue_bytes = std::size_t{64} << 20;
  b.doorbell_bytes = std::size_t{1} << 20;
  s.health_interval = clock::milliseconds(100);
  s.port_wait = default_port_wait;
  // VFIO gives the function to one process at a time. An owner that still has the semaphores was
  // killed.
  s.take_over = true;
  return s;
}

/// The address behind "vfio:" in FREEHCA_DEVICE.
std::string address_of_device() {
  const std::string device = environment("FREEHCA_DEVICE");
  const std::string prefix = "vfio:";
  return device.starts_with(prefix) ? device.substr(prefix.size()) : device;
}

/// Reads FREEHCA_DOOR and FREEHCA_PAGES. False: one has a wrong value, and `why` names it.
bool read_open_options(vfio_host::open_options& to, std::string& why) {
  const std::string way = environment("FREEHCA_DOOR");
  const std::string pages = environment("FREEHCA_PAGES");
  const auto named_way = vfio_host::door_named(way.empty() ? "auto" : way);
  const auto named_pages = vfio_host::pages_named(pages.empty() ? "small" : pages);
  if (!named_way) why = "FREEHCA_DOOR: '" + way + "' is none of auto, group and iommufd";
  else if (!named_pages) why = "FREEHCA_PAGES: '" + pages + "' is none of small, advised and huge";
  else to = {*named_way, *named_pages};
  return named_way && named_pages;
}

class vfio_function_host final : public host {
 public:
  bool open(std::string& why);
  ~vfio_function_host() override {
    stop();
    present_ = nullptr;
  }
  /// In a forked child: closes its copies of the descriptors, so that the function is free when the
  /// parent ends.
  static void forked() {
    if (present_ == nullptr) return;
    present_->device_->close_in_child();
    // Another thread of the parent may have been changing it.
    static_cast<void>(present_->device_.release());
    present_ = nullptr;
  }

  freehca::platform platform() override { return device_->platform(); }
  const host_settings& settings() const override {
    static constexpr host_settings all = vfio_settings();
    return all;
  }
  status prepare_ports(engine& of) override;
  void start(std::function<std::uint64_t()> serve) override;
  void leave(engine& of) override {
    stop();
    of.tear_down();
  }
  void wait(std::uint64_t deadline) override {
    device_->wait(deadline, -1);
    // The thread below does not see an interrupt that was taken here.
    due_.store(true);
  }
  // The adapter works by itself.
  void work() override {}
  void work_while_polling() override {}
  bool take_interrupt() override {
    if (!due_.load(std::memory_order_relaxed) || !due_.exchange(false)) return false;
    device_->wait(0, -1);
    return true;
  }
  bool is_gone() const override { return device_->failed() || device_->wanted_back(); }

  std::string reason(const program_memory& memory, bool, int error) const override {
    const std::string why = ": " + device_->last_refusal();
    if (error != ENOMEM) return why;
    const std::size_t before = device_->lent_bytes();
    return why + "; with " + std::to_string(before) + " bytes registered before: " +
           vfio_host::how_to_lock(device_->locked_bytes() + before + memory.bytes);
  }

 private:
  static vfio_function_host* present_;

  void run(const std::function<std::uint64_t()>& serve);
  void stop();

  std::unique_ptr<vfio_host::vfio_device> device_;
  named_addresses addresses_;
  /// An interrupt or a deadline is due. The thread that holds the lock next takes care of it: a
  /// thread that polls gets the lock more often than the one below.
  std::atomic<bool> due_{false};
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

vfio_function_host* vfio_function_host::present_ = nullptr;

/// A subnet manager configures InfiniBand ports. The first Ethernet port has the IP addresses. As
/// bring-up does for InfiniBand ports, this waits until a port is active.
status vfio_function_host::prepare_ports(engine& of) {
  device& hardware = of.hardware();
  bool any = false;
  const auto is_ethernet = [&](unsigned port) {
    return hardware.port(port).link_layer == layouts::port_type::ethernet;
  };
  for (unsigned port = 1; port <= of.ports(); ++port) {
    if (!is_ethernet(port)) continue;
    FREEHCA_TRY(open_ethernet_port(of, port, any ? named_addresses{} : addresses_));
    any = true;
  }
  if (!any && (addresses_.ip || !addresses_.on_vlans.empty()))
    std::fputs("freehca: FREEHCA_IP, FREEHCA_VLANS: the adapter has no Ethernet port\n", stderr);
  const auto any_active = [&] {
    for (unsigned port = 1; port <= of.ports(); ++port)
      if (hardware.port(port).active()) return true;
    return false;
  };
  const auto now = [this] { return device_->platform().now(); };
  const std::uint64_t until = clock::after(now(), settings().port_wait);
  while (any && !any_active() && now() < until) of.run();
  return {};
}

bool vfio_function_host::open(std::string& why) {
  const auto refuse = [&why](const vfio_host::failure& f) {
    why = f.message;
    return false;
  };
  if (!read_addresses(addresses_, why)) return false;
  vfio_host::open_options how;
  if (!read_open_options(how, why)) return false;
  const auto address = vfio_host::parse_pci_address(address_of_device());
  if (!address) return refuse(address.error());
  const auto function = vfio_host::sysfs{}.read(*address);
  if (!function) return refuse(function.error());
  auto opened = vfio_host::vfio_device::open(*function, device::dma_bytes(settings().budget), how);
  if (!opened) return refuse(opened.error());
  device_ = std::move(*opened);
  present_ = this;
  return true;
}

void vfio_function_host::start(std::function<std::uint64_t()> serve) {
  // The program's signals are for its own threads. A new thread begins with this one's mask.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this, serve = std::move(serve)] { run(serve); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void vfio_function_host::run(const std::function<std::uint64_t()>& serve) {
  while (!ending_.load()) {
    const std::uint64_t deadline = serve();
    if (ending_.load()) return;
    const std::uint64_t sleep = vfio_host::time_to_sleep(deadline);
    const timespec time{static_cast<time_t>(sleep / 1'000'000'000),
                        static_cast<long>(sleep % 1'000'000'000)};
    pollfd wait{device_->descriptor(), POLLIN, 0};
    ppoll(&wait, 1, &time, nullptr);
    due_.store(true);
  }
}

void vfio_function_host::stop() {
  if (!thread_.joinable()) return;
  ending_.store(true);
  device_->wake();
  thread_.join();
}

}  // namespace

std::unique_ptr<host> host::open(std::string& why) {
  auto made = std::make_unique<vfio_function_host>();
  return made->open(why) ? std::move(made) : nullptr;
}

bool host::hides_memory_from_children() {
  return true;  // vfio_device::map_memory
}

void host::forked() {
  vfio_function_host::forked();
}

}  // namespace freehca::ibverbs
