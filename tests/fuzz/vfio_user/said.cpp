// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "said.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include <freehca/vfio_user/descriptor.hpp>

namespace freehca::fuzz {

using namespace vfio_user;

namespace {

constexpr std::uint64_t file_bytes = 1u << 16;
constexpr std::size_t most_files = 3;

// Memory that is there, memory that is cut short, an event, and what is neither.
descriptor file_of(unsigned sort) {
  switch (sort) {
    case 0:
    case 1: {
      descriptor memory(memfd_create("fuzz", MFD_CLOEXEC));
      if (ftruncate(memory.get(), sort == 0 ? file_bytes : 1) != 0) memory.close();
      return memory;
    }
    case 2:
      return descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    default:
      return descriptor(open("/dev/null", O_RDWR | O_CLOEXEC));
  }
}

}  // namespace

// As likely near a border as anywhere.
std::uint64_t said::number(input& from) {
  constexpr std::array<std::uint64_t, 16> borders{
      0,       1,       4,       16,       4096,     8192,          0x7c000,           0x7d000,
      0x80680, 0x80698, 0xf0010, 1u << 20, 1u << 23, 0x1'0000'0000, ~std::uint64_t{0}, 1u << 16};
  const unsigned how = from.byte();
  if (how >= 0xf0) return std::uint64_t{from.word()} << 32 | from.word();
  return borders[how & 15] + (how >> 4) - 7;
}

said::bytes said::body_of(input& from, command what) {
  bytes body;
  const auto add = [&](const auto& structure) {
    const auto all = bytes_of(structure);
    body.insert(body.end(), all.begin(), all.end());
  };
  const auto small = [&] { return std::uint32_t{from.byte()}; };
  const auto any = [&](std::uint32_t count) {
    for (; count > 0; --count) body.push_back(static_cast<std::byte>(from.byte()));
  };
  const auto access = [&](std::uint32_t count) {
    return region_access{number(from), small() % 10, count};
  };
  switch (what) {
    case command::dma_map:
      add(dma_map{sizeof(dma_map), small(), number(from), number(from), number(from)});
      break;
    case command::dma_unmap:
      add(dma_unmap{sizeof(dma_unmap), small(), number(from), number(from)});
      break;
    case command::device_get_info:
      add(device_info{sizeof(device_info), 0, small(), small()});
      break;
    case command::device_get_region_info:
      add(region_info{sizeof(region_info), 0, small(), 0, number(from), 0});
      break;
    case command::device_get_irq_info:
      add(irq_info{sizeof(irq_info), 0, small(), small()});
      break;
    case command::device_set_irqs:
      add(irq_set{sizeof(irq_set), small(), small() % 6, small(), small()});
      break;
    case command::region_read:
      add(access(small()));
      break;
    case command::region_write: {
      const std::uint32_t count = small() % 64;
      add(access(count));
      any(count);
      break;
    }
    case command::region_write_multi: {
      const std::uint32_t count = small() % 4;
      add(several_writes{count});
      for (std::uint32_t i = 0; i < count; ++i) {
        one_write one{access(small() % 10), {}};
        for (std::byte& b : one.data) b = static_cast<std::byte>(from.byte());
        add(one);
      }
      break;
    }
    case command::dma_read:
    case command::dma_write:
      add(dma_access{number(from), small()});
      any(small());
      break;
    default:
      any(small());
  }
  return body;
}

void said::message_of(input& from, std::uint16_t id) {
  constexpr unsigned with_error = 1, without_reply = 2, other_id = 4, other_size = 8, reply = 16,
                     raw = 32;
  const unsigned how = from.byte();
  if ((how & (raw | other_size)) == (raw | other_size)) {
    bytes noise(from.byte());
    for (std::byte& b : noise) b = static_cast<std::byte>(from.byte());
    return put(noise, {});
  }
  const auto what = static_cast<command>(from.byte() % 18);
  if ((how & other_id) != 0) id = from.byte();
  header head{id, static_cast<std::uint16_t>(what), 0, 0, 0};
  if ((how & reply) != 0) head.flags |= type_reply;
  if ((how & without_reply) != 0) head.flags |= flag_no_reply;
  if ((how & with_error) != 0) {
    head.flags |= flag_error;
    head.error = from.byte();
  }
  bytes body = body_of(from, what);
  if ((how & other_size) != 0) body.resize(from.byte());
  std::array<descriptor, most_files> files;
  std::array<int, most_files> numbers;
  std::size_t count = 0;
  for (unsigned sorts = how >> 6; sorts > 0 && count < most_files; --sorts, ++count) {
    files[count] = file_of(from.byte() % 4);
    numbers[count] = files[count].get();
    if (!files[count].open()) return;
  }
  head.bytes = static_cast<std::uint32_t>(sizeof head + body.size());
  bytes all(sizeof head);
  std::memcpy(all.data(), &head, sizeof head);
  all.insert(all.end(), body.begin(), body.end());
  put(all, std::span(numbers).first(count));
}

void said::message(const header& head, std::span<const std::byte> body) {
  header whole = head;
  whole.bytes = static_cast<std::uint32_t>(sizeof head + body.size());
  bytes all(sizeof whole);
  std::memcpy(all.data(), &whole, sizeof whole);
  all.insert(all.end(), body.begin(), body.end());
  put(all, {});
}

// What finds no room in the socket is not said.
void said::put(std::span<const std::byte> all, std::span<const int> files) const {
  if (all.empty()) return;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * most_files)> control{};
  iovec part{const_cast<std::byte*>(all.data()), all.size()};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  if (!files.empty()) {
    m.msg_control = control.data();
    m.msg_controllen = CMSG_SPACE(files.size_bytes());
    cmsghdr* c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(c), files.data(), files.size_bytes());
  }
  sendmsg(socket_, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace freehca::fuzz
