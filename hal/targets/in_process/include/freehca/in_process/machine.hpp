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

/// How a machine is made.
struct machine_options {
  static model::options strict_model() {
    model::options o;
    o.strict = true;
    return o;
  }
  model::options model = strict_model();  ///< our driver asks for nothing that no source permits
  bool function_level_reset = true;       ///< false: the driver resets through the register
  /// How long the adapter is deaf after a reset through the register. No source: chosen, well below
  /// the second that drivers wait.
  std::uint64_t reset_takes = 100'000'000;
  bool interrupts = true;                          ///< false: the platform cannot arm any
  unsigned vectors = 128;                          ///< how many MSI-X vectors it can arm
  bool loses_interrupts = false;                   ///< armed, but no message ever arrives
  std::size_t dma_limit = std::size_t{256} << 20;  ///< what allocate_dma gives in all
  std::uint64_t seed = 1;                          ///< of the order of scattered pages
  /// With model.record: takes the recording (environment::record).
  std::function<bool(const char* from, std::size_t bytes)> record{};
  /// Device addresses of the program's memory agree with its pointers in as many low bits as they
  /// can. false: in 12 bits, with the 13th different.
  bool similar_addresses = true;
  /// false: what the adapter fills lent memory with does not arrive, which is quicker.
  bool takes_fills = true;
  /// The adapter does not look into the processor's cache: machine::cache(). One such machine in a
  /// process.
  bool incoherent = false;
  std::uint64_t post_ns = 0;  ///< what it costs the processor to hand a command to the adapter
  /// A clock that several machines share (fabric); outlives them. Null: the machine has its own.
  virtual_clock* clock = nullptr;
};

/// A driver's platform and a modelled adapter in one process, on a virtual clock. One thread. A
/// machine alone is driven by run(), step() and advance(); several machines on one clock are driven
/// by a fabric.
class machine final : private model::environment {
 public:
  explicit machine(const machine_options& options = {});
  ~machine();
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;

  /// For device_setup; valid as long as the machine.
  freehca::platform platform();
  model::device& adapter() { return adapter_; }
  host_memory_map& memory() { return memory_; }
  /// With machine_options::incoherent; null otherwise.
  processor_cache* cache() { return cache_.get(); }
  configuration_space& configuration() { return configuration_; }

  /// How it was made.
  const machine_options& options() const { return how_; }
  /// Nanoseconds of the virtual clock.
  std::uint64_t time() const { return clock_.now(); }
  /// The earliest instant at which the adapter has work: its timer, or bytes that arrive by a
  /// cable.
  std::uint64_t due() const;
  /// Lets the adapter do the work that is due. True: there was some, or the adapter has written to
  /// host memory since the last call.
  bool work();
  /// Bytes arrive at port `port` by its cable at `time`. The adapter gets them in work() and
  /// advance(), because it must not be entered from inside another adapter.
  void deliver(unsigned port, std::uint64_t time, const std::byte* from, std::size_t bytes);
  /// Moves the clock to what comes first: work of the adapter, or `deadline` (what the driver's
  /// next_deadline() says; 0 means that it wants to look again at once), and lets the adapter work.
  void step(std::uint64_t deadline = model::environment::never);
  /// Moves the clock by `nanoseconds`, with all the adapter's work on the way.
  void advance(std::uint64_t nanoseconds);
  /// Steps until `done()` or the limit of virtual time; calls `poll` before each step, which
  /// returns the driver's next_deadline(). True: done.
  bool run(const std::function<bool()>& done, const std::function<std::uint64_t()>& poll,
           std::uint64_t limit_ns = 300'000'000'000);

  /// From now on: machine_options::reset_takes.
  void let_reset_take(std::uint64_t nanoseconds) { how_.reset_takes = nanoseconds; }
  /// The adapter is pulled: everything reads as all ones, nothing it does arrives.
  void remove() { removed_ = true; }
  /// It is in its slot again, as after power-on.
  void plug_in();

  /// Called for each write of the adapter to host memory, before it happens.
  std::function<void(std::uint64_t address, std::size_t bytes)> on_adapter_write;

  /// An adapter that lies: may change what it writes to host memory, and what a register read
  /// gives.
  std::function<void(std::uint64_t address, std::byte* bytes, std::size_t count)>
      alter_adapter_write;
  std::function<std::uint32_t(unsigned bar, std::size_t offset, std::uint32_t value)>
      alter_register_read;

  /// Takes what leaves the adapter by a cable (environment::link_send).
  std::function<bool(unsigned port, const std::byte* from, std::size_t bytes)> on_link_send;

  std::uint64_t counter(
      const std::string& name) const;  ///< of the adapter; 0 when there is none of that name
  const std::vector<std::string>& complaints() const { return complaints_; }
  /// Accesses of the adapter to host memory that were granted.
  std::uint64_t adapter_reads() const { return reads_; }
  std::uint64_t adapter_writes() const { return writes_; }
  std::uint64_t messages() const { return messages_; }  ///< MSI-X messages sent
  std::uint64_t dma_blocks() const {
    return dma_blocks_;
  }  ///< handed out by allocate_dma and not back

  // Register access, by the routed accessors.
  std::uint32_t mmio_read_32(unsigned bar, std::size_t offset);
  void mmio_write(unsigned bar, std::size_t offset, std::uint64_t value, unsigned bytes);

 private:
  bool dma_read(std::uint64_t address, void* to, std::size_t bytes) override;
  bool dma_write(std::uint64_t address, const void* from, std::size_t bytes) override;
  bool bus_master() override { return !removed_ && configuration_.bus_master(); }
  bool msix_enabled() override { return true; }
  void msix(unsigned vector) override;
  void intx(bool) override {}
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

  /// Not pulled out, and no reset goes on.
  bool there() const { return !removed_ && time() >= unreachable_until_ && !adapter_.in_reset(); }
  bool reachable() const { return there() && configuration_.memory_decoded(); }
  bool run_due();  // whether there was anything to do

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
  std::deque<arrival> arrivals_;  // in the order of their times
  std::uint64_t timer_ = model::environment::never;
  std::uint64_t unreachable_until_ = 0;
  bool removed_ = false;
  std::size_t dma_bytes_ = 0;
  std::uint64_t dma_blocks_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t reads_ = 0, writes_ = 0, writes_seen_ = 0;  // of the adapter to host memory
  void (*notify_)(void*, unsigned) noexcept = nullptr;
  void* notify_context_ = nullptr;
  unsigned vectors_ = 0;
  std::vector<std::string> complaints_;
  model::device adapter_;
};

}  // namespace freehca::in_process
