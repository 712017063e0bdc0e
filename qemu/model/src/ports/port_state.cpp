// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The state of ports whose pointers the tables of fields cannot have: of which kind a port is now,
// and what is at the far end of an InfiniBand link.
#include "fabric/subnet_manager.hpp"
#include "ports/cable.hpp"
#include "ports/ethernet_port.hpp"
#include "ports/far_end.hpp"
#include "ports/infiniband_port.hpp"
#include "ports/ports.hpp"
#include "saving/transfer.hpp"
#include "saving/values.hpp"

namespace freehca::model {

namespace {

enum class far_side : std::uint8_t {
  nobody,
  own,   ///< the cable, or the built-in subnet manager
  other  ///< connect() has put it there
};

}  // namespace

template <class Archive>
void infiniband_port::transfer_with_peer(Archive& archive) {
  saving::transfer_members(archive, *this);
  link_peer* own = cable_.get();
  if (own == nullptr) own = manager_.get();
  const auto side_of = [own](const link_peer* peer) {
    return peer == nullptr ? far_side::nobody : peer == own ? far_side::own : far_side::other;
  };
  const far_side here = side_of(peer_);
  far_side side = here;
  archive.enter("peer");
  saving::transfer_up_to(archive, side, far_side::other);
  if constexpr (Archive::loads) {
    if (side == far_side::nobody) peer_ = nullptr;
    else if (side == far_side::own && own != nullptr) peer_ = own;
    else if (side != here) archive.refuse("this port has no such far end");
  }
  archive.leave();
}

void infiniband_port::transfer_state(saving::writer& to) {
  transfer_with_peer(to);
}
void infiniband_port::transfer_state(saving::reader& from) {
  transfer_with_peer(from);
}

template <class Archive>
void ports::transfer_with_kinds(Archive& archive) {
  saving::transfer_members(archive, *this);
  for (unsigned number = 1; number <= a_.how.ports; ++number) {
    place& here = ports_[number - 1];
    link_layer kind = here.now->layer();
    archive.enter("kind");
    transfer(archive, kind);
    if constexpr (Archive::loads) {
      port* const now = kind == link_layer::ethernet ? static_cast<port*>(here.ethernet.get())
                                                     : here.infiniband.get();
      if (now == nullptr) archive.refuse("this port is never of that kind");
      else if (a_.layers.ethernet(number) != (kind == link_layer::ethernet))
        archive.refuse("the port layers have the other kind");
      else here.now = now;
    }
    archive.leave();
  }
  if constexpr (Archive::loads) show_ports();
}

void ports::transfer_state(saving::writer& to) {
  transfer_with_kinds(to);
}
void ports::transfer_state(saving::reader& from) {
  transfer_with_kinds(from);
}

}  // namespace freehca::model
