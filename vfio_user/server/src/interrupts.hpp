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

namespace freehca::device_server {

/// INTx and MSI-X as the kernel's VFIO has them: by eventfd. The pin masks itself when it has told,
/// and tells again when it is unmasked and still asserted.
///
/// The MSI-X table is the client's: QEMU's never shows the server what a guest writes there. So a
/// vector is held back by the capability's mask, and by the client's by device_set_irqs; what its
/// entry says has no effect.
class interrupts {
 public:
  explicit interrupts(configuration_space& space) : space_(space) {}

  /// False: there is no such index.
  static bool describe(vfio_user::irq_info& info);
  /// 0, or the errno of the reply. `wanted` has a byte for each, with irq_set_bool.
  int set(const vfio_user::irq_set& what, std::span<const std::byte> wanted,
          std::vector<vfio_user::descriptor> files);
  /// The client has gone.
  void forget();

  void msix(unsigned vector);
  void intx(bool asserted);
  /// A register that decides whether something may be told was written.
  void registers_changed();
  /// A reset: nothing is pending, the table is as at power-on.
  void reset();

  /// Where the client writes to unmask the pin; -1: nowhere.
  int unmask_descriptor() const { return unmask_.get(); }
  void unmask_signalled();

  std::span<std::uint8_t, msix_table_bytes> table() { return table_; }
  std::uint8_t pending_byte(unsigned at) const;

 private:
  struct pin_state {
    vfio_user::descriptor told;
    bool asserted = false, masked = false;
  };

  int set_pin(const vfio_user::irq_set& what, bool chosen,
              std::vector<vfio_user::descriptor>& files);
  int set_error(const vfio_user::irq_set& what, std::vector<vfio_user::descriptor>& files);
  int set_vectors(const vfio_user::irq_set& what, std::span<const std::byte> wanted,
                  std::vector<vfio_user::descriptor>& files);
  void disable_vectors();
  void tell_pin();
  void tell_vector(unsigned vector);

  configuration_space& space_;
  pin_state pin_;
  vfio_user::descriptor unmask_;
  /// Of errors that a bus reports. None is ever reported; QEMU warns where it cannot ask for them.
  vfio_user::descriptor error_;
  std::array<vfio_user::descriptor, msix_vectors> vectors_;
  std::bitset<msix_vectors> masked_, pending_;
  std::array<std::uint8_t, msix_table_bytes> table_ = masked_table();

  static std::array<std::uint8_t, msix_table_bytes> masked_table();
};

}  // namespace freehca::device_server
