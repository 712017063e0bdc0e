// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/vfio_user/client.hpp>

#include "started_program.hpp"

namespace freehca::vfio_user {

/// The program freehca-device.
struct served_program : started_program {
  served_program() : started_program(FREEHCA_DEVICE) {}
};

/// What most tests begin with: a server of the usual adapter and a client that has agreed with it.
/// At the end the server is asked to end, and must do so; it must have complained of what the test
/// expects, and else of nothing.
struct served : ::testing::Test {
  void start(std::vector<std::string> arguments = {});
  void TearDown() override;

  std::uint32_t configuration(unsigned offset, unsigned bytes = 4);
  void set_configuration(unsigned offset, std::uint32_t value, unsigned bytes = 4);
  /// A register of BAR 0, in host order.
  std::uint32_t read_register(std::uint64_t offset);
  void write_register(std::uint64_t offset, std::uint32_t value);
  /// Memory space and bus mastering on.
  void enable();

  folder files;
  std::string socket = files.path("device");
  served_program server;
  client c;
  /// What the adapter complains of in this test; empty: of nothing.
  std::string complaint;
};

/// Host memory as a file, at an address of the adapter's.
class shared_memory {
 public:
  explicit shared_memory(std::size_t bytes);
  ~shared_memory();
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;

  int file() const { return file_.get(); }
  std::byte* at(std::size_t offset = 0) { return at_ + offset; }
  std::size_t bytes() const { return bytes_; }

 private:
  descriptor file_;
  std::size_t bytes_;
  std::byte* at_;
};

}  // namespace freehca::vfio_user
