// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "state_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

namespace freehca::device_server {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

std::string temporary(const std::string& path) {
  return path + ".new";
}

std::string failure(const std::string& path) {
  return fmt::format("{}: {}", path, std::strerror(errno));
}

}  // namespace

bool write_whole(int file, std::span<const std::byte> from) {
  while (!from.empty()) {
    const ssize_t written = write(file, from.data(), from.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    from = from.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

bool read_whole(int file, std::vector<std::byte>& to) {
  struct stat about {};
  if (fstat(file, &about) != 0) return false;
  to.resize(static_cast<std::size_t>(about.st_size));
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t got = pread(file, to.data() + done, to.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  to.resize(done);
  return true;
}

std::string state_file::open(const std::string& path) {
  folder_ =
      vfio_user::descriptor(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_.open()) return failure(folder_of(path));
  struct stat about {};
  if (stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode))
    return fmt::format("{}: it exists, and is no regular file", path);
  // The state has what a guest has sent, so others may not read it.
  file_ = vfio_user::descriptor(
      ::open(temporary(path).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file_.open()) return failure(temporary(path));
  path_ = path;
  return "";
}

void state_file::add_permissions(closed_process::permissions& to) const {
  if (file_.open()) to.replaced_files.push_back(path_);
}

std::string state_file::write(std::span<const std::byte> from) {
  if (!write_whole(file_.get(), from) || fsync(file_.get()) != 0) return failure(temporary(path_));
  if (std::rename(temporary(path_).c_str(), path_.c_str()) != 0) return failure(path_);
  file_.close();
  return fsync(folder_.get()) == 0 ? "" : failure(folder_of(path_));
}

state_file::~state_file() {
  if (file_.open()) unlink(temporary(path_).c_str());
}

std::string read_state_file(const std::string& path, std::vector<std::byte>& to) {
  const vfio_user::descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about {};
  if (!file.open() || fstat(file.get(), &about) != 0) return failure(path);
  if (!S_ISREG(about.st_mode)) return fmt::format("{}: it is no regular file", path);
  return read_whole(file.get(), to) ? "" : failure(path);
}

}  // namespace freehca::device_server
