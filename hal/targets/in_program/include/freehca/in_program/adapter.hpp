// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <freehca/hal/platform.hpp>
#include <freehca/in_process/configuration_space.hpp>
#include <freehca/model/device.hpp>
#include <freehca/model/environment.hpp>

#include <freehca/in_program/packet_link.hpp>

namespace freehca::in_program {

struct adapter_options {
  /// One port, of InfiniBand unless `link` of the result is changed. A switch port that answers at
  /// once is at the other end of its cable, so that the link comes up without a peer.
  static model::options one_port() {
    model::options o;
    o.ports = 1;
    o.cable[0] = true;
    return o;
  }
  model::options model = one_port();
  /// Where packets to other ports go. Outlives the adapter.
  packet_link* link = nullptr;
  /// With model.capture: gets each packet that passes the port. Called with the adapter's lock.
  std::function<void(std::uint64_t now, const std::byte* from, std::size_t bytes)> on_packet{};
  /// Gets each remark of the adapter (model::environment::tell). Called with the adapter's lock.
  std::function<void(const model::remark& what)> on_remark{};
};

/// A modelled adapter in the process of its user, and the platform of the driver that uses it. A
/// device address is a pointer of the process, so that any memory can be registered.
///
/// The adapter has one lock. The threads that post and poll run it in work(); a helper thread runs
/// it when no other thread does. One adapter of a process is in use at a time: the registers that
/// the driver accesses are those of the adapter that was made last.
class adapter final : private model::environment {
 public:
  explicit adapter(const adapter_options& options);
  ~adapter();
  adapter(const adapter&) = delete;
  adapter& operator=(const adapter&) = delete;

  /// For device_setup; valid as long as the adapter.
  freehca::platform platform();
  /// Only while no other thread runs the adapter.
  model::device& model() { return device_; }

  /// Runs what is due: packets that have arrived, timers. Returns at once if another thread runs
  /// the adapter. Returns whether anything was done. Any thread.
  bool work();
  /// The same, and the calling thread promises to call again soon. The helper leaves packets to it
  /// for a moment. The calls are made by one thread at a time, and none during leave_link().
  bool work_while_polling();
  /// The promise alone, of a thread that has just written a doorbell. What is due was run then.
  void polls_after_doorbell();

  /// Whether an interrupt was sent since the last call. Any thread.
  bool take_interrupt() {
    return interrupted_.load(std::memory_order_relaxed) &&
           interrupted_.exchange(false, std::memory_order_acquire);
  }

  /// Until run_in_real_time() the clock stands still; the caller moves it to the earlier one of the
  /// adapter's next timer and `deadline`. One thread.
  void skip_to(std::uint64_t deadline);
  /// From now on the clock runs as the machine's does.
  void run_in_real_time();
  /// Nanoseconds on the clock of the platform. Any thread.
  std::uint64_t time();

  /// From now on the link is not used, and may be destroyed. Packets to other ports are dropped.
  /// The helper thread does not run.
  void leave_link();

  /// Starts the helper thread, which blocks all signals but SIGSEGV and SIGBUS. It runs the adapter
  /// when no other thread does, and calls `serve` after an interrupt. run_in_real_time() was called
  /// before.
  void start_helper(std::function<void()> serve);
  /// Ends the helper thread. The destructor does so too.
  void stop_helper();

  // Register access, by the routed accessors.
  std::uint32_t mmio_read_32(unsigned bar, std::size_t offset);
  void mmio_write(unsigned bar, std::size_t offset, std::uint64_t value, unsigned bytes);
  /// Finds the BAR (0 or 2) of an address of a register. Returns false if it is in none.
  bool find(const std::byte* at, unsigned& bar, std::size_t& offset) const;
  /// The adapter that the accessors reach; null if there is none.
  static adapter* present() { return present_; }
  /// In a forked child: forgets the parent's adapter, which the child must not touch.
  static void forget_present() { present_ = nullptr; }

 private:
  bool dma_read(std::uint64_t address, void* to, std::size_t bytes) override;
  bool dma_write(std::uint64_t address, const void* from, std::size_t bytes) override;
  bool bus_master() override { return configuration_.bus_master(); }
  bool msix_enabled() override { return true; }
  void msix(unsigned vector) override;
  void intx(bool) override {}
  std::uint64_t now() override { return now_; }
  void arm_timer(std::uint64_t deadline) override { timer_.store(deadline); }
  void wipe_configuration_space() override;
  bool link_send(unsigned port, const std::byte* from, std::size_t bytes) override;
  void packet_passed(unsigned port, const std::byte* from, std::size_t bytes) override {
    static_cast<void>(port);
    if (how_.on_packet) how_.on_packet(now_, from, bytes);
  }
  void tell(const model::remark& what) override {
    if (how_.on_remark) how_.on_remark(what);
  }

  // With the machine's clock at that moment.
  bool work_at(std::uint64_t machine_now);
  void refresh_clock(std::uint64_t machine_now);
  void note_backlog();
  bool has_work(std::uint64_t machine_now) const;
  bool run_due(std::uint64_t machine_now);
  bool receive_packets();
  void help();
  bool work_as_helper();
  void rest();
  void wake_helper_for_timer();

  static const platform_operations operations;
  static adapter& of(void* context) { return *static_cast<adapter*>(context); }
  static status map_bar(void* context, unsigned bar, mmio_region* mapped);
  static status read_configuration(void* context, unsigned offset, std::uint32_t* value);
  static status write_configuration(void* context, unsigned offset, std::uint32_t value);
  static status reset_function(void* context);
  static status set_bus_master(void* context, bool on);
  static status allocate_dma(void* context, std::size_t bytes, std::size_t alignment,
                             dma_region* block);
  static void free_dma(void* context, const dma_region& block);
  static status arm_interrupts(void* context, unsigned count,
                               void (*notify)(void*, unsigned) noexcept, void* notify_context);
  static void disarm_interrupts(void* context);

  static adapter* present_;

  adapter_options how_;
  in_process::configuration_space configuration_;
  std::byte* bars_[2] = {};  // reserved addresses, which identify BAR 0 and BAR 2
  std::size_t bar_bytes_[2];

  std::mutex running_;  // held by the thread that is in the model
  bool real_time_ = false;
  std::uint64_t now_ = 1'000'000, offset_ = 0;
  /// How far the adapter's clock is behind, in nanoseconds. It stands still while packets that have
  /// arrived wait for a processor: an acknowledgement among them must not come too late for that.
  std::atomic<std::uint64_t> lag_{0};
  std::uint64_t refreshed_at_ = 0, blocked_since_ = 0;  // on the machine's clock
  bool backlog_ = false;
  std::atomic<std::uint64_t> timer_{model::environment::never};
  std::vector<std::vector<std::byte>> answers_;  // of the switch port
  bool blocked_ = false;                         // the link had no room
  /// run_due() has nothing to do but packets that arrive and timers.
  std::atomic<bool> idle_{false};

  void (*notify_)(void*, unsigned) noexcept = nullptr;
  void* notify_context_ = nullptr;
  unsigned vectors_ = 0;
  std::atomic<bool> interrupted_{false};

  std::atomic<std::uint64_t> last_poll_{0};      // of work_while_polling(), on the machine's clock
  std::atomic<std::uint64_t> last_doorbell_{0};  // on the same clock
  std::uint64_t polls_missed_until_ = 0;         // the helper's
  /// When the helper looks at the timer again by itself; 0: it is awake.
  std::atomic<std::uint64_t> helper_wakes_at_{0};
  std::atomic<bool> ending_{false};
  std::function<void()> serve_;
  std::thread helper_;

  model::device device_;
};

}  // namespace freehca::in_program
