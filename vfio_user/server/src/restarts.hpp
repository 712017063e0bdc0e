// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include "notify.hpp"
#include "settings.hpp"
#include "upgrade.hpp"

namespace freehca::device_server {

/// Serves in this process until a signal ends it. Returns the exit code.
int serve(settings& how, passed_sockets passed);

/// The same in a child process, the adapter's process. This process becomes the keeper: it keeps
/// the client's state, its descriptors and its sockets (keeper/). It does not parse data of a
/// guest. If the adapter's process dies, another one replaces it with the same client. If the
/// keeper dies, the adapter's process continues without it.
///
/// A process of the new build can take the place of the adapter's process too (server::hand_over).
/// The program that is started then is `as`.
int serve_with_restarts(settings& how, passed_sockets passed, started_as as = {});

/// Changes the settings for the process with this number, counted from 1.
void prepare_next_start(settings& how, unsigned start);

}  // namespace freehca::device_server
