// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The adapter is a model inside the program. Its port is a port of a fabric in shared memory.
#include <freehca/in_program/adapter.hpp>

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include <freehca/captures/packet_file.hpp>
#include <freehca/hca/ports.hpp>
#include <freehca/layouts/set_port_info.hpp>
#include <freehca/process_memory/memory_rights.hpp>

#include "engine.hpp"
#include "environment.hpp"
#include "errors.hpp"
#include "ethernet_ports.hpp"
#include "explanation.hpp"
#include "fabric_link.hpp"

namespace freehca::ibverbs {

namespace {

constexpr unsigned log_numbers = 14;  // of queue pairs, CQs, regions and windows

constexpr host_settings in_program_settings() {
  host_settings s{};
  s.limits = {.queue_pairs = 12'000,
              .completion_queues = 12'000,
              .shared_receive_queues = 1'000,
              .regions = 12'000,
              .domains = 4'000,
              .address_handles = 8'000,
              .windows = 4'000,
              .group_members = 1'024,
              .flow_rules = 2'048,  // a group member is one where the device steers by rules
              .completions = 65'535,
              .requests = 4'000'000};
  budget& b = s.budget;
  b.log_qps = b.log_cqs = b.log_mpts = log_numbers;
  b.log_srqs = 11;
  b.log_mcgs = 11;
  // The largest entry: the device says how many queue pairs an entry of a rule has room for.
  b.log_mcg_entry_bytes = 12;
  b.log_mtts = 20;
  b.log_completion_eq_entries = log_numbers + 1;
  b.context_bytes = std::size_t{96} << 20;
  b.queue_bytes = std::size_t{4} << 30;
  b.doorbell_bytes = std::size_t{4} << 20;
  s.health_interval = clock::never;  // an adapter inside the program does not die unseen
  s.port_wait = 0;                   // prepare_ports() makes the port active
  return s;
}

/// Whether this is the first of a launcher's processes. The others inherit its variables.
bool is_first_process() {
  const char* const process = environment("FREEHCA_PROCESS");
  return *process == '\0' || std::strtol(process, nullptr, 10) == getpid();
}

/// The file that a variable names for a report of this process; "": none. Of a launcher's processes
/// only the first one writes it.
const char* report_file(const char* name) {
  return is_first_process() ? environment(name) : "";
}

wires::ip_address address_of(const gid& from) {
  wires::ip_address to;
  std::copy(std::begin(from.raw), std::end(from.raw), to.begin());
  return to;
}

gid gid_of_address(const wires::ip_address& address) {
  gid to;
  std::copy(address.begin(), address.end(), std::begin(to.raw));
  return to;
}

/// Reads FREEHCA_LINK, FREEHCA_IP and FREEHCA_VLANS. False: `why` has what is wrong.
bool read_join_request(wires::join_request& to, std::string& why) {
  const std::string link = environment("FREEHCA_LINK");
  if (!link.empty() && link != "infiniband" && link != "roce") {
    why = "FREEHCA_LINK: '" + link + "' is no link layer: infiniband or roce";
    return false;
  }
  if (link != "roce") return true;
  to.link = wires::link_layer::ethernet;
  // Of several processes with one address the first one to open the device gets it. The children of
  // a launcher's process then take other addresses.
  to.address_is_required = is_first_process();
  named_addresses named;
  if (!read_addresses(named, why)) return false;
  if (named.ip) to.address = address_of(*named.ip);
  for (const vlan_gid& each : named.on_vlans)
    to.vlan_addresses.push_back({each.vlan, address_of(each.address)});
  return true;
}

class in_program_host final : public host {
 public:
  status open(std::string& why);

  freehca::platform platform() override { return adapter_->platform(); }
  const host_settings& settings() const override {
    static constexpr host_settings all = in_program_settings();
    return all;
  }
  status prepare_ports(engine& of) override;
  void start(std::function<std::uint64_t()> serve) override {
    adapter_->run_in_real_time();
    in_real_time_ = true;
    adapter_->start_helper([serve = std::move(serve)] { serve(); });
  }
  void leave(engine& of) override;
  void wait(std::uint64_t deadline) override {
    if (adapter_->work() || in_real_time_) return;
    adapter_->skip_to(std::max(deadline, adapter_->time() + 1));
  }
  void work() override { adapter_->work(); }
  void work_while_polling() override { adapter_->work_while_polling(); }
  void polls_after_doorbell() override { adapter_->polls_after_doorbell(); }
  bool take_interrupt() override { return adapter_->take_interrupt(); }
  bool is_gone() const override { return false; }
  // Frames to groups go to all ports of an Ethernet fabric.
  void group_changed(std::uint16_t lid, bool attached) override {
    if (link_ == nullptr || is_ethernet_) return;
    unsigned& uses = group_uses_[lid];
    if (attached && uses++ == 0) static_cast<void>(link_->join_group(lid));
    if (!attached && --uses == 0) link_->leave_group(lid);
  }
  std::optional<std::uint64_t> mac_of(const gid& of, std::uint16_t vlan) override;

  std::string reason(const program_memory& memory, bool write, int) const override {
    return process_memory::missing_rights(memory.first, memory.bytes, write);
  }

 private:
  status capture(in_program::adapter_options& how, std::string& why) const;
  void write_counters() const;
  bool take_addresses(std::string& why);
  status activate(engine& of);
  void pass_a_millisecond();
  status wait_for_link(engine& of);

  bool is_ethernet_ = false;
  named_addresses addresses_;                     // that the port has
  std::map<std::uint16_t, unsigned> group_uses_;  // of a multicast LID by queue pairs
  bool in_real_time_ = false;
  std::unique_ptr<fabric_link> link_;
  std::unique_ptr<in_program::adapter> adapter_;
};

status in_program_host::open(std::string& why) {
  const std::string name = environment("FREEHCA_FABRIC");
  wires::join_request request;
  if (!read_join_request(request, why)) return driver_error::bad_argument;
  is_ethernet_ = request.link == wires::link_layer::ethernet;
  link_ = fabric_link::join(name.empty() ? "default" : name, why, request);
  if (link_ == nullptr) return driver_error::no_resource;
  if (is_ethernet_ && !take_addresses(why)) return driver_error::bad_argument;
  in_program::adapter_options how;
  how.link = link_.get();
  // The low byte of a GUID names the port.
  how.model.node_guid += std::uint64_t{0x10} * link_->slot();
  how.model.subnet_manager = false;
  if (is_ethernet_) {
    how.model.link[0] = model::link_layer::ethernet;
    how.model.mac = link_->mac();
  }
  FREEHCA_TRY(capture(how, why));
  how.on_remark = [](const model::remark& what) {
    if (what.kind == model::remark_kind::complaint ||
        (explains_failures && model::explains(what.kind)))
      explain_remark(what.text);
  };
  adapter_ = std::make_unique<in_program::adapter>(how);
  return {};
}

/// The fabric has given the port its addresses. False: one of them is there twice.
bool in_program_host::take_addresses(std::string& why) {
  addresses_.ip = gid_of_address(link_->address());
  for (const wires::vlan_address& each : link_->vlan_addresses())
    addresses_.on_vlans.push_back({each.vlan, gid_of_address(each.address)});
  return differ_from(*addresses_.ip, addresses_.on_vlans, why);
}

status in_program_host::capture(in_program::adapter_options& how, std::string& why) const {
  const char* const path = report_file("FREEHCA_CAPTURE");
  if (*path == '\0') return {};
  auto file = std::make_shared<captures::packet_file>();
  if (const int error = file->create(path, is_ethernet_); error != 0) {
    why = std::string("the capture ") + path + " cannot be written: " + std::strerror(error);
    return driver_error::no_resource;
  }
  how.model.capture[0] = true;
  how.on_packet = [file, ends = false](std::uint64_t now, const std::byte* from,
                                       std::size_t bytes) mutable {
    if (ends || file->append(now, from, bytes)) return;
    ends = true;
    std::fprintf(stderr, "freehca: the capture ends early: %s\n", std::strerror(errno));
  };
  return {};
}

status in_program_host::prepare_ports(engine& of) {
  if (!is_ethernet_) return activate(of);
  FREEHCA_TRY(open_ethernet_port(of, 1, addresses_));
  return wait_for_link(of);
}

std::optional<std::uint64_t> in_program_host::mac_of(const gid& of, std::uint16_t vlan) {
  if (const auto known = host::mac_of(of, vlan)) return known;
  const std::uint64_t mac = link_ != nullptr ? link_->mac_of(address_of(of), vlan) : 0;
  return mac != 0 ? std::optional(mac) : std::nullopt;
}

/// A link trains with the switch port. The clock has to move for that.
void in_program_host::pass_a_millisecond() {
  adapter_->skip_to(adapter_->time() + clock::milliseconds(1));
  adapter_->work();
}
constexpr unsigned most_looks = 10'000;

status in_program_host::wait_for_link(engine& of) {
  for (unsigned i = 0; !of.hardware().port(1).active(); ++i) {
    if (i == most_looks) return transport_error::timeout;
    pass_a_millisecond();
    of.run();
  }
  return {};
}

/// Does what a subnet manager does for a port: gives it the LID that the fabric has for it, and
/// makes it active.
status in_program_host::activate(engine& of) {
  using info = layouts::port_info;
  using layouts::smp;
  device& hardware = of.hardware();
  port_query read;
  const auto look = [&] {
    read.restart();
    read.start(hardware.commands(), 1);
    return of.finish(read);
  };
  for (unsigned i = 0;; ++i) {
    FREEHCA_TRY(look());
    if (read.attribute<info>().get<&info::state>() != layouts::port_state::down) break;
    if (i == most_looks) return transport_error::timeout;
    pass_a_millisecond();
  }
  for (const auto state : {layouts::port_state::armed, layouts::port_state::active}) {
    FREEHCA_TRY(look());
    layouts::image<info> attributes = read.attribute<info>();
    attributes.set<&info::lid>(link_->lid()).set<&info::master_sm_lid>(link_->lid());
    attributes.set<&info::state>(state);
    attributes.set<&info::physical_state>(layouts::port_physical_state::no_change);
    firmware_command<commands::mad_ifc<smp>> set(std::uint32_t{1}, std::uint32_t{0});
    set.input = layouts::set_port_info(attributes, 1);
    hardware.commands().submit(set);
    FREEHCA_TRY(of.finish(set));
    if (set.output.get<&smp::status>() != layouts::mad_status::success)
      return transport_error::bad_reply;
  }
  return wait_for_link(of);
}

/// Leaves the fabric. The adapter and the driver stay: the program's own exit functions may still
/// destroy objects.
void in_program_host::leave(engine& of) {
  adapter_->stop_helper();
  const engine::guard held(of.lock);
  write_counters();
  adapter_->leave_link();
  link_.reset();
}

void in_program_host::write_counters() const {
  const char* const path = report_file("FREEHCA_COUNTERS");
  if (*path == '\0') return;
  std::FILE* const file = std::fopen(path, "we");
  if (file == nullptr) return;
  if (is_ethernet_) std::fprintf(file, "mac %llu\n", static_cast<unsigned long long>(link_->mac()));
  else std::fprintf(file, "lid %u\n", unsigned{link_->lid()});
  adapter_->model().counters(
      [](const model::counter& c, void* to) {
        std::fprintf(static_cast<std::FILE*>(to), "%s %llu\n", c.name,
                     static_cast<unsigned long long>(c.value));
      },
      file);
  std::fclose(file);
}

}  // namespace

std::unique_ptr<host> host::open(std::string& why) {
  auto made = std::make_unique<in_program_host>();
  if (const status s = made->open(why); !s.ok()) {
    if (why.empty()) why = words(s);
    return nullptr;
  }
  return made;
}

bool host::hides_memory_from_children() {
  return false;  // a child's copy of a page changes nothing for the parent's adapter
}

void host::forked() {
  in_program::adapter::forget_present();
}

}  // namespace freehca::ibverbs
