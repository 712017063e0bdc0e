// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/socket.h>

#include <array>

#include <freehca/vfio_user/channel.hpp>

#include "../try_input.hpp"
#include "said.hpp"

namespace freehca::fuzz {

/// The two ends of a connection. An input (try_input()) is what the hostile end says. It says all
/// of it before the other end reads anything, and then no more. So neither end waits.
struct connection {
  connection() {
    std::array<int, 2> ends;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) __builtin_trap();
    hostile = vfio_user::descriptor(ends[0]);
    honest = vfio_user::channel(vfio_user::descriptor(ends[1]));
    honest.set_patience(0);
  }
  vfio_user::descriptor hostile;
  vfio_user::channel honest;
};

}  // namespace freehca::fuzz
