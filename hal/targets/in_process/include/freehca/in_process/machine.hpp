// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <freehca/hal/platform.hpp>
#include <freehca/model/device.hpp>
#include <freehca/model/environment.hpp>

#include <freehca/in_process/configuration_space.hpp>
#include <freehca/in_process/host_memory_map.hpp>
#include <freehca/in_process/processor_cache.hpp>
#include <freehca/in_process/virtual_clock.hpp>

namespace freehca::in_process {

/// Options of a machine.
struct machine_options {
  static model::options strict_model() {
    model::options o;
    o.strict = true;
    return o;
  }
  /// Strict by default, because the driver does nothing that no source permits.
  model::options model = strict_model();
  bool function_level_reset = true;  ///< false: the driver resets through the register
  /// Nanoseconds for which the adapter does not answer after a reset through the register. No
  /// source: chosen, well below the second that drivers wait.
  std::uint64_t reset_takes = 100'000'000;
  bool interrupts = true;  ///< false: arm_interrupts() is unsupported
  unsigned vectors = 128;  ///< MSI-X vectors that can be armed
  /// The adapter has no MSI-X, and its INTx is connected: arm_interrupts() is unsupported, and
  /// arm_line_interrupt() is not.
  bool line_interrupt = false;
  bool loses_interrupts = false;                   ///< vectors can be armed, but no message arrives
  std::size_t dma_limit = std::size_t{256} << 20;  ///< bytes that allocate_dma gives in all
  std::uint64_t seed = 1;                          ///< for the order of scattered pages
  /// Receives the recording, if model.record is set (environment::record).
  std::function<bool(const char* from, std::size_t bytes)> record{};
  /// As many low bits as possible agree between the program's pointers and their device addresses.
  /// If false, bit 12 differs, so pages of a memory region have 4 KiB.
  bool similar_addresses = true;
  /// If false, the adapter's writes of more than 4096 bytes, which fill lent memory, are dropped.
  /// Tests then run faster.
  bool takes_fills = true;
  /// The adapter does not see the processor's cache; see machine::cache(). Only one such machine
  /// can exist in a process.
  bool incoherent = false;
  std::uint64_t post_ns = 0;  ///< nanoseconds that the store of a command's GO word takes
  /// A clock that several machines share (fabric). It outlives the machine. Null: the machine has
  /// its own clock.
  virtual_clock* clock = nullptr;
};

/// A driver's platform and a modelled adapter in one process, on a virtual clock. run(), step() and
/// advance() drive a machine that is alone. A fabric drives several machines on one clock.
///
/// One thread uses the machine. After let_threads_in() (gate.hpp), any thread may call the
/// platform's functions, access registers, and call step() and advance(). The platform calls
/// `notify` of arm_interrupts() on the thread on which the adapter works.
class machine final : private model::environment {
 public:
  explicit machine(const machine_options& options = {});
  /// If set, changes the options of each machine that is made from then on.
  static void (*adjust_options)(machine_options& options);
  ~machine();
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;

  /// The platform for device_setup. Valid as long as the machine.
  freehca::platform platform();
  model::device& adapter() { return adapter_; }
  host_memory_map& memory() { return memory_; }
  /// Null unless machine_options::incoherent is set.
  processor_cache* cache() { return cache_.get(); }
  configuration_space& configuration() { return configuration_; }

  /// The options of the machine.
  const machine_options& options() const { return how_; }
  /// Nanoseconds of the virtual clock.
  std::uint64_t time() const { return clock_.now(); }
  /// The earliest time at which the adapter has work: its timer, or bytes that arrive by a cable.
  /// model::environment::never if there is none.
  std::uint64_t due() const;
  /// Lets the adapter do the work that is due. Returns true if there was some, or if the adapter
  /// has written to host memory since the last call.
  bool work();
  /// Makes bytes arrive at port `port` by its cable at `time`. The bytes are copied. The times of
  /// successive calls do not decrease. The adapter gets the bytes in work(), step() or advance(),
  /// because it must not be entered from inside another adapter.
  void deliver(unsigned port, std::uint64_t time, const std::byte* from, std::size_t bytes);
  /// Calls work(). If it returns true, moves the clock by 1 us, so that the driver can look at it.
  /// Otherwise moves the clock to the next work of the adapter, or to `deadline` if that is
  /// earlier, and lets the adapter work. `deadline` is the driver's next_deadline(). If it is not
  /// in the future (0, for example), the driver polls again at once, and the clock moves by 100 us
  /// at most.
  void step(std::uint64_t deadline = model::environment::never);
  /// Moves the clock by `nanoseconds`. The adapter does all work that becomes due on the way.
  void advance(std::uint64_t nanoseconds);
  /// Calls `poll`, which returns the driver's next_deadline(), and then step(), until `done`
  /// returns true or `limit_ns` of virtual time have passed. Returns true if `done` did.
  bool run(const std::function<bool()>& done, const std::function<std::uint64_t()>& poll,
           std::uint64_t limit_ns = 300'000'000'000);

  /// Changes machine_options::reset_takes.
  void let_reset_take(std::uint64_t nanoseconds) { how_.reset_takes = nanoseconds; }
  /// Pulls the adapter out of its slot. All reads return ones, and the adapter's accesses do not
  /// reach the host.
  void remove() {
    removed_ = true;
    intx(false);
  }
  /// Puts the adapter back into its slot, as after power-on and the firmware's configuration.
  void plug_in();

  /// Called before each write of the adapter to mapped host memory.
  std::function<void(std::uint64_t address, std::size_t bytes)> on_adapter_write;

  /// Make the adapter faulty. The first function may change the bytes that the adapter has just
  /// written to host memory. The second one returns the value of a register read.
  std::function<void(std::uint64_t address, std::byte* bytes, std::size_t count)>
      alter_adapter_write;
  std::function<std::uint32_t(unsigned bar, std::size_t offset, std::uint32_t value)>
      alter_register_read;

  /// Gets the bytes that the adapter sends by a cable (environment::link_send). If it is not set,
  /// the bytes are lost.
  std::function<bool(unsigned port, const std::byte* from, std::size_t bytes)> on_link_send;

  /// The adapter's counter of this name; 0 if there is none.
  std::uint64_t counter(const std::string& name) const;
  const std::vector<std::string>& complaints() const { return complaints_; }
  /// Granted accesses of the adapter to host memory.
  std::uint64_t adapter_reads() const { return reads_; }
  std::uint64_t adapter_writes() const { return writes_; }
  /// MSI-X messages that the adapter has sent, also those that were lost.
  std::uint64_t messages() const { return messages_; }
  /// Calls of `notify` for the line, and those after which the line was still asserted. The line
  /// then stays masked until the adapter deasserts it.
  std::uint64_t line_interrupts() const { return line_.raised; }
  std::uint64_t lines_not_cleared() const { return line_.not_cleared; }
  /// Blocks that allocate_dma has given and that were not freed yet.
  std::uint64_t dma_blocks() const { return dma_blocks_; }

  // Register accesses, called by the routed accessors.
  std::uint32_t mmio_read_32(unsigned bar, std::size_t offset);
  void mmio_write(unsigned bar, std::size_t offset, std::uint64_t value, unsigned bytes);

 private:
  bool dma_read(std::uint64_t address, void* to, std::size_t bytes) override;
  bool dma_write(std::uint64_t address, const void* from, std::size_t bytes) override;
  bool bus_master() override { return !removed_ && configuration_.bus_master(); }
  bool msix_enabled() override { return !how_.line_interrupt; }
  void msix(unsigned vector) override;
  void intx(bool asserted) override;
  /// The line is asserted, armed and not masked.
  bool line_fires() const {
    return line_.asserted && !line_.masked && line_.armed && !how_.loses_interrupts;
  }
  void raise_line();
  std::uint64_t now() override { return clock_.now(); }
  void arm_timer(std::uint64_t deadline) override { timer_ = deadline; }
  void wipe_configuration_space() override;
  void tell(const model::remark& n) override {
    if (n.kind == model::remark_kind::complaint && complaints_.size() < 200)
      complaints_.push_back(n.text);
  }
  bool record(const char* from, std::size_t bytes) override {
    return !how_.record || how_.record(from, bytes);
  }
  bool link_send(unsigned port, const std::byte* from, std::size_t bytes) override {
    return removed_ || !on_link_send || on_link_send(port, from, bytes);
  }

  /// True if the adapter is in its slot and not in a reset.
  bool there() const { return !removed_ && time() >= unreachable_until_ && !adapter_.in_reset(); }
  bool reachable() const { return there() && configuration_.memory_decoded(); }
  bool run_due();  // returns true if there was work

  static const platform_operations operations;
  static machine& of(void* context) { return *static_cast<machine*>(context); }
  static status map_bar(void* context, unsigned bar, mmio_region* mapped);
  static status read_configuration(void* context, unsigned offset, std::uint32_t* value);
  static status write_configuration(void* context, unsigned offset, std::uint32_t value);
  static status reset_function(void* context);
  static status set_bus_master(void* context, bool on);
  static status restore_after_reset(void* context);
  static status allocate_dma(void* context, std::size_t bytes, std::size_t alignment,
                             dma_region* block);
  static void free_dma(void* context, const dma_region& block);
  static status map_memory(void* context, std::byte* memory, std::size_t bytes,
                           std::uint64_t* device_address);
  static status map_read_only_memory(void* context, std::byte* memory, std::size_t bytes,
                                     std::uint64_t* device_address);
  status lend(std::byte* memory, std::size_t bytes, bool write, std::uint64_t* device_address);
  static status unmap_memory(void* context, std::uint64_t device_address, std::size_t bytes);
  static status arm_interrupts(void* context, unsigned count,
                               void (*notify)(void*, unsigned) noexcept, void* notify_context);
  static status arm_line_interrupt(void* context, void (*notify)(void*, unsigned) noexcept,
                                   void* notify_context);
  static void disarm_interrupts(void* context);

  machine_options how_;
  std::unique_ptr<processor_cache> cache_;
  host_memory_map memory_;
  configuration_space configuration_;
  std::byte* bars_[2] = {};  // identify BAR 0 and BAR 2; never dereferenced
  std::size_t bar_bytes_[2];
  virtual_clock own_clock_;
  virtual_clock& clock_;
  struct arrival {
    unsigned port;
    std::uint64_t time;
    std::vector<std::byte> bytes;
  };
  std::deque<arrival> arrivals_;  // in the order of deliver()
  std::uint64_t timer_ = model::environment::never;
  std::uint64_t unreachable_until_ = 0;
  bool removed_ = false;
  std::size_t dma_bytes_ = 0;
  std::uint64_t dma_blocks_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t reads_ = 0, writes_ = 0, writes_seen_ = 0;  // accesses to host memory
  void (*notify_)(void*, unsigned) noexcept = nullptr;
  void* notify_context_ = nullptr;
  unsigned vectors_ = 0;
  struct {
    bool asserted = false, masked = false, armed = false, in_notify = false;
    std::uint64_t raised = 0, not_cleared = 0;
  } line_;
  std::vector<std::string> complaints_;
  model::device adapter_;
};

}  // namespace freehca::in_process
