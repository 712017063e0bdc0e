// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The system calls that the host makes. While a system_calls exists, they are counted, a ledger has
// what they opened and mapped, and each can be made to fail.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace freehca::testing {

class system_calls {
 public:
  /// A call as messages name it: a request of VFIO, a path, or the function.
  struct call {
    std::string name;
    int error;  ///< the errno that it fails with
  };

  system_calls();
  ~system_calls();
  system_calls(const system_calls&) = delete;
  system_calls& operator=(const system_calls&) = delete;
  static system_calls* current();

  /// Counts from 0 again. From then on call `first` fails, and the `count - 1` calls behind it.
  void fail(std::size_t first, std::size_t count = 1);
  /// Counts from 0 again, and no call fails.
  void work() { fail(0, 0); }
  /// Each call of this name fails with this error, until work().
  void refuse(const std::string& name, int error);
  /// Those that were made since fail() or work().
  const std::vector<call>& made() const { return made_; }

  std::size_t descriptors() const { return descriptors_.size(); }
  std::size_t mappings() const { return mappings_.size(); }
  /// How often memory was unmapped that an open function could reach by DMA.
  unsigned taken_from_the_device() const { return taken_; }

  /// Counts the call. True: it fails, and errno is set.
  bool fails(const std::string& name, int error);
  int opened(int descriptor);
  void closed(int descriptor) { descriptors_.erase(descriptor); }
  void* mapped(void* at, std::size_t bytes);
  void unmapped(void* at, std::size_t bytes);

 private:
  std::vector<call> made_;
  std::size_t first_ = 0, count_ = 0;
  std::map<std::string, int> refused_;
  std::set<int> descriptors_;
  std::map<void*, std::size_t> mappings_;
  unsigned taken_ = 0;
};

}  // namespace freehca::testing
