// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Events that an adapter in order does not raise, on request.
#include <gtest/gtest.h>

#include <freehca/layouts/config_dev.hpp>
#include <freehca/layouts/query_dev_cap.hpp>

#include "faults/fault_text.hpp"
#include "test_driver.hpp"
#include "test_options.hpp"

namespace freehca::model::test {
namespace {

using layouts::command_status;
using layouts::event_type;
using layouts::opcode;

struct raised_events : ::testing::Test {
  explicit raised_events(const options& how = test_options()) : hca(host, how) {}
  void SetUp() override {
    ASSERT_TRUE(driver.bring_up());
    ASSERT_EQ(driver.make_eq(eq, 40, 2).status, command_status::ok);
    ASSERT_EQ(driver.command(opcode::map_eq, ~std::uint64_t{0}, 40).status, command_status::ok);
  }
  template <class T>
  layouts::image<T> raise(const raised_event& what) {
    EXPECT_TRUE(hca.raise_event(what));
    layouts::image<layouts::eqe> e;
    EXPECT_TRUE(driver.next_event(eq, e));
    EXPECT_EQ(e.get<&layouts::eqe::event_type>(), what.type);
    return layouts::image<T>::from_bytes(e.data());
  }
  layouts::image<layouts::get_op_req> fetch() {
    EXPECT_EQ(driver.command(opcode::get_op_req, 0, 0, 0, driver.output).status,
              command_status::ok);
    layouts::image<layouts::get_op_req> got;
    host.dma_read(driver.output, got.data(), got.size());
    return got;
  }
  command_status acknowledge(std::uint32_t modifier) {
    return driver.command(opcode::get_op_req, 0, modifier, 1).status;
  }

  test_host host;
  device hca;
  test_driver driver{host, hca};
  test_driver::queue eq;
};

TEST_F(raised_events, have_the_bytes_that_linux_reads) {
  using layouts::eqe;
  EXPECT_EQ(raise<eqe>({event_type::ecc_detect, 3}).get<&eqe::event_sub_type>(), 3u);
  using warning = layouts::eqe_temperature;
  const auto hot = raise<warning>({event_type::fatal_warning, 0});
  EXPECT_EQ(hot.get<&warning::event_sub_type>(), 0u);
  EXPECT_GT(hot.get<&warning::current_temperature>(), hot.get<&warning::warning_threshold>());
  EXPECT_GT(hot.get<&warning::warning_threshold>(), 0u);
  EXPECT_EQ(raise<warning>({event_type::fatal_warning, 7}).get<&warning::current_temperature>(),
            0u);
  using change = layouts::eqe_table_change;
  const auto unknown = raise<change>({event_type::port_management_change, 0x99, 2});
  EXPECT_EQ(unknown.get<&change::event_sub_type>(), 0x99u);
  EXPECT_EQ(unknown.get<&change::port>(), 2u);
  EXPECT_EQ(raise<change>({event_type::port_management_change, 0x15, 77}).get<&change::port>(),
            77u);
  EXPECT_EQ(hca.complaints(), 0u);
}

TEST_F(raised_events, name_what_has_changed_of_a_port) {
  using info = layouts::eqe_port_info_change;
  const auto again = raise<info>({event_type::port_management_change, 0x15, 1});
  EXPECT_EQ(again.get<&info::port>(), 1u);
  EXPECT_EQ(again.get<&info::changed_attr>(),
            static_cast<unsigned>(layouts::port_info_change::client_reregister));
  using change = layouts::eqe_table_change;
  const auto keys = raise<change>({event_type::port_management_change, 0x16, 1});
  EXPECT_EQ(keys.get<&change::block_ptr>(), 0u);
  EXPECT_EQ(keys.get<&change::tbl_entries_mask>(), 1u);
  EXPECT_EQ(
      raise<change>({event_type::port_management_change, 0x14, 1}).get<&change::tbl_entries_mask>(),
      1u);
  raise<change>({event_type::port_management_change, 0x17, 1});
}

TEST_F(raised_events, a_required_operation_is_fetched_and_acknowledged) {
  using l = layouts::get_op_req;
  EXPECT_EQ(fetch().get<&l::type>(), 0u) << "nothing is required";
  raise<layouts::eqe>({event_type::operation_required, operation_of_multicast});
  raise<layouts::eqe>({event_type::operation_required, 0x11});
  const auto first = fetch();
  EXPECT_EQ(first.get<&l::type>(), operation_of_multicast);
  EXPECT_NE(first.get<&l::token>(), 0u);
  const auto token = static_cast<std::uint32_t>(first.get<&l::token>());
  EXPECT_EQ(acknowledge(token << 16), command_status::ok);
  EXPECT_EQ(fetch().get<&l::type>(), 0x11u);
  EXPECT_EQ(acknowledge(22), command_status::ok) << "as Linux does: no token";
  EXPECT_EQ(fetch().get<&l::type>(), 0u);
  EXPECT_EQ(hca.complaints(), 0u);
  EXPECT_EQ(acknowledge(0), command_status::bad_parameter) << "nothing was required";
}

TEST_F(raised_events, an_answer_with_another_token_is_refused) {
  raise<layouts::eqe>({event_type::operation_required, operation_of_multicast});
  EXPECT_EQ(acknowledge(0x7777u << 16), command_status::bad_parameter);
  EXPECT_EQ(fetch().get<&layouts::get_op_req::type>(), operation_of_multicast) << "still required";
}

TEST_F(raised_events, a_reset_forgets_what_is_required) {
  raise<layouts::eqe>({event_type::operation_required, operation_of_multicast});
  hca.reset();
  EXPECT_FALSE(hca.raise_event({event_type::ecc_detect})) << "no event queue takes it";
  ASSERT_TRUE(driver.bring_up());
  EXPECT_EQ(fetch().get<&layouts::get_op_req::type>(), 0u);
}

TEST_F(raised_events, are_refused_while_the_adapter_has_failed_and_where_nobody_asked) {
  ASSERT_EQ(driver.command(opcode::map_eq, 1u << 0x0e, 40 | layouts::map_eq_unmap).status,
            command_status::ok);
  EXPECT_FALSE(hca.raise_event({event_type::ecc_detect}));
  EXPECT_TRUE(hca.raise_event({event_type::fatal_warning}));
  EXPECT_FALSE(hca.raise_event({event_type::none}));
  hca.fail();
  EXPECT_FALSE(hca.raise_event({event_type::fatal_warning}));
}

struct recoverable : raised_events {
  static options how() {
    options o = test_options();
    o.with.add(capability::recoverable_errors);
    return o;
  }
  recoverable() : raised_events(how()) {}
};

TEST_F(recoverable, errors_need_the_capability) {
  using l = layouts::query_dev_cap;
  EXPECT_EQ(driver.command(opcode::query_dev_cap, 0, 0, 0, driver.output).status,
            command_status::ok);
  layouts::image<l> cap;
  host.dma_read(driver.output, cap.data(), cap.size());
  EXPECT_NE(cap.get<&l::ext_3_flags>() &
                static_cast<std::uint32_t>(layouts::dev_cap_ext_3_flag::recoverable_error_event),
            0u);
  using cable = layouts::eqe_cable;
  const auto bad = raise<cable>({event_type::recoverable_error, 1, 2});
  EXPECT_EQ(bad.get<&cable::port>(), 2u);
  EXPECT_EQ(bad.get<&cable::event_sub_type>(), 1u);
}

TEST(raised_event_words, name_an_event_its_subtype_and_its_port) {
  raised_event e;
  EXPECT_EQ(parse_raised_event("client_reregister", e), nullptr);
  EXPECT_EQ(e.type, event_type::port_management_change);
  EXPECT_EQ(e.subtype, 0x15u);
  EXPECT_EQ(e.port, 1u);
  EXPECT_EQ(parse_raised_event("0x1d:0x16:2", e), nullptr);
  EXPECT_EQ(e.subtype, 0x16u);
  EXPECT_EQ(e.port, 2u);
  EXPECT_EQ(parse_raised_event("operation_required", e), nullptr);
  EXPECT_EQ(e.subtype, operation_of_multicast);
  for (const char* wrong : {"", "no", "0", "0x40", "ecc_detect:256", "ecc_detect:x",
                            "ecc_detect:1:256", "ecc_detect:1:2:3"})
    EXPECT_NE(parse_raised_event(wrong, e), nullptr) << wrong;
  EXPECT_EQ(e.type, event_type::operation_required) << "left alone";
}

}  // namespace
}  // namespace freehca::model::test
