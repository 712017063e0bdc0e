// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <cstring>
#include <set>

#include "files_test.hpp"

namespace {

using namespace files_test;
using names = std::set<std::string>;

names entries_of(DIR* stream, bool close_it = true) {
  EXPECT_NE(stream, nullptr) << errno;
  names found;
  if (stream == nullptr) return found;
  while (const struct dirent* entry = readdir(stream)) found.insert(entry->d_name);
  if (close_it) {
    EXPECT_EQ(closedir(stream), 0);
  }
  return found;
}

const names in_ports = {".", "..", "1"};
const names in_gids = {".", "..", "0", "1", "2"};

TEST(files_folders, listings) {
  EXPECT_EQ(entries_of(opendir((device + "/ports").c_str())), in_ports);
  EXPECT_EQ(entries_of(opendir((port + "/gids").c_str())), in_gids);
  EXPECT_TRUE(entries_of(opendir(class_folder.c_str())).contains("freehca7"));
  EXPECT_TRUE(entries_of(opendir("/dev/infiniband")).contains("uverbs77"));
  EXPECT_TRUE(entries_of(opendir("/sys/class/infiniband_verbs")).contains("uverbs77"));
  const auto error = [](const std::string& path) {
    return error_of([&] { return opendir(path.c_str()); });
  };
  EXPECT_EQ(error(port + "/lid"), ENOTDIR);
  EXPECT_EQ(error(port + "/nothing"), ENOENT);
  EXPECT_EQ(error(device_file), ENOTDIR);
}

TEST(files_folders, a_folder_of_the_system_shows_both) {
  // The folder exists on each machine; the tree has an entry of its own in it.
  const names both = entries_of(opendir("/sys/class/infiniband/.."));
  EXPECT_TRUE(both.contains("infiniband"));
  EXPECT_TRUE(both.contains("net"));
  const int folder = open("/sys/class/infiniband/..", O_RDONLY | O_DIRECTORY);
  EXPECT_EQ(faccessat(folder, "net", F_OK, 0), 0);
  EXPECT_EQ(faccessat(folder, "infiniband/freehca7/fw_ver", F_OK, 0), 0);
  close(folder);
}

TEST(files_folders, entries_have_their_kind_and_their_inode) {
  DIR* const stream = opendir(real_device.c_str());
  ASSERT_NE(stream, nullptr);
  int seen = 0;
  while (const struct dirent64* entry = named<struct dirent64*(DIR*)>("readdir64")(stream)) {
    if (entry->d_name[0] == '.') continue;
    struct stat status;
    ASSERT_EQ(fstatat(dirfd(stream), entry->d_name, &status, AT_SYMLINK_NOFOLLOW), 0);
    EXPECT_EQ(entry->d_type, IFTODT(status.st_mode)) << entry->d_name;
    EXPECT_EQ(entry->d_ino, status.st_ino) << entry->d_name;
    ++seen;
  }
  EXPECT_EQ(seen, 10);
  closedir(stream);
}

TEST(files_folders, a_stream_on_a_descriptor) {
  const int folder = open((port + "/gids").c_str(), O_RDONLY | O_DIRECTORY);
  DIR* const stream = fdopendir(folder);
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(dirfd(stream), folder);
  EXPECT_EQ(entries_of(stream), in_gids);
  EXPECT_EQ(fcntl(folder, F_GETFD), -1);
  const int file = open((port + "/lid").c_str(), O_RDONLY);
  EXPECT_EQ(error_of([&] { return fdopendir(file); }), ENOTDIR);
  close(file);
}

TEST(files_folders, positions) {
  DIR* const stream = opendir((port + "/gids").c_str());
  ASSERT_NE(stream, nullptr);
  readdir(stream);
  const long second = telldir(stream);
  const std::string name = readdir(stream)->d_name;
  readdir(stream);
  seekdir(stream, second);
  EXPECT_EQ(readdir(stream)->d_name, name);
  rewinddir(stream);
  EXPECT_EQ(entries_of(stream, false), in_gids);
  EXPECT_EQ(readdir(stream), nullptr);
  closedir(stream);
}

TEST(files_folders, reading_into_memory_of_the_program) {
  using reader = int(DIR*, struct dirent*, struct dirent**);
  for (const char* call : {"readdir_r", "readdir64_r"})
    for (const std::string& path : {port + "/gids", std::string("/proc/self/task")}) {
      DIR* const stream = opendir(path.c_str());
      ASSERT_NE(stream, nullptr);
      struct dirent entry;
      struct dirent* at = nullptr;
      names found;
      while (named<reader>(call)(stream, &entry, &at) == 0 && at != nullptr)
        found.insert(at->d_name);
      EXPECT_TRUE(found.contains(".."));
      if (path != "/proc/self/task") {
        EXPECT_EQ(found, in_gids);
      }
      closedir(stream);
    }
}

TEST(files_folders, scans) {
  using scanner = int(const char*, struct dirent***, int (*)(const struct dirent*),
                      int (*)(const struct dirent**, const struct dirent**));
  for (const char* call : {"scandir", "scandir64"}) {
    struct dirent** list = nullptr;
    const auto no_dots = [](const struct dirent* e) { return e->d_name[0] != '.' ? 1 : 0; };
    const auto descending = [](const struct dirent** a, const struct dirent** b) {
      return std::strcmp((*b)->d_name, (*a)->d_name);
    };
    ASSERT_EQ(named<scanner>(call)((port + "/gids").c_str(), &list, no_dots, descending), 3);
    EXPECT_STREQ(list[0]->d_name, "2");
    EXPECT_STREQ(list[1]->d_name, "1");
    EXPECT_STREQ(list[2]->d_name, "0");
    for (int i = 0; i != 3; ++i) std::free(list[i]);
    std::free(list);
    EXPECT_EQ(error_of([&] { return named<scanner>(call)(port.c_str(), &list, nullptr, nullptr); }),
              0);
    EXPECT_EQ(error_of([&] {
                return named<scanner>(call)((port + "/none").c_str(), &list, nullptr, nullptr);
              }),
              ENOENT);
    EXPECT_GE(named<scanner>(call)("/proc/self/fd", &list, nullptr, nullptr), 5);
  }
}

TEST(files_folders, streams_of_the_system_beside_ours) {
  DIR* const ours = opendir(port.c_str());
  const names of_system = entries_of(opendir("/proc/self"));
  EXPECT_TRUE(of_system.contains("comm"));
  EXPECT_TRUE(entries_of(ours).contains("lid"));
}

TEST(files_folders, a_forked_child_reads_and_so_does_a_program_that_it_starts) {
  const int folder = open(port.c_str(), O_RDONLY | O_DIRECTORY);
  const pid_t child = fork();
  if (child == 0) _exit(faccessat(folder, "lid", R_OK, 0) == 0 ? 17 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 17);
  close(folder);
  FILE* const pipe = popen(("cat " + port + "/lid; ls " + port + "/gids").c_str(), "r");
  char text[64] = {};
  EXPECT_EQ(std::fread(text, 1, sizeof text, pipe), 11u);
  EXPECT_STREQ(text, "0x1c\n0\n1\n2\n");
  pclose(pipe);
}

TEST(files_folders, find_walks_the_tree) {
  const std::string found = std::string("find ") + real_device + " -name 'ca*' -type f";
  FILE* const pipe =
      popen((found + " && find -L " + device + " -maxdepth 1 -name ports").c_str(), "r");
  char text[512] = {};
  EXPECT_GT(std::fread(text, 1, sizeof text - 1, pipe), 0u);
  const std::string lines = text;
  EXPECT_NE(lines.find(real_device + "/ports/1/cap_mask\n"), std::string::npos) << lines;
  EXPECT_NE(lines.find(real_device + "/ports/1/counters/calls\n"), std::string::npos) << lines;
  EXPECT_NE(lines.find(device + "/ports\n"), std::string::npos) << lines;
  EXPECT_EQ(pclose(pipe), 0);
}

TEST(files_folders, programs_of_the_system_copy_the_tree) {
  char folder[] = "/tmp/files-copy-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  // As with sysfs, tar says with status 1 that a file is shorter than its status.
  const std::string commands =
      "set -e; ls -lR " + device + "/ >/dev/null; cp -r " + port + " " + folder +
      "/copy; grep -q 0x1c " + folder + "/copy/lid; tar -C / -cf " + folder + "/archive " +
      real_device.substr(1) + "/ports/1/gids 2>/dev/null || test $? = 1; tar -tf " + folder +
      "/archive | grep -q gids/1";
  EXPECT_EQ(std::system(commands.c_str()), 0);
  EXPECT_EQ(std::system(("rm -r " + std::string(folder)).c_str()), 0);
}

/// Names of folders that stand for open folders of the tree.
names removable_folders() {
  names found;
  for (const std::string base : {"/dev/shm", "/tmp"})
    for (const std::string& name : entries_of(opendir(base.c_str())))
      if (name.starts_with("freehca-folder-")) found.insert(base + "/" + name);
  return found;
}

TEST(files_folders, no_folder_is_left_behind) {
  const names before = removable_folders();
  for (int i = 0; i != 2000; ++i) close(open(port.c_str(), O_RDONLY | O_DIRECTORY));
  EXPECT_FALSE(entries_of(opendir(port.c_str())).empty());
  names left = removable_folders();
  std::erase_if(left, [&](const std::string& name) { return before.contains(name); });
  // Another process of tests may be between making one and removing it.
  for (int i = 0; i != 100 && !left.empty(); ++i) {
    usleep(20'000);
    std::erase_if(left, [](const std::string& name) { return access(name.c_str(), F_OK) != 0; });
  }
  EXPECT_EQ(left, names());
}

}  // namespace
