// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The list of permitted calls, and the result of all others:
// - A call that only an intruder makes ends the process by SIGSYS: nothing of it is worth keeping,
//   and the kernel writes a record for the administrator.
// - Each other call fails with EPERM. A library that makes an unexpected call in a rare situation
//   then meets an error that it handles, and a guest cannot end its adapter by such a situation.
#include "call_filter.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <memory>

#include <fmt/format.h>

#include <freehca/closed_process/sanitizer.hpp>

namespace freehca::closed_process {
namespace {

constexpr int permitted[] = {
    // Memory. mmap and mprotect have conditions.
    SCMP_SYS(brk), SCMP_SYS(madvise), SCMP_SYS(mremap), SCMP_SYS(munmap),
    // Open descriptors. fcntl has a condition.
    SCMP_SYS(close), SCMP_SYS(fallocate), SCMP_SYS(fstat), SCMP_SYS(ftruncate), SCMP_SYS(lseek),
    SCMP_SYS(memfd_create), SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(read), SCMP_SYS(readv),
    SCMP_SYS(write), SCMP_SYS(writev),
    // The kind of a descriptor that a client has sent.
    SCMP_SYS(readlink), SCMP_SYS(readlinkat),
    // Open sockets.
    SCMP_SYS(accept4), SCMP_SYS(getsockopt), SCMP_SYS(recvfrom), SCMP_SYS(recvmsg),
    SCMP_SYS(sendmmsg), SCMP_SYS(sendmsg), SCMP_SYS(sendto), SCMP_SYS(shutdown),
    // Time. Most of it needs no system call, but not on each machine.
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep), SCMP_SYS(gettimeofday), SCMP_SYS(nanosleep),
    SCMP_SYS(restart_syscall),
    // Signals of this process.
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
    // The process itself.
    SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(futex), SCMP_SYS(getpid), SCMP_SYS(getppid),
    SCMP_SYS(getrandom), SCMP_SYS(gettid), SCMP_SYS(sched_yield)};

constexpr int deadly[] = {
    // Other programs and processes.
    SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev), SCMP_SYS(pidfd_getfd),
    // File systems and namespaces.
    SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(move_mount), SCMP_SYS(open_tree), SCMP_SYS(fsopen),
    SCMP_SYS(fsmount), SCMP_SYS(pivot_root), SCMP_SYS(chroot), SCMP_SYS(setns), SCMP_SYS(unshare),
    // The kernel.
    SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(io_uring_setup),
    SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load), SCMP_SYS(reboot), SCMP_SYS(swapon), SCMP_SYS(swapoff),
    SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key)};

// A sanitizer's search for leaks, and its report.
constexpr int sanitizers[] = {SCMP_SYS(clone),
                              SCMP_SYS(clone3),
                              SCMP_SYS(dup2),
                              SCMP_SYS(execve),
                              SCMP_SYS(fork),
                              SCMP_SYS(getdents),
                              SCMP_SYS(getdents64),
                              SCMP_SYS(getrlimit),
                              SCMP_SYS(ioctl),
                              SCMP_SYS(kill),
                              SCMP_SYS(mprotect),
                              SCMP_SYS(mmap),
                              SCMP_SYS(newfstatat),
                              SCMP_SYS(open),
                              SCMP_SYS(openat),
                              SCMP_SYS(personality),
                              SCMP_SYS(pipe),
                              SCMP_SYS(pipe2),
                              SCMP_SYS(prctl),
                              SCMP_SYS(prlimit64),
                              SCMP_SYS(ptrace),
                              SCMP_SYS(rseq),
                              SCMP_SYS(sched_getaffinity),
                              SCMP_SYS(set_robust_list),
                              SCMP_SYS(stat),
                              SCMP_SYS(tgkill),
                              SCMP_SYS(uname),
                              SCMP_SYS(wait4),
                              SCMP_SYS(getuid),
                              SCMP_SYS(geteuid),
                              SCMP_SYS(access),
                              SCMP_SYS(arch_prctl),
                              SCMP_SYS(fcntl),
                              SCMP_SYS(set_tid_address),
                              SCMP_SYS(pread64),
                              SCMP_SYS(lstat),
                              SCMP_SYS(dup),
                              SCMP_SYS(getcwd),
                              SCMP_SYS(getpgrp)};

scmp_arg_cmp is(unsigned argument, scmp_datum_t value) {
  return {argument, SCMP_CMP_EQ, value, 0};
}

scmp_arg_cmp has_bits(unsigned argument, scmp_datum_t mask, scmp_datum_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

class filter {
 public:
  filter() : made_(seccomp_init(SCMP_ACT_ERRNO(EPERM)), seccomp_release) {
    // Without this, seccomp_load() hides the kernel's error number.
    if (made()) error_ = seccomp_attr_set(made_.get(), SCMP_FLTATR_API_SYSRAWRC, 1);
  }

  bool made() const { return made_ != nullptr; }
  void permit(int call, std::initializer_list<scmp_arg_cmp> conditions = {}) {
    add(SCMP_ACT_ALLOW, call, conditions);
  }
  void forbid(int call) { add(SCMP_ACT_KILL_PROCESS, call, {}); }
  /// Returns 0, or an error number of the first failure.
  int load() {
    if (error_ == 0) error_ = seccomp_load(made_.get());
    return -error_;
  }

 private:
  void add(std::uint32_t action, int call, std::initializer_list<scmp_arg_cmp> conditions) {
    if (error_ == 0)
      error_ = seccomp_rule_add_array(made_.get(), action, call,
                                      static_cast<unsigned>(conditions.size()), conditions.begin());
  }

  std::unique_ptr<void, void (*)(scmp_filter_ctx)> made_;
  int error_ = 0;
};

void add_conditional_calls(filter& to) {
  // No memory becomes executable.
  to.permit(SCMP_SYS(mmap), {has_bits(2, PROT_EXEC, 0)});
  to.permit(SCMP_SYS(mprotect), {has_bits(2, PROT_EXEC, 0)});
  // Without the commands that send signals to other processes.
  for (const int command :
       {F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_ADD_SEALS, F_GET_SEALS})
    to.permit(SCMP_SYS(fcntl), {is(1, static_cast<scmp_datum_t>(command))});
  // The bytes that have arrived at a socket.
  to.permit(SCMP_SYS(ioctl), {is(1, FIONREAD)});
  // fstat() of the C library.
  to.permit(SCMP_SYS(newfstatat), {is(3, AT_EMPTY_PATH)});
  // abort(), and other ways to end itself.
  for (const int call : {SCMP_SYS(kill), SCMP_SYS(tgkill)})
    to.permit(call, {is(0, static_cast<scmp_datum_t>(getpid()))});
}

void permit_connections(filter& to) {
  for (const int family : {AF_INET, AF_INET6, AF_UNIX})
    for (const int type : {SOCK_STREAM, SOCK_DGRAM})
      to.permit(SCMP_SYS(socket), {is(0, static_cast<scmp_datum_t>(family)),
                                   has_bits(1, 0xf, static_cast<scmp_datum_t>(type))});
  for (const int call :
       {SCMP_SYS(accept), SCMP_SYS(getpeername), SCMP_SYS(getsockname), SCMP_SYS(setsockopt)})
    to.permit(call);
  for (const int request : {FIONBIO, SIOCGIFINDEX})
    to.permit(SCMP_SYS(ioctl), {is(1, static_cast<scmp_datum_t>(request))});
}

void permit_reading(filter& to) {
  constexpr scmp_datum_t changes = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;
  to.permit(SCMP_SYS(open), {has_bits(1, changes, O_RDONLY)});
  to.permit(SCMP_SYS(openat), {has_bits(2, changes, O_RDONLY)});
  // The C library's stat().
  to.permit(SCMP_SYS(newfstatat), {is(3, 0)});
}

void add_kept_permissions(filter& to, const permissions& kept) {
  if (!kept.removed_files.empty() || !kept.replaced_files.empty()) {
    to.permit(SCMP_SYS(unlink));
    to.permit(SCMP_SYS(unlinkat), {is(2, 0)});
  }
  if (!kept.replaced_files.empty()) {
    for (const int call : {SCMP_SYS(rename), SCMP_SYS(renameat), SCMP_SYS(fsync)}) to.permit(call);
    to.permit(SCMP_SYS(renameat2), {is(4, 0)});
  }
  for (const int family : kept.connected_families)
    to.permit(SCMP_SYS(socket),
              {is(0, static_cast<scmp_datum_t>(family)), has_bits(1, 0xf, SOCK_STREAM)});
  if (kept.connects_anywhere) permit_connections(to);
  if (!kept.connected_families.empty() || kept.connects_anywhere) to.permit(SCMP_SYS(connect));
  if (!kept.read_folders.empty()) permit_reading(to);
  for (const pid_t child : kept.children) {
    to.permit(SCMP_SYS(kill), {is(0, static_cast<scmp_datum_t>(child)), is(1, SIGKILL)});
    to.permit(SCMP_SYS(wait4), {is(0, static_cast<scmp_datum_t>(child))});
  }
}

template <std::size_t Count>
bool contains(const int (&calls)[Count], int call) {
  for (const int one : calls)
    if (one == call) return true;
  return false;
}

}  // namespace

std::string load_call_filter(const permissions& kept) {
  filter all;
  if (!all.made()) return "seccomp: no memory";
  for (const int call : permitted) all.permit(call);
  for (const int call : deadly)
    if (!built_with_sanitizer || !contains(sanitizers, call)) all.forbid(call);
  if (built_with_sanitizer)
    for (const int call : sanitizers) all.permit(call);
  else add_conditional_calls(all);
  add_kept_permissions(all, kept);
  const int error = all.load();
  if (error == EINVAL || error == ENOSYS) return "the kernel has no seccomp";
  return error == 0 ? "" : fmt::format("seccomp: {}", std::strerror(error));
}

}  // namespace freehca::closed_process
