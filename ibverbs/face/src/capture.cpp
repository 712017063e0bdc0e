// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "capture.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace freehca::ibverbs {

namespace {

// The libpcap file format (draft-ietf-opsawg-pcap); link type 247 is LINKTYPE_INFINIBAND.
struct file_header {
  std::uint32_t magic = 0xa1b23c4d;  // nanoseconds, byte order of the machine
  std::uint16_t major = 2, minor = 4;
  std::uint32_t zone = 0, accuracy = 0;
  std::uint32_t longest = 65535;
  std::uint32_t link_type = 247;
};
struct packet_header {
  std::uint32_t seconds, nanoseconds, captured, length;
};
static_assert(sizeof(file_header) == 24 && sizeof(packet_header) == 16);

}  // namespace

capture::~capture() {
  if (file_ >= 0) close(file_);
}

bool capture::create(const std::string& path, std::string& why) {
  path_ = path;
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const file_header header;
  if (file_ >= 0 && write(file_, &header, sizeof header) == sizeof header) return true;
  why = "the capture " + path + " cannot be written: " + std::strerror(errno);
  return false;
}

void capture::append(std::uint64_t now_ns, const std::byte* from, std::size_t bytes) {
  if (file_ < 0) return;
  constexpr std::uint64_t second = 1'000'000'000;
  packet_header header{static_cast<std::uint32_t>(now_ns / second),
                       static_cast<std::uint32_t>(now_ns % second),
                       static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(bytes)};
  const iovec parts[] = {{&header, sizeof header}, {const_cast<std::byte*>(from), bytes}};
  const off_t before = lseek(file_, 0, SEEK_CUR);
  if (writev(file_, parts, 2) == static_cast<ssize_t>(sizeof header + bytes)) return;
  std::fprintf(stderr, "freehca: the capture %s ends early: %s\n", path_.c_str(),
               std::strerror(errno));
  static_cast<void>(!ftruncate(file_, before));
  close(file_);
  file_ = -1;
}

}  // namespace freehca::ibverbs
