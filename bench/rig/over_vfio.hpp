// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <string>

#include <freehca/blocking/host.hpp>
#include <freehca/hca/every_kind.hpp>

namespace freehca::bench {

/// The driver on an adapter over VFIO: the core alone, so that no facade is measured with it.
class vfio_rig {
 public:
  /// `more_bytes`: what the device will reach beside the driver's own memory.
  vfio_rig(const std::string& address, const freehca::budget& size, const verbs_budget& kinds,
           std::size_t more_bytes = 0);
  ~vfio_rig() { adapter.close(); }
  vfio_rig(const vfio_rig&) = delete;
  vfio_rig& operator=(const vfio_rig&) = delete;

  /// Why there is no adapter; empty: there is one.
  const std::string& trouble() const { return trouble_; }
  /// Opens `adapter`, and `objects` once it is up. If `by_rules`, the adapter steers by rules
  /// (steer_by_rules).
  status bring_up(bool by_rules = false);
  status tear_down();

  /// Drives the driver until the operation is done.
  status await(operation& op);
  /// Drives it once, and sleeps until something can have changed.
  void turn();

  const freehca::budget budget;
  const verbs_budget kinds;

 private:
  struct release {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{16}); }
  };
  using storage = std::unique_ptr<std::byte[], release>;
  std::string trouble_;
  std::unique_ptr<blocking::host> host_;
  // Number of turns without an event and without a sleep, after which the host is asked anyway.
  static constexpr unsigned most_unheard = 16;
  unsigned unheard_ = 0;
  storage device_storage_, verbs_storage_;

 public:
  // Behind what they stand on.
  device adapter;
  verbs objects;
};

}  // namespace freehca::bench
