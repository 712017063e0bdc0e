// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/vfio_host/pci_address.hpp>

#include <gtest/gtest.h>

namespace freehca::vfio_host {
namespace {

TEST(pci_address, both_forms_and_cases_are_read) {
  const auto full = parse_pci_address("0001:0A:1f.7");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->text(), "0001:0a:1f.7");
  const auto brief = parse_pci_address("03:00.0");
  ASSERT_TRUE(brief);
  EXPECT_EQ(brief->text(), "0000:03:00.0");
}

TEST(pci_address, what_is_none_is_refused_with_a_message_that_shows_the_form) {
  for (const char* text : {"", "3", "mlx4_0", "03:00", "03:00.", "03:00.8", "03:20.0", "100:00.0",
                           "0000:03:00.0 ", "0000:03:00.0.0", ":03:00.0", "0000:03:00:0", "-1:00.0",
                           "0x03:00.0", "123456789:00:00.0"}) {
    const auto a = parse_pci_address(text);
    ASSERT_FALSE(a) << text;
    EXPECT_EQ(a.error().kind, trouble::malformed_address);
    EXPECT_NE(a.error().message.find("0000:03:00.0"), std::string::npos) << a.error().message;
  }
}

}  // namespace
}  // namespace freehca::vfio_host
