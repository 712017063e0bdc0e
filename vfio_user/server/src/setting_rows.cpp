// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "setting_rows.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <freehca/wires/guid_text.hpp>
#include <freehca/wires/wire.hpp>

namespace freehca::device_server {
namespace {

constexpr std::uint64_t mebibyte = 1u << 20;
constexpr std::uint64_t least_host_memory = 32 * mebibyte;
constexpr std::uint64_t most_commands = 128;
constexpr std::uint32_t card_class = 0xffffffff;  // stands for the class code of the variant

std::optional<std::uint64_t> number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, why] = std::from_chars(text.data(), end, value, base);
  if (text.empty() || why != std::errc() || stop != end) return std::nullopt;
  return value;
}

// Parses a number that may end with K, M or G, as QEMU's sizes do.
std::optional<std::uint64_t> byte_count(std::string_view text) {
  constexpr std::string_view units = "KMG";
  const auto unit = text.empty() ? std::string_view::npos : units.find(text.back());
  if (unit == std::string_view::npos) return number(text);
  const auto value = number(text.substr(0, text.size() - 1));
  const unsigned shift = 10 * (static_cast<unsigned>(unit) + 1);
  if (!value || *value > (~std::uint64_t{0} >> shift)) return std::nullopt;
  return *value << shift;
}

template <class T>
std::string take_number(T& to, const std::string& text, std::uint64_t most = T(~T{0})) {
  const auto value = number(text);
  if (!value || *value > most) return fmt::format("a number up to {}", most);
  to = static_cast<T>(*value);
  return "";
}

std::string take_link(settings& to, unsigned port, const std::string& text) {
  constexpr std::array<std::string_view, 4> names{"ib", "eth", "vpi-ib", "vpi-eth"};
  for (unsigned i = 0; i < names.size(); ++i)
    if (text == names[i]) {
      to.model.link[port] = i & 1;
      to.model.vpi[port] = i >= 2;
      return "";
    }
  return "a link is 'ib' or 'eth', or either, and 'vpi-ib' or 'vpi-eth' at first";
}

std::string take_guid(settings& to, const std::string& text) {
  const auto value = wires::guid_of(text);
  if (!value) return wires::guid_allowed;
  to.model.node_guid = *value;
  return "";
}

std::string take_mac(settings& to, const std::string& text) {
  constexpr std::size_t length = 17;
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (i % 3 != 2) digits += text[i];
    else if (text[i] != ':') return "six pairs of hexadecimal digits with colons between them";
  const auto value = text.size() == length ? number("0x" + digits) : std::nullopt;
  if (!value || *value == 0 || (*value >> 40 & 1) != 0)
    return "a unicast Ethernet address that is not zero, as in 00:02:c9:f0:ca:01";
  to.model.mac = *value;
  return "";
}

std::string take_variant(settings& to, const std::string& text) {
  for (unsigned i = 0; i < identities.size(); ++i)
    if (text == identities[i].name) {
      to.model.variant = static_cast<std::uint8_t>(i);
      to.configuration.card = &identities[i];
      return "";
    }
  return "connectx3-pro, connectx3 or connectx2";
}

std::string take_ports(settings& to, const std::string& text) {
  if (text != "1" && text != "2") return "an adapter has 1 or 2";
  to.model.ports = static_cast<std::uint8_t>(text[0] - '0');
  return "";
}

std::string take_max_commands(settings& to, const std::string& text) {
  const auto value = number(text);
  if (!value || !std::has_single_bit(*value) || *value > most_commands)
    return "a power of two from 1 to 128";
  to.model.log_max_commands = static_cast<std::uint8_t>(std::countr_zero(*value));
  return "";
}

std::string take_doorbells(settings& to, const std::string& text) {
  if (text != "messages" && text != "polled") return "messages or polled";
  to.polled_doorbells = text == "polled";
  return "";
}

std::string take_poll_time(settings& to, const std::string& text) {
  std::uint64_t microseconds = 0;
  std::string why = take_number(microseconds, text, settings::most_poll_us);
  if (why.empty()) to.poll_ns = microseconds * 1000;
  return why;
}

std::string take_closed(settings& to, const std::string& text) {
  return closed_process::read_mode(text, to.closed) ? "" : closed_process::mode_names;
}

std::string take_bar2_size(settings& to, const std::string& text) {
  const auto value = byte_count(text);
  if (!value || !std::has_single_bit(*value) || *value < 8 * mebibyte || *value > 128 * mebibyte)
    return "8M, 16M, 32M, 64M or 128M";
  to.model.uar_bar_bytes = *value;
  return "";
}

std::string take_host_memory(settings& to, const std::string& text) {
  const auto value = byte_count(text);
  if (!value || *value < least_host_memory) return "32M or more";
  to.model.host_memory_limit = *value;
  return "";
}

std::string take_class(settings& to, const std::string& text) {
  const auto value = number(text);
  if (!value || *value > 0xffffff) return "24 bits, as in 0x020700";
  to.configuration.class_code = static_cast<std::uint32_t>(*value);
  return "";
}

// A MAC address has the vendor part and the low bits of the node GUID. On a CX-2 port 1 has the
// node's number, on later cards the next one (docs/hardware.md).
std::uint64_t mac_of_guid(const settings& s) {
  const std::uint64_t low = (s.model.node_guid & 0xffffff) + (s.configuration.card->gen3 ? 1 : 0);
  return (s.model.node_guid >> 40) << 24 | (low & 0xffffff);
}

// clang-format off
using text = const std::string&;
constexpr setting_row rows[] = {
    {"variant", "connectx3-pro (default), connectx3 or connectx2", take_variant},
    {"ports", "2 (default) or 1", take_ports},
    {"link1", "ib (default) or eth; vpi-ib, vpi-eth: as it says at first, and as the driver says",
     [](settings& s, text t) { return take_link(s, 0, t); }},
    {"link2", "the same for port 2", [](settings& s, text t) { return take_link(s, 1, t); }},
    {"capture1", "file for the packets or frames of port 1: pcap, link type 247 or 1",
     [](settings& s, text t) { s.capture[0] = t; return std::string(); }},
    {"capture2", "the same for port 2",
     [](settings& s, text t) { s.capture[1] = t; return std::string(); }},
    {"cable1", "off: the cable of port 1, which leads to the built-in subnet manager, is pulled",
     [](settings& s, text t) { return take_switch(s.cable_plugged[0], t); }},
    {"cable2", "the same for port 2",
     [](settings& s, text t) { return take_switch(s.cable_plugged[1], t); }},
    {"sm", "on (default): built-in subnet manager on InfiniBand ports without a peer",
     [](settings& s, text t) { return take_switch(s.model.subnet_manager, t); }},
    {"flr", "on (default): the card offers function-level reset",
     [](settings& s, text t) { return take_switch(s.configuration.function_level_reset, t); }},
    {"doorbells", "messages (default), or polled: the client maps doorbell pages, where the server "
                  "looks for stores",
     take_doorbells},
    {"poll-us", "with --doorbells polled: microseconds without rest behind the last store, 8 if "
                "not given",
     take_poll_time},
    {"restarts", "on: when the adapter's process dies, another one takes its place, and the guest "
                 "finds an adapter with an internal error",
     [](settings& s, text t) { return take_switch(s.restarts, t); }},
    {"closed", "auto (default): the server gives up the rights that it does not need after its "
               "start, as far as the kernel can; required: it ends if that fails; off",
     take_closed},
    {"max-commands", "commands that the firmware takes at once: a power of two from 1 to 128",
     take_max_commands},
    {"bar2-size", "8M (default) to 128M, a power of two", take_bar2_size},
    {"host-memory-limit", "memory that a guest can make the adapter take: 32M or more",
     take_host_memory},
    {"class-code", "24 bits; default by variant", take_class},
    {"guid", "node GUID; ports have the next ones. Adapters that meet on a cable need different ones",
     take_guid},
    {"mac", "of port 1; default from the GUID", take_mac},
    {"strict", "on: what no source says that hardware refuses is refused too",
     [](settings& s, text t) { return take_switch(s.model.strict, t); }},
    {"x-rules-off", "rules that the guest's driver is not held to, with commas between them",
     [](settings& s, text t) { s.rules_off = t; return std::string(); }},
    {"x-command-interface", "revision of the command interface that the firmware tells; for tests",
     [](settings& s, text t) { return take_number(s.model.command_interface, t); }},
    {"x-device-id", "PCI device ID, 0 (that of the variant); for tests",
     [](settings& s, text t) { return take_number(s.configuration.device_id, t); }},
    {"x-msix", "off: no capability MSI-X, so that drivers use INTx; for tests",
     [](settings& s, text t) { return take_switch(s.configuration.msix, t); }},
    {"x-prefetch", "on: send queues are read ahead, as cards may",
     [](settings& s, text t) { return take_switch(s.model.prefetch, t); }},
    {"x-without", "capabilities that the card shall lack, with commas between them; for tests",
     [](settings& s, text t) { s.without = t; return std::string(); }},
    {"x-record", "file for what passes between adapter and guest (docs/recording.md)",
     [](settings& s, text t) { s.recording = t; return std::string(); }},
    {"x-record-label", "free text for its header: which guest, which driver",
     [](settings& s, text t) { s.recording_label = t; return std::string(); }},
    {"x-fault-command-acceptance", "nanoseconds from GO's being set to the command's acceptance",
     [](settings& s, text t) { return take_number(s.model.command_acceptance_ns, t); }},
    {"x-fault-command-latency", "nanoseconds from a command's acceptance to its completion",
     [](settings& s, text t) { return take_number(s.model.command_latency_ns, t); }},
    {"x-fault-work-latency", "nanoseconds from a send doorbell to the look at its queue",
     [](settings& s, text t) { return take_number(s.model.work_latency_ns, t); }},
    {"x-fault-reset-latency", "nanoseconds for which a software reset leaves nobody there",
     [](settings& s, text t) { return take_number(s.model.reset_latency_ns, t); }},
    {"x-fault-time-seed", "not 0: these times are the most, each is drawn",
     [](settings& s, text t) { return take_number(s.model.time_seed, t); }},
    {"x-fault-commands-side-by-side", "off: latencies of commands add up, one after the other",
     [](settings& s, text t) { return take_switch(s.model.commands_side_by_side, t); }},
    {"x-fault-command", "what becomes of firmware commands: COMMAND:FATE or COMMAND:FATE:N",
     [](settings& s, text t) { s.command_fault = t; return std::string(); }},
    {"x-fault-event", "what becomes of events: EVENT:FATE or EVENT:FATE:N",
     [](settings& s, text t) { s.event_fault = t; return std::string(); }},
    {"x-fault-link1", "what the cable does to packets that port 1 sends, in a million: KIND:RATE...",
     [](settings& s, text t) { s.link_fault[0] = t; return std::string(); }},
    {"x-fault-link2", "the same for port 2",
     [](settings& s, text t) { s.link_fault[1] = t; return std::string(); }},
    {"port1", "what port 1 is cabled to: none (default), stream:listen=ADDRESS, "
              "stream:connect=ADDRESS or dgram:local=ADDRESS,remote=ADDRESS; an ADDRESS is a path "
              "with a slash in it, or HOST:PORT; behind that of a stream there may be ,secret=FILE "
              "(or ,secret=none) and ,name=NAME. With link1=eth also tap:ifname=NAME, or user: a "
              "network that libslirp emulates, as user:hostfwd=...,tftp=FOLDER,bootfile=NAME",
     [](settings& s, text t) { s.wire[0] = t; return std::string(); }},
    {"port2", "the same for port 2", [](settings& s, text t) { s.wire[1] = t; return std::string(); }},
};
// clang-format on

std::string check_second_port(const settings& s) {
  if (s.model.ports == 2) return "";
  const auto needs = [](const char* name) { return fmt::format("--{} needs --ports 2", name); };
  if (s.model.link[1] != 0 || s.model.vpi[1]) return needs("link2");
  if (s.wire[1] != "none") return needs("port2");
  if (!s.capture[1].empty()) return needs("capture2");
  if (!s.cable_plugged[1]) return needs("cable2");
  return "";
}

}  // namespace

settings::settings() {
  freehca_model_default_options(&model);
  // A client does not wait for the reply to a doorbell write, so any number may be under way.
  model.doorbells_under_way = 0xffffffff;
  model.mac = 0;
  configuration.class_code = card_class;
}

std::string take_switch(bool& to, const std::string& text) {
  if (text != "on" && text != "off") return "on or off";
  to = text == "on";
  return "";
}

std::span<const setting_row> setting_rows() {
  return rows;
}

std::string finish(settings& all) {
  if (std::string why = check_second_port(all); !why.empty()) return why;
  for (unsigned i = 0; i < all.wire.size(); ++i) {
    all.model.cable[i] = all.wire[i] != "none";
    all.model.capture[i] = !all.capture[i].empty();
    if (all.model.cable[i] && !all.cable_plugged[i])
      return fmt::format("--cable{0} off: port {0} has a cable of its own, --port{0}", i + 1);
    if (wires::carries_frames_alone(all.wire[i]) && (all.model.link[i] == 0 || all.model.vpi[i]))
      return fmt::format("--port{0} {1} leads to an Ethernet: it needs --link{0} eth", i + 1,
                         all.wire[i]);
  }
  if (all.recording.empty() && !all.recording_label.empty())
    return "--x-record-label needs --x-record";
  if (all.configuration.class_code == card_class)
    all.configuration.class_code = all.configuration.card->class_code;
  if (all.model.mac == 0) all.model.mac = mac_of_guid(all);
  all.configuration.ports = all.model.ports;
  all.configuration.bar2_bytes = all.model.uar_bar_bytes;
  all.configuration.node_guid = all.model.node_guid;
  all.model.record = !all.recording.empty();
  all.model.record_label = all.recording_label.c_str();
  all.model.rules_off = all.rules_off.c_str();
  all.model.without = all.without.c_str();
  return "";
}

}  // namespace freehca::device_server
