// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "files_test.hpp"

namespace {

using namespace files_test;

struct status_call {
  const char* name;
  bool follows;
  std::function<int(const char*, struct stat*)> run;
};

std::vector<status_call> status_calls() {
  using plain = int(const char*, struct stat*);
  using at = int(int, const char*, struct stat*, int);
  using old = int(int, const char*, struct stat*);
  using old_at = int(int, int, const char*, struct stat*, int);
  constexpr int version = 1;
  std::vector<status_call> calls;
  for (const char* name : {"stat", "stat64", "lstat", "lstat64"})
    calls.push_back({name, name[0] == 's', named<plain>(name)});
  for (const char* name : {"fstatat", "fstatat64"})
    for (const int flags : {0, AT_SYMLINK_NOFOLLOW})
      calls.push_back({name, flags == 0, [=](const char* path, struct stat* to) {
                         return named<at>(name)(AT_FDCWD, path, to, flags);
                       }});
  for (const char* name : {"__xstat", "__xstat64", "__lxstat", "__lxstat64"})
    calls.push_back({name, name[2] == 'x', [=](const char* path, struct stat* to) {
                       return named<old>(name)(version, path, to);
                     }});
  for (const char* name : {"__fxstatat", "__fxstatat64"})
    for (const int flags : {0, AT_SYMLINK_NOFOLLOW})
      calls.push_back({name, flags == 0, [=](const char* path, struct stat* to) {
                         return named<old_at>(name)(version, AT_FDCWD, path, to, flags);
                       }});
  for (const int flags : {0, AT_SYMLINK_NOFOLLOW})
    calls.push_back({"statx", flags == 0, [=](const char* path, struct stat* to) {
                       struct statx extended;
                       const int result =
                           statx(AT_FDCWD, path, flags, STATX_BASIC_STATS, &extended);
                       if (result != 0) return result;
                       *to = {};
                       to->st_mode = extended.stx_mode;
                       to->st_size = static_cast<off_t>(extended.stx_size);
                       to->st_ino = extended.stx_ino;
                       to->st_rdev = makedev(extended.stx_rdev_major, extended.stx_rdev_minor);
                       return 0;
                     }});
  return calls;
}

TEST(files_names, each_status_call_knows_each_kind) {
  for (const status_call& call : status_calls()) {
    struct stat status;
    ASSERT_EQ(call.run((port + "/lid").c_str(), &status), 0) << call.name;
    EXPECT_EQ(status.st_mode, S_IFREG | 0444u) << call.name;
    EXPECT_EQ(status.st_size, 4096) << call.name;
    ASSERT_EQ(call.run(port.c_str(), &status), 0) << call.name;
    EXPECT_EQ(status.st_mode, S_IFDIR | 0755u) << call.name;
    ASSERT_EQ(call.run(device.c_str(), &status), 0) << call.name;
    EXPECT_EQ(status.st_mode & S_IFMT, call.follows ? S_IFDIR : S_IFLNK) << call.name;
    ASSERT_EQ(call.run((device + "/").c_str(), &status), 0) << call.name;
    EXPECT_TRUE(S_ISDIR(status.st_mode)) << call.name;
    ASSERT_EQ(call.run(device_file.c_str(), &status), 0) << call.name;
    EXPECT_EQ(status.st_mode, S_IFCHR | 0666u) << call.name;
    EXPECT_EQ(status.st_rdev, makedev(231, 192)) << call.name;
    ASSERT_EQ(call.run(class_folder.c_str(), &status), 0) << call.name;
    EXPECT_TRUE(S_ISDIR(status.st_mode)) << call.name;
    ASSERT_EQ(call.run("/proc/self/comm", &status), 0) << call.name;
    EXPECT_TRUE(S_ISREG(status.st_mode)) << call.name;
    const auto error = [&](const std::string& path) {
      return error_of([&] { return call.run(path.c_str(), &status); });
    };
    EXPECT_EQ(error(device + "/nothing"), ENOENT) << call.name;
    EXPECT_EQ(error(port + "/lid/"), ENOTDIR) << call.name;
    EXPECT_EQ(error(port + "/lid/x"), ENOTDIR) << call.name;
    EXPECT_EQ(error("/dev/infiniband/nothing"), ENOENT) << call.name;
  }
}

TEST(files_names, a_descriptor_has_the_status_of_its_name) {
  for (const std::string& path : {port, port + "/lid"}) {
    struct stat by_name;
    ASSERT_EQ(stat(path.c_str(), &by_name), 0);
    const int opened = open(path.c_str(), O_RDONLY);
    struct statx extended;
    ASSERT_EQ(statx(opened, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &extended), 0);
    EXPECT_EQ(extended.stx_ino, by_name.st_ino);
    EXPECT_EQ(makedev(extended.stx_dev_major, extended.stx_dev_minor), by_name.st_dev);
    const std::function<int(struct stat*)> calls[] = {
        [&](struct stat* to) { return named<int(int, struct stat*)>("fstat")(opened, to); },
        [&](struct stat* to) { return named<int(int, struct stat*)>("fstat64")(opened, to); },
        [&](struct stat* to) {
          return named<int(int, int, struct stat*)>("__fxstat")(1, opened, to);
        },
        [&](struct stat* to) {
          return named<int(int, int, struct stat*)>("__fxstat64")(1, opened, to);
        },
        [&](struct stat* to) { return fstatat(opened, "", to, AT_EMPTY_PATH); }};
    for (const auto& call : calls) {
      struct stat status;
      ASSERT_EQ(call(&status), 0);
      EXPECT_EQ(status.st_ino, by_name.st_ino);
      EXPECT_EQ(status.st_dev, by_name.st_dev);
      EXPECT_EQ(status.st_mode, by_name.st_mode);
    }
    close(opened);
  }
}

TEST(files_names, status_below_a_folder) {
  const int folder = open(port.c_str(), O_PATH | O_DIRECTORY);
  ASSERT_GE(folder, 0);
  struct stat status;
  EXPECT_EQ(fstatat(folder, "lid", &status, 0), 0);
  EXPECT_EQ(status.st_mode, S_IFREG | 0444u);
  EXPECT_EQ(fstatat(folder, ".", &status, 0), 0);
  EXPECT_TRUE(S_ISDIR(status.st_mode));
  struct statx extended;
  EXPECT_EQ(statx(folder, "gids/0", 0, STATX_BASIC_STATS, &extended), 0);
  EXPECT_EQ(faccessat(folder, "lid", R_OK, 0), 0);
  EXPECT_EQ(error_of([&] { return faccessat(folder, "lid", W_OK, 0); }), EACCES);
  char target[64] = {};
  EXPECT_EQ(readlinkat(folder, "../../device", target, sizeof target), 21);
  EXPECT_STREQ(target, "../../../ffff:00:00.0");
  close(folder);
}

TEST(files_names, a_descriptor_of_the_systems_folder_leads_into_the_tree) {
  const int root = open("/", O_PATH | O_DIRECTORY);
  const std::string path = port.substr(1) + "/lid";
  struct stat status;
  EXPECT_EQ(fstatat(root, path.c_str(), &status, 0), 0);
  EXPECT_EQ(rest_of(openat(root, path.c_str(), O_RDONLY)), "0x1c\n");
  EXPECT_EQ(error_of([&] { return openat(root, (path + "x").c_str(), O_RDONLY); }), ENOENT);
  EXPECT_EQ(error_of([&] { return openat(9999, path.c_str(), O_RDONLY); }), EBADF);
  close(root);
}

TEST(files_names, entries_have_no_extended_attributes) {
  using get = ssize_t(const char*, const char*, void*, std::size_t);
  using list = ssize_t(const char*, char*, std::size_t);
  for (const std::string& path : {port, port + "/lid", device, device_file}) {
    for (const char* name : {"getxattr", "lgetxattr"})
      EXPECT_EQ(error_of([&] { return named<get>(name)(path.c_str(), "user.none", nullptr, 0); }),
                ENODATA)
          << name << path;
    for (const char* name : {"listxattr", "llistxattr"})
      EXPECT_EQ(named<list>(name)(path.c_str(), nullptr, 0), 0) << name << path;
  }
  for (const char* name : {"listxattr", "llistxattr"})
    EXPECT_EQ(error_of([&] { return named<list>(name)((port + "/none").c_str(), nullptr, 0); }),
              ENOENT)
        << name;
}

TEST(files_names, relative_paths_start_at_the_current_folder) {
  const int before = open(".", O_PATH | O_DIRECTORY);
  ASSERT_EQ(chdir("/sys/class"), 0);
  EXPECT_EQ(access("infiniband/freehca7/fw_ver", R_OK), 0);
  EXPECT_EQ(access("./../class/infiniband/freehca7/fw_ver", R_OK), 0);
  EXPECT_EQ(error_of([] { return access("infiniband/freehca7/none", R_OK); }), ENOENT);
  const int folder = open(port.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(fchdir(folder), 0);
  EXPECT_EQ(rest_of(open("lid", O_RDONLY)), "0x1c\n");
  EXPECT_EQ(access("../1/lid", R_OK), 0);
  EXPECT_EQ(fchdir(before), 0);
  EXPECT_NE(access("lid", R_OK), 0);
  close(folder);
  close(before);
}

TEST(files_names, paths_lead_from_the_tree_to_the_system) {
  EXPECT_EQ(access((device + "/device/../../../class/net").c_str(), F_OK), 0);
  EXPECT_EQ(error_of([] { return access((device + "/../net").c_str(), F_OK); }), ENOENT);
  const std::string below = device + "/device/../../../class/net/";
  EXPECT_EQ(error_of([&] { return access((below + "lo").c_str(), F_OK); }), 0);
  EXPECT_EQ(error_of([&] { return access((below + "none").c_str(), F_OK); }), ENOENT);
  EXPECT_EQ(access(("/.." + device).c_str(), F_OK), 0);
  const int folder = open(function.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_GE(folder, 0);
  EXPECT_EQ(faccessat(folder, "../../../class/net", F_OK, 0), 0);
  EXPECT_EQ(error_of([&] { return faccessat(folder, "../../../class/none", F_OK, 0); }), ENOENT);
  close(folder);
}

TEST(files_names, access_of_each_kind) {
  using plain = int(const char*, int);
  for (const char* name : {"access", "euidaccess", "eaccess"}) {
    const auto error = [&](const std::string& path, int mode) {
      return error_of([&] { return named<plain>(name)(path.c_str(), mode); });
    };
    EXPECT_EQ(error(port + "/lid", F_OK), 0) << name;
    EXPECT_EQ(error(port + "/lid", R_OK), 0) << name;
    EXPECT_EQ(error(port + "/lid", W_OK), EACCES) << name;
    EXPECT_EQ(error(port + "/lid", X_OK), EACCES) << name;
    EXPECT_EQ(error(port, R_OK | X_OK), 0) << name;
    EXPECT_EQ(error(port, W_OK), EACCES) << name;
    EXPECT_EQ(error(device_file, R_OK | W_OK), 0) << name;
    EXPECT_EQ(error(device_file, X_OK), EACCES) << name;
    EXPECT_EQ(error(device + "/device/net/eth8", F_OK), ENOENT) << name;
    EXPECT_EQ(error("/proc/self/comm", R_OK), 0) << name;
  }
}

TEST(files_names, links) {
  using plain = ssize_t(const char*, char*, std::size_t);
  using checked = ssize_t(const char*, char*, std::size_t, std::size_t);
  const auto target = [](const std::string& path, std::size_t size, bool check) {
    char text[PATH_MAX] = {};
    const ssize_t n = check ? named<checked>("__readlink_chk")(path.c_str(), text, size, size)
                            : named<plain>("readlink")(path.c_str(), text, size);
    return n < 0 ? std::to_string(errno) : std::string(text);
  };
  for (const bool check : {false, true}) {
    EXPECT_EQ(target(device, PATH_MAX, check),
              "../../devices/pciffff:00/ffff:00:00.0/infiniband/freehca7");
    EXPECT_EQ(target(device + "/device/driver", PATH_MAX, check),
              "../../../bus/pci/drivers/mlx4_core");
    EXPECT_EQ(target("/sys/bus/pci/devices/ffff:00:00.0", PATH_MAX, check),
              "../../../devices/pciffff:00/ffff:00:00.0");
    EXPECT_EQ(target(device, 6, check), "../../");
    EXPECT_EQ(target(port + "/lid", PATH_MAX, check), std::to_string(EINVAL));
    EXPECT_EQ(target(port, PATH_MAX, check), std::to_string(EINVAL));
    EXPECT_EQ(target(device + "/nothing", PATH_MAX, check), std::to_string(ENOENT));
    EXPECT_EQ(target("/proc/self/cwd", PATH_MAX, check), []() {
      char cwd[PATH_MAX];
      return std::string(getcwd(cwd, sizeof cwd));
    }());
  }
  char text[64] = {};
  using checked_at = ssize_t(int, const char*, char*, std::size_t, std::size_t);
  EXPECT_EQ(named<checked_at>("__readlinkat_chk")(AT_FDCWD, device.c_str(), text, 2, 2), 2);
  EXPECT_STREQ(text, "..");
}

TEST(files_names, forty_links_are_followed) {
  // One link leads to the device, and one more comes with each turn.
  const auto error = [](int links) {
    std::string path = device;
    for (int i = 1; i != links; ++i) path += "/device/infiniband/freehca7";
    return error_of([&] { return access((path + "/fw_ver").c_str(), F_OK); });
  };
  EXPECT_EQ(error(40), 0);
  EXPECT_EQ(error(41), ELOOP);
}

TEST(files_names, real_paths) {
  const auto path_by = [](const char* name, const std::string& path) {
    char room[PATH_MAX];
    char* found = nullptr;
    if (std::strcmp(name, "realpath") == 0) found = realpath(path.c_str(), room);
    if (std::strcmp(name, "own memory") == 0) found = realpath(path.c_str(), nullptr);
    if (std::strcmp(name, "canonical") == 0) found = canonicalize_file_name(path.c_str());
    if (std::strcmp(name, "checked") == 0)
      found = named<char*(const char*, char*, std::size_t)>("__realpath_chk")(path.c_str(), room,
                                                                              sizeof room);
    const std::string text = found != nullptr ? found : std::to_string(errno);
    if (found != room) std::free(found);
    return text;
  };
  for (const char* name : {"realpath", "own memory", "canonical", "checked"}) {
    EXPECT_EQ(path_by(name, device), real_device) << name;
    EXPECT_EQ(path_by(name, device + "/device"), function) << name;
    EXPECT_EQ(path_by(name, device + "/device/driver"), "/sys/bus/pci/drivers/mlx4_core") << name;
    EXPECT_EQ(path_by(name, "/sys/bus/pci/devices/ffff:00:00.0"), function) << name;
    EXPECT_EQ(path_by(name, port + "/./lid"), real_device + "/ports/1/lid") << name;
    EXPECT_EQ(path_by(name, device_file), device_file) << name;
    EXPECT_EQ(path_by(name, port + "/nothing"), std::to_string(ENOENT)) << name;
    EXPECT_EQ(path_by(name, port + "/lid/.."), std::to_string(ENOTDIR)) << name;
    EXPECT_EQ(path_by(name, "/proc/../dev/./null"), "/dev/null") << name;
  }
}

}  // namespace
