// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The functions of the model's environment, and the model's creation. The contracts are in
// freehca/model/environment.hpp.
#include <cerrno>
#include <cstring>
#include <ctime>

#include <fmt/format.h>

#include "adapter_function.hpp"
#include "without_exceptions.hpp"

namespace freehca::device_server {
namespace {

constexpr std::uint64_t ns_per_second = 1'000'000'000;
// Minimum length of a frame from the destination MAC on. Shorter frames are padded when they
// arrive, as in QEMU.
constexpr std::size_t shortest_frame = 60;

adapter_function& self(void* context) {
  return *static_cast<adapter_function*>(context);
}

}  // namespace

std::uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * ns_per_second +
         static_cast<std::uint64_t>(t.tv_nsec);
}

adapter_function::adapter_function(const settings& how, client_memory& memory)
    : how_(how),
      memory_(memory),
      space_(how.configuration),
      product_data_(*how.configuration.card, how.configuration.ports, how.configuration.node_guid) {
}

adapter_function::~adapter_function() {
  if (model_ == nullptr) return;
  // Unplug the cables first, while the other ends can still be notified.
  for (unsigned port = 1; port <= how_.model.ports; ++port)
    freehca_model_plug_cable(model_, port, false);
  freehca_model_end_recording(model_);
  freehca_model_destroy(model_);
}

freehca_model_environment adapter_function::environment_of(adapter_function* me) {
  freehca_model_environment e{};
  e.context = me;
  // The model is compiled without exceptions, so no exception may pass through it.
  e.dma_read = [](void* c, std::uint64_t address, void* to, std::size_t bytes) {
    bool done = false;
    without_exceptions(
        [&] { done = self(c).may_master() && self(c).memory_.read(address, to, bytes); });
    return done;
  };
  e.dma_write = [](void* c, std::uint64_t address, const void* from, std::size_t bytes) {
    bool done = false;
    without_exceptions(
        [&] { done = self(c).may_master() && self(c).memory_.write(address, from, bytes); });
    return done;
  };
  e.bus_master = [](void* c) { return self(c).may_master(); };
  e.msix_enabled = [](void* c) { return self(c).space_.msix_enabled(); };
  e.msix = [](void* c, unsigned vector) {
    if (self(c).may_master()) self(c).interrupts_.msix(vector);
  };
  e.intx = [](void* c, bool asserted) {
    if (!self(c).loading_) self(c).interrupts_.intx(asserted);
  };
  e.now = [](void*) { return now_ns(); };
  e.arm_timer = [](void* c, std::uint64_t deadline) { self(c).deadline_ = deadline; };
  e.wipe_configuration_space = [](void* c) {
    self(c).space_.reset(false);
    self(c).interrupts_.reset();
  };
  e.listens = [](void* c, unsigned) { return self(c).how_.trace; };
  e.tell = [](void* c, unsigned kind, const char* rule, const char* text) {
    without_exceptions([&] { self(c).tell(kind, rule, text); });
  };
  e.link_send = [](void* c, unsigned port, const void* from, std::size_t bytes) {
    // If there is no memory for a packet, it is dropped on the cable.
    bool has_room = true;
    without_exceptions([&] { has_room = self(c).link_send(port, from, bytes); });
    return has_room;
  };
  e.packet_passed = [](void* c, unsigned port, const void* from, std::size_t bytes) {
    without_exceptions([&] { self(c).packet_passed(port, from, bytes); });
  };
  e.record = [](void* c, const char* from, std::size_t bytes) {
    bool recorded = false;
    without_exceptions([&] { recorded = self(c).record(from, bytes); });
    return recorded;
  };
  return e;
}

std::string adapter_function::begin(handed_wires* wires) {
  if (std::string why = open_files(); !why.empty()) return why;
  if (std::string why = lay_cables(wires); !why.empty()) return why;
  const freehca_model_environment environment = environment_of(this);
  std::array<char, 512> why;
  model_ = freehca_model_create(&environment, &how_.model, why.data(), why.size());
  if (model_ == nullptr) return why.data();
  if (how_.model.record && recording_.empty())
    return fmt::format("--x-record {}: the header found no room", how_.recording);
  return ask_for_faults();
}

std::string adapter_function::open_files() {
  for (unsigned i = 0; i < captures_.size(); ++i) {
    if (how_.capture[i].empty()) continue;
    if (const int why = captures_[i].create(how_.capture[i], how_.model.link[i] != 0); why != 0)
      return fmt::format("--capture{} {}: {}", i + 1, how_.capture[i], std::strerror(why));
  }
  if (how_.recording.empty()) return "";
  const int why = recording_.create(how_.recording);
  return why == 0 ? "" : fmt::format("--x-record {}: {}", how_.recording, std::strerror(why));
}

std::string adapter_function::hand_over(handed_wires& to) const {
  for (unsigned i = 0; i < cables_.size(); ++i)
    if (cables_[i] != nullptr && !cables_[i]->hand_over(to[i].emplace()))
      return fmt::format("the wire of port {}: {}", i + 1, std::strerror(errno));
  return "";
}

std::string adapter_function::lay_cables(handed_wires* from) {
  for (unsigned i = 0; i < cables_.size(); ++i) {
    const bool has_wire = how_.wire[i] != "none";
    if (from != nullptr && (*from)[i].has_value() != has_wire)
      return fmt::format("--port{}: the running server has {} wire at this port", i + 1,
                         has_wire ? "no" : "a");
    if (!has_wire) continue;
    std::string why;
    cables_[i] = from != nullptr ? wires::adopt_wire(how_.wire[i], std::move(*(*from)[i]), why)
                                 : wires::make_wire(how_.wire[i], why, how_.closed);
    if (cables_[i] == nullptr) return fmt::format("--port{}: {}", i + 1, why);
    if (const std::string warning = cables_[i]->warning(); !warning.empty())
      report(fmt::format("--port{}: {}", i + 1, warning));
  }
  return "";
}

std::string adapter_function::ask_for_faults() {
  std::array<char, 512> why;
  if (!how_.command_fault.empty() &&
      !freehca_model_set_command_fault(model_, how_.command_fault.c_str(), why.data(), why.size()))
    return fmt::format("--x-fault-command: {}", why.data());
  if (!how_.event_fault.empty() &&
      !freehca_model_set_event_fault(model_, how_.event_fault.c_str(), why.data(), why.size()))
    return fmt::format("--x-fault-event: {}", why.data());
  for (unsigned i = 0; i < how_.link_fault.size(); ++i) {
    if (!how_.link_fault[i].empty() &&
        !freehca_model_set_link_fault(model_, i + 1, how_.link_fault[i].c_str(), why.data(),
                                      why.size()))
      return fmt::format("--x-fault-link{}: {}", i + 1, why.data());
    if (i < how_.model.ports && !how_.cable_plugged[i])
      freehca_model_plug_cable(model_, i + 1, false);
  }
  return "";
}

void adapter_function::tell(unsigned kind, const char* rule, const char* text) {
  if (kind == FREEHCA_REMARK_COMPLAINT) complaints_(text);
  if (how_.trace) report(fmt::format("trace: {}{}{}", rule, rule[0] != 0 ? ": " : "", text));
}

bool adapter_function::link_send(unsigned port, const void* from, std::size_t bytes) {
  wires::wire* cable = cables_[port - 1].get();
  if (cable == nullptr || cable->send(static_cast<const std::byte*>(from), bytes)) return true;
  full_[port - 1] = true;
  return false;
}

void adapter_function::packet_passed(unsigned port, const void* from, std::size_t bytes) {
  if (captures_[port - 1].append(now_ns(), from, bytes)) return;
  if (capture_errors_++ == 0)
    report(fmt::format("--capture{} {}: {}; what is missing is not told again", port,
                       how_.capture[port - 1], std::strerror(errno)));
}

bool adapter_function::record(const char* from, std::size_t bytes) {
  std::array<iovec, 1> parts{{{const_cast<char*>(from), bytes}}};
  if (recording_.append(parts)) return true;
  report(fmt::format("--x-record {}: {}; the recording ends here", how_.recording,
                     std::strerror(errno)));
  return false;
}

class adapter_function::port_reader final : public wires::wire_reader {
 public:
  port_reader(adapter_function& owner, unsigned port) : owner_(owner), port_(port) {}
  bool may_receive() override { return owner_.may_receive(); }
  void receive(const std::byte* from, std::size_t bytes) override {
    if (owner_.removed_ || !owner_.space_.in_d0()) return;
    const bool frames = owner_.how_.model.link[port_] != 0 && !owner_.how_.model.vpi[port_];
    std::array<std::byte, shortest_frame> padded{};
    if (frames && bytes < padded.size()) {
      std::memcpy(padded.data(), from, bytes);
      from = padded.data();
      bytes = padded.size();
    }
    freehca_model_link_receive(owner_.model_, port_ + 1, from, bytes);
  }
  void complain(std::string_view what) override {
    report(fmt::format("port {}: {}", port_ + 1, what));
  }

 private:
  adapter_function& owner_;
  unsigned port_;
};

void adapter_function::serve_cable(unsigned port, short events) {
  wires::wire* cable = cables_[port].get();
  port_reader reader(*this, port);
  cable->work(events, now_ns(), reader);
  if (full_[port] && cable->idle()) {
    full_[port] = false;
    freehca_model_link_has_room(model_, port + 1);
  }
}

}  // namespace freehca::device_server
