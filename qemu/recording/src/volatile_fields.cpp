// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/recording/volatile_fields.hpp>

#include <algorithm>

namespace freehca::recording {

namespace {

constexpr std::string_view no_meaning_in_a_send =
    "means something in receives, reads and atomics alone (layouts/cqe.hpp)";

constexpr std::string_view given_by_the_fabric =
    "given by the subnet manager of the fabric that the card was in";

constexpr std::string_view address_of_a_bar = "an address that the machine gives";

// What QEMU shows there is compared with cards by the guest's case pci_lspci.
constexpr std::string_view of_a_capability =
    "capability structures belong to QEMU's device, not to the model, and hosts change them";

constexpr volatile_field all[] = {
    {"node_description.text", "names the owner's host: left out of recordings"},
    {"configuration.0x04", "command and status: the host switches them"},
    {"configuration.0x0c", "cache line size and latency: the host's"},
    {"configuration.0x10", address_of_a_bar},
    {"configuration.0x14", address_of_a_bar},
    {"configuration.0x18", address_of_a_bar},
    {"configuration.0x1c", address_of_a_bar},
    {"configuration.0x34", of_a_capability},
    {"configuration.0x3c", "the line of the interrupt: the machine's"},
    {"configuration.0x4*", of_a_capability},
    {"configuration.0x5*", of_a_capability},
    {"configuration.0x6*", of_a_capability},
    {"configuration.0x7*", of_a_capability},
    {"configuration.0x8*", of_a_capability},
    {"configuration.0x9*", of_a_capability},
    {"configuration.0xa*", of_a_capability},
    {"configuration.0xb*", of_a_capability},
    {"configuration.0xc*", of_a_capability},
    {"configuration.0xd*", of_a_capability},
    {"configuration.0xe*", of_a_capability},
    {"configuration.0xf*", of_a_capability},
    {"hcr.status_of_event",
     "the event says it; the register's is valid when no event is asked for"},
    {"port_info.master_sm_lid", given_by_the_fabric},
    {"port_info.master_sm_sl", given_by_the_fabric},
    {"port_info.gid_prefix", given_by_the_fabric},
    {"port_info.subnet_timeout", given_by_the_fabric},
    {"eqe_port_management.mstr_sm_lid", given_by_the_fabric},
    {"eqe_port_management.mstr_sm_sl", given_by_the_fabric},
    {"eqe_port_management.gid_prefix", given_by_the_fabric},
    {"cqe_send.immediate", no_meaning_in_a_send},
    {"cqe_send.grh", no_meaning_in_a_send},
    {"cqe_send.my_lid_path", no_meaning_in_a_send},
    {"cqe_send.remote_qpn", no_meaning_in_a_send},
    {"cqe_send.byte_count", no_meaning_in_a_send},
    {"cqe_send.checksum", no_meaning_in_a_send},
    {"cqe_send.sl", no_meaning_in_a_send},
    {"cqe_send.vid", no_meaning_in_a_send},
    {"cqe_send.slid", no_meaning_in_a_send},
};

}  // namespace

std::span<const volatile_field> volatile_fields() {
  return all;
}

const volatile_field* find_volatile(std::string_view name) {
  const auto found = std::find_if(std::begin(all), std::end(all), [name](const volatile_field& v) {
    return v.name.back() == '*' ? name.starts_with(v.name.substr(0, v.name.size() - 1))
                                : name == v.name;
  });
  return found == std::end(all) ? nullptr : found;
}

}  // namespace freehca::recording
