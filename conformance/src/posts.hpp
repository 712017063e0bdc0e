// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What rows post in a scene. Each is one thing that a program could ask for, most of them wrong.
#pragma once

#include "scene.hpp"

namespace freehca::conformance::posts {

/// Where the parts of a request begin.
inline constexpr std::size_t control = 0;
inline constexpr std::size_t behind_control = layouts::wqe_ctrl::bytes;
inline constexpr std::size_t behind_remote = behind_control + layouts::wqe_remote_address::bytes;
inline constexpr std::size_t behind_datagram = behind_control + layouts::wqe_datagram::bytes;
inline constexpr std::size_t behind_atomic = behind_remote + layouts::wqe_atomic::bytes;

inline status send(scene& in) {
  FREEHCA_TRY(in.receive());
  return in.sends().post_and_ring(queues::send{.wr_id = 1, .data = in.local()});
}
inline status send_without_receive(scene& in) {
  return in.sends().post_and_ring(queues::send{.wr_id = 1, .data = in.local()});
}
inline status send_nothing(scene& in) {
  FREEHCA_TRY(in.receive());
  return in.sends().post_and_ring(queues::send{.wr_id = 1, .data = in.local(0)});
}
inline status write(scene& in) {
  return in.sends().post_and_ring(
      queues::rdma_write{.wr_id = 1, .remote = in.remote(), .data = in.local()});
}
inline status write_with_immediate(scene& in) {
  FREEHCA_TRY(in.receive());
  return in.sends().post_and_ring(queues::rdma_write_with_immediate{
      .wr_id = 1, .remote = in.remote(), .data = in.local(), .immediate = 7});
}
inline status read(scene& in) {
  return in.sends().post_and_ring(
      queues::rdma_read{.wr_id = 1, .remote = in.remote(), .data = in.local()});
}
inline queues::fetch_and_add addition(scene& in, std::uint64_t offset = 0) {
  return {.wr_id = 1, .remote = in.remote(offset), .operand = 1, .data = in.local(8)};
}
inline status add(scene& in) {
  return in.sends().post_and_ring(addition(in));
}
inline status swap(scene& in) {
  return in.sends().post_and_ring(queues::compare_and_swap{
      .wr_id = 1, .remote = in.remote(), .operand = 1, .compare = 0, .data = in.local(8)});
}
inline status nothing(scene& in) {
  return in.sends().post_and_ring(queues::nop{.wr_id = 1});
}
inline queues::send_datagram datagram_of(scene& in) {
  return {.wr_id = 1, .to = in.destination(), .data = in.local()};
}
inline status datagram(scene& in) {
  FREEHCA_TRY(in.receive());
  return in.sends().post_and_ring(datagram_of(in));
}

/// Posts, spoils what was posted, and tells the device.
template <class Request, class Spoil>
status spoiled(scene& in, const Request& r, Spoil spoil) {
  FREEHCA_TRY(in.sends().post(r));
  spoil();
  in.sends().ring();
  return {};
}

}  // namespace freehca::conformance::posts
