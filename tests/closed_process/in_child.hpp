// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <functional>
#include <string>

#include <freehca/closed_process/closing.hpp>

namespace freehca::closed_process::test {

/// How a child process ended: by a signal, or with a code.
struct end {
  int signal = 0, code = 0;
  bool operator==(const end&) const = default;
};
/// The code of a child that could not be closed.
inline constexpr int not_closed = 255;

/// Runs the function in a child process, because closing lasts for the life of a process.
end run_in_child(const std::function<int()>& work);
/// Runs the call in a child process that is closed first. Returns its errno, or 0.
end run_closed(const permissions& kept, const std::function<long()>& call,
               const kernel_functions& kernel = this_kernel);
/// The same without closing.
end run_open(const std::function<long()>& call);
/// Closes a child process and returns the result.
closing close_child(mode how, const permissions& kept, const kernel_functions& kernel);

/// The ABI of the running kernel's Landlock.
long abi_of_this_kernel();

/// A folder that is removed with its owner.
class folder {
 public:
  folder();
  ~folder();
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  /// Creates an empty file and returns its path.
  std::string file(const std::string& name) const;

 private:
  std::string path_;
};

}  // namespace freehca::closed_process::test
