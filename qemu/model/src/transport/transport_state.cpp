// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "saving/transfer.hpp"
#include "transport/transport.hpp"
#include "transport/transport_parts.hpp"

namespace freehca::model {

void transport::transfer_state(saving::writer& to) {
  saving::detail::transfer_fields(to, *this, saved{});
}

void transport::transfer_state(saving::reader& from) {
  saving::detail::transfer_fields(from, *this, saved{});
}

}  // namespace freehca::model
