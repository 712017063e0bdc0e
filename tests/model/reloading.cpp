// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// FREEHCA_RELOAD_ONE_OF=N: each device of the tests is replaced by one that has its state, at one
// of N calls (device::reload_at_one_of). The seed is FREEHCA_RELOAD_SEED, or drawn, and printed.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include <freehca/model/device.hpp>

namespace freehca::model::test {
namespace {

class reloading final : public testing::Environment {
 public:
  void SetUp() override {
    const char* one_of = std::getenv("FREEHCA_RELOAD_ONE_OF");
    if (one_of == nullptr) return;
    const char* given = std::getenv("FREEHCA_RELOAD_SEED");
    const std::uint64_t seed = given != nullptr ? std::stoull(given) : std::random_device{}();
    std::printf("FREEHCA_RELOAD_SEED=%llu\n", static_cast<unsigned long long>(seed));
    device::reload_at_one_of(static_cast<std::uint32_t>(std::stoul(one_of)), seed);
    reloads_ = true;
  }
  void TearDown() override {
    if (!reloads_) return;
    const device::reload_counts reloads = device::reloads();
    std::printf("%llu reloads\n", static_cast<unsigned long long>(reloads.done));
    EXPECT_GT(reloads.done, 0u);
    EXPECT_EQ(reloads.refused, 0u);
  }

 private:
  bool reloads_ = false;
};

const testing::Environment* const with_reloads = testing::AddGlobalTestEnvironment(new reloading);

}  // namespace
}  // namespace freehca::model::test
