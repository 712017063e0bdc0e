// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "files_test.hpp"

namespace {

using namespace files_test;
using open_type = int(const char*, int, ...);
using openat_type = int(int, const char*, int, ...);
using open_2_type = int(const char*, int);
using openat_2_type = int(int, const char*, int);

/// One function of the family, in the form of openat().
struct opener {
  std::string name;
  bool has_folder;
  int operator()(int at, const std::string& path, int flags) const {
    const char* const p = path.c_str();
    if (name.ends_with("_2"))
      return has_folder ? named<openat_2_type>(name.c_str())(at, p, flags)
                        : named<open_2_type>(name.c_str())(p, flags);
    return has_folder ? named<openat_type>(name.c_str())(at, p, flags, 0600)
                      : named<open_type>(name.c_str())(p, flags, 0600);
  }
};

const std::vector<opener> openers = {
    {"open", false},     {"open64", false},     {"openat", true},     {"openat64", true},
    {"__open_2", false}, {"__open64_2", false}, {"__openat_2", true}, {"__openat64_2", true}};

std::string text_at(const std::string& path) {
  return rest_of(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

TEST(files_open, each_call_reads_a_file) {
  for (const opener& o : openers)
    EXPECT_EQ(rest_of(o(AT_FDCWD, device + "/node_guid", O_RDONLY)), "0002:c903:00f0:d0a1\n")
        << o.name;
}

TEST(files_open, each_call_refuses_as_sysfs_does) {
  for (const opener& o : openers) {
    const auto error = [&](const std::string& path, int flags) {
      return error_of([&] { return o(AT_FDCWD, path, flags); });
    };
    EXPECT_EQ(error(device + "/node_guid", O_WRONLY), EACCES) << o.name;
    EXPECT_EQ(error(device + "/node_guid", O_RDWR), EACCES) << o.name;
    EXPECT_EQ(error(device + "/node_guid", O_RDONLY | O_TRUNC), EACCES) << o.name;
    EXPECT_EQ(error(device + "/node_guid", O_RDONLY | O_DIRECTORY), ENOTDIR) << o.name;
    EXPECT_EQ(error(device + "/node_guid/", O_RDONLY), ENOTDIR) << o.name;
    EXPECT_EQ(error(device + "/node_guid/x", O_RDONLY), ENOTDIR) << o.name;
    EXPECT_EQ(error(device + "/nothing", O_RDONLY), ENOENT) << o.name;
    EXPECT_EQ(error(class_folder + "/nothing", O_RDONLY), ENOENT) << o.name;
    EXPECT_EQ(error(port, O_RDWR), EISDIR) << o.name;
    EXPECT_EQ(error(device, O_RDONLY | O_NOFOLLOW), ELOOP) << o.name;
    EXPECT_EQ(error(device_file, O_RDWR), ENXIO) << o.name;
    if (o.name.ends_with("_2")) continue;
    EXPECT_EQ(error(device + "/node_guid", O_RDONLY | O_CREAT | O_EXCL), EEXIST) << o.name;
    EXPECT_EQ(error(device, O_RDONLY | O_CREAT | O_EXCL), EEXIST) << o.name;
    EXPECT_EQ(error(port, O_RDONLY | O_CREAT), EISDIR) << o.name;
    EXPECT_EQ(rest_of(o(AT_FDCWD, device + "/node_guid", O_RDONLY | O_CREAT)),
              "0002:c903:00f0:d0a1\n")
        << o.name;
  }
}

TEST(files_open, each_call_opens_what_lies_below_a_folder) {
  for (const opener& o : openers) {
    const int folder = o(AT_FDCWD, port, O_RDONLY | O_DIRECTORY);
    ASSERT_GE(folder, 0) << o.name;
    const int copy = dup(folder);
    for (const opener& below : openers) {
      if (!below.has_folder) continue;
      EXPECT_EQ(rest_of(below(copy, "gids/0", O_RDONLY)),
                "fe80:0000:0000:0000:0002:c903:00f0:d0a2\n");
      EXPECT_EQ(rest_of(below(copy, "../../fw_ver", O_RDONLY)), "2.42.5700\n");
      EXPECT_EQ(error_of([&] { return below(copy, "nothing", O_RDONLY); }), ENOENT);
    }
    close(copy);
    close(folder);
  }
}

TEST(files_open, other_files_are_the_systems) {
  char name[] = "/tmp/infiniband-XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  const std::string folder = name;
  for (const opener& o : openers) {
    if (o.name.ends_with("_2")) continue;
    const std::string path = folder + "/" + o.name;
    const int made = o(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL);
    ASSERT_GE(made, 0) << o.name;
    struct stat status;
    ASSERT_EQ(fstat(made, &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << o.name;
    EXPECT_EQ(write(made, "x", 1), 1);
    close(made);
    EXPECT_EQ(rest_of(o(AT_FDCWD, path, O_RDONLY)), "x") << o.name;
    const int unnamed = o(AT_FDCWD, folder, O_RDWR | O_TMPFILE);
    ASSERT_GE(unnamed, 0) << o.name;
    ASSERT_EQ(fstat(unnamed, &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << o.name;
    close(unnamed);
    unlink(path.c_str());
  }
  EXPECT_EQ(rmdir(name), 0);
}

TEST(files_open, a_descriptor_reads_only_and_has_the_flags_of_its_call) {
  const int plain = open((device + "/fw_ver").c_str(), O_RDONLY);
  const int closed = open((device + "/fw_ver").c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(fcntl(plain, F_GETFL) & O_ACCMODE, O_RDONLY);
  EXPECT_EQ(fcntl(plain, F_GETFD), 0);
  EXPECT_EQ(fcntl(closed, F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(error_of([&] { return write(plain, "x", 1); }), EBADF);
  EXPECT_EQ(fcntl(plain, F_GET_SEALS), F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  char text[3] = {};
  EXPECT_EQ(pread(closed, text, 2, 2), 2);
  EXPECT_STREQ(text, "42");
  close(plain);
  close(closed);
}

TEST(files_open, values_are_of_the_moment_at_which_a_file_is_opened) {
  const std::string path = port + "/counters/calls";
  const std::string before = text_at(path);
  const std::string after = text_at(path);
  EXPECT_GT(std::stoi(before), 0);
  EXPECT_EQ(std::stoi(after), std::stoi(before) + 1);
}

TEST(files_open, the_source_itself_sees_the_system) {
  EXPECT_EQ(text_at(port + "/counters/seen_by_source"), std::to_string(ENOENT) + "\n");
}

TEST(files_open, each_file_has_its_text) {
  const std::pair<std::string, std::string> texts[] = {
      {device + "/node_type", "1: CA"},
      {device + "/sys_image_guid", "0002:c903:00f0:d0a4"},
      {device + "/hca_type", "MT4099"},
      {device + "/board_id", "FRE0000000001"},
      {device + "/hw_rev", "1"},
      {device + "/node_desc", "files under test"},
      {device + "/device/vendor", "0x15b3"},
      {device + "/device/device", "0x1003"},
      {device + "/device/revision", "0x01"},
      {device + "/device/current_link_speed", "8.0 GT/s PCIe"},
      {device + "/device/current_link_width", "8"},
      {device + "/device/numa_node", "-1"},
      {port + "/state", "4: ACTIVE"},
      {port + "/phys_state", "5: LinkUp"},
      {port + "/rate", "56 Gb/sec (4X FDR)"},
      {port + "/link_layer", "InfiniBand"},
      {port + "/lid", "0x1c"},
      {port + "/sm_lid", "0x2"},
      {port + "/lid_mask_count", "0"},
      {port + "/sm_sl", "0"},
      {port + "/cap_mask", "0x02510868"},
      {port + "/gids/1", "0000:0000:0000:0000:0000:0000:0000:0000"},
      {port + "/pkeys/0", "0xffff"},
      {port + "/pkeys/1", "0x8001"},
      {port + "/gid_attrs/types/0", "IB/RoCE v1"},
      {port + "/gid_attrs/types/1", "RoCE v2"},
      {port + "/gid_attrs/ndevs/1", "lo"},
      {port + "/gids/2", "0000:0000:0000:0000:0000:0000:0000:0000"},
      {device + "/device/net/eth7/address", "00:02:c9:f0:d0:a2"},
      {device + "/device/net/eth7/dev_id", "0x0"},
      {device + "/device/net/eth7/dev_port", "0"},
      {device + "/device/net/eth7/type", "1"},
      {device + "/device/net/eth7/device/vendor", "0x15b3"},
      {port + "/hw_counters/lifespan", "12"},
      {"/sys/class/infiniband_verbs/abi_version", "6"},
      {"/sys/class/infiniband_verbs/uverbs77/ibdev", "freehca7"},
      {"/sys/class/infiniband_verbs/uverbs77/abi_version", "1"},
      {"/sys/class/infiniband_verbs/uverbs77/dev", "231:192"},
      {"/sys/class/infiniband_verbs/uverbs77/device/vendor", "0x15b3"},
      {"/sys//class/./infiniband/../infiniband/freehca7/fw_ver", "2.42.5700"},
      {real_device + "/../../vendor", "0x15b3"},
  };
  for (const auto& [path, text] : texts) EXPECT_EQ(text_at(path), text + "\n") << path;
  for (const char* name : {"/gid_attrs/ndevs/0", "/gid_attrs/types/2", "/gid_attrs/ndevs/2"})
    EXPECT_EQ(error_of([&] { return open((port + name).c_str(), O_RDONLY); }), ENOENT) << name;
  EXPECT_EQ(error_of([] { return open((device + "/ports/2").c_str(), O_RDONLY); }), ENOENT);
}

TEST(files_open, processors_of_the_machine_are_local) {
  const std::string mask = text_at(device + "/device/local_cpus");
  unsigned bits = 0;
  for (const char c : mask)
    if (c != ',' && c != '\n')
      bits += static_cast<unsigned>(
          __builtin_popcount(static_cast<unsigned>(std::stoul(std::string(1, c), nullptr, 16))));
  EXPECT_EQ(bits, static_cast<unsigned>(sysconf(_SC_NPROCESSORS_CONF))) << mask;
}

TEST(files_open, streams) {
  for (const char* name : {"fopen", "fopen64"}) {
    auto* const call = named<FILE*(const char*, const char*)>(name);
    FILE* const file = call((port + "/lid").c_str(), "re");
    ASSERT_NE(file, nullptr) << name;
    unsigned lid = 0;
    EXPECT_EQ(std::fscanf(file, "%x", &lid), 1);
    EXPECT_EQ(lid, 0x1cu);
    EXPECT_EQ(fcntl(fileno(file), F_GETFD), FD_CLOEXEC);
    std::fclose(file);
    const auto error = [&](const std::string& path, const char* mode) {
      return error_of([&] { return call(path.c_str(), mode); });
    };
    EXPECT_EQ(error(port + "/lid", "w"), EACCES) << name;
    EXPECT_EQ(error(port + "/lid", "r+"), EACCES) << name;
    EXPECT_EQ(error(port + "/lid", "wx"), EEXIST) << name;
    EXPECT_EQ(error(port + "/lid", "?"), EINVAL) << name;
    EXPECT_EQ(error(port + "/nothing", "r"), ENOENT) << name;
    EXPECT_EQ(error(device_file, "r"), ENXIO) << name;
    FILE* const other = call("/proc/self/comm", "r");
    ASSERT_NE(other, nullptr) << name;
    std::fclose(other);
  }
}

TEST(files_open, errno_stays_as_it_was_when_a_call_succeeds) {
  errno = EXDEV;
  const int file = open((port + "/lid").c_str(), O_RDONLY);
  const int folder = open(port.c_str(), O_RDONLY);
  EXPECT_EQ(errno, EXDEV);
  close(file);
  close(folder);
}

TEST(files_open, many_threads_read_at_once) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t != 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i != 50; ++i) right += text_at(device + "/hca_type") == "MT4099\n" ? 1 : 0;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 400);
}

TEST(files_open, without_the_preloaded_object_nothing_is_there) {
  const std::string command = "env -u LD_PRELOAD sh -c 'test ! -e " + device + " && test ! -e " +
                              device_file + " && test ! -e " + function + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(std::system(("test -e " + device).c_str()), 0);
}

}  // namespace
