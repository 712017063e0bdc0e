// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Files that are no fabric, or one of another kind: the messages, and that nothing is changed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include <freehca/wires_shm/fabrics.hpp>

#include "fabric_file.hpp"
#include "fabric_layout.hpp"
#include "helper_process.hpp"
#include "packets.hpp"

namespace freehca::wires {
namespace {

class fabric_file : public ::testing::Test {
 protected:
  ~fabric_file() override { remove(path.c_str()); }

  std::string refusal() {
    std::string why;
    EXPECT_EQ(nullptr, fabric_port::join(name, why));
    EXPECT_NE(std::string::npos, why.find(path)) << why;
    return why;
  }
  void expect_refusal(const std::string& part) {
    const std::string why = refusal();
    EXPECT_NE(std::string::npos, why.find(part)) << why;
    EXPECT_TRUE(exists(path));
  }
  /// A fabric of a killed process.
  void leave_behind() {
    helper_process other({"echo", name});
    EXPECT_NE("", other.line());
    other.kill();
    ASSERT_TRUE(exists(path));
  }
  template <typename T>
  void write(off_t at, const T& what) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(static_cast<ssize_t>(sizeof what), pwrite(file, &what, sizeof what, at));
    close(file);
  }
  void joins_and_leaves() {
    std::string why;
    EXPECT_NE(nullptr, fabric_port::join(name, why)) << why;
    EXPECT_FALSE(exists(path));
  }

  const std::string name = new_name();
  const std::string path = path_of(name);
};

TEST(folder_of_fabrics, is_the_first_one_where_files_can_be_made) {
  EXPECT_EQ("/dev/shm", shm::default_folder());
  EXPECT_EQ("/tmp", shm::first_writable({"/no/such/folder", "/tmp"}));
  EXPECT_EQ("/tmp", shm::first_writable({"/dev/null", "/tmp", "/dev/shm"}));
  EXPECT_EQ("/tmp", shm::first_writable({"/proc/sys", "/tmp"}));
  EXPECT_EQ("/none", shm::first_writable({"/none", "/none-either"}));
}

TEST_F(fabric_file, of_a_killed_process_is_used_and_removed) {
  leave_behind();
  joins_and_leaves();
}

TEST_F(fabric_file, that_was_not_finished_is_made_again) {
  leave_behind();
  write(0, std::uint64_t{0});
  joins_and_leaves();
  write(0, char{0});
  EXPECT_EQ(0, truncate(path.c_str(), 0));
  joins_and_leaves();
}

TEST_F(fabric_file, has_mode_0600_and_takes_little_memory) {
  std::string why;
  const auto port = fabric_port::join(name, why);
  struct stat about {};
  ASSERT_EQ(0, stat(path.c_str(), &about));
  EXPECT_EQ(0600u, about.st_mode & 0777);
  EXPECT_EQ(shm::file_bytes, about.st_size);
  EXPECT_LT(about.st_blocks * 512, 1 << 20);
  const auto made = packet(port->lid(), port->lid(), 1, 100);
  EXPECT_TRUE(port->send(made.data(), made.size()));
  ASSERT_EQ(0, stat(path.c_str(), &about));
  EXPECT_LT(about.st_blocks * 512, 1 << 20);
}

TEST_F(fabric_file, of_another_version_is_named_so) {
  leave_behind();
  write(offsetof(shm::control_part, version), std::uint32_t{99});
  expect_refusal("another version of freehca: its format is 99");
}

TEST_F(fabric_file, that_is_truncated_is_named_so) {
  leave_behind();
  EXPECT_EQ(0, truncate(path.c_str(), 5000));
  expect_refusal("truncated: it has 5000 bytes");
}

TEST_F(fabric_file, of_another_kind_is_refused) {
  write(0, std::uint64_t{42});
  expect_refusal("not a fabric's file");
  EXPECT_EQ(0, truncate(path.c_str(), 3));
  expect_refusal("not a fabric's file");
  remove(path.c_str());
  EXPECT_EQ(0, mkdir(path.c_str(), 0700));
  expect_refusal("a folder, where");
  remove(path.c_str());
  EXPECT_EQ(0, mkfifo(path.c_str(), 0600));
  expect_refusal("not a regular file");
}

TEST_F(fabric_file, that_others_may_open_is_refused) {
  leave_behind();
  EXPECT_EQ(0, chmod(path.c_str(), 0644));
  expect_refusal("other users may open it");
}

TEST_F(fabric_file, of_another_user_is_refused) {
  leave_behind();
  // Only root can give a file away; others see the same check in the test above.
  if (geteuid() != 0) return;
  EXPECT_EQ(0, chown(path.c_str(), 12345, 12345));
  expect_refusal("it belongs to user 12345");
}

TEST_F(fabric_file, that_is_a_symbolic_link_is_refused) {
  EXPECT_EQ(0, symlink("/tmp/freehca-nowhere", path.c_str()));
  const std::string why = refusal();
  EXPECT_NE(std::string::npos, why.find("a symbolic link")) << why;
  EXPECT_FALSE(exists("/tmp/freehca-nowhere"));
}

TEST_F(fabric_file, needs_a_folder) {
  std::string why;
  EXPECT_EQ(nullptr, fabric_port::join_in("/nowhere/shm", name, why));
  EXPECT_NE(std::string::npos, why.find("its folder is missing")) << why;
  EXPECT_NE(std::string::npos, why.find("make one of them writable")) << why;
  EXPECT_TRUE(fabrics_in("/nowhere/shm").empty());
}

TEST_F(fabric_file, needs_a_name_without_slashes) {
  for (const std::string& bad : {std::string(), std::string("a/b"), std::string("a b"),
                                 std::string(65, 'a'), std::string("..\n")}) {
    std::string why;
    EXPECT_EQ(nullptr, fabric_port::join(bad, why));
    EXPECT_NE(std::string::npos, why.find("1 to 64 letters")) << why;
  }
}

TEST_F(fabric_file, needs_a_limit_of_file_sizes_that_is_no_smaller) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit small{1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &small);
    std::string why;
    const bool refused = fabric_port::join(name, why) == nullptr;
    _exit(refused && why.find("ulimit -f") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(0, status);
  EXPECT_FALSE(exists(path));
}

TEST_F(fabric_file, is_listed_with_its_problem) {
  leave_behind();
  const auto listed = [&] {
    for (const fabric_listing& one : fabrics())
      if (one.name == name) return one;
    return fabric_listing{};
  };
  EXPECT_EQ(name, listed().name);
  EXPECT_EQ("", listed().problem);
  EXPECT_TRUE(listed().members.empty());
  EXPECT_EQ(0, truncate(path.c_str(), 5000));
  EXPECT_NE("", listed().problem);
}

TEST_F(fabric_file, that_is_removed_during_a_listing_is_no_problem) {
  std::atomic<bool> ended = false;
  std::thread other([&] {
    while (!ended) {
      write(0, std::uint64_t{42});
      truncate(path.c_str(), 0);
      remove(path.c_str());
    }
  });
  unsigned listings = 0;
  for (unsigned looks = 0; looks < 20000; ++looks)
    for (const fabric_listing& one : fabrics()) {
      if (one.name != name) continue;
      ++listings;
      EXPECT_EQ(std::string::npos, one.problem.find("folder")) << one.problem;
    }
  ended = true;
  other.join();
  EXPECT_NE(0u, listings);
}

}  // namespace
}  // namespace freehca::wires
