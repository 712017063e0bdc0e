// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/recording/rows.hpp>

#include <algorithm>
#include <string_view>

#include <freehca/layouts/cqe.hpp>
#include <freehca/layouts/eqe.hpp>
#include <freehca/layouts/register_map.hpp>
#include <freehca/layouts/wqe.hpp>

#include "status_rows.hpp"

namespace freehca::recording {

using namespace layouts;

namespace {

constexpr const char* strictness = "docs/strictness.md";
constexpr const char* model_page = "docs/model.md";
constexpr const char* core_page = "docs/hardware-model-core.md";
constexpr const char* pci_page = "docs/hardware-pci.md";
constexpr const char* facts_page = "docs/hardware.md";

/// Which capability a field of QUERY_DEV_CAP, or some of its bits, is about.
struct capability_row {
  std::string_view field;
  std::uint64_t bits;
  const char* capability;
};
constexpr std::uint64_t any = ~std::uint64_t{0};
constexpr std::uint64_t bit(unsigned n) {
  return std::uint64_t{1} << n;
}
constexpr capability_row capabilities[] = {
    {"query_dev_cap.flags", bit(1), "uc"},
    {"query_dev_cap.flags", bit(3), "xrc"},
    {"query_dev_cap.flags", bit(6), "srq"},
    {"query_dev_cap.flags", bit(21), "multicast"},
    {"query_dev_cap.flags", bit(41) | bit(42), "b0-steering"},
    {"query_dev_cap.dmfs_ipoib", any, "ipoib-steering"},
    {"query_dev_cap.dmfs", any, "device-managed-steering"},
    {"query_dev_cap.bmme_flags", bit(10), "reserved-lkey"},
    {"query_dev_cap.reserved_lkey", any, "reserved-lkey"},
    {"query_dev_cap.bf", any, "blueflame"},
    {"query_dev_cap.log_bf_reg_sz", any, "blueflame"},
    {"query_dev_cap.log_max_bf", any, "blueflame"},
    {"query_dev_cap.flags", bit(61) | bit(62), "64-byte-entries"},
    {"query_dev_cap.cq_timestamp", any, "clock"},
    {"query_dev_cap.flags", bit(59), "port-management-events"},
    {"query_dev_cap.flags", bit(16), "memory-windows"},
    {"query_dev_cap.bmme_flags", bit(1) | bit(9), "memory-windows"},
    {"query_dev_cap.bmme_flags", bit(6) | bit(7) | bit(11), "memory-management"},
    {"query_dev_cap.flags", bit(17), "path-migration"},
    {"query_dev_cap.flags", bit(7), "ipoib-checksum"},
    {"query_dev_cap.flags", bit(15), "large-send"},
    {"query_dev_cap.log_max_gso_sz", any, "large-send"},
    {"query_dev_cap.bmme_flags", bit(24), "port-remap"},
    {"query_dev_cap.ext_3_flags", bit(13), "ets"},
    {"query_dev_cap.qcn", any, "qcn"},
};

/// What the page of chosen values says of other fields of QUERY_DEV_CAP and QUERY_FW; the first
/// that fits counts.
struct chosen_row {
  std::string_view field;  ///< how it begins, or ends with a star before
  const char* row;
};
constexpr chosen_row chosen[] = {
    {"*_entry_sz", "entry sizes"},
    {"query_dev_cap.log_rsvd_", "reserved"},
    {"query_dev_cap.num_rsvd_", "reserved"},
    {"query_dev_cap.log_max_", "limits beyond what the captures give"},
    {"query_dev_cap.max_", "limits beyond what the captures give"},
    {"query_fw.fw_pages", "firmware area, auxiliary memory"},
    {"query_fw.error_buf", "places in BAR 0"},
    {"query_fw.clr_int", "places in BAR 0"},
    {"query_fw.clock", "places in BAR 0"},
    {"query_fw.comm", "places in BAR 0"},
};
constexpr const char* no_source = "No source: chosen";

bool fits(std::string_view pattern, std::string_view name) {
  return pattern.front() == '*' ? name.ends_with(pattern.substr(1)) : name.starts_with(pattern);
}

page_row of_command(opcode command) {
  return {model_page, "Commands", name_of(command), ""};
}

struct numbered_row {
  std::uint64_t number;
  const char* row;
};

constexpr numbered_row events[] = {
    {0x00, "completion"},
    {0x01, "path migrated"},
    {0x02, "communication established"},
    {0x03, "send queue drained"},
    {0x04, "completion queue error"},
    {0x05, "work queue catastrophic error"},
    {0x07, "path migration failed"},
    {0x08, "local catastrophic error"},
    {0x09, "port change"},
    {0x0a, "command completion"},
    {0x0f, "event queue overflow"},
    {0x10, "invalid request error"},
    {0x11, "access violation"},
    {0x12, "shared receive queue catastrophic error"},
    {0x13, "last work request"},
    {0x14, "shared receive queue limit"},
    {0x1d, "port management change"},
};

/// The request whose receiver gets a completion of the opcode.
constexpr numbered_row receives[] = {
    {0x00, "RDMA_WRITE_IMM"}, {0x01, "SEND"}, {0x02, "SEND_IMM"}, {0x03, "SEND_INVAL"}};

/// By the syndrome of a completion in error: a row of "Work requests" of the page of strictness.
constexpr numbered_row errors[] = {
    {0x01, "byte count above the longest message"},
    {0x02, "control opcode that there is not"},
    {0x04, "local key of a send"},
    {0x06, "bind of type 1 that breaks a rule"},
    {0x12, "remote address of an atomic off its alignment"},
    {0x13, "remote key"},
    {0x14, "more receives posted than the queue holds"},
};

constexpr numbered_row registers[] = {
    {bar0::ownership, "Reading the ownership semaphore takes it"},
    {bar0::hardware_id, "The word at 0xf0014 of BAR 0 tells the generation and its revision"},
    {bar0::flash_semaphore, "The flash semaphore is taken before a software reset, which frees it"},
};
constexpr const char* any_register =
    "The command register takes 32-bit accesses only; the word with GO goes last, after a barrier";

constexpr numbered_row configuration[] = {
    {0x00, "vendor, device"}, {0x08, "class code"}, {0x2c, "subsystem, two ports / one"},
    {0x3c, "interrupt pin"},  {0x10, "BAR 0"},      {0x18, "BAR 2"},
    {0x30, "expansion ROM"},
};

template <std::size_t N>
const char* find(const numbered_row (&in)[N], std::uint64_t number) {
  const auto found = std::find_if(std::begin(in), std::end(in),
                                  [number](const numbered_row& r) { return r.number == number; });
  return found == std::end(in) ? nullptr : found->row;
}

constexpr const char* facts_section = "Facts that do not show in a table";
constexpr const char* pci_identity = "PCI identity";
constexpr const char* pci_capabilities = "Capabilities";
constexpr const char* pci_gateway_fact = "Vendor-specific capability: length 0x18; contents zero";

}  // namespace

page_row row_of_status(opcode command, command_status card, command_status model) {
  const command_status refusal = card != command_status::ok ? card : model;
  for (const status_row& r : status_rows())
    if (r.command == command && r.status == refusal)
      return {strictness, "Commands", name_of(command), r.what, r.fitting};
  return of_command(command);
}

page_row row_of_output(opcode command, const std::string& field, std::uint64_t differing) {
  if (command == opcode::query_dev_cap)
    for (const capability_row& c : capabilities)
      if (field.starts_with(c.field) && (c.bits == any || (differing & c.bits) != 0))
        return {model_page, "Capabilities", c.capability, ""};
  for (const chosen_row& c : chosen)
    if (fits(c.field, field)) return {core_page, no_source, c.row, ""};
  return of_command(command);
}

std::vector<page_row> rows_of_output(opcode command, const std::string& field,
                                     std::uint64_t differing) {
  std::vector<page_row> all;
  std::uint64_t left = differing;
  if (command == opcode::query_dev_cap)
    for (const capability_row& c : capabilities) {
      if (c.bits == any || !field.starts_with(c.field) || (left & c.bits) == 0) continue;
      all.push_back(row_of_output(command, field, left & c.bits));
      left &= ~c.bits;
    }
  if (left != 0 || all.empty()) all.push_back(row_of_output(command, field, left));
  return all;
}

page_row row_of_event(std::uint8_t type) {
  const char* row = find(events, type);
  return {model_page, "Events", row == nullptr ? "" : row, ""};
}

page_row row_of_completion(std::uint8_t code, bool send, std::uint8_t syndrome) {
  if (code == static_cast<std::uint8_t>(cqe_opcode::error)) {
    const char* row = find(errors, syndrome);
    return {strictness, "Work requests", row == nullptr ? "" : row, ""};
  }
  const char* row = find(receives, code);
  if (!send && row != nullptr) return {model_page, "Work requests", row, ""};
  for (unsigned n = 0; n < 0x20; ++n)
    if (n == code && send) {
      const std::string name = name_of(static_cast<wqe_opcode>(n));
      if (name != name_of(static_cast<wqe_opcode>(0x1d)))
        return {model_page, "Work requests", name, ""};
    }
  return {model_page, "Work requests", "", ""};
}

page_row row_of_register(std::uint64_t offset) {
  if (offset >= bar0::error_buffer_area &&
      offset < bar0::error_buffer_area + bar0::error_buffer_area_size)
    return row_of_event(static_cast<std::uint8_t>(event_type::local_catastrophic_error));
  const char* row = find(registers, offset);
  return {facts_page, facts_section, row == nullptr ? any_register : row, ""};
}

page_row row_of_configuration(std::uint64_t offset) {
  if (const char* row = find(configuration, offset)) return {pci_page, pci_identity, row, ""};
  return {pci_page, pci_capabilities, pci_gateway_fact, ""};
}

std::vector<page_row> every_row() {
  std::vector<page_row> all;
  for (const status_row& r : status_rows())
    all.push_back({strictness, "Commands", name_of(r.command), r.what, r.fitting});
  for (const capability_row& c : capabilities)
    all.push_back({model_page, "Capabilities", c.capability, ""});
  for (const chosen_row& c : chosen) all.push_back({core_page, no_source, c.row, ""});
  for (const numbered_row& r : events) all.push_back({model_page, "Events", r.row, ""});
  for (const numbered_row& r : receives) all.push_back({model_page, "Work requests", r.row, ""});
  for (unsigned n = 0; n < 0x20; ++n)
    if (const page_row row = row_of_completion(static_cast<std::uint8_t>(n), true, 0);
        !row.first.empty())
      all.push_back(row);
  for (const numbered_row& r : errors) all.push_back({strictness, "Work requests", r.row, ""});
  for (const numbered_row& r : registers) all.push_back({facts_page, facts_section, r.row, ""});
  all.push_back({facts_page, facts_section, any_register, ""});
  for (const numbered_row& r : configuration) all.push_back({pci_page, pci_identity, r.row, ""});
  all.push_back({pci_page, pci_capabilities, pci_gateway_fact, ""});
  for (unsigned n = 0; n < 0x1000; ++n)
    if (std::string_view(name_of(static_cast<opcode>(n))) != "unknown opcode")
      all.push_back(of_command(static_cast<opcode>(n)));
  return all;
}

}  // namespace freehca::recording
