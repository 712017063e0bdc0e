// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A kernel's VFIO as far as the host needs it. While a fake_vfio exists, open() of /dev/vfio/...
// and the ioctls of VFIO go to it. All other calls of this process go to the real kernel.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include <freehca/vfio_host/pci_function.hpp>
#include <freehca/vfio_host/vfio_device.hpp>

namespace freehca::testing {

class fake_vfio {
 public:
  fake_vfio();
  ~fake_vfio();
  fake_vfio(const fake_vfio&) = delete;
  fake_vfio& operator=(const fake_vfio&) = delete;

  /// A function that is bound to vfio-pci.
  static vfio_host::pci_function function();
  /// Opens it; a failure fails the test.
  std::unique_ptr<vfio_host::vfio_device> open();

  unsigned vectors = 16;  ///< that the function has
  unsigned granted = 16;  ///< that the machine has left, as Linux answers a larger request
  bool refuses_unmap = false;
  /// Shared with children.
  struct shared_state {
    unsigned calls = 0;   ///< ioctls of VFIO after open()
    unsigned armed = 0;   ///< MSI-X vectors
    unsigned mapped = 0;  ///< blocks of memory
  };
  shared_state& seen() { return *seen_; }
  /// The command register of configuration space.
  std::uint16_t command() const;

  int ioctl(unsigned long request, void* argument);
  bool has(int descriptor) const;
  int open_path(const char* path);

 private:
  int new_file(std::uint64_t bytes);

  shared_state* seen_;
  std::vector<int> files_;
  int function_ = -1;
};

}  // namespace freehca::testing
