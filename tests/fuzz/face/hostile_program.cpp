// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A program that calls the functions of libibverbs with anything (program.hpp). The face refuses or
// does what was asked. The driver gives the model no reason to complain. Memory stays as it is
// where no region allows a change. At the end everything can be destroyed, and nothing is left.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "../check.hpp"
#include "../surviving_child.hpp"
#include "../try_input.hpp"
#include "program.hpp"

namespace freehca::fuzz {

namespace {

constexpr unsigned most_acts = 100;

/// The fabric is this process's alone. Its file goes when the process has ended, however that
/// happens.
void take_fabric() {
  const std::string name = "fuzz-" + std::to_string(getpid());
  setenv("FREEHCA_FABRIC", name.c_str(), 1);
  const std::string file = "/freehca-" + std::to_string(geteuid()) + "-" + name;
  const auto remove = [file] {
    for (const std::string folder : {"/dev/shm", "/tmp"}) unlink((folder + file).c_str());
  };
  start_surviving_child([] { return true; }, remove);
}

}  // namespace

opened_device& opened_device::get() {
  // Never destroyed: the face has no end.
  static auto& one = *new opened_device;
  return one;
}

opened_device::opened_device() {
  take_fabric();
  ibv_device** const list = ibv_get_device_list(nullptr);
  for (ibv_context*& context : contexts) {
    context = ibv_open_device(list[0]);
    check(context != nullptr, "the device cannot be opened");
    fcntl(context->async_fd, F_SETFL, O_NONBLOCK);
  }
  ibv_free_device_list(list);
  ibv_port_attr port;
  check(ibv_query_port(contexts[0], 1, &port) == 0 && port.state == IBV_PORT_ACTIVE,
        "the port is not active");
  lid = port.lid;
  leave_out_rules_for_programs();
}

program::program(input& from) {
  memory_.renew();
  const unsigned kind = from.byte();
  for (ibv_context* const context : device_.contexts) pds_.push_back(ibv_alloc_pd(context));
  vault_pd_ = ibv_alloc_pd(device_.contexts[0]);
  check(pds_[0] != nullptr && pds_[1] != nullptr && vault_pd_ != nullptr, "no domain can be made");
  constexpr int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                      IBV_ACCESS_REMOTE_ATOMIC;
  const auto region = [](ibv_pd* pd, void* at, std::size_t bytes, int access) {
    ibv_mr* const made = (ibv_reg_mr)(pd, at, bytes, access);
    check(made != nullptr, "no region can be made");
    return made;
  };
  constexpr std::size_t area = program_memory::area_bytes;
  vault_ = region(vault_pd_, memory_.vault(), area, all);
  ibv_mr* const stale = region(pds_[0], memory_.stale(), area, all);
  stale_key_ = stale->rkey;
  check(ibv_dereg_mr(stale) == 0, "a region is kept");
  read_only_ = region(pds_[0], memory_.read_only(), area, 0);
  regions_.push_back(region(pds_[0], memory_.narrow(), program_memory::narrow_bytes, all));
  if (kind % 16 == 0) return;
  for (ibv_pd* const pd : pds_)
    regions_.push_back(region(pd, memory_.open(), program_memory::open_bytes, all));
  if (kind / 8 % 2 != 0) create_channel(from);
  constexpr ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
  begin_with_pairs(from, types[kind % 4], kind / 4 % 2 != 0);
}

void program::act(input& from) {
  const unsigned what = from.byte();
  switch (what % 32) {
    case 0:
      return create_pd(from);
    case 1:
      return register_memory(from);
    case 2:
      return create_cq(from);
    case 3:
      return create_channel(from);
    case 4:
      return create_srq(from);
    case 5:
      return create_pair(from);
    case 6:
      return create_extended_pair(from);
    case 7:
      return create_ah(from);
    case 8:
      return create_ah_from_completion(from);
    case 9:
    case 10:
      return destroy(from);
    case 11:
      return modify(from);
    case 12:
    case 13:
      return modify_at_random(from);
    case 14:
    case 15:
    case 16:
      return post_sends(from);
    case 17:
    case 18:
      return post_receives(from);
    case 19:
    case 20:
      return build_sends(from);
    case 21:
    case 22:
      if (cqs_.empty()) return;
      return poll(pick(cqs_, from).cq, static_cast<int>(what / 32) * 16 - 16);
    case 23:
      return poll_all();
    case 24:
      return notify(from);
    case 25:
      if (channels_.empty()) return;
      return take_completion_event(pick(channels_, from));
    case 26:
      return acknowledge_completion_events(from);
    case 27:
      return take_asynchronous_event(context(from));
    case 28:
      return acknowledge_asynchronous_event(from);
    case 29:
      return modify_srq(from);
    case 30:
      return query(from);
    default:
      return call_unsupported(from);
  }
}

void program::end() {
  poll_all();
  for (ibv_context* const context : device_.contexts)
    for (unsigned i = 0; i < 4; ++i) take_asynchronous_event(context);
  destroy_all();
  // Events of objects went with them.
  check(taken_.empty(), "an event has no object");
  for (ibv_context* const context : device_.contexts) take_asynchronous_event(context);
  memory_.check_untouched();
  device_.check_at_rest();
}

void try_input(input from) {
  program runs(from);
  for (unsigned i = 0; i < most_acts && !from.empty(); ++i) runs.act(from);
  runs.end();
}

}  // namespace freehca::fuzz
