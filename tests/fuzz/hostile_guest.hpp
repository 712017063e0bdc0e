// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include "input.hpp"
#include "transport_fixture.hpp"

namespace freehca::fuzz {

/// A guest on a modelled adapter that is up, with queue pairs that work. From there on it does what an input says:
/// accesses to registers and doorbells, commands, work requests and contexts that are nearly right, noise where the
/// adapter reads, a bus that refuses.
class hostile_guest : public model::test::transport_fixture {
 public:
  explicit hostile_guest(input& from);
  ~hostile_guest() override;
  /// One thing that the input says.
  void act();
  void expect_order_after_reset();

 private:
  using test_qp = model::test::test_qp;
  void TestBody() override {}

  /// Small ones, those that matter, and any.
  std::uint32_t number();
  /// Of memory of the host mostly, or any.
  std::uint64_t address();
  /// As the input says, in up to `most` places.
  void damage(std::byte* bytes, std::size_t count, unsigned most);
  test_qp& some_queue_pair() { return pairs_[input_.byte() % 4]; }

  void access_registers();
  void access_doorbells();
  void send_request();
  void receive_request();
  void send_datagram();
  void arm();
  void write_noise();
  void change_surroundings();
  void break_down();

  // hostile_commands.cpp
  void command();
  void fill_mailbox(layouts::opcode o);
  /// A datagram of a management class, nearly right.
  void write_datagram(std::byte* to);
  template <class T>
  void put_in_mailbox(const layouts::image<T>& i, std::size_t at = 0);

  input& input_;
  test_qp pairs_[4];  ///< RC, its peer, UD, MLX
  std::uint64_t known_[12] = {};
};

}  // namespace freehca::fuzz
