// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include <freehca/vfio_user/negotiation.hpp>

namespace freehca::vfio_user {
namespace {

std::vector<std::byte> proposal(std::uint16_t major, std::uint16_t minor, const std::string& text) {
  const version numbers{major, minor};
  std::vector<std::byte> body(bytes_of(numbers).begin(), bytes_of(numbers).end());
  for (const char c : text) body.push_back(static_cast<std::byte>(c));
  return body;
}

const std::string nul(1, '\0');

TEST(negotiation, what_is_not_said_has_its_default) {
  for (const std::string& text : {std::string(), "{}" + nul, "{\"capabilities\":{}}" + nul}) {
    terms t;
    ASSERT_EQ(0, read_terms(proposal(0, 0, text), t)) << text;
    EXPECT_EQ(0, t.minor);
    EXPECT_EQ(1u, t.max_msg_fds);
    EXPECT_EQ(1048576u, t.max_data_xfer_size);
    EXPECT_EQ(65535u, t.max_dma_maps);
    EXPECT_EQ(4096u, t.pgsizes);
    EXPECT_FALSE(t.write_multiple);
  }
}

TEST(negotiation, what_is_said_is_read_and_other_names_are_passed_over) {
  terms t;
  const std::string text =
      "{\"capabilities\":{\"max_msg_fds\":8,\"max_data_xfer_size\":65536,\"twin_socket\":"
      "{\"supported\":true},\"write_multiple\":true},\"more\":[1]}";
  ASSERT_EQ(0, read_terms(proposal(0, 3, text + nul), t));
  EXPECT_EQ(3, t.minor);
  EXPECT_EQ(8u, t.max_msg_fds);
  EXPECT_EQ(65536u, t.max_data_xfer_size);
  EXPECT_TRUE(t.write_multiple);
}

TEST(negotiation, what_is_written_is_read_again) {
  terms t;
  const terms said{.minor = 1,
                   .max_msg_fds = 16,
                   .max_data_xfer_size = 4096,
                   .max_dma_maps = 9,
                   .pgsizes = 8192,
                   .write_multiple = true};
  ASSERT_EQ(0, read_terms(write_terms(said), t));
  EXPECT_EQ(1, t.minor);
  EXPECT_EQ(16u, t.max_msg_fds);
  EXPECT_EQ(4096u, t.max_data_xfer_size);
  EXPECT_EQ(9u, t.max_dma_maps);
  EXPECT_EQ(8192u, t.pgsizes);
  EXPECT_TRUE(t.write_multiple);
}

TEST(negotiation, another_major_version) {
  terms t;
  EXPECT_EQ(ENOTSUP, read_terms(proposal(1, 0, "{}" + nul), t));
}

TEST(negotiation, no_good) {
  for (const std::string& text :
       {std::string("{}"), "{" + nul, "[]" + nul, "{\"capabilities\":1}" + nul,
        "{\"capabilities\":{\"max_msg_fds\":\"8\"}}" + nul,
        "{\"capabilities\":{\"max_msg_fds\":-1}}" + nul,
        "{\"capabilities\":{\"max_msg_fds\":4294967296}}" + nul,
        "{\"capabilities\":{\"max_data_xfer_size\":0}}" + nul,
        "{\"capabilities\":{\"max_data_xfer_size\":1e300}}" + nul,
        "{\"capabilities\":{\"write_multiple\":1}}" + nul, nul, "{}" + nul + "x"}) {
    terms t;
    t.minor = 77;
    EXPECT_EQ(EINVAL, read_terms(proposal(0, 0, text), t)) << text;
    EXPECT_EQ(77, t.minor) << "nothing is changed";
  }
  terms t;
  EXPECT_EQ(EINVAL, read_terms(std::vector<std::byte>(3), t));
}

}  // namespace
}  // namespace freehca::vfio_user
