// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "hand_over.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "saved_adapter.hpp"
#include "state_file.hpp"
#include "state_stream.hpp"

namespace freehca::device_server {

using keeper::record;
using vfio_user::arrival;
using vfio_user::descriptor;

namespace {

constexpr std::string_view server_section = "server", wires_section = "wires";

// The packets that wait, the beginning of a packet, and which descriptors the wire has.
void write_wire(state_writer& to, const std::string& text, const wires::handed_wire& one) {
  to.text(text);
  to.number(one.stage);
  to.number(
      static_cast<std::uint8_t>((one.listener.open() ? 1 : 0) | (one.connection.open() ? 2 : 0)));
  to.number(static_cast<std::uint32_t>(one.waiting.size()));
  for (const auto& packet : one.waiting) {
    to.number(static_cast<std::uint32_t>(packet.size()));
    to.bytes(packet.data(), packet.size());
  }
  to.number(static_cast<std::uint32_t>(one.arrived.size()));
  to.bytes(one.arrived.data(), one.arrived.size());
}

std::vector<std::byte> read_bytes(state_reader& from) {
  std::uint32_t count = 0;
  from.number(count);
  const auto found = from.part(count);
  return {found.begin(), found.end()};
}

/// The descriptors in their order.
class handed_files {
 public:
  explicit handed_files(std::vector<descriptor>& all) : all_(all) {}
  descriptor next() { return at_ < all_.size() ? std::move(all_[at_++]) : descriptor(); }

 private:
  std::vector<descriptor>& all_;
  std::size_t at_ = 0;
};

wires::handed_wire read_wire(state_reader& from, handed_files& files) {
  wires::handed_wire one;
  std::uint8_t has = 0;
  std::uint32_t waiting = 0;
  from.number(one.stage);
  from.number(has);
  from.number(waiting);
  for (std::uint32_t i = 0; i < waiting && from.ok(); ++i) one.waiting.push_back(read_bytes(from));
  one.arrived = read_bytes(from);
  if ((has & 1) != 0) one.listener = files.next();
  if ((has & 2) != 0) one.connection = files.next();
  return one;
}

}  // namespace

std::string write_handed_adapter(served_adapter& of, handed_adapter& to) {
  if (std::string why = obstacle_to_saving(of); !why.empty()) return why;
  handed_wires all;
  if (std::string why = of.function.hand_over(all); !why.empty()) return why;
  state_writer wires;
  for (std::size_t i = 0; i < all.size(); ++i) {
    transfer_flag(wires, all[i].has_value());
    if (!all[i].has_value()) continue;
    write_wire(wires, of.how.wire[i], *all[i]);
    for (descriptor* const one : {&all[i]->listener, &all[i]->connection})
      if (one->open()) to.wires.push_back(std::move(*one));
  }
  const std::vector<std::byte> server = save_adapter(of);
  const std::array<state_section, 2> sections{
      {{server_section, server}, {wires_section, wires.written()}}};
  to.state = descriptor(memfd_create("freehca state", MFD_CLOEXEC));
  if (!to.state.open() || !write_whole(to.state.get(), write_state_stream(sections)))
    return fmt::format("memory for the state: {}", std::strerror(errno));
  return "";
}

std::string read_handed_adapter(const settings& how, handed_adapter& from, handed_wires& wires,
                                std::vector<std::byte>& adapter) {
  std::vector<std::byte> all;
  if (!read_whole(from.state.get(), all)) return std::strerror(errno);
  std::vector<state_section> sections;
  if (std::string why = read_state_stream(all, sections); !why.empty()) return why;
  if (sections.size() != 2 || sections[0].name != server_section ||
      sections[1].name != wires_section)
    return "its sections are not those of a running server";
  state_reader reader(sections[1].bytes);
  handed_files files(from.wires);
  for (std::size_t i = 0; i < wires.size(); ++i) {
    bool present = false;
    transfer_flag(reader, present);
    if (!present) continue;
    std::string text;
    reader.text(text);
    if (reader.ok() && text != how.wire[i])
      return fmt::format("port{} is {} in the state, and {} in this server", i + 1, text,
                         how.wire[i]);
    wires[i] = read_wire(reader, files);
  }
  if (!reader.at_end()) return "its wires are cut";
  adapter.assign(sections[0].bytes.begin(), sections[0].bytes.end());
  return "";
}

namespace {

std::string take_shared_memory(const vfio_user::message& first, handed_over& to) {
  const auto about = vfio_user::whole<hand_over_version>(first.body);
  if (static_cast<record>(first.head.command) != record::shared_memory || !about ||
      first.descriptors.size() != 1)
    return "this is no keeper of a server";
  if (about->version != hand_over_version::present ||
      about->shared_bytes != sizeof(keeper::shared_state))
    return fmt::format(
        "the running server hands over by version {} with {} shared bytes, and this build takes "
        "version {} with {}",
        about->version, about->shared_bytes, hand_over_version::present,
        sizeof(keeper::shared_state));
  to.starts = about->starts;
  to.state = keeper::map_shared_state(first.descriptors[0]);
  return to.state != nullptr ? "" : fmt::format("shared memory: {}", std::strerror(errno));
}

void take_sockets(vfio_user::message& received, passed_sockets& to) {
  auto& files = received.descriptors;
  to.own_control = !received.body.empty() && received.body[0] != std::byte{0};
  if (!files.empty()) to.device = std::move(files[0]);
  if (files.size() > 1) to.control = std::move(files[1]);
}

void take_state(vfio_user::message& received, handed_adapter& to) {
  for (descriptor& one : received.descriptors)
    if (!to.state.open()) to.state = std::move(one);
    else to.wires.push_back(std::move(one));
}

bool receive_one(vfio_user::channel& from, vfio_user::message& to) {
  arrival what;
  while ((what = from.receive(to)) == arrival::nothing) {
    pollfd one{from.socket(), POLLIN, 0};
    poll(&one, 1, -1);
  }
  return what == arrival::message;
}

}  // namespace

std::string receive_hand_over(vfio_user::channel& from, handed_over& to) {
  vfio_user::message one;
  if (!receive_one(from, one)) return "--taken-over: there is no keeper";
  if (std::string why = take_shared_memory(one, to); !why.empty()) return why;
  while (receive_one(from, one)) {
    if (one.no_memory || one.too_many_descriptors) return "there is no memory for its descriptors";
    switch (static_cast<record>(one.head.command)) {
      case record::sockets:
        take_sockets(one, to.sockets);
        break;
      case record::state:
        take_state(one, to.adapter);
        break;
      case record::end_of_hand_over:
        return to.sockets.device.open() ? "" : "the keeper has no socket for clients";
      default:
        to.client.take(std::move(one));
        break;
    }
  }
  return "the keeper is gone";
}

}  // namespace freehca::device_server
