// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The process of a new build.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "hand_over.hpp"
#include "report.hpp"
#include "restarts.hpp"
#include "server.hpp"
#include "without_exceptions.hpp"

namespace freehca::device_server {
namespace {

// The process that hands over still uses the sockets, their paths and the cables. Destructors would
// remove the paths and tell the other ends of the cables.
[[noreturn]] void end_without_destructors(int code) {
  std::fflush(nullptr);
  _exit(code);
}

[[noreturn]] void refuse(vfio_user::channel& keeper, const std::string& why) {
  report(why);
  keeper.send(keeper::record_head(keeper::record::refused), std::as_bytes(std::span(why)));
  end_without_destructors(1);
}

// The adapter's process has died, so nobody else uses anything. As after a fork of the keeper.
int replace_dead_process(server& all, handed_over& from) {
  if (const std::string why = all.begin(std::move(from.sockets)); !why.empty()) {
    report(why);
    return all.failure();
  }
  if (from.client.there()) all.resume(from.client);
  from.client.forget();
  return all.run();
}

}  // namespace

int take_over(settings& how, int link) {
  vfio_user::channel keeper{vfio_user::descriptor(link)};
  fcntl(link, F_SETFD, FD_CLOEXEC);
  handed_over from;
  std::string why;
  if (!without_exceptions([&] { why = receive_hand_over(keeper, from); })) why = "no memory";
  if (!why.empty()) refuse(keeper, why);
  prepare_next_start(how, from.starts);
  service_manager manager;
  manager.find();
  auto all =
      std::make_unique<server>(how, std::move(manager), keeper_side(std::move(keeper), from.state));
  if (!from.adapter.state.open()) return replace_dead_process(*all, from);
  if (!all->take_over(from)) end_without_destructors(1);
  from.client.forget();
  const int code = all->run();
  if (all->handed_over()) end_without_destructors(0);
  return code;
}

}  // namespace freehca::device_server
