// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The adapter behind the server: registers, resets, and firmware commands whose mailboxes are the
// client's memory.
#include <linux/pci_regs.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include <freehca/layouts/query_fw.hpp>

#include "command_register.hpp"

namespace freehca::vfio_user {
namespace {

using layouts::command_status;
using layouts::opcode;
using layouts::query_fw;
using firmware = served;

constexpr std::uint64_t mailbox = 0x40000000;

std::uint64_t interface_revision(const std::byte* at) {
  layouts::image<query_fw> found;
  std::memcpy(found.data(), at, query_fw::bytes);
  return found.get<&query_fw::cmd_interface_rev>();
}

// Memory that the server must ask for.
struct asked_for final : served_memory {
  bool read(std::uint64_t address, std::span<std::byte> to) override {
    if (!inside(address, to.size())) return false;
    std::memcpy(to.data(), &all[address - mailbox], to.size());
    return true;
  }
  bool write(std::uint64_t address, std::span<const std::byte> from) override {
    ++writes;
    if (!inside(address, from.size())) return false;
    std::memcpy(&all[address - mailbox], from.data(), from.size());
    return true;
  }
  bool inside(std::uint64_t address, std::size_t bytes) const {
    return !refuses && address >= mailbox && address - mailbox + bytes <= all.size();
  }
  std::vector<std::byte> all = std::vector<std::byte>(8192);
  unsigned writes = 0;
  bool refuses = false;
};

TEST_F(firmware, query_fw_into_a_file_of_the_client) {
  start();
  enable();
  shared_memory host(8192);
  ASSERT_EQ(0, c.map(mailbox, host.bytes(), host.file()));
  EXPECT_EQ(command_status::ok, run_command(*this, opcode::query_fw, mailbox, true));
  EXPECT_EQ(3u, interface_revision(host.at()));
  ASSERT_EQ(0, c.unmap(mailbox, host.bytes()));
  std::memset(host.at(), 0, host.bytes());
  run_command(*this, opcode::query_fw, mailbox, false);
  EXPECT_EQ(0u, interface_revision(host.at())) << "there is no such memory any more";
  complaint = "QUERY_FW: output mailbox at 0x40000000 cannot be written";
}

TEST_F(firmware, query_fw_by_messages) {
  start();
  enable();
  asked_for memory;
  c.serve(&memory);
  ASSERT_EQ(0, c.map(mailbox, memory.all.size(), -1));
  EXPECT_EQ(command_status::ok, run_command(*this, opcode::query_fw, mailbox, true));
  EXPECT_EQ(3u, interface_revision(memory.all.data()));
  EXPECT_GT(memory.writes, 0u);
  const unsigned writes = memory.writes;
  memory.refuses = true;
  run_command(*this, opcode::query_fw, mailbox, false);
  EXPECT_GT(memory.writes, writes) << "it was asked again, and refused";
  complaint = "QUERY_FW: output mailbox at 0x40000000 cannot be written";
}

TEST_F(firmware, a_client_that_is_sent_little_at_a_time) {
  server.start({"--socket", socket});
  ASSERT_EQ(0, c.connect(socket));
  ASSERT_EQ(0, c.negotiate({.max_data_xfer_size = 16}));
  enable();
  asked_for memory;
  c.serve(&memory);
  ASSERT_EQ(0, c.map(mailbox, memory.all.size(), -1));
  EXPECT_EQ(command_status::ok, run_command(*this, opcode::query_fw, mailbox, true));
  EXPECT_EQ(3u, interface_revision(memory.all.data()));
  EXPECT_GE(memory.writes, query_fw::bytes / 16);
}

TEST_F(firmware, without_bus_mastering_there_is_no_dma) {
  complaint = "QUERY_FW: output mailbox";
  start();
  set_configuration(PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
  shared_memory host(8192);
  ASSERT_EQ(0, c.map(mailbox, host.bytes(), host.file()));
  run_command(*this, opcode::query_fw, mailbox, true);
  EXPECT_EQ(0u, interface_revision(host.at()));
}

TEST_F(firmware, without_memory_space_nobody_answers) {
  start();
  EXPECT_EQ(0xffffffffu, read_register(layouts::bar0::hardware_id));
  enable();
  EXPECT_EQ(0x1f7u, read_register(layouts::bar0::hardware_id));
  set_configuration(0x44, 3, 2);
  EXPECT_EQ(0xffffffffu, read_register(layouts::bar0::hardware_id)) << "D3hot";
  set_configuration(0x44, 0, 2);
  EXPECT_EQ(0x1f7u, read_register(layouts::bar0::hardware_id));
}

TEST_F(firmware, the_gateway_of_configuration_space) {
  start();
  set_configuration(0x58, layouts::bar0::hardware_id);
  EXPECT_EQ(0x1f7u, configuration(0x5c));
  set_configuration(0x58, layouts::bar0::msix_table);
  set_configuration(0x5c, 0x0000e0fe);
  enable();
  EXPECT_EQ(0x0000e0feu, read_register(layouts::bar0::msix_table));
  set_configuration(0x58, 0x100000);
  EXPECT_EQ(0xffffffffu, configuration(0x5c));
}

TEST_F(firmware, the_msix_table_keeps_what_is_written) {
  start();
  enable();
  EXPECT_EQ(0x01000000u, read_register(layouts::bar0::msix_table + 12)) << "masked, little-endian";
  write_register(layouts::bar0::msix_table, 0xaabbccdd);
  EXPECT_EQ(0xaabbccddu, read_register(layouts::bar0::msix_table));
  EXPECT_EQ(0u, read_register(layouts::bar0::msix_pba));
  write_register(layouts::bar0::msix_pba, 0xffffffff);
  EXPECT_EQ(0u, read_register(layouts::bar0::msix_pba));
}

TEST_F(firmware, accesses_of_any_length) {
  start();
  enable();
  std::vector<std::byte> piece(64);
  ASSERT_EQ(0, c.read(bar0_region, layouts::bar0::hardware_id, piece));
  EXPECT_EQ(std::byte{0xf7}, piece[3]);
  EXPECT_EQ(0, c.read(bar0_region, 1u << 20, {})) << "nothing, at the end";
  EXPECT_EQ(EINVAL, c.read(bar0_region, (1u << 20) - 4, piece));
  EXPECT_EQ(EINVAL, c.read(bar0_region, ~std::uint64_t{0}, piece));
  EXPECT_EQ(EINVAL, c.read(1, 0, piece)) << "a region of no bytes";
  EXPECT_EQ(EINVAL, c.read(77, 0, piece));
}

struct resets : served {
  void begin() {
    start();
    enable();
    ASSERT_EQ(0, c.map(mailbox, host.bytes(), host.file()));
    ASSERT_EQ(command_status::ok, run_command(*this, opcode::query_fw, mailbox, true));
    set_configuration(PCI_INTERRUPT_LINE, 0x55, 1);
  }
  // Back at power-on, and of use again.
  void check() {
    EXPECT_EQ(0u, configuration(PCI_COMMAND, 2));
    EXPECT_EQ(0u, configuration(PCI_INTERRUPT_LINE, 1));
    enable();
    EXPECT_EQ(command_status::ok, run_command(*this, opcode::query_fw, mailbox, true));
  }
  shared_memory host{8192};
};

TEST_F(resets, by_the_register) {
  begin();
  write_register(layouts::bar0::reset, layouts::bar0::reset_value);
  check();
}

TEST_F(resets, by_the_client) {
  begin();
  ASSERT_EQ(0, c.reset());
  check();
}

TEST_F(resets, by_the_function) {
  begin();
  set_configuration(0x68, configuration(0x68, 2) | PCI_EXP_DEVCTL_BCR_FLR | 1u << 5, 2);
  EXPECT_EQ(1u << 5, configuration(0x68, 2) & (7u << 5)) << "a payload size outlives it";
  check();
}

TEST_F(resets, a_card_without_one_of_the_function) {
  start({"--flr", "off"});
  enable();
  set_configuration(0x68, PCI_EXP_DEVCTL_BCR_FLR, 2);
  EXPECT_EQ(6u, configuration(PCI_COMMAND, 2));
}

TEST_F(resets, nobody_is_there_for_as_long_as_it_takes) {
  // Long enough for a machine that is busy with other things.
  start({"--x-fault-reset-latency", "1000000000"});
  enable();
  write_register(layouts::bar0::reset, layouts::bar0::reset_value);
  EXPECT_EQ(0xffffffffu, configuration(0));
  for (int i = 0; i < 30000 && configuration(0) == 0xffffffff; ++i) usleep(1000);
  EXPECT_EQ(0x100715b3u, configuration(0));
}

}  // namespace
}  // namespace freehca::vfio_user
