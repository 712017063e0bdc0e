// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// System calls of a closed process. Each refused call has a twin: the same call in a process that
// is not closed.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include <freehca/closed_process/sanitizer.hpp>
#include <freehca/wires/descriptor.hpp>

#include "in_child.hpp"

namespace freehca::closed_process::test {
namespace {

using wires::descriptor;

const end killed{.signal = SIGSYS}, refused{.code = EPERM}, succeeded{};

// The kernel without one of the two parts, so that the other one is seen alone.
kernel_functions with_path_rules_alone() {
  kernel_functions made = this_kernel;
  made.load_filter = [](const permissions&) { return std::string(); };
  return made;
}

kernel_functions with_filter_alone() {
  kernel_functions made = this_kernel;
  made.restrict_self = [](int, std::uint32_t) -> long { return 0; };
  return made;
}

permissions removal_of(const std::string& path) {
  permissions kept;
  kept.removed_files = {path};
  return kept;
}

long execute_true() {
  return execl("/bin/true", "true", static_cast<char*>(nullptr));
}

long execute_true_at() {
  char* const none[] = {nullptr};
  char name[] = "true";
  char* const words[] = {name, nullptr};
  return syscall(SYS_execveat, AT_FDCWD, "/bin/true", words, none, 0);
}

long be_traced() {
  return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
}

long copy_memory(long number) {
  static std::array<char, 8> from{}, to{};
  const iovec own{to.data(), to.size()}, other{from.data(), from.size()};
  return syscall(number, getpid(), &own, 1ul, &other, 1ul, 0ul);
}

long make_bpf_map() {
  bpf_attr about{};
  about.map_type = BPF_MAP_TYPE_ARRAY;
  about.key_size = about.value_size = 4;
  about.max_entries = 1;
  return syscall(SYS_bpf, BPF_MAP_CREATE, &about, sizeof about);
}

// A mount namespace of the child's own, so that a mount is gone with it.
long mount_a_file_system() {
  if (unshare(CLONE_NEWNS) != 0) return -1;
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return -1;
  return mount("none", "/tmp", "tmpfs", 0, nullptr);
}

struct refused_call {
  const char* what;
  std::function<long()> call;
  end closed;
  /// In an open process: success, or the error of a call with wrong arguments.
  end open = succeeded;
  /// The open process needs root's rights.
  bool needs_root = false;
  /// A build with a sanitizer needs the call.
  bool with_sanitizer = false;
};

void expect(const std::vector<refused_call>& all, const permissions& kept = {},
            const kernel_functions& kernel = this_kernel) {
  for (const refused_call& one : all) {
    if (one.with_sanitizer && built_with_sanitizer) continue;
    EXPECT_EQ(one.closed, run_closed(kept, one.call, kernel)) << one.what;
    if (one.needs_root && geteuid() != 0) continue;
    EXPECT_EQ(one.open, run_open(one.call)) << one.what;
  }
}

TEST(refused_calls, other_programs_and_processes) {
  const auto signal_parent = [] { return kill(getppid(), 0); };
  expect(
      {{"execve", execute_true, killed, succeeded, false, true},
       {"execveat", execute_true_at, killed},
       {"ptrace", be_traced, killed, succeeded, false, true},
       {"process_vm_readv", [] { return copy_memory(SYS_process_vm_readv); }, killed},
       {"process_vm_writev", [] { return copy_memory(SYS_process_vm_writev); }, killed},
       {"kill", signal_parent, refused, succeeded, false, true},
       {"fork", [] { return fork() == 0 ? 0L : wait(nullptr); }, refused, succeeded, false, true},
       {"prctl", [] { return prctl(PR_SET_NAME, "other"); }, refused, succeeded, false, true},
       {"setpriority", [] { return setpriority(PRIO_PROCESS, 0, 19); }, refused},
       {"F_SETOWN", [] { return fcntl(STDERR_FILENO, F_SETOWN, getppid()); }, refused, succeeded,
        false, true}});
}

// The arguments are wrong, so that the kernel's own answer in an open process does no harm.
TEST(refused_calls, of_an_administrator) {
  expect({{"mount", mount_a_file_system, killed, succeeded, true},
          {"mount alone", [] { return mount("none", "/no-folder", "tmpfs", 0, nullptr); }, killed,
           end{.code = ENOENT}, true},
          {"umount2", [] { return umount2("/no-folder", 0); }, killed, end{.code = ENOENT}, true},
          {"chroot", [] { return chroot("/"); }, killed, succeeded, true},
          {"unshare", [] { return unshare(CLONE_NEWUTS); }, killed, succeeded, true},
          {"setns", [] { return setns(-1, 0); }, killed, end{.code = EBADF}},
          {"bpf", make_bpf_map, killed, succeeded, true},
          {"reboot", [] { return syscall(SYS_reboot, 0, 0, 0, nullptr); }, killed,
           end{.code = EINVAL}, true},
          {"swapon", [] { return syscall(SYS_swapon, "/no-file", 0); }, killed, end{.code = ENOENT},
           true},
          {"sethostname", [] { return syscall(SYS_sethostname, "", -1); }, refused,
           end{.code = EINVAL}, true},
          {"chown", [] { return chown("/no-file", 0, 0); }, refused, end{.code = ENOENT}}});
}

// A kernel may be built without them. An open process then has ENOSYS, and without root's rights
// EPERM. A closed one ends.
TEST(refused_calls, that_a_kernel_may_lack) {
  const refused_call all[] = {
      {"kexec_load", [] { return syscall(SYS_kexec_load, 0, 0, nullptr, ~0ul); }, killed},
      {"init_module", [] { return syscall(SYS_init_module, nullptr, 0, nullptr); }, killed},
      {"finit_module", [] { return syscall(SYS_finit_module, -1, nullptr, 0); }, killed},
      {"delete_module", [] { return syscall(SYS_delete_module, nullptr, 0); }, killed},
      {"io_uring_setup", [] { return syscall(SYS_io_uring_setup, 0, nullptr); }, killed},
      {"userfaultfd", [] { return syscall(SYS_userfaultfd, -1); }, killed},
      {"perf_event_open", [] { return syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0); },
       killed},
      {"keyctl", [] { return syscall(SYS_keyctl, -1, 0, 0, 0, 0); }, killed}};
  for (const refused_call& one : all) {
    EXPECT_EQ(killed, run_closed({}, one.call)) << one.what;
    const end open = run_open(one.call);
    EXPECT_EQ(0, open.signal) << one.what;
    if (geteuid() == 0) {
      EXPECT_NE(EPERM, open.code) << one.what;
    }
  }
}

TEST(refused_calls, files) {
  const folder files;
  const std::string file = files.file("file"), other = files.path("other");
  const auto path = [&] { return file.c_str(); };
  expect({{"open", [&] { return open(path(), O_RDONLY); }, refused, succeeded, false, true},
          {"open for writing", [&] { return open(path(), O_WRONLY); }, refused, succeeded, false,
           true},
          {"creat", [&] { return open(other.c_str(), O_WRONLY | O_CREAT, 0600); }, refused,
           succeeded, false, true},
          {"the passwords", [] { return open("/etc/shadow", O_RDONLY); }, refused, succeeded, true,
           true},
          {"stat",
           [&] {
             struct stat s {};
             return fstatat(AT_FDCWD, path(), &s, 0);
           },
           refused, succeeded, false, true},
          {"truncate", [&] { return truncate(path(), 1); }, refused},
          {"chmod", [&] { return chmod(path(), 0600); }, refused},
          {"link", [&] { return link(path(), files.path("link").c_str()); }, refused},
          {"symlink", [&] { return symlink(path(), files.path("symlink").c_str()); }, refused},
          {"mkdir", [&] { return mkdir(files.path("folder").c_str(), 0700); }, refused},
          {"rename", [&] { return rename(path(), files.path("renamed").c_str()); }, refused},
          {"unlink", [&] { return unlink(files.path("renamed").c_str()); }, refused}});
}

// Without the filter. A sanitizer may read all files.
TEST(refused_calls, files_by_path_rules_alone) {
  const folder files;
  const std::string file = files.file("file"), other = files.path("other");
  const end denied{.code = EACCES};
  const auto path = [&] { return file.c_str(); };
  expect({{"open", [&] { return open(path(), O_RDONLY); }, denied, succeeded, false, true},
          {"open for writing", [&] { return open(path(), O_WRONLY); }, denied},
          {"creat", [&] { return open(other.c_str(), O_WRONLY | O_CREAT, 0600); }, denied},
          {"execve", execute_true, denied, succeeded, false, true},
          {"mkdir", [&] { return mkdir(files.path("folder").c_str(), 0700); }, denied},
          {"unlink", [&] { return unlink(path()); }, denied}},
         {}, with_path_rules_alone());
}

long make_socket(int family, int type) {
  return socket(family, type, 0);
}

long map(int protection) {
  return mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
}

TEST(refused_calls, sockets_and_memory) {
  const descriptor bound(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto make_executable = [] {
    void* at = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mprotect(at, 4096, PROT_READ | PROT_EXEC);
  };
  expect({{"netlink", [] { return make_socket(AF_NETLINK, SOCK_RAW); }, refused},
          {"packets", [] { return make_socket(AF_PACKET, SOCK_RAW); }, refused, succeeded, true},
          {"TCP", [] { return make_socket(AF_INET, SOCK_STREAM); }, refused},
          {"unix", [] { return make_socket(AF_UNIX, SOCK_STREAM); }, refused},
          {"listen", [&] { return listen(bound.get(), 1); }, refused},
          {"executable memory", [] { return map(PROT_READ | PROT_EXEC); }, refused, succeeded,
           false, true},
          {"memory made executable", make_executable, refused, succeeded, false, true}});
}

TEST(permitted_calls, memory_open_descriptors_and_the_end) {
  const folder files;
  const descriptor file(open(files.file("file").c_str(), O_RDWR | O_CLOEXEC));
  const descriptor foreign(memfd_create("memory", MFD_CLOEXEC));
  ASSERT_TRUE(file.open() && foreign.open());
  struct stat about {};
  std::array<int, 2> ends{};
  int arrived = 0;
  ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()));
  const descriptor own_end(ends[0]), other_end(ends[1]);
  const auto read_link = [] {
    std::array<char, 64> name;
    return readlink("/proc/self/fd/2", name.data(), name.size());
  };
  const refused_call all[] = {
      {"write", [&] { return write(file.get(), "text", 4); }, succeeded},
      {"ftruncate", [&] { return ftruncate(file.get(), 1); }, succeeded},
      {"fstat", [&] { return fstat(file.get(), &about); }, succeeded},
      {"memfd_create", [] { return memfd_create("more", MFD_CLOEXEC | MFD_ALLOW_SEALING); },
       succeeded},
      {"ftruncate of memory", [&] { return ftruncate(foreign.get(), 8192); }, succeeded},
      {"mmap", [] { return map(PROT_READ | PROT_WRITE); }, succeeded},
      {"F_GETFL", [&] { return fcntl(file.get(), F_GETFL); }, succeeded},
      {"readlink", read_link, succeeded},
      {"FIONREAD", [&] { return ioctl(ends[0], FIONREAD, &arrived); }, succeeded},
      {"its own end", [] { return kill(getpid(), SIGTERM); }, end{.signal = SIGTERM}},
      {"poll", [] { return poll(nullptr, 0, 1); }, succeeded},
      {"abort", []() -> long { std::abort(); }, end{.signal = SIGABRT}}};
  for (const refused_call& one : all) EXPECT_EQ(one.closed, run_closed({}, one.call)) << one.what;
}

TEST(kept_permissions, removal_of_a_socket) {
  const folder files, others;
  const std::string own = files.file("own"), other = others.file("other");
  EXPECT_EQ(end{.code = EACCES},
            run_closed(removal_of(own), [&] { return unlink(other.c_str()); }));
  EXPECT_EQ(refused, run_closed(removal_of(own), [&] { return rmdir(files.path("").c_str()); }));
  EXPECT_EQ(0, access(other.c_str(), F_OK));
  EXPECT_EQ(succeeded, run_closed(removal_of(own), [&] { return unlink(own.c_str()); }));
  EXPECT_NE(0, access(own.c_str(), F_OK));
}

TEST(kept_permissions, reading_of_a_folder) {
  const folder files;
  const std::string own = files.file("own");
  permissions kept;
  kept.read_folders = {files.path(""), "/tmp/freehca-no-folder"};
  struct stat about {};
  EXPECT_EQ(succeeded, run_closed(kept, [&] { return open(own.c_str(), O_RDONLY); }));
  EXPECT_EQ(succeeded, run_closed(kept, [&] { return stat(own.c_str(), &about); }));
}

TEST(kept_permissions, removal_by_a_path_without_a_folder) {
  const folder files;
  files.file("own");
  const end ended = run_in_child([&] {
    if (chdir(files.path("").c_str()) != 0) return 1;
    if (close_process(mode::required, removal_of("own")).failed) return 2;
    return unlink("own") == 0 ? 0 : 3;
  });
  EXPECT_EQ(succeeded, ended);
}

TEST(kept_permissions, replacement_of_a_file) {
  const folder files, others;
  const std::string own = files.file("own"), next = files.file("own.new");
  const std::string other = others.file("other");
  permissions kept;
  kept.replaced_files = {own};
  const auto rename_to = [](const std::string& from, const std::string& to) {
    return [from, to] { return rename(from.c_str(), to.c_str()); };
  };
  EXPECT_EQ(end{.code = EACCES}, run_closed(kept, rename_to(other, others.path("another"))));
  EXPECT_NE(succeeded, run_closed(kept, rename_to(next, others.path("another"))));
  EXPECT_NE(succeeded, run_closed(kept, [&] {
              return open(files.path("made").c_str(), O_WRONLY | O_CREAT, 0600);
            }));
  EXPECT_EQ(refused, run_closed(kept, [&] {
              return syscall(SYS_renameat2, AT_FDCWD, next.c_str(), AT_FDCWD, own.c_str(), 2u);
            }));
  EXPECT_EQ(0, access(next.c_str(), F_OK));
  EXPECT_EQ(succeeded, run_closed(kept, rename_to(next, own)));
  EXPECT_NE(0, access(next.c_str(), F_OK));
}

// A TCP listener at a port of the host, on which connections are not accepted.
struct listener {
  listener() {
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof at;
    EXPECT_EQ(0, bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at));
    EXPECT_EQ(0, listen(socket.get(), 8));
    EXPECT_EQ(0, getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at), &bytes));
  }
  long connect() const {
    const descriptor caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!caller.open()) return -1;
    return ::connect(caller.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at);
  }
  descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in at{};
};

TEST(kept_permissions, connections) {
  const listener one, other;
  permissions kept;
  kept.connected_families = {AF_INET, AF_INET};
  kept.connected_ports = {ntohs(one.at.sin_port), ntohs(one.at.sin_port)};
  EXPECT_EQ(succeeded, run_closed(kept, [&] { return one.connect(); }));
  EXPECT_EQ(end{.code = abi_of_this_kernel() < 4 ? 0 : EACCES},
            run_closed(kept, [&] { return other.connect(); }));
  EXPECT_EQ(succeeded, run_open([&] { return other.connect(); }));
  EXPECT_EQ(refused, run_closed(kept, [] { return make_socket(AF_INET6, SOCK_STREAM); }));
  EXPECT_EQ(refused, run_closed(kept, [] { return make_socket(AF_INET, SOCK_DGRAM); }));
  EXPECT_EQ(refused, run_closed(kept, [] { return make_socket(AF_INET, SOCK_RAW); }));
  const descriptor unbound(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(refused, run_closed(kept, [&] {
              sockaddr_in any{};
              any.sin_family = AF_INET;
              return bind(unbound.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any);
            }));
}

TEST(kept_permissions, connections_to_any_address) {
  const listener one;
  permissions kept;
  kept.connects_anywhere = true;
  EXPECT_EQ(succeeded, run_closed(kept, [&] { return one.connect(); }));
  for (const int family : {AF_INET, AF_INET6, AF_UNIX})
    EXPECT_EQ(succeeded, run_closed(kept, [&] { return make_socket(family, SOCK_DGRAM); }));
  EXPECT_EQ(refused, run_closed(kept, [] { return make_socket(AF_INET, SOCK_RAW); }));
  EXPECT_EQ(refused, run_closed(kept, [] { return make_socket(AF_NETLINK, SOCK_RAW); }));
  EXPECT_EQ(refused, run_closed(kept, [&] { return listen(one.socket.get(), 1); }));
}

// Each part refuses by itself.
TEST(single_parts, the_filter) {
  const folder files;
  const std::string file = files.file("file");
  expect({{"open", [&] { return open(file.c_str(), O_WRONLY); }, refused, succeeded, false, true},
          {"mkdir", [&] { return mkdir(files.path("folder").c_str(), 0700); }, refused},
          {"execveat", execute_true_at, killed}},
         {}, with_filter_alone());
}

// Landlock has scopes since ABI 6.
TEST(single_parts, the_scopes_of_path_rules) {
  const end closed = abi_of_this_kernel() < 6 ? succeeded : refused;
  const std::string name = "freehca-closed-" + std::to_string(getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const descriptor listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(0, bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), bytes));
  ASSERT_EQ(0, listen(listening.get(), 8));
  const auto connect_abstract = [&]() -> long {
    const descriptor caller(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return connect(caller.get(), reinterpret_cast<const sockaddr*>(&address), bytes);
  };
  expect({{"an abstract socket", connect_abstract, closed},
          {"kill", [] { return kill(getppid(), 0); }, closed}},
         {}, with_path_rules_alone());
}

}  // namespace
}  // namespace freehca::closed_process::test
