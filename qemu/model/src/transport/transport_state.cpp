// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "saving/transfer.hpp"
#include "transport/transport.hpp"
#include "transport/transport_parts.hpp"

namespace freehca::model {

void transport::transfer_state(saving::writer& to) {
  saving::transfer_members(to, *this);
}

void transport::transfer_state(saving::reader& from) {
  saving::transfer_members(from, *this);
}

}  // namespace freehca::model
