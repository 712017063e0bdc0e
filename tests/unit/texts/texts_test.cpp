// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/texts/text.hpp>

#include <string>

#include <gtest/gtest.h>

#include <freehca/layouts/opcode.hpp>
#include <freehca/texts/names.hpp>

namespace freehca {
namespace {

using layouts::command_status;

template <class What = status>
std::string described(const What& s, std::size_t bytes = 200) {
  std::string text(bytes, 'x');
  const std::size_t length = describe(s, text.data(), bytes);
  EXPECT_EQ(text[length], '\0');
  text.resize(length);
  return text;
}

TEST(describe, names_judge_code_and_place) {
  EXPECT_EQ(described({}), "ok");
  EXPECT_EQ(
      described({command_status::bad_index, static_cast<unsigned>(layouts::opcode::sw2hw_cq)}),
      "firmware: bad index (0x0a) at SW2HW_CQ");
  EXPECT_EQ(described({driver_error::no_memory, 0x1f}), "driver: out of memory at 0x1f");
  EXPECT_EQ(described(transport_error::gone), "transport: the device is gone");
  EXPECT_EQ(described(static_cast<command_status>(0x77)), "firmware: unknown status (0x77)");
}

TEST(describe, cuts_off_and_survives_no_room) {
  EXPECT_EQ(described(transport_error::gone, 8), "transpo");
  EXPECT_EQ(described(transport_error::gone, 1), "");
  EXPECT_EQ(describe(transport_error::gone, nullptr, 0), 0u);
}

TEST(text_writer, numbers) {
  char line[64];
  text_writer to(line);
  to.decimal(0)
      .put(' ')
      .decimal(~std::uint64_t{0})
      .put(' ')
      .hex(0)
      .put(' ')
      .hex(0xabc, 4)
      .put(' ')
      .hex(~std::uint64_t{0});
  EXPECT_STREQ(line, "0 18446744073709551615 0x0 0x0abc 0xffffffffffffffff");
  EXPECT_FALSE(to.full());
}

TEST(describe, a_report_has_its_numbers_in_words) {
  const auto said = [](log_topic topic, std::uint64_t a = 0, std::uint64_t b = 0,
                       std::uint64_t c = 0) {
    return described(log_record{topic, severity::error, "owner 2", {a, b, c}});
  };
  EXPECT_EQ(said(log_topic::not_entered), "called but not entered: owner 2");
  EXPECT_EQ(said(log_topic::exceeds_limits, 70, 4, 64),
            "the device asks for 70 queue memory; the budget has 64");
  EXPECT_EQ(said(log_topic::region_stays_mapped),
            "the memory of a region that is gone stays mapped");
  EXPECT_EQ(
      said(log_topic::no_error_buffer, 16, 0x1f00, 4),
      "the error buffer (16 words at 0x1f00 in BAR 4) cannot be read: an internal error of the "
      "device shows only in commands without an answer");
  EXPECT_EQ(said(log_topic::memory_error), "the device reports a memory error (ECC)");
  EXPECT_EQ(said(log_topic::too_hot), "the device reports that it is too hot");
}

TEST(names, of_the_first_the_last_and_no_value) {
  EXPECT_STREQ(name_of(bring_up_step::take_ownership), "taking ownership");
  EXPECT_STREQ(name_of(bring_up_step::map_reserved), "MAP_ICM of reserved entries");
  EXPECT_STREQ(name_of(bring_up_step::wait_for_ports), "waiting for the ports");
  EXPECT_STREQ(name_of(static_cast<bring_up_step>(bring_up_steps)), "");
  EXPECT_STREQ(name_of(static_cast<budget::item>(0)), "unknown");
  EXPECT_STREQ(name_of(budget::item::storage), "storage");
  EXPECT_STREQ(name_of(budget::item::reads_per_qp), "RDMA reads and atomics of a queue pair");
  EXPECT_STREQ(name_of(static_cast<budget::item>(18)), "unknown");
  EXPECT_STREQ(name_of(context_table::qpc), "qpc");
  EXPECT_STREQ(name_of(context_table::mcg), "mcg");
  EXPECT_STREQ(name_of(attribute_id::completion_entries), "completion queue entries");
  EXPECT_STREQ(name_of(attribute_id::srq_limit), "receives in the SRQ limit");
  EXPECT_STREQ(name_of(attribute_id::remote_rights), "remote right without local_write");
  EXPECT_STREQ(name_of(attribute_id::none), "unknown");
}

}  // namespace
}  // namespace freehca
