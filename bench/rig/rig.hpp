// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <new>

#include <freehca/hca/verbs.hpp>
#include <freehca/in_process/machine.hpp>

namespace freehca::bench {

/// A machine with a modelled adapter, and the driver's objects on it, brought up.
class rig {
 public:
  rig(const in_process::machine_options& how, const freehca::budget& b,
      const verbs_budget& objects);

  status open();
  /// Everything that the caller made is gone.
  status close();

  /// Runs driver and adapter until `done`; transport_error::timeout: it never was.
  status drive(const std::function<bool()>& done);
  status await(operation& op);

 private:
  struct release {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{16}); }
  };
  using storage = std::unique_ptr<std::byte[], release>;
  static storage allocate(std::size_t bytes) {
    return storage(new (std::align_val_t{16}) std::byte[bytes]);
  }

  freehca::budget budget_;
  verbs_budget objects_budget_;
  storage device_storage_, verbs_storage_;

 public:
  // Behind the storage that they stand on.
  in_process::machine machine;
  device adapter;
  verbs objects;
};

}  // namespace freehca::bench
