// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The device's end of the command register, played by a test: the routed accessors of the HAL end
// here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include <freehca/hal/platform.hpp>
#include <freehca/layouts/hcr.hpp>

namespace freehca::testing {

/// One command as the register took it.
struct posted_command {
  layouts::image<layouts::hcr> words;
  std::vector<std::byte> input;  ///< the input mailbox at that time, when in_param named one
  template <auto Row>
  auto get() const {
    return words.get<Row>();
  }
};

/// A device that does what the test says. One at a time: the accessors are functions, and find it
/// by a global.
class scripted_device {
 public:
  scripted_device();
  ~scripted_device();
  scripted_device(const scripted_device&) = delete;
  scripted_device& operator=(const scripted_device&) = delete;

  /// The command register, for channel_resources.
  mmio_region command_register() { return {register_, sizeof register_}; }
  /// Memory whose device address is not its host address.
  dma_region memory(std::size_t bytes);
  std::byte* host_of(std::uint64_t device_address);
  freehca::platform platform() { return {&operations_, this}; }

  /// All commands so far, and the one posted last.
  std::vector<posted_command> posted;
  const posted_command& last() const { return posted.back(); }

  /// What the register does when a command arrives. Polled commands keep `go` until answer();
  /// commands by event lose it at once, or at take() when this is false.
  bool takes_at_once = true;
  bool all_ones = false;
  /// Polled commands are answered with ok at once.
  bool answers_at_once = false;

  /// The firmware answers just before this read of the register, counted from 1; 0: not so.
  unsigned answers_before_read = 0;

  /// Answers the command in the register.
  void answer(std::uint8_t status = 0, std::uint64_t output_immediate = 0);
  void take() { clear_go(0); }

  /// Device writes to lent memory.
  void write(std::uint64_t device_address, const void* bytes, std::size_t count) {
    std::memcpy(host_of(device_address), bytes, count);
  }

  std::uint64_t now = 1'000'000;
  std::vector<trace_record> traces;
  unsigned reads = 0;

  std::uint32_t read(std::size_t offset);
  void write(std::size_t offset, std::uint32_t value);
  bool is_register(const std::byte* at) const {
    return at >= register_ && at < register_ + sizeof register_;
  }
  std::size_t offset_of(const std::byte* at) const {
    return static_cast<std::size_t>(at - register_);
  }

 private:
  void clear_go(std::uint8_t status);
  platform_operations operations_;
  std::byte register_[layouts::hcr::bytes]{};
  std::deque<std::vector<std::byte>> memory_;
  std::vector<dma_region> regions_;
  std::uint64_t next_address_ = 0x7'0000'0000;
};

}  // namespace freehca::testing
