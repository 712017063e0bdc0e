// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "served_program.hpp"

#include <linux/pci_regs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace freehca::vfio_user {

void served::start(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--socket", socket});
  server.start(arguments);
  ASSERT_EQ(0, c.connect(socket)) << server.said();
  ASSERT_EQ(0, c.negotiate());
}

void served::TearDown() {
  if (server.process() < 0) return;
  c.disconnect();
  EXPECT_EQ(0, server.stop()) << server.said();
  const std::string expected = "complaint: " + complaint;
  const bool complained = server.said().find("complaint: ") != std::string::npos;
  EXPECT_EQ(!complaint.empty(), complained) << server.said();
  if (complained) {
    EXPECT_NE(std::string::npos, server.said().find(expected)) << server.said();
  }
}

std::uint32_t served::configuration(unsigned offset, unsigned bytes) {
  std::array<std::byte, 4> data{};
  EXPECT_EQ(0, c.read(configuration_region, offset, std::span(data).first(bytes)));
  std::uint32_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= std::to_integer<std::uint32_t>(data[i]) << (8 * i);
  return value;
}

void served::set_configuration(unsigned offset, std::uint32_t value, unsigned bytes) {
  std::array<std::byte, 4> data{};
  for (unsigned i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(value >> (8 * i));
  EXPECT_EQ(0, c.write(configuration_region, offset, std::span(data).first(bytes)));
}

std::uint32_t served::read_register(std::uint64_t offset) {
  std::array<std::byte, 4> data{};
  EXPECT_EQ(0, c.read(bar0_region, offset, data));
  std::uint32_t value = 0;
  for (const std::byte b : data) value = value << 8 | std::to_integer<std::uint32_t>(b);
  return value;
}

void served::write_register(std::uint64_t offset, std::uint32_t value) {
  std::array<std::byte, 4> data{};
  for (unsigned i = 0; i < 4; ++i) data[i] = static_cast<std::byte>(value >> (8 * (3 - i)));
  EXPECT_EQ(0, c.write(bar0_region, offset, data));
}

void served::enable() {
  set_configuration(PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
}

shared_memory::shared_memory(std::size_t bytes)
    : file_(memfd_create("host memory", MFD_CLOEXEC)), bytes_(bytes) {
  if (ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) std::abort();
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (at == MAP_FAILED) std::abort();
  at_ = static_cast<std::byte*>(at);
}

shared_memory::~shared_memory() {
  munmap(at_, bytes_);
}

}  // namespace freehca::vfio_user
