// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A request of which each process of the adapter dies (--restarts on) is refused. If it comes
// again, the client is hung up on.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/pci_regs.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>

#include <freehca/vfio_user/client.hpp>

#include "failing_allocations.hpp"
#include "restarts.hpp"
#include "setting_rows.hpp"
#include "started_program.hpp"

namespace freehca::device_server {
namespace {

using vfio_user::configuration_region;
using vfio_user::descriptor;

/// A read of so many bytes is the deadly one: no other request allocates as many.
constexpr std::size_t deadly_bytes = 1237;

struct deadly_request : ::testing::Test {
  void SetUp() override {
    server = fork();
    if (server == 0) serve();
    ASSERT_GT(server, 0);
    ASSERT_TRUE(says("ready: "));
    ASSERT_EQ(0, c.connect(socket));
    ASSERT_EQ(0, c.negotiate());
  }
  void TearDown() override {
    c.disconnect();
    kill(server, SIGTERM);
    int status = 0;
    EXPECT_EQ(server, waitpid(server, &status, 0));
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << said();
  }
  [[noreturn]] void serve() const {
    const int log = open(files.path("stderr").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(log, STDERR_FILENO);
    testing::failing_allocations::end_process_at(deadly_bytes);
    settings how;
    how.socket = socket;
    how.restarts = true;
    const bool right = finish(how).empty();
    _exit(right ? serve_with_restarts(how, {}) : 2);
  }
  std::string said() const {
    std::ifstream file(files.path("stderr"));
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  bool says(const std::string& words) const {
    for (int i = 0; i < 10000; ++i) {
      if (said().find(words) != std::string::npos) return true;
      usleep(1000);
    }
    return false;
  }
  unsigned times_said(const std::string& words) const {
    const std::string all = said();
    unsigned count = 0;
    for (std::size_t at = all.find(words); at != std::string::npos; at = all.find(words, at + 1))
      ++count;
    return count;
  }
  // Its errno.
  int read(std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    return c.read(configuration_region, 0, data);
  }

  vfio_user::folder files;
  const std::string socket = files.path("device");
  pid_t server = -1;
  vfio_user::client c;
};

TEST_F(deadly_request, is_refused_and_then_ends_the_client_and_nobody_else) {
  ASSERT_EQ(0, read(4));
  EXPECT_EQ(EIO, read(deadly_bytes));
  EXPECT_EQ(3u, times_said("was ended by signal 9"));
  EXPECT_EQ(1u, times_said("3 processes died of the same request, command 9: it is refused"));
  EXPECT_EQ(0, read(deadly_bytes - 1)) << "the client is served on";
  EXPECT_EQ(ECONNRESET, read(deadly_bytes));
  EXPECT_TRUE(says("a process died again of the same request"));
  EXPECT_EQ(4u, times_said("was ended by signal 9"));
  c.disconnect();
  ASSERT_EQ(0, c.connect(socket));
  ASSERT_EQ(0, c.negotiate());
  EXPECT_EQ(0, read(4)) << "another client is served";
}

// To map so much again takes longer than a life that counts as short.
TEST_F(deadly_request, is_refused_though_each_process_maps_much_before_it_dies) {
  const descriptor memory(memfd_create("of a guest", MFD_CLOEXEC));
  constexpr std::uint64_t pieces = 30000, page = 0x1000;
  ASSERT_EQ(0, ftruncate(memory.get(), static_cast<off_t>(2 * pieces * page)));
  for (std::uint64_t i = 0; i < pieces; ++i)
    ASSERT_EQ(0, c.map(2 * i * page, page, memory.get(), 2 * i * page));
  EXPECT_EQ(EIO, read(deadly_bytes));
  EXPECT_EQ(3u, times_said("was ended by signal 9"));
  EXPECT_EQ(EEXIST, c.map(2 * page, page, memory.get())) << "the memory is mapped as before";
  EXPECT_EQ(0, read(4));
}

}  // namespace
}  // namespace freehca::device_server
