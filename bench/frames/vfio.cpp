// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Frames by two network interfaces of our driver over VFIO: bursts of 32, and buffers that are
// taken and given back in the loops.
// Usage: vfio ADDRESS plain|checksums
#include <freehca/blocking/words.hpp>
#include <freehca/network/interface.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "frames.hpp"
#include "over_vfio.hpp"

namespace freehca::bench {
namespace {

constexpr network::interface_setup rings{
    .receives = ring_frames, .sends = ring_frames, .buffer_bytes = buffer_bytes, .pieces = 1};
constexpr std::size_t receive_bytes = network::interface::receive_bytes(rings);
alignas(4096) std::byte memory[2][receive_bytes + std::size_t{send_buffers} * buffer_bytes];

void need(status s, const char* what) {
  if (s.ok()) return;
  std::fprintf(stderr, "bench: %s: %s\n", what, blocking::words(s).c_str());
  std::exit(EXIT_FAILURE);
}

/// The buffers of a program that sends frames: the last one that was given back is taken first.
class buffer_stack {
 public:
  explicit buffer_stack(std::byte* at) {
    for (auto& b : free_) b = reinterpret_cast<std::uintptr_t>(at), at += buffer_bytes;
  }
  /// The cookies of sent frames are their buffers.
  void give_back(const std::uint64_t* buffers, unsigned n) {
    std::memcpy(&free_[left_], buffers, n * sizeof *buffers);
    left_ += n;
  }
  const std::uint64_t* take(unsigned n) {
    if (left_ < n) fail("no buffers");
    return &free_[left_ -= n];
  }

 private:
  std::uint64_t free_[send_buffers];
  unsigned left_ = send_buffers;
};

template <bool Checksums>
[[gnu::noinline]] std::uint64_t transmit(network::interface& nic, buffer_stack& buffers,
                                         unsigned bytes, unsigned n) {
  const std::uint64_t began = executed();
  queues::data_entry pieces[burst];
  network::outgoing_frame frames[burst];
  for (unsigned k = 0; k < burst; ++k) frames[k].pieces = {&pieces[k], 1};
  for (unsigned i = 0; i < n; i += burst) {
    std::uint64_t sent[burst];
    buffers.give_back(sent, nic.reap(0, sent, burst));
    const std::uint64_t* const taken = buffers.take(burst);
    for (unsigned k = 0; k < burst; ++k) {
      pieces[k] = nic.entry(reinterpret_cast<const void*>(taken[k]), bytes);
      frames[k].cookie = taken[k];
      frames[k].options.ip_checksum = frames[k].options.l4_checksum = Checksums;
    }
    status why;
    if (nic.send(0, frames, burst, why) != burst) need(why, "frames are not taken");
  }
  return executed() - began;
}

template <bool Checksums>
[[gnu::noinline]] std::uint64_t receive(network::interface& nic, unsigned bytes, unsigned n) {
  const std::uint64_t began = executed();
  network::received_buffer frames[burst];
  for (unsigned i = 0; i < n;) {
    const unsigned found = nic.receive(0, frames, burst);
    if (found == 0) fail("frames are missing");
    for (unsigned k = 0; k < found; ++k) {
      if (frames[k].length != bytes) fail("a frame of others");
      if (Checksums && !(frames[k].ip_checksum_ok && frames[k].l4_checksum_ok))
        fail("a wrong checksum");
    }
    if (!nic.release(0, frames, found).ok()) fail("a release");
    i += found;
  }
  return executed() - began;
}

template <bool Checksums>
void measure(network::interface& sender, network::interface& receiver) {
  std::byte* const first = memory[0] + receive_bytes;
  const auto buffers = std::make_unique<buffer_stack>(first);
  std::uint8_t destination[6];
  for (unsigned i = 0; i < 6; ++i)
    destination[i] = static_cast<std::uint8_t>(receiver.mac() >> 8 * (5 - i));
  for (const unsigned bytes : frame_sizes) {
    for (unsigned i = 0; i < send_buffers; ++i)
      write_frame(first + std::size_t{i} * buffer_bytes, bytes, destination, 0);
    tell_frames(
        bytes, Checksums,
        [&](unsigned n) { return transmit<Checksums>(sender, *buffers, bytes, n); },
        [&](unsigned n) { return receive<Checksums>(receiver, bytes, n); });
  }
  if (sender.counters().send_errors != 0) fail("frames that were not sent");
}

}  // namespace
}  // namespace freehca::bench

int main(int argc, char** argv) {
  using namespace freehca;
  using namespace freehca::bench;
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s ADDRESS plain|checksums\n", argv[0]);
    return 2;
  }
  tell_driver("freehca");
  need_counted_clock();
  budget size;
  size.log_mcg_entry_bytes = 10;  // what the device asks for where it steers by rules
  const verbs_budget objects = network::interface::with_objects(
      network::interface::with_objects(every_kind(), rings), rings);
  vfio_rig s(argv[1], size, objects, sizeof memory);
  if (!s.trouble().empty()) return std::fprintf(stderr, "bench: %s\n", s.trouble().c_str()), 1;
  need(s.bring_up(true), "bring-up");
  network::interface nics[2];
  network::interface_operation change;
  for (unsigned i = 0; i < 2; ++i) {
    network::interface_setup setup = rings;
    setup.port = i + 1;
    setup.memory = memory[i];
    setup.memory_bytes = sizeof memory[i];
    change.restart();
    change.up(nics[i], s.objects, setup);
    need(s.await(change), "an interface");
  }
  while (!nics[0].link_up() || !nics[1].link_up()) s.turn();
  if (std::string_view(argv[2]) == "checksums") measure<true>(nics[0], nics[1]);
  else measure<false>(nics[0], nics[1]);
  for (network::interface& nic : nics) {
    change.restart();
    change.down(nic);
    need(s.await(change), "an interface's end");
  }
  need(s.tear_down(), "teardown");
  return EXIT_SUCCESS;
}
