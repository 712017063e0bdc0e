// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// BAR 2 as memory that a client maps (--doorbells polled).
#include <dirent.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <random>
#include <thread>

#include <nlohmann/json.hpp>

#include "control_caller.hpp"
#include "doorbell_pages.hpp"
#include "rest.hpp"
#include "run_program.hpp"
#include "served_program.hpp"

namespace freehca::vfio_user {
namespace {

constexpr std::uint64_t bar_bytes = 8u << 20, half = bar_bytes / 2;
constexpr std::uint64_t event_pages = 128 * 4096;

/// A file that is mapped whole.
class mapped_file {
 public:
  mapped_file(int file, std::size_t bytes)
      : bytes_(bytes), at_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)) {}
  ~mapped_file() {
    if (there()) munmap(at_, bytes_);
  }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;

  bool there() const { return at_ != MAP_FAILED; }
  std::uint64_t* word(std::size_t offset) {
    return static_cast<std::uint64_t*>(static_cast<void*>(static_cast<std::byte*>(at_) + offset));
  }

 private:
  std::size_t bytes_;
  void* at_;
};

struct doorbell_pages : served {
  region_info info{};
  std::vector<mappable_area> areas;
  descriptor file;

  void start_polled(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.end(), {"--doorbells", "polled"});
    start(arguments);
    describe();
  }
  void describe() {
    info = {};
    info.index = bar2_region;
    ASSERT_EQ(0, c.describe(info, areas, file));
  }
  testing::answer hcactl(const std::string& arguments) const {
    return testing::run_program(std::string(HCACTL) + " --vfio-user " + socket + " " + arguments +
                                " 2>&1");
  }
  void leave() {
    c.disconnect();
    for (int i = 0; i < 1000 && server.said().find("has gone") == std::string::npos; ++i)
      usleep(1000);
  }
  std::uint64_t counter(const std::string& name) {
    control_caller asks(files.path("control"));
    const nlohmann::json found = asks.ask("counters", {{"names", {name}}});
    return found["counters"][name].get<std::uint64_t>();
  }
  /// The server's own, as it has it open.
  descriptor servers_file() const {
    const std::string folder = "/proc/" + std::to_string(server.process()) + "/fd";
    DIR* all = opendir(folder.c_str());
    if (all == nullptr) return {};
    descriptor found;
    for (const dirent* one = readdir(all); one != nullptr && !found.open(); one = readdir(all)) {
      const std::string path = folder + "/" + one->d_name;
      std::array<char, 200> name{};
      if (readlink(path.c_str(), name.data(), name.size() - 1) > 0 &&
          std::string(name.data()).find("freehca doorbells") != std::string::npos)
        found = descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC));
    }
    closedir(all);
    return found;
  }
};

TEST_F(doorbell_pages, are_offered_as_the_kernel_would) {
  start_polled();
  // As QEMU's client asks: with room for the structure alone, then with as much as is wanted.
  vfio_region_info first{};
  first.argsz = sizeof first;
  first.index = VFIO_PCI_BAR2_REGION_INDEX;
  std::vector<std::byte> body;
  std::vector<descriptor> received;
  ASSERT_EQ(0,
            c.request(command::device_get_region_info, bytes_of(first), {}, {}, body, &received));
  ASSERT_EQ(sizeof first, body.size());
  std::memcpy(&first, body.data(), sizeof first);
  EXPECT_EQ(std::uint32_t{VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE |
                          VFIO_REGION_INFO_FLAG_MMAP | VFIO_REGION_INFO_FLAG_CAPS},
            first.flags);
  EXPECT_EQ(sizeof first, first.cap_offset);
  EXPECT_TRUE(received.empty()) << "what cannot be used is not sent";
  const std::uint32_t wanted = first.argsz;
  ASSERT_EQ(0,
            c.request(command::device_get_region_info, bytes_of(first), {}, {}, body, &received));
  ASSERT_EQ(wanted, body.size());
  ASSERT_EQ(1u, received.size());
  std::memcpy(&first, body.data(), sizeof first);
  EXPECT_EQ(wanted, first.argsz);
  EXPECT_EQ(bar_bytes, first.size);
  vfio_region_info_cap_sparse_mmap which;
  std::memcpy(&which, body.data() + first.cap_offset, sizeof which);
  EXPECT_EQ(VFIO_REGION_INFO_CAP_SPARSE_MMAP, which.header.id);
  EXPECT_EQ(1, which.header.version);
  EXPECT_EQ(0u, which.header.next);
  ASSERT_EQ(2u, which.nr_areas);
  vfio_region_sparse_mmap_area found[2];
  std::memcpy(found, body.data() + first.cap_offset + sizeof which, sizeof found);
  for (const std::uint64_t number : {0u, 1u}) {
    EXPECT_EQ(number * half + event_pages, found[number].offset) << "not the event queues' pages";
    EXPECT_EQ(half - event_pages, found[number].size);
  }
  struct stat about {};
  ASSERT_EQ(0, fstat(received[0].get(), &about));
  EXPECT_EQ(bar_bytes, static_cast<std::uint64_t>(about.st_size));
  EXPECT_NE(0, ftruncate(received[0].get(), 0)) << "nobody cuts it short behind the server's back";
  EXPECT_EQ(EPERM, errno);
}

TEST_F(doorbell_pages, of_no_other_region_and_not_by_default) {
  start_polled();
  for (const std::uint32_t other : {bar0_region, configuration_region}) {
    info = {};
    info.index = other;
    ASSERT_EQ(0, c.describe(info, areas, file));
    EXPECT_EQ(region_readable | region_writeable, info.flags);
    EXPECT_TRUE(areas.empty());
  }
  c.disconnect();
  EXPECT_EQ(0, server.stop());
  start();
  describe();
  EXPECT_EQ(region_readable | region_writeable, info.flags);
}

TEST_F(doorbell_pages, are_registers_for_who_writes_by_messages) {
  start_polled();
  enable();
  std::array<std::byte, 4> word{};
  EXPECT_EQ(0, c.write(bar2_region, 0x200 * 4096 + 0x14, word));
  EXPECT_EQ(0, c.read(bar2_region, 0x200 * 4096 + 0x14, word));
  complaint = "doorbell at 0x200014 of BAR2 while the HCA does not run";
}

TEST_F(doorbell_pages, every_client_has_its_own) {
  start_polled();
  struct stat before {
  }, after{};
  ASSERT_EQ(0, fstat(file.get(), &before));
  mapped_file mine(file.get(), bar_bytes);
  ASSERT_TRUE(mine.there());
  *mine.word(event_pages) = 1;
  leave();
  ASSERT_EQ(0, c.connect(socket));
  ASSERT_EQ(0, c.negotiate());
  describe();
  ASSERT_EQ(0, fstat(file.get(), &after));
  EXPECT_NE(before.st_ino, after.st_ino);
  mapped_file next(file.get(), bar_bytes);
  ASSERT_TRUE(next.there());
  EXPECT_EQ(0u, *next.word(event_pages));
}

TEST_F(doorbell_pages, the_driver_moves_verified_data_by_stores) {
  start_polled({"--strict", "on", "--control", files.path("control")});
  leave();
  const auto [code, text] = hcactl("ping --messages 50");
  EXPECT_EQ(0, code) << text;
  EXPECT_NE(std::string::npos, text.find("completion by interrupt")) << text;
  EXPECT_LT(0u, counter("uar_page_looks"));
  EXPECT_EQ(0u, counter("blueflame_writes")) << "by message";
}

TEST_F(doorbell_pages, without_a_moment_of_polling_they_are_looked_at_too) {
  start_polled({"--strict", "on", "--poll-us", "0"});
  leave();
  const auto [code, text] = hcactl("ping --messages 10");
  EXPECT_EQ(0, code) << text;
}

TEST_F(doorbell_pages, what_others_store_there_is_no_more_than_a_reason_to_look) {
  start_polled({"--strict", "on", "--control", files.path("control")});
  leave();
  std::atomic<bool> ends = false;
  std::atomic<bool> found = false;
  std::thread scribbler([&] {
    descriptor servers;
    while (!ends && !servers.open()) servers = servers_file();
    mapped_file pages(servers.get(), bar_bytes);
    if (!pages.there()) return;
    found = true;
    std::mt19937_64 random(3);
    constexpr std::uint64_t words = (half - event_pages) / 8;
    while (!ends) {
      const std::uint64_t at = event_pages + random() % words * 8 + random() % 2 * half;
      __atomic_store_n(pages.word(at), random(), __ATOMIC_RELAXED);
      // The page that a driver gets first, at its doorbells.
      __atomic_store_n(pages.word(event_pages + 0x10), random(), __ATOMIC_RELAXED);
      __atomic_store_n(pages.word(event_pages + 0x20), random(), __ATOMIC_RELAXED);
    }
  });
  const auto [code, text] = hcactl("ping --messages 20");
  ends = true;
  scribbler.join();
  EXPECT_EQ(0, code) << text;
  EXPECT_TRUE(found);
  EXPECT_LT(0u, counter("uar_page_looks"));
}

TEST_F(doorbell_pages, settings_that_are_none) {
  for (const char* wrong : {"--doorbells mapped", "--poll-us x", "--poll-us 1000001"}) {
    const auto [code, text] = testing::run_program(std::string(FREEHCA_DEVICE) + " --socket " +
                                                   socket + " " + wrong + " 2>&1");
    EXPECT_EQ(2, code) << text;
  }
}

// A guest names a UAR page by any number, and what is taken as BlueFlame's lies half a BAR on.
TEST(doorbell_places, what_is_looked_at_lies_in_the_bar) {
  using device_server::doorbell_pages;
  constexpr std::uint64_t bar = 8u << 20, page = 4096, first = 128 * page;
  for (std::uint64_t at = 0; at < 4 * bar; at += page)
    EXPECT_EQ(at >= first && at + bar / 2 + page <= bar, doorbell_pages::is_looked_at(at, bar))
        << at;
}

TEST(rest, grows_from_none_to_the_longest_and_begins_anew) {
  using device_server::rest;
  rest r(50'000);
  r.happened(1'000'000);
  EXPECT_EQ(0u, r.pause(1'000'000));
  EXPECT_EQ(0u, r.pause(1'049'999));
  std::uint64_t longest = 0;
  for (std::uint64_t expected = rest::shortest_ns; expected <= rest::longest_ns; expected *= 2) {
    longest = r.pause(1'050'000);
    EXPECT_EQ(expected, longest);
  }
  EXPECT_EQ(rest::longest_ns, longest);
  EXPECT_EQ(rest::longest_ns, r.pause(2'000'000));
  r.happened(2'000'000);
  EXPECT_EQ(0u, r.pause(2'000'001));
  EXPECT_EQ(rest::shortest_ns, r.pause(2'050'000));
}

}  // namespace
}  // namespace freehca::vfio_user
