// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <freehca/model/c_api.h>
#include <freehca/captures/packet_file.hpp>
#include <freehca/wires/wire.hpp>

#include "client_memory.hpp"
#include "configuration_space.hpp"
#include "doorbell_pages.hpp"
#include "interrupts.hpp"
#include "product_data.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "state_stream.hpp"

namespace freehca::device_server {

/// Nanoseconds of a monotonic clock.
std::uint64_t now_ns();

/// The wires of the ports. Nothing for a port without a cable.
using handed_wires = std::array<std::optional<wires::handed_wire>, 2>;

/// The PCI function around the model: regions, configuration space, interrupts, cables. It is the
/// server's counterpart of the glue of QEMU's device (qemu/qom).
class adapter_function {
 public:
  adapter_function(const settings& how, client_memory& memory);
  ~adapter_function();
  adapter_function(const adapter_function&) = delete;
  adapter_function& operator=(const adapter_function&) = delete;

  /// Creates the model, its files and its cables. The cables are the wires of another process, if
  /// there are `wires`. Returns "", or a message.
  std::string begin(handed_wires* wires = nullptr);
  /// Copies the wires for another process. Returns "", or the reason why one cannot be copied.
  std::string hand_over(handed_wires& to) const;

  std::uint64_t region_bytes(std::uint32_t region) const;
  /// Accesses bytes inside a region. Any length is permitted; it is split into the accesses that a
  /// bus would make.
  void read_region(std::uint32_t region, std::uint64_t offset, std::span<std::byte> to);
  void write_region(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> from);
  /// Resets the function, by a function-level reset or completely.
  void reset(bool function_level);

  /// Replaces a function whose process died, with that function's configuration space. To the
  /// driver it looks as if the firmware had failed.
  void go_on_after_death(const std::array<std::uint8_t, configuration_space::bytes>& space);

  /// The function without the model.
  template <class Archive>
  void transfer_state(Archive& archive) {
    space_.transfer_state(archive);
    product_data_.transfer_state(archive);
    interrupts_.transfer_state(archive);
    transfer_flag(archive, removed_);
  }
  /// The stream of the model's state. Precondition: the model has no obstacle to saving.
  std::vector<std::byte> save_model();
  /// Gives the model this state. Returns "", or the model's reason for a refusal. Must be called
  /// after transfer_state().
  std::string load_model(std::span<const std::byte> from);

  interrupts& signals() { return interrupts_; }

  /// The time of the adapter's next own work (all ones: never), and one turn of that work.
  std::uint64_t deadline() const { return deadline_; }
  void run_turn();

  /// BAR 2 as memory that a client may map, if the settings permit it. Each client gets new pages.
  const doorbell_pages& doorbells() const { return doorbells_; }
  void make_doorbell_pages();
  /// Takes over the pages of a process that died. If the file is not open, there are none. Returns
  /// false if they exist but cannot be mapped.
  bool adopt_doorbell_pages(vfio_user::descriptor file, doorbell_pages::doorbells what);
  void take_doorbell_pages_away() { doorbells_.end(); }
  /// Whether the adapter has queues with doorbells in these pages.
  bool doorbells_in_use() { return doorbells_.in_use(model_); }
  /// Returns true if any doorbell was written.
  bool look_at_doorbells(std::size_t most) {
    return doorbells_.look(model_, answers_memory(), most);
  }

  /// The wire of a port. Null: the port has no cable.
  wires::wire* cable(unsigned port) const { return cables_[port].get(); }
  bool may_receive() const { return freehca_model_link_may_receive(model_); }
  void serve_cable(unsigned port, short events);
  /// Adds the permissions that the function needs in a closed process.
  void add_permissions(closed_process::permissions& to) const {
    for (const auto& cable : cables_)
      if (cable != nullptr) cable->add_permissions(to);
  }

  std::uint64_t counter(const char* name) const;

  // For the control socket, between two calls of the functions above.
  freehca_model* model() const { return model_; }
  const configuration_space& configuration() const { return space_; }
  std::uint64_t capture_errors() const { return capture_errors_; }
  /// Removes the function as by a surprise removal, or plugs it in again.
  void remove(bool removed);
  bool removed() const { return removed_; }

 private:
  class port_reader;

  std::string open_files();
  std::string lay_cables(handed_wires* from);
  std::string ask_for_faults();
  static freehca_model_environment environment_of(adapter_function* self);

  bool there() const { return !removed_ && !freehca_model_in_reset(model_); }
  bool answers_memory() const { return there() && space_.in_d0() && space_.memory_space(); }
  bool may_master() const { return !removed_ && space_.in_d0() && space_.bus_master(); }

  std::uint64_t read_bar(std::uint32_t region, std::uint64_t offset, unsigned size);
  void write_bar(std::uint32_t region, std::uint64_t offset, std::uint64_t value, unsigned size);
  /// Whether a register of BAR 0 belongs to a table of the capability MSI-X.
  bool is_in_msix(std::uint64_t offset, std::uint64_t begin, std::uint64_t bytes) const;
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
  bool loading_ = false;  ///< the model loads a state; the state of the pin is loaded already
  std::uint64_t deadline_ = ~std::uint64_t{0};
  std::array<std::unique_ptr<wires::wire>, 2> cables_;
  std::array<bool, 2> full_{};  ///< the model waits for room
  std::array<captures::packet_file, 2> captures_;
  std::uint64_t capture_errors_ = 0;
  captures::growing_file recording_;
  bounded_report complaints_{"complaint"};
};

}  // namespace freehca::device_server
