// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Two releases of the interface of queue pairs, whose callers and libraries are put together in all
// four ways. The new one is the library's own; the old one is what an earlier release would have
// had: fewer operations, fewer attributes.
#pragma once

#include <freehca/interfaces/interface.hpp>

#include "../verbs_rig.hpp"

namespace freehca::testing {

/// query_interface() of one of the libraries.
using query_function = status (*)(const char* name, std::uint32_t version, interface_head* table,
                                  std::uint32_t bytes);

/// A library, and what a queue pair needs.
struct installation {
  query_function query;
  bool library_is_new;
  verbs_rig& rig;
  pd_handle domain;
  cq_handle completions;
};

/// Programs: each makes queue pairs, does with them what the library can do, and destroys them.
void run_old_caller(const installation& with);
void run_new_caller(const installation& with);

/// The old library.
status query_old_library(const char* name, std::uint32_t version, interface_head* table,
                         std::uint32_t bytes);

}  // namespace freehca::testing

/// The public headers of the old release. Its program and its library see these alone.
namespace old_release {

struct queue_pair_interface {
  static constexpr const char* name = "queue_pair";
  static constexpr std::uint32_t version = 1;

  freehca::interface_head head{sizeof(queue_pair_interface), sizeof(queue_pair_interface)};
  freehca::status (*create)(freehca::verbs& in, freehca::operation_room& room,
                            const freehca::attribute_list& attributes) = nullptr;
  freehca::qp_handle (*made)(const freehca::operation_room& room) = nullptr;
  freehca::status (*destroy)(freehca::verbs& in, freehca::operation_room& room,
                             freehca::qp_handle which) = nullptr;
};

namespace qp {
inline constexpr freehca::attribute_name<freehca::pd_handle> domain{0x0001};
inline constexpr freehca::attribute_name<std::uint32_t> receives{0x0003};
inline constexpr freehca::attribute_name<freehca::cq_handle> send_cq{0x0401};
inline constexpr freehca::attribute_name<freehca::cq_handle> receive_cq{0x0402};
inline constexpr freehca::attribute_name<std::uint32_t> sends{0x0404};
}  // namespace qp

}  // namespace old_release
