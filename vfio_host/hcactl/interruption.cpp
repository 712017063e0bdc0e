// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "interruption.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

namespace freehca::hcactl {
namespace {

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

interruption::interruption() {
  const sigset_t set = ending_signals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = vfio_host::file(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

interruption::~interruption() {
  // Consume pending signals, so that they do not end the process when they are unblocked.
  static_cast<void>(requested());
  const sigset_t set = ending_signals();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

bool interruption::requested() const {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof info) == sizeof info) seen_ = true;
  return seen_;
}

}  // namespace freehca::hcactl
