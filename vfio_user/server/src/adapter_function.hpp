// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <freehca/model/c_api.h>
#include <freehca/wires/wire.hpp>

#include "client_memory.hpp"
#include "configuration_space.hpp"
#include "doorbell_pages.hpp"
#include "interrupts.hpp"
#include "packet_file.hpp"
#include "product_data.hpp"
#include "report.hpp"
#include "settings.hpp"

namespace freehca::device_server {

/// Nanoseconds of a clock that never goes back.
std::uint64_t now_ns();

/// The PCI function around the model: regions, configuration space, interrupts, cables. What the
/// glue of QEMU's device is there (qemu/qom) is this here.
class adapter_function {
 public:
  adapter_function(const settings& how, client_memory& memory);
  ~adapter_function();
  adapter_function(const adapter_function&) = delete;
  adapter_function& operator=(const adapter_function&) = delete;

  /// Makes the model, its files and its cables. "", or what is wrong.
  std::string begin();

  std::uint64_t region_bytes(std::uint32_t region) const;
  /// Within the region's bytes; of any length, which is done in the accesses that a bus would make
  /// of it.
  void read_region(std::uint32_t region, std::uint64_t offset, std::span<std::byte> to);
  void write_region(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> from);
  /// Function-level, or of everything.
  void reset(bool function_level);

  /// Takes the place of a function whose process died, with its configuration space: its firmware
  /// has failed, as if by itself.
  void go_on_after_death(const std::array<std::uint8_t, configuration_space::bytes>& space);

  interrupts& signals() { return interrupts_; }

  /// When the adapter has work of its own; all ones: never. And one turn of it.
  std::uint64_t deadline() const { return deadline_; }
  void run_turn();

  /// BAR 2 as a client may map it, where the settings say so; for one client after another.
  const doorbell_pages& doorbells() const { return doorbells_; }
  void make_doorbell_pages();
  /// Those of a process that died; none where the file is not open. False: they are there, and
  /// nobody can look at them.
  bool adopt_doorbell_pages(vfio_user::descriptor file);
  void take_doorbell_pages_away() { doorbells_.end(); }
  /// Could a store to these pages mean something?
  bool doorbells_in_use() { return doorbells_.in_use(model_); }
  /// True: somebody rang.
  bool look_at_doorbells(std::size_t most) {
    return doorbells_.look(model_, answers_memory(), most);
  }

  /// Null: the port leads nowhere.
  wires::wire* cable(unsigned port) const { return cables_[port].get(); }
  bool may_receive() const { return freehca_model_link_may_receive(model_); }
  void serve_cable(unsigned port, short events);

  std::uint64_t counter(const char* name) const;

  // For who looks on and interferes, between two calls of the above.
  freehca_model* model() const { return model_; }
  const configuration_space& configuration() const { return space_; }
  std::uint64_t capture_errors() const { return capture_errors_; }
  /// As if pulled out without a word, or plugged in again.
  void remove(bool removed);
  bool removed() const { return removed_; }

 private:
  class port_reader;

  std::string open_files();
  std::string lay_cables();
  std::string ask_for_faults();
  static freehca_model_environment environment_of(adapter_function* self);

  bool there() const { return !removed_ && !freehca_model_in_reset(model_); }
  bool answers_memory() const { return there() && space_.in_d0() && space_.memory_space(); }
  bool may_master() const { return !removed_ && space_.in_d0() && space_.bus_master(); }

  std::uint64_t read_bar(std::uint32_t region, std::uint64_t offset, unsigned size);
  void write_bar(std::uint32_t region, std::uint64_t offset, std::uint64_t value, unsigned size);
  std::uint64_t read_registers(std::uint64_t offset, unsigned size);
  void write_registers(std::uint64_t offset, std::uint64_t value, unsigned size);
  std::uint32_t read_configuration(unsigned offset, unsigned size);
  void write_configuration(unsigned offset, std::uint32_t value, unsigned size);
  void power_state_written(std::uint32_t before);
  bool gateway_reaches(std::uint32_t& address) const;

  void tell(unsigned kind, const char* rule, const char* text);
  bool link_send(unsigned port, const void* from, std::size_t bytes);
  void packet_passed(unsigned port, const void* from, std::size_t bytes);
  bool record(const char* from, std::size_t bytes);

  const settings& how_;
  client_memory& memory_;
  configuration_space space_;
  product_data product_data_;
  interrupts interrupts_{space_};
  doorbell_pages doorbells_;
  freehca_model* model_ = nullptr;
  bool removed_ = false;
  std::uint64_t deadline_ = ~std::uint64_t{0};
  std::array<std::unique_ptr<wires::wire>, 2> cables_;
  std::array<bool, 2> full_{};  ///< the model waits for room
  std::array<packet_file, 2> captures_;
  std::uint64_t capture_errors_ = 0;
  growing_file recording_;
  bounded_report complaints_{"complaint"};
};

}  // namespace freehca::device_server
