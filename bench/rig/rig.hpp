// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <new>

#include <freehca/hca/every_kind.hpp>
#include <freehca/in_process/machine.hpp>

namespace freehca::bench {

/// A machine with a modelled adapter and the driver on it, with room for so many small queue pairs,
/// a protection domain and a completion queue for all of them.
class rig {
 public:
  rig(const in_process::machine_options& how, unsigned queue_pairs);

  /// The objects report their events to `events`.
  status open(const verbs_events& events = {});
  /// The queue pairs are gone.
  status close();

  /// Runs driver and adapter until `done`; transport_error::timeout: it never was.
  status drive(const std::function<bool()>& done);
  status await(operation& op);
  const freehca::budget& budget() const { return budget_; }

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
  pd_handle domain{};
  cq_handle completions{};
};

}  // namespace freehca::bench
