// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Each system call of a whole life of the host fails once. The step that made the call reports it
// by name, the same step succeeds when it is tried again, and nothing stays open or mapped.
#include <freehca/vfio_host/vfio_device.hpp>

#include <sys/eventfd.h>
#include <sys/mman.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fake_vfio.hpp"
#include "system_calls.hpp"

namespace freehca::vfio_host {
namespace {

using freehca::testing::fake_vfio;
using freehca::testing::page;
using freehca::testing::system_calls;

/// What one step of a life did.
struct step {
  std::string name;
  std::size_t first_call, calls;  ///< of system_calls::made()
  bool failed;
  std::string words;  ///< why it failed; empty: it was silent
};

void notify(void*, unsigned) noexcept {}

struct pages {
  pages()
      : at(static_cast<std::byte*>(
            mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~pages() { munmap(at, 2 * page); }
  pages(const pages&) = delete;
  pages& operator=(const pages&) = delete;

  std::byte* const at;
};

class refused_calls : public ::testing::TestWithParam<door> {
 protected:
  refused_calls() { kernel.ranges = {{0, 0xfedfffff}, {0xfef00000, 0xffffffffffff}}; }

  /// Runs a step. If it fails, it is tried once more where `repeats`.
  bool act(const char* name, const std::function<bool()>& what,
           const std::function<std::string()>& words) {
    const std::size_t first = calls.made().size();
    const bool ok = what();
    steps.push_back({name, first, calls.made().size() - first, !ok, words()});
    if (ok || !repeats) return ok;
    const bool again = what();
    EXPECT_TRUE(again) << name << " does not work when it is tried again: " << words();
    return again;
  }
  /// A step of a device that is open. Functions that return nothing leave a word instead.
  bool act(const char* name, const std::function<status()>& what) {
    const std::string before = device->last_refusal();
    const auto words = [&] {
      return device->last_refusal() == before ? std::string() : device->last_refusal();
    };
    return act(
        name, [&] { return what().ok(); }, words);
  }
  static status done() { return {}; }
  /// Of a function that returns nothing, by what the kernel has.
  static status held(bool ok) { return ok ? status() : driver_error::bad_state; }

  /// open() to the destructor. A step that fails for good ends the life.
  void live() {
    steps.clear();
    std::string why;
    const auto opens = [&] {
      auto opened =
          vfio_device::open(fake_vfio::function(GetParam()), 16 * page, {.way = GetParam()});
      if (opened) device = std::move(*opened);
      else why = opened.error().message;
      return bool(opened);
    };
    if (act("open", opens, [&] { return why; })) use();
    const std::size_t first = calls.made().size();
    device = nullptr;
    steps.push_back({"close", first, calls.made().size() - first, false, {}});
  }

  void use() {
    const freehca::platform host = device->platform();
    const platform_operations& to = *host.operations;
    void* const self = host.context;
    mmio_region bar;
    dma_region block, second;
    std::uint32_t value = 0;
    std::uint64_t lent = 0;
    std::unique_ptr<vector_wait> waiting;
    const struct {
      const char* name;
      std::function<status()> what;
    } all[] = {
        {"map_bar 0", [&] { return to.map_bar(self, 0, &bar); }},
        {"map_bar 2", [&] { return to.map_bar(self, 2, &bar); }},
        {"read_configuration", [&] { return to.read_configuration(self, 0, &value); }},
        {"write_configuration", [&] { return to.write_configuration(self, 0x40, value); }},
        {"reset_function", [&] { return to.reset_function(self); }},
        {"restore_after_reset", [&] { return to.restore_after_reset(self); }},
        {"set_bus_master", [&] { return to.set_bus_master(self, true); }},
        {"allocate_dma", [&] { return to.allocate_dma(self, 4 * page, page, &block); }},
        {"allocate_dma", [&] { return to.allocate_dma(self, page, page, &second); }},
        {"map_memory", [&] { return to.map_memory(self, memory.at, 2 * page, &lent); }},
        {"arm_interrupts", [&] { return to.arm_interrupts(self, 2, notify, nullptr); }},
        {"arm_interrupts of more", [&] { return to.arm_interrupts(self, 3, notify, nullptr); }},
        {"wait_for", [&]() -> status { return wait_for(1, &waiting); }},
        {"wait",
         [&] {
           device->wait(0, wake.get());
           return done();
         }},
        {"vector_wait",
         [&] {
           waiting = nullptr;
           return done();
         }},
        {"disarm_interrupts",
         [&] {
           to.disarm_interrupts(self);
           return held(kernel.seen().armed == 0);
         }},
        {"unmap_memory", [&] { return to.unmap_memory(self, lent, 2 * page); }},
        {"free_dma",
         [&] {
           to.free_dma(self, second);
           return held(kernel.mapped() == 1);
         }},
        {"bus master off", [&] { return to.set_bus_master(self, false); }},
    };
    for (const auto& s : all)
      if (!act(s.name, s.what)) return;
  }
  /// wait_for() says why by what it returns.
  status wait_for(unsigned vector, std::unique_ptr<vector_wait>* to) {
    auto made = device->wait_for(vector);
    if (made) {
      *to = std::move(*made);
      return {};
    }
    wait_words = made.error().message;
    return driver_error::bad_state;
  }
  void expect_nothing_left() {
    EXPECT_EQ(calls.descriptors(), 0u);
    EXPECT_EQ(kernel.mapped(), 0u);
    EXPECT_EQ(kernel.seen().armed, 0u);
    EXPECT_EQ(calls.taken_from_the_device(), 0u);
  }
  void expect_a_good_life() {
    calls.work();
    live();
    for (const step& s : steps) EXPECT_EQ(s.words, "") << s.name;
    EXPECT_EQ(steps.size(), 21u);
    expect_nothing_left();
    EXPECT_EQ(calls.mappings(), mappings);
  }

  // The test's own, and in no ledger.
  const pages memory;
  const file wake{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  fake_vfio kernel;
  system_calls calls;
  std::unique_ptr<vfio_device> device;
  std::vector<step> steps;
  std::string wait_words;
  bool repeats = true;
  std::size_t mappings = 0;  ///< that a refused munmap() has left
};

/// Where the kernel's refusal has no remedy, and need not be reported: the destructor, and close(),
/// which frees the descriptor even where it fails.
bool may_be_silent(const step& s, const system_calls::call& failed) {
  return s.name == "close" || failed.name == "close";
}

/// Functions that return nothing, or whose work is done nevertheless, leave a word.
bool leaves_a_word_alone(const step& s, std::size_t nth, const system_calls::call& failed) {
  // Vectors are disarmed before more are armed.
  if (s.name == "arm_interrupts of more" && nth == s.first_call) return true;
  return s.name == "wait" || s.name == "vector_wait" ||
         (s.name == "free_dma" && failed.name == "munmap") ||
         (s.name == "unmap_memory" && failed.name == "madvise");
}

TEST_P(refused_calls, each_is_reported_by_its_step_and_leaves_nothing) {
  expect_a_good_life();
  const std::size_t most = calls.made().size();
  EXPECT_GT(most, 80u);
  for (std::size_t nth = 0; nth < most; ++nth) {
    calls.fail(nth);
    live();
    ASSERT_GT(calls.made().size(), nth);
    const system_calls::call failed = calls.made()[nth];
    SCOPED_TRACE("call " + std::to_string(nth) + ", " + failed.name);
    bool reported = false;
    for (const step& s : steps) {
      const bool has_it = s.first_call <= nth && nth < s.first_call + s.calls;
      const std::string words = s.name == "wait_for" && s.failed ? wait_words : s.words;
      if (!has_it) {
        EXPECT_FALSE(s.failed) << s.name << ": " << words;
        continue;
      }
      if (may_be_silent(s, failed)) {
        EXPECT_FALSE(s.failed) << s.name << ": " << words;
        reported = true;
        continue;
      }
      reported = true;
      EXPECT_EQ(s.failed, !leaves_a_word_alone(s, nth, failed)) << s.name;
      EXPECT_NE(words.find(failed.name), std::string::npos) << s.name << ": '" << words << "'";
      EXPECT_NE(words.find(std::strerror(failed.error)), std::string::npos)
          << s.name << ": '" << words << "'";
    }
    EXPECT_TRUE(reported) << "no step made the call";
    if (failed.name == "munmap") ++mappings;
    expect_nothing_left();
    expect_a_good_life();
    if (HasFailure()) return;
  }
}

/// As where the process has run into a limit that stays.
TEST_P(refused_calls, from_any_one_on_end_the_life_in_order) {
  expect_a_good_life();
  repeats = false;
  const std::size_t most = calls.made().size();
  for (std::size_t nth = 0; nth < most; ++nth) {
    SCOPED_TRACE("from call " + std::to_string(nth) + " on");
    calls.fail(nth, 10'000);
    live();
    EXPECT_EQ(calls.descriptors(), 0u);
    EXPECT_EQ(kernel.mapped(), 0u);
    mappings = calls.mappings();
    expect_a_good_life();
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(doors, refused_calls, ::testing::Values(door::group, door::iommufd),
                         [](const auto& one) { return std::string(name_of(one.param)); });

}  // namespace
}  // namespace freehca::vfio_host
