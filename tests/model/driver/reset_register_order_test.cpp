// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The store to the reset register leaves the processor at once: the barrier that drains a
// write-combining buffer is the very next thing that the driver does, wherever it resets through
// the register. Every register access, barrier and access to configuration space is recorded.
#include <algorithm>
#include <optional>
#include <vector>

#include <freehca/hal/barrier.hpp>
#include <freehca/layouts/register_map.hpp>

#include "device_rig.hpp"

namespace freehca {
namespace {

struct access {
  enum class kind : std::uint8_t { store, load, configuration, barrier } what;
  const std::byte* at = nullptr;
  std::optional<barrier::use> use = std::nullopt;
};
/// Null: nobody records.
std::vector<access>* recording = nullptr;

void note(const access& a) {
  if (recording != nullptr) recording->push_back(a);
}

}  // namespace

namespace routed {

void hears_mmio_write(const std::byte* at, std::uint64_t, unsigned) noexcept {
  note({.what = access::kind::store, .at = at});
}
void heard_mmio_read(const std::byte* at, std::uint32_t) noexcept {
  note({.what = access::kind::load, .at = at});
}
void passed_barrier(barrier::use which, const char*, unsigned) noexcept {
  note({.what = access::kind::barrier, .use = which});
}

}  // namespace routed

namespace {

using testing::device_rig;

class reset_register : public ::testing::Test {
 protected:
  static in_process::machine_options without_flr() {
    in_process::machine_options how;
    how.function_level_reset = false;
    return how;
  }
  reset_register() : rig(without_flr()) {
    real = rig.setup.platform.operations;
    bus_master_works = true;
    operations = *real;
    operations.read_configuration = [](void* context, unsigned offset, std::uint32_t* value) {
      note({.what = access::kind::configuration});
      return real->read_configuration(context, offset, value);
    };
    operations.write_configuration = [](void* context, unsigned offset, std::uint32_t value) {
      note({.what = access::kind::configuration});
      return real->write_configuration(context, offset, value);
    };
    operations.set_bus_master = [](void* context, bool on) -> status {
      note({.what = access::kind::configuration});
      return bus_master_works ? real->set_bus_master(context, on)
                              : status(transport_error::refused);
    };
    rig.setup.platform.operations = &operations;
    rig.setup.port_wait = clock::milliseconds(5);
    mmio_region bar0;
    EXPECT_TRUE(real->map_bar(rig.setup.platform.context, 0, &bar0).ok());
    register_at = bar0.base + layouts::bar0::reset;
    recording = &accesses;
  }
  ~reset_register() override { recording = nullptr; }

  /// Since the last call the driver has written the register `times` times, each time with the
  /// barrier right behind.
  void expect_drained(unsigned times) {
    unsigned stores = 0;
    for (auto a = accesses.begin(); a != accesses.end(); ++a) {
      if (a->what != access::kind::store || a->at != register_at) continue;
      ++stores;
      const auto next = a + 1;
      ASSERT_NE(next, accesses.end()) << "nothing follows the store";
      EXPECT_EQ(next->what, access::kind::barrier);
      EXPECT_EQ(next->use, barrier::use::mmio_store_to_mmio_store);
    }
    EXPECT_EQ(stores, times);
    accesses.clear();
  }

  inline static const platform_operations* real = nullptr;
  inline static bool bus_master_works = true;
  device_rig rig;
  platform_operations operations;
  std::vector<access> accesses;
  const std::byte* register_at = nullptr;
};

TEST_F(reset_register, is_drained_at_once_when_the_adapter_is_brought_up_and_recovered) {
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
  expect_drained(1);
  operation again;
  rig.adapter.recover(again);
  EXPECT_TRUE(rig.await(again).ok()) << rig.failure();
  expect_drained(2);
  EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
  rig.adapter.close();
  expect_drained(0);
}

TEST_F(reset_register, is_drained_at_once_when_nothing_else_stops_an_adapter_that_is_closed) {
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
  expect_drained(1);
  bus_master_works = false;
  const std::uint64_t before = rig.machine.counter("software_resets");
  rig.adapter.close();
  EXPECT_EQ(rig.machine.counter("software_resets"), before + 1);
  expect_drained(1);
}

}  // namespace
}  // namespace freehca
