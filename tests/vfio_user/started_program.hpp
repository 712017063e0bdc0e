// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace freehca::vfio_user {

/// A folder that goes with its owner.
class folder {
 public:
  folder();
  ~folder();
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// A program, started with some arguments, and what it says on stderr.
class started_program {
 public:
  /// Not yet started.
  explicit started_program(std::string path) : path_(std::move(path)) {}
  ~started_program();

  /// Starts it and waits until it is ready, or has ended.
  void start(const std::vector<std::string>& arguments);
  /// As a service manager does that listens for it: those sockets are its descriptors from 3 on, by
  /// names with colons between them.
  void start_by_manager(const std::vector<std::string>& arguments, const std::vector<int>& sockets,
                        const std::string& names);
  /// Ends it by SIGTERM, or waits for its end; its exit code, -1: by a signal.
  int stop();
  int wait();
  pid_t process() const { return process_; }
  /// What it has said so far.
  std::string said() const;

 private:
  void spawn(std::vector<std::string> words, const std::vector<int>& sockets);

  const std::string path_;
  folder files_;
  pid_t process_ = -1;
};

}  // namespace freehca::vfio_user
