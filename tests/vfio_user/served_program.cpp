// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "served_program.hpp"

#include <fcntl.h>
#include <linux/pci_regs.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace freehca::vfio_user {
namespace {

void pause_a_moment() {
  const timespec moment{0, 2'000'000};
  nanosleep(&moment, nullptr);
}

}  // namespace

folder::folder() {
  char name[] = "/tmp/freehca-device-XXXXXX";
  if (mkdtemp(name) == nullptr) std::abort();
  path_ = name;
}

folder::~folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

served_program::~served_program() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void served_program::start(const std::vector<std::string>& arguments) {
  std::vector<std::string> all{FREEHCA_DEVICE};
  all.insert(all.end(), arguments.begin(), arguments.end());
  spawn(std::move(all), {});
}

void served_program::start_by_manager(const std::vector<std::string>& arguments,
                                      const std::vector<int>& sockets, const std::string& names) {
  const std::string environment =
      "LISTEN_PID=$$ LISTEN_FDS=" + std::to_string(sockets.size()) + " LISTEN_FDNAMES=" + names;
  std::vector<std::string> all{"/bin/sh", "-c", environment + " exec \"$@\"", "sh", FREEHCA_DEVICE};
  all.insert(all.end(), arguments.begin(), arguments.end());
  spawn(std::move(all), sockets);
}

void served_program::spawn(std::vector<std::string> all, const std::vector<int>& sockets) {
  constexpr int first = 3, out_of_the_way = 100;
  std::vector<char*> words;
  for (std::string& one : all) words.push_back(one.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, files_.path("stderr").c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int count = static_cast<int>(sockets.size());
  for (int i = 0; i < count; ++i)
    posix_spawn_file_actions_adddup2(&actions, sockets[static_cast<std::size_t>(i)],
                                     out_of_the_way + i);
  for (int i = 0; i < count; ++i)
    posix_spawn_file_actions_adddup2(&actions, out_of_the_way + i, first + i);
  ASSERT_EQ(0, posix_spawn(&process_, words[0], &actions, nullptr, words.data(), environ));
  posix_spawn_file_actions_destroy(&actions);
  for (int i = 0; i < 5000; ++i) {
    if (said().find("ready: ") != std::string::npos) return;
    siginfo_t about{};
    waitid(P_PID, static_cast<id_t>(process_), &about, WEXITED | WNOHANG | WNOWAIT);
    if (about.si_pid == process_) return;
    pause_a_moment();
  }
  ADD_FAILURE() << "freehca-device is neither ready nor ended: " << said();
}

int served_program::stop() {
  kill(process_, SIGTERM);
  return wait();
}

int served_program::wait() {
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string served_program::said() const {
  std::ifstream file(files_.path("stderr"));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

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
