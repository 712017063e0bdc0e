// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <freehca/layouts/headers.hpp>

#include "basis/capabilities.hpp"
#include "digest.hpp"
#include "input.hpp"
#include "link/link_codec.hpp"
#include "link/outgoing_packet.hpp"
#include "transport_fixture.hpp"

namespace freehca::fuzz {

/// A guest on a modelled adapter that is up, with queue pairs that work. From there on it does what
/// an input says: accesses to registers and doorbells, commands, work requests and contexts that
/// are nearly right, noise where the adapter reads, a bus that refuses. From port 2 a cable leads
/// to a far end that is no better.
class hostile_guest : public model::test::transport_fixture {
 public:
  explicit hostile_guest(const model::options& how);
  /// What the input says, one thing after the other, at most so many.
  void act(input from, unsigned most);
  /// A reset takes everything back.
  void expect_order_after_reset();
  /// And a driver brings the adapter up again.
  void expect_working_after_reset();
  /// Of all that was done since it was made, and of what stands in the host's memory.
  std::uint64_t trace() const;
  /// The same without the adapter's account of its work and the calls of its timer, and with the
  /// digest of its state. Discarded memory is freed in turns of its own, or before a save.
  std::uint64_t outcome() const;

 protected:
  using test_qp = model::test::test_qp;
  /// On a cable at `port`, and without queue pairs: a derived class makes pairs and cabled.
  hostile_guest(const model::options& how, model::test::steering multicast, unsigned port);

  /// Small ones, those that matter, and any.
  std::uint32_t number();
  /// Of memory of the host mostly, or any.
  std::uint64_t address();
  /// As the input says, in up to `most` places.
  void damage(std::byte* bytes, std::size_t count, unsigned most);
  test_qp& some_queue_pair() {
    const std::uint8_t kind = script.byte();
    return kind < 0xc0 ? pairs[kind % 4] : cabled[kind % 4].qp;
  }

  virtual void act();
  void note_step();
  void add_what_the_host_has(digest& all) const;
  /// In all, no more than an input needs: adapters with work to look at are looked at all the
  /// while.
  void let_pass(std::uint64_t nanoseconds);

  void access_registers();
  void access_doorbells();
  void send_request(test_qp& qp);
  void receive_request();
  void send_datagram();
  void arm();
  void write_noise();
  void change_surroundings();
  void break_down();

  // hostile_commands.cpp
  void command();
  void fill_mailbox(layouts::opcode o);
  virtual layouts::image<layouts::qpc> context_for(const test_qp& qp);
  /// A datagram of a management class, nearly right.
  void write_datagram(std::byte* to);
  template <class T>
  void put_in_mailbox(const layouts::image<T>& i, std::size_t at = 0) {
    host->store(driver->input + at, i);
  }

  // hostile_cable.cpp
  static constexpr std::uint32_t first_number = 0x110, far_number = 0x8000;
  static constexpr std::uint16_t own_lid = 4, far_lid = 9;
  struct cabled_end {
    test_qp qp;
    std::uint32_t next_psn = 0;   ///< of the far end's next request
    std::uint32_t requested = 0;  ///< the last request that the far end has seen
  };
  void lay_cable();
  void make_shared_queue(const test_qp& qp);
  bool offered(model::capability c) const { return offers(hca->how(), c); }
  /// The far end sees a packet.
  virtual const model::link_codec& far_codec() const {
    return hca->inside_now().links->codec(cabled_port);
  }
  virtual void seen(const std::vector<std::byte>& bytes);
  /// It was this packet, for the end whose turn it changes.
  void seen(const model::packet& p);
  void arrives(const std::vector<std::byte>& bytes);
  virtual void arrives(model::packet p);
  /// As the link wants it, from the far end to this one.
  virtual model::outgoing_packet wrapped(const cabled_end& end,
                                         const layouts::image<layouts::bth>& base,
                                         std::size_t extended_bytes, std::size_t payload,
                                         std::uint8_t kind);
  model::packet packet_for(cabled_end& end, layouts::bth_operation operation, std::uint32_t psn,
                           const std::byte* extended, std::size_t extended_bytes,
                           std::size_t payload);
  virtual void act_at_cable(unsigned kind);
  void request_by_cable();
  void response_by_cable();
  void datagram_by_cable();
  void link_packet_by_cable();
  void noise_by_cable();
  void change_cable();
  /// It is plugged in, and takes packets.
  void free_cable();
  void raise_link();
  virtual void expect_working_cable(model::test::test_driver& again);

  const unsigned cabled_port;
  input script{nullptr, 0};
  digest steps, turns;
  test_qp pairs[4];       ///< RC, its peer, UD, MLX
  cabled_end cabled[4];   ///< on the cable: RC, UC, UD, XRC
  bool answered = false;  ///< a management datagram has come back by the cable
  std::uint64_t known[12] = {};
  std::uint64_t passed = 0;  ///< of let_pass(), in nanoseconds

 private:
  void TestBody() override {}
};

}  // namespace freehca::fuzz
