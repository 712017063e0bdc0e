// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include "notify.hpp"
#include "settings.hpp"

namespace freehca::device_server {

/// Serves in this process until it is asked to end. The program's exit code.
int serve(settings& how, passed_sockets passed);

/// The same in a process of the adapter's own, while this one keeps the client and its sockets:
/// what the client has told, and its descriptors (keeper/). It looks at nothing that a guest says.
/// When the adapter's process dies, another one takes its place with the same client; when this one
/// dies, the adapter's goes on without.
int serve_with_restarts(settings& how, passed_sockets passed);

}  // namespace freehca::device_server
