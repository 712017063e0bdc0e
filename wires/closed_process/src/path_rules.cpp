// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Source: Linux's Documentation/userspace-api/landlock.rst. Debian 12's header knows ABI 2, so the
// later values are here.
#include "path_rules.hpp"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include <freehca/closed_process/sanitizer.hpp>
#include <freehca/wires/descriptor.hpp>

namespace freehca::closed_process {
namespace {

constexpr int newest_abi = 7;

// The attributes of a ruleset. A kernel accepts the size that its ABI has.
struct ruleset_attributes {
  std::uint64_t handled_access_fs, handled_access_net, scoped;
};
constexpr std::size_t bytes_with_paths = 8, bytes_with_ports = 16;
static_assert(sizeof(ruleset_attributes) == 24);

// The rights that each ABI adds.
constexpr std::uint64_t rights_of_abi_1 = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
constexpr std::uint64_t refer = 1u << 13, truncate = 1u << 14, ioctl_dev = 1u << 15;
constexpr std::uint64_t bind_tcp = 1u << 0, connect_tcp = 1u << 1;
constexpr std::uint64_t scope_abstract_unix_socket = 1u << 0, scope_signal = 1u << 1;
constexpr int rule_of_port = 2;  // LANDLOCK_RULE_NET_PORT
struct port_rule {
  std::uint64_t allowed_access, port;
};
// The files of /proc, and a symbolizer.
constexpr std::uint64_t rights_of_sanitizer =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_EXECUTE;
constexpr int abi_with_refer = 2, abi_with_truncate = 3, abi_with_ports = 4, abi_with_ioctl = 5,
              abi_with_scopes = 6;

std::uint64_t path_rights(int abi) {
  return rights_of_abi_1 | (abi >= abi_with_refer ? refer : 0) |
         (abi >= abi_with_truncate ? truncate : 0) | (abi >= abi_with_ioctl ? ioctl_dev : 0);
}

// The scope of signals would refuse the signal to a child outside of it. The filter of system calls
// then permits that signal only.
std::uint64_t scopes(const permissions& kept) {
  return scope_abstract_unix_socket | (kept.children.empty() ? scope_signal : 0);
}

std::uint64_t port_rights(const permissions& kept) {
  return bind_tcp | (kept.connects_anywhere ? 0 : connect_tcp);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

std::string reason(const char* call) {
  return fmt::format("Landlock: {}: {}", call, std::strerror(errno));
}

std::string permit_below(int ruleset, const std::string& folder, std::uint64_t rights,
                         const kernel_functions& kernel) {
  const wires::descriptor opened(::open(folder.c_str(), O_PATH | O_CLOEXEC));
  if (!opened.open()) return reason(folder.c_str());
  const landlock_path_beneath_attr rule{.allowed_access = rights, .parent_fd = opened.get()};
  return kernel.add_rule(ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0
             ? ""
             : reason(folder.c_str());
}

std::string permit_port(int ruleset, std::uint16_t port, const kernel_functions& kernel) {
  const port_rule rule{.allowed_access = connect_tcp, .port = port};
  return kernel.add_rule(ruleset, rule_of_port, &rule, 0) == 0 ? "" : reason("a port");
}

std::string find_abi(const kernel_functions& kernel, int& abi) {
  const long found = kernel.create_ruleset(nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (found < 0 && errno == EOPNOTSUPP) return "the kernel was started without Landlock";
  if (found < 0 && errno == ENOSYS) return "the kernel has no Landlock";
  if (found < 1) return reason("its version");
  abi = static_cast<int>(std::min<long>(found, newest_abi));
  return "";
}

}  // namespace

std::string apply_path_rules(const permissions& kept, const kernel_functions& kernel, int& abi) {
  int found = 0;
  if (std::string why = find_abi(kernel, found); !why.empty()) return why;
  const ruleset_attributes attributes{
      .handled_access_fs = path_rights(found),
      .handled_access_net = found >= abi_with_ports ? port_rights(kept) : 0,
      .scoped = found >= abi_with_scopes ? scopes(kept) : 0};
  const std::size_t bytes = found >= abi_with_scopes  ? sizeof attributes
                            : found >= abi_with_ports ? bytes_with_ports
                                                      : bytes_with_paths;
  const wires::descriptor ruleset(static_cast<int>(kernel.create_ruleset(&attributes, bytes, 0)));
  if (!ruleset.open()) return reason("a ruleset");
  for (const std::string& path : kept.removed_files)
    if (std::string why =
            permit_below(ruleset.get(), folder_of(path), LANDLOCK_ACCESS_FS_REMOVE_FILE, kernel);
        !why.empty())
      return why;
  for (const std::string& path : kept.replaced_files)
    if (std::string why =
            permit_below(ruleset.get(), folder_of(path),
                         LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG, kernel);
        !why.empty())
      return why;
  for (const std::string& folder : kept.read_folders)
    if (std::string why = permit_below(ruleset.get(), folder, LANDLOCK_ACCESS_FS_READ_FILE, kernel);
        !why.empty() && errno != ENOENT)
      return why;
  if (built_with_sanitizer)
    if (std::string why = permit_below(ruleset.get(), "/", rights_of_sanitizer, kernel);
        !why.empty())
      return why;
  if (found >= abi_with_ports)
    for (const std::uint16_t port : kept.connected_ports)
      if (std::string why = permit_port(ruleset.get(), port, kernel); !why.empty()) return why;
  if (kernel.restrict_self(ruleset.get(), 0) != 0) return reason("its application");
  abi = found;
  return "";
}

}  // namespace freehca::closed_process
