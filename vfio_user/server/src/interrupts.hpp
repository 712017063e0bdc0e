// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

#include <freehca/vfio_user/channel.hpp>

#include "configuration_space.hpp"
#include "state_stream.hpp"

namespace freehca::device_server {

/// INTx and MSI-X by eventfds, as in the kernel's VFIO. After the pin has signalled its eventfd it
/// is masked. If it is unmasked while it is still asserted, it signals again.
///
/// The MSI-X table belongs to the client: QEMU's client does not send a guest's writes to it. The
/// capability's mask and the client's mask of device_set_irqs therefore mask vectors; the entries
/// of the table have no effect.
class interrupts {
 public:
  explicit interrupts(configuration_space& space) : space_(space) {}

  /// Returns false if there is no such index.
  bool describe(vfio_user::irq_info& info) const;
  /// Returns 0, or the errno of the reply. With irq_set_bool, `selection` has one byte for each
  /// vector.
  int set(const vfio_user::irq_set& what, std::span<const std::byte> selection,
          std::vector<vfio_user::descriptor> files);
  /// Called when the client is gone.
  void forget();

  void msix(unsigned vector);
  void intx(bool asserted);
  /// Called after a write to a register that masks or enables interrupts.
  void registers_changed();
  /// Clears pending interrupts and sets the table to its power-on values.
  void reset();

  /// The eventfd by which the client unmasks the pin; -1: none.
  int unmask_descriptor() const { return unmask_.get(); }
  void unmask_signalled();

  /// The masks, the pending interrupts and the table. Eventfds belong to the client.
  template <class Archive>
  void transfer_state(Archive& archive) {
    transfer_flag(archive, pin_.asserted);
    transfer_flag(archive, pin_.masked);
    archive.bytes(table_.data(), table_.size());
    for (std::bitset<msix_vectors>* const bits : {&masked_, &pending_})
      for (unsigned i = 0; i < msix_vectors; ++i) {
        bool bit = bits->test(i);
        transfer_flag(archive, bit);
        bits->set(i, bit);
      }
  }

  std::span<std::uint8_t, msix_table_bytes> table() { return table_; }
  std::uint8_t pending_byte(unsigned at) const;

 private:
  /// The number of interrupts of an index of the VFIO interface.
  unsigned count_of(std::uint32_t index) const;
  struct pin_state {
    vfio_user::descriptor trigger;
    bool asserted = false, masked = false;
  };

  int set_pin(const vfio_user::irq_set& what, bool chosen,
              std::vector<vfio_user::descriptor>& files);
  int set_error(const vfio_user::irq_set& what, std::vector<vfio_user::descriptor>& files);
  int set_vectors(const vfio_user::irq_set& what, std::span<const std::byte> selection,
                  std::vector<vfio_user::descriptor>& files);
  void disable_vectors();
  void tell_pin();
  void tell_vector(unsigned vector);

  configuration_space& space_;
  pin_state pin_;
  vfio_user::descriptor unmask_;
  /// The eventfd for errors of the bus. It is accepted because QEMU warns otherwise, but no error
  /// is ever reported.
  vfio_user::descriptor error_;
  std::array<vfio_user::descriptor, msix_vectors> vectors_;
  std::bitset<msix_vectors> masked_, pending_;
  std::array<std::uint8_t, msix_table_bytes> table_ = masked_table();

  static std::array<std::uint8_t, msix_table_bytes> masked_table();
};

}  // namespace freehca::device_server
