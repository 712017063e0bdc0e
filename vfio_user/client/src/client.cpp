// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/vfio_user/client.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace freehca::vfio_user {

int client::connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return errno;
  channel_ = channel(std::move(socket));
  return 0;
}

void client::answer(const message& asked) {
  const auto about = beginning<dma_access>(asked.body);
  const bool reading = asked.head.command == static_cast<std::uint16_t>(command::dma_read);
  const bool writing = asked.head.command == static_cast<std::uint16_t>(command::dma_write);
  header head{asked.head.id, asked.head.command, 0, type_reply, 0};
  std::vector<std::byte> data;
  bool done = false;
  if (about && about->count <= greatest_data && memory_ != nullptr) {
    const auto rest = std::span(asked.body).subspan(sizeof *about);
    data.resize(reading ? about->count : 0);
    if (reading) done = rest.empty() && memory_->read(about->address, data);
    if (writing) done = rest.size() == about->count && memory_->write(about->address, rest);
  }
  if (done) {
    channel_.send(head, bytes_of(*about), data);
  } else {
    head.flags |= flag_error;
    head.error = EFAULT;
    channel_.send(head);
  }
}

bool client::serve_now() {
  message m;
  while (true) {
    const arrival what = channel_.receive(m);
    if (what == arrival::nothing) return true;
    if (what != arrival::message) return false;
    if ((m.head.flags & type_mask) == type_command) answer(m);
  }
}

int client::await(std::uint16_t id, std::vector<std::byte>& body,
                  std::vector<descriptor>* received) {
  message m;
  while (true) {
    const arrival what = channel_.receive(m);
    if (what == arrival::nothing) {
      pollfd one{channel_.socket(), POLLIN, 0};
      if (poll(&one, 1, patience_ms) == 0) return ETIMEDOUT;
      continue;
    }
    if (what != arrival::message) return ECONNRESET;
    if ((m.head.flags & type_mask) == type_command) {
      answer(m);
      continue;
    }
    if (m.head.id != id) return EPROTO;
    if (m.no_memory) return ENOMEM;
    body = std::move(m.body);
    if (received != nullptr) *received = std::move(m.descriptors);
    if ((m.head.flags & flag_error) == 0) return 0;
    return m.head.error != 0 ? static_cast<int>(m.head.error) : EIO;
  }
}

int client::request(command what, std::span<const std::byte> first,
                    std::span<const std::byte> second, std::span<const int> files,
                    std::vector<std::byte>& body, std::vector<descriptor>* received) {
  const std::uint16_t id = next_id_++;
  if (!channel_.send({id, static_cast<std::uint16_t>(what), 0, type_command, 0}, first, second,
                     files))
    return ECONNRESET;
  return await(id, body, received);
}

int client::negotiate(const terms& own) {
  std::vector<std::byte> body;
  if (const int why = request(command::version, write_terms(own), {}, {}, body); why != 0)
    return why;
  const int why = read_terms(body, server_);
  return why == 0 && server_.minor > own.minor ? EPROTO : why;
}

template <class T>
int client::describe_by(command what, T& info) {
  info.argsz = sizeof info;
  std::vector<std::byte> body;
  if (const int why = request(what, bytes_of(info), {}, {}, body); why != 0) return why;
  const auto found = beginning<T>(body);
  if (!found) return EPROTO;
  info = *found;
  return 0;
}

int client::describe(device_info& info) {
  return describe_by(command::device_get_info, info);
}

int client::describe(region_info& info) {
  return describe_by(command::device_get_region_info, info);
}

int client::describe(region_info& info, std::vector<mappable_area>& areas, descriptor& file) {
  areas.clear();
  if (const int why = describe(info); why != 0) return why;
  if ((info.flags & region_mappable) == 0) return 0;
  if (info.argsz <= sizeof info || info.argsz > greatest_data) return EPROTO;
  std::vector<std::byte> body;
  std::vector<descriptor> files;
  if (const int why =
          request(command::device_get_region_info, bytes_of(info), {}, {}, body, &files);
      why != 0)
    return why;
  const auto found = beginning<region_info>(body);
  if (!found || files.size() != 1) return EPROTO;
  info = *found;
  file = std::move(files.front());
  // Without the capability the whole region may be mapped.
  if ((info.flags & region_has_capabilities) == 0) {
    areas.push_back({0, info.size});
    return 0;
  }
  if (info.cap_offset < sizeof info || info.cap_offset > body.size()) return EPROTO;
  const auto rest = std::span<const std::byte>(body).subspan(info.cap_offset);
  const auto which = beginning<sparse_mappable>(rest);
  if (!which || which->id != sparse_mappable_id ||
      which->areas > (rest.size() - sizeof *which) / sizeof(mappable_area))
    return EPROTO;
  for (std::size_t i = 0; i < which->areas; ++i)
    areas.push_back(
        *beginning<mappable_area>(rest.subspan(sizeof *which + i * sizeof(mappable_area))));
  for (const mappable_area& one : areas)
    if (one.offset > info.size || one.size > info.size - one.offset) return EPROTO;
  return 0;
}

int client::describe(irq_info& info) {
  return describe_by(command::device_get_irq_info, info);
}

int client::map(std::uint64_t address, std::uint64_t size, int file, std::uint64_t offset,
                std::uint32_t flags) {
  const dma_map what{sizeof what, flags, offset, address, size};
  std::vector<std::byte> body;
  return request(command::dma_map, bytes_of(what), {},
                 file < 0 ? std::span<const int>() : std::span(&file, 1), body);
}

int client::unmap(std::uint64_t address, std::uint64_t size) {
  const dma_unmap what{sizeof what, 0, address, size};
  std::vector<std::byte> body;
  return request(command::dma_unmap, bytes_of(what), {}, {}, body);
}

int client::set_irqs(const irq_set& what, std::span<const int> eventfds,
                     std::span<const std::byte> selection) {
  std::vector<std::byte> body;
  return request(command::device_set_irqs, bytes_of(what), selection, eventfds, body);
}

int client::read(std::uint32_t region, std::uint64_t offset, std::span<std::byte> to) {
  const region_access what{offset, region, static_cast<std::uint32_t>(to.size())};
  std::vector<std::byte> body;
  if (const int why = request(command::region_read, bytes_of(what), {}, {}, body); why != 0)
    return why;
  if (body.size() != sizeof what + to.size()) return EPROTO;
  if (!to.empty()) std::memcpy(to.data(), body.data() + sizeof what, to.size());
  return 0;
}

int client::write(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> from) {
  const region_access what{offset, region, static_cast<std::uint32_t>(from.size())};
  std::vector<std::byte> body;
  return request(command::region_write, bytes_of(what), from, {}, body);
}

int client::reset() {
  std::vector<std::byte> body;
  return request(command::device_reset, {}, {}, {}, body);
}

}  // namespace freehca::vfio_user
