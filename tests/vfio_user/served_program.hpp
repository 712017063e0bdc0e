// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/vfio_user/client.hpp>

namespace freehca::vfio_user {

/// A folder that goes with its owner.
class folder {
 public:
  folder();
  ~folder();
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// The program freehca-device, started with some arguments, and what it says on stderr.
class served_program {
 public:
  /// Not yet started.
  served_program() = default;
  ~served_program();

  /// Starts it and waits until it is ready, or has ended.
  void start(const std::vector<std::string>& arguments);
  /// As a service manager does that listens for it: those sockets are its descriptors from 3 on, by
  /// names with colons between them.
  void start_by_manager(const std::vector<std::string>& arguments, const std::vector<int>& sockets,
                        const std::string& names);
  /// Ends it by SIGTERM, or waits for its end; its exit code, -1: by a signal.
  int stop();
  int wait();
  pid_t process() const { return process_; }
  /// What it has said so far.
  std::string said() const;

 private:
  void spawn(std::vector<std::string> words, const std::vector<int>& sockets);

  folder files_;
  pid_t process_ = -1;
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
