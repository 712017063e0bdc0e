// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/captures/packet_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace freehca::captures {
namespace {

constexpr std::uint32_t magic_nanoseconds = 0xa1b23c4d, version = 2 | 4 << 16, longest = 65535;
constexpr std::uint32_t type_ethernet = 1;      // from the MACs on, without the FCS
constexpr std::uint32_t type_infiniband = 247;  // from the LRH to the VCRC
constexpr std::uint64_t second = 1000000000;

}  // namespace

int growing_file::create(const std::string& path) {
  file_ = wires::descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  end_ = 0;
  return file_.open() ? 0 : errno;
}

bool growing_file::append(std::span<iovec> parts) {
  off_t bytes = 0;
  for (const iovec& part : parts) bytes += static_cast<off_t>(part.iov_len);
  ssize_t written;
  do written = writev(file_.get(), parts.data(), static_cast<int>(parts.size()));
  while (written < 0 && errno == EINTR);
  if (written == bytes) {
    end_ += bytes;
    return true;
  }
  if (written > 0) {
    if (ftruncate(file_.get(), end_) == 0) lseek(file_.get(), end_, SEEK_SET);
    errno = ENOSPC;
  }
  return false;
}

int packet_file::create(const std::string& path, bool ethernet) {
  if (const int why = file_.create(path); why != 0) return why;
  std::array<std::uint32_t, 6> header{
      magic_nanoseconds, version, 0, 0, longest, ethernet ? type_ethernet : type_infiniband};
  std::array<iovec, 1> parts{{{header.data(), sizeof header}}};
  return file_.append(parts) ? 0 : errno;
}

bool packet_file::append(std::uint64_t now_ns, const void* packet, std::size_t bytes) {
  const auto length = static_cast<std::uint32_t>(bytes);
  std::array<std::uint32_t, 4> header{static_cast<std::uint32_t>(now_ns / second),
                                      static_cast<std::uint32_t>(now_ns % second), length, length};
  std::array<iovec, 2> parts{{{header.data(), sizeof header}, {const_cast<void*>(packet), bytes}}};
  return file_.append(parts);
}

}  // namespace freehca::captures
