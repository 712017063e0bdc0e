// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Masked atomics, by the pseudo-code of the MLNX_OFED manual ("Enhanced Atomic Operations").
#include <algorithm>
#include <bit>
#include <random>
#include <span>
#include <vector>

#include "transport_fixture.hpp"

namespace freehca::model::test {

namespace {

constexpr std::uint64_t target = 0x7000'0030'0000, result = 0x7000'0000'0040;

class masked_atomics : public transport_fixture {
 protected:
  masked_atomics() : a(make_qp(0x100)), b(make_qp(0x101)) {
    to_rts(a, b.number);
    to_rts(b, a.number);
  }
  std::uint64_t word(std::uint64_t address) {
    std::uint64_t v = 0;
    std::memcpy(&v, &byte_at(address), sizeof v);
    return v;
  }
  void set_word(std::uint64_t address, std::uint64_t v) {
    std::memcpy(&byte_at(address), &v, sizeof v);
  }
  /// Sends it, expects the old value back, and returns the new one.
  std::uint64_t changed(test_send s, std::uint64_t from) {
    set_word(target, from);
    s.address = result;
    s.bytes = 8;
    s.lkey = s.rkey = key;
    s.remote_address = target;
    send(a, s);
    const auto e = completion();
    EXPECT_EQ(e.get<&layouts::cqe::opcode>(), static_cast<unsigned>(s.opcode));
    EXPECT_EQ(e.get<&layouts::cqe::byte_count>(), 8u);
    EXPECT_EQ(word(result), from);
    return word(target);
  }
  std::uint64_t swapped(std::uint64_t from, std::uint64_t compare, std::uint64_t compare_mask,
                        std::uint64_t swap, std::uint64_t swap_mask) {
    test_send s;
    s.opcode = wqe_opcode::masked_atomic_cs;
    s.compare = compare;
    s.compare_mask = compare_mask;
    s.swap_add = swap;
    s.swap_mask = swap_mask;
    return changed(s, from);
  }
  std::uint64_t added(std::uint64_t from, std::uint64_t value, std::uint64_t boundaries) {
    test_send s;
    s.opcode = wqe_opcode::masked_atomic_fa;
    s.swap_add = value;
    s.compare = boundaries;
    return changed(s, from);
  }
  test_qp a, b;
};

class atomics_by_host : public transport_fixture, public testing::WithParamInterface<std::endian> {
 protected:
  atomics_by_host() : transport_fixture(GetParam()) {}
};

/// The manual's adder, bit by bit.
std::uint64_t add_by_bits(std::uint64_t word, std::uint64_t value, std::uint64_t boundaries) {
  std::uint64_t sum = 0;
  std::uint64_t carry = 0;
  for (unsigned i = 0; i < 64; ++i) {
    const std::uint64_t bit = carry + (word >> i & 1) + (value >> i & 1);
    sum |= (bit & 1) << i;
    carry = (boundaries >> i & 1) != 0 ? 0 : bit >> 1;
  }
  return sum;
}

}  // namespace

TEST_P(atomics_by_host, operands_stand_in_its_byte_order) {
  test_qp a = make_qp(0x100), b = make_qp(0x101);
  to_rts(a, b.number);
  to_rts(b, a.number);
  const std::vector<std::byte> value = {std::byte{0x12}, {}, {}, {}, {}, {}, {}, std::byte{0x34}};
  std::ranges::copy(value, &byte_at(target));
  test_send add = transfer(wqe_opcode::atomic_fa, 8, result, target);
  add.swap_add = 1;
  send(a, add);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::atomic_fa));
  EXPECT_TRUE(std::ranges::equal(value, std::span(&byte_at(result), 8)));
  const bool big = GetParam() == std::endian::big;
  EXPECT_EQ(byte_at(target), big ? std::byte{0x12} : std::byte{0x13});
  EXPECT_EQ(byte_at(target + 7), big ? std::byte{0x35} : std::byte{0x34});
}

INSTANTIATE_TEST_SUITE_P(order, atomics_by_host,
                         testing::Values(std::endian::little, std::endian::big),
                         [](const auto& about) {
                           return about.param == std::endian::big ? "big_endian" : "little_endian";
                         });

TEST_F(masked_atomics, a_swap_looks_at_some_bits_and_changes_others) {
  EXPECT_EQ(swapped(0x1122334455667788, 0xffffffff55ffffff, 0x00000000ff000000, 0xaabbccddeeff0011,
                    0xff000000000000ff),
            0xaa22334455667711);
  EXPECT_EQ(swapped(0x1122334455667788, 0x0000000056000000, 0x00000000ff000000, 0, ~0ull),
            0x1122334455667788);
  EXPECT_EQ(swapped(7, 99, 0, 5, ~0ull), 5u);  // nothing is compared
}

TEST_F(masked_atomics, an_addition_stays_within_its_fields) {
  EXPECT_EQ(added(0xffff'ffff'ffff'ffff, 1, 0x0000'0000'0000'8000), 0xffff'ffff'ffff'0000u);
  EXPECT_EQ(added(0x00ff'00ff'00ff'00ff, 0x0001'0001'0001'0001, 0x8000'8000'8000'8000),
            0x0100'0100'0100'0100u);
  EXPECT_EQ(added(40, 2, 0), 42u);
  std::mt19937_64 random{7};
  for (unsigned i = 0; i < 200; ++i) {
    const std::uint64_t word = random(), value = random(), boundaries = random() & random();
    ASSERT_EQ(added(word, value, boundaries), add_by_bits(word, value, boundaries));
  }
}

TEST_F(masked_atomics, they_need_the_right_the_alignment_and_the_length_of_plain_ones) {
  const auto fails = [this](auto&& change, cqe_syndrome syndrome, unsigned vendor) {
    test_qp c = make_qp(0x110), d = make_qp(0x111);
    to_rts(c, d.number);
    to_rts(d, c.number);
    test_send s = transfer(wqe_opcode::masked_atomic_cs, 8, result, target);
    s.swap_mask = s.swap_add = 1;
    change(s);
    set_word(target, 0);
    send(c, s);
    expect_error(c, true, syndrome, vendor);
    EXPECT_EQ(word(target), 0u);
    for (const test_qp* qp : {&c, &d})
      ASSERT_EQ(driver->command(layouts::opcode::to_rst_qp, 0, qp->number, 2).status,
                layouts::command_status::ok);
  };
  namespace v = layouts::vendor_syndrome;
  fails([](test_send& s) { s.remote_address += 4; }, cqe_syndrome::remote_invalid_request,
        v::remote_invalid_request);
  fails([](test_send& s) { s.rkey ^= 1; }, cqe_syndrome::remote_access, v::remote_access);
  fails([](test_send& s) { s.bytes = 16; }, cqe_syndrome::local_length, v::length_requester);
  fails([](test_send& s) { s.bytes = 4; }, cqe_syndrome::local_length, v::length_requester);
}

TEST_F(masked_atomics, queue_pairs_without_remote_atomics_refuse_them) {
  test_qp c = make_qp(0x110), d = make_qp(0x111);
  to_rts(c, d.number);
  ASSERT_EQ(modify(layouts::opcode::rst2init_qp, d.number,
                   first_context(d).set<&layouts::qpc::rae>(false)),
            layouts::command_status::ok);
  const auto ready = ready_context(d, c.number);
  ASSERT_EQ(modify(layouts::opcode::init2rtr_qp, d.number, ready), layouts::command_status::ok);
  send(c, transfer(wqe_opcode::masked_atomic_fa, 8, result, target));
  expect_error(c, true, cqe_syndrome::remote_invalid_request,
               layouts::vendor_syndrome::remote_invalid_request);
}

TEST_F(masked_atomics, unreliable_services_have_none) {
  test_qp c = make_qp(0x110, qp_service::uc);
  to_rts(c, 0x111);
  watch();
  send(c, transfer(wqe_opcode::masked_atomic_cs, 8, result, target));
  failed_alone(c, failures::local_qp_operation, "opcode 0x14 (MASKED_ATOMIC_CS)");
}

}  // namespace freehca::model::test
