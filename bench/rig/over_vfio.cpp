// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "over_vfio.hpp"

#include <freehca/hca/device_managed_steering.hpp>

namespace freehca::bench {

vfio_rig::vfio_rig(const std::string& address, const freehca::budget& size,
                   const verbs_budget& made, std::size_t more_bytes)
    : budget(size),
      kinds(made),
      host_(blocking::open_host(address, device::dma_bytes(size) + more_bytes, trouble_)),
      device_storage_(new (std::align_val_t{16}) std::byte[device::storage_bytes(size)]),
      verbs_storage_(new (std::align_val_t{16}) std::byte[verbs::storage_bytes(size, made)]) {}

status vfio_rig::bring_up(bool by_rules) {
  device_setup setup{.platform = host_->platform(),
                     .budget = budget,
                     .storage = device_storage_.get(),
                     .storage_bytes = device::storage_bytes(budget)};
  if (by_rules) steer_by_rules(setup);
  FREEHCA_TRY(adapter.open(setup));
  operation up;
  adapter.bring_up(up);
  FREEHCA_TRY(await(up));
  return objects.open(adapter, kinds, verbs_storage_.get(), verbs::storage_bytes(budget, kinds));
}

status vfio_rig::tear_down() {
  // Objects that are left keep this from closing; the device is reset then, and has them forgotten.
  static_cast<void>(objects.close());
  operation down;
  adapter.tear_down(down);
  FREEHCA_TRY(await(down));
  return objects.close();
}

status vfio_rig::await(operation& op) {
  while (!op.done()) turn();
  return op.outcome();
}

void vfio_rig::turn() {
  const bool open = objects.is_open();
  if ((open ? objects.poll() : adapter.poll()) > 0) return;
  const std::uint64_t next = open ? objects.next_deadline() : adapter.next_deadline();
  if (next == 0 && ++unheard_ < most_unheard) return;
  unheard_ = 0;
  host_->wait(next);
}

}  // namespace freehca::bench
