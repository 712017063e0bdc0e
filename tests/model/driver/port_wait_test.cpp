// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// How long bring-up waits for its ports: for a subnet manager as long as the setup says, for a
// cable that is not there only a moment.
#include <cstring>

#include <freehca/layouts/smp.hpp>

#include "device_rig.hpp"

namespace freehca {
namespace {

using layouts::port_physical_state;
using layouts::port_state;

class port_wait : public ::testing::Test {
 protected:
  struct rig : testing::device_rig {
    using testing::device_rig::device_rig;
    /// How long the step that waits takes of a bring-up, in virtual time.
    std::uint64_t time_in_the_step() {
      EXPECT_TRUE(adapter.open(setup).ok());
      operation up;
      adapter.bring_up(up);
      EXPECT_TRUE(
          run([&] { return up.done() || adapter.step() == bring_up_step::wait_for_ports; }));
      const std::uint64_t begun = machine.time();
      EXPECT_TRUE(await(up).ok()) << failure();
      return machine.time() - begun;
    }
    /// A cable between its ports, with nobody who manages the subnet.
    void connect_ports() {
      machine.on_link_send = [this](unsigned port, const std::byte* from, std::size_t bytes) {
        machine.adapter().link_receive(3 - port, from, bytes);
        return true;
      };
    }
    /// Until `time` of the step the subnet manager has not been there: what PortInfo says.
    void let_the_manager_come_at(std::uint64_t time) {
      machine.alter_adapter_write = [this, time](std::uint64_t, std::byte* bytes,
                                                 std::size_t count) {
        if (adapter.step() != bring_up_step::wait_for_ports) return;
        if (step_begun_ == 0) step_begun_ = machine.time();
        if (count < layouts::smp::bytes || machine.time() - step_begun_ >= time) return;
        auto mad = layouts::image<layouts::smp>::from_bytes(bytes);
        using info = layouts::port_info;
        if (mad.get<&layouts::smp::attribute_id>() !=
            static_cast<std::uint16_t>(layouts::smp_attribute::port_info))
          return;
        auto answer = layouts::image<info>::from_bytes(mad.bytes_of<&layouts::smp::data>());
        answer.set<&info::state>(port_state::initialize)
            .set<&info::physical_state>(port_physical_state::link_up);
        std::memcpy(bytes + (mad.bytes_of<&layouts::smp::data>() - mad.data()), answer.data(), 64);
      };
    }

   private:
    std::uint64_t step_begun_ = 0;
  };

  static constexpr std::uint64_t moment = clock::milliseconds(50);
};

TEST_F(port_wait, without_a_cable_is_short) {
  rig r;
  r.machine.adapter().plug_cable(1, false);
  r.machine.adapter().plug_cable(2, false);
  const std::uint64_t took = r.time_in_the_step();
  EXPECT_LE(took, r.setup.link_wait + moment);
  for (unsigned n = 1; n <= 2; ++n) {
    EXPECT_EQ(r.adapter.port(n).physical_state, port_physical_state::polling);
    EXPECT_FALSE(r.adapter.port(n).has_partner());
  }
  EXPECT_TRUE(r.tear_down().ok());
}

TEST_F(port_wait, beside_a_port_without_a_cable_is_no_longer) {
  rig r;
  r.machine.adapter().plug_cable(1, false);
  EXPECT_LE(r.time_in_the_step(), r.setup.link_wait + moment);
  EXPECT_FALSE(r.adapter.port(1).active());
  EXPECT_TRUE(r.adapter.port(2).active());
  EXPECT_TRUE(r.tear_down().ok());
}

TEST_F(port_wait, is_over_when_the_ports_are_active) {
  rig r;
  EXPECT_LT(r.time_in_the_step(), clock::seconds(1));
  EXPECT_TRUE(r.adapter.port(1).active());
  EXPECT_TRUE(r.adapter.port(2).active());
  EXPECT_TRUE(r.tear_down().ok());
}

TEST_F(port_wait, of_the_setup_is_the_longest_for_a_port_without_a_cable_too) {
  rig r;
  r.setup.port_wait = clock::milliseconds(300);
  r.machine.adapter().plug_cable(1, false);
  EXPECT_LE(r.time_in_the_step(), r.setup.port_wait + moment);
  EXPECT_TRUE(r.tear_down().ok());
}

TEST_F(port_wait, lasts_until_a_late_subnet_manager_is_there) {
  rig r;
  r.let_the_manager_come_at(clock::seconds(6));
  const std::uint64_t took = r.time_in_the_step();
  EXPECT_GE(took, clock::seconds(6));
  EXPECT_LE(took, clock::seconds(6) + moment);
  EXPECT_TRUE(r.adapter.port(1).active());
  EXPECT_TRUE(r.adapter.port(2).active());
  EXPECT_TRUE(r.tear_down().ok());
}

TEST_F(port_wait, ends_where_no_subnet_manager_comes) {
  in_process::machine_options how;
  how.model.cable[0] = how.model.cable[1] = true;
  rig r(how);
  r.connect_ports();
  const std::uint64_t took = r.time_in_the_step();
  EXPECT_GE(took, r.setup.port_wait);
  EXPECT_LE(took, r.setup.port_wait + moment);
  EXPECT_EQ(r.adapter.port(1).state, port_state::initialize);
  EXPECT_TRUE(r.adapter.port(1).has_partner());
  EXPECT_TRUE(r.tear_down().ok());
}

TEST_F(port_wait, ends_in_time_for_the_deadline_of_the_bring_up) {
  in_process::machine_options how;
  how.model.cable[0] = how.model.cable[1] = true;
  for (const std::uint64_t patience :
       {clock::milliseconds(1'300), clock::milliseconds(1'500), clock::seconds(5)}) {
    rig r(how);
    r.connect_ports();
    ASSERT_TRUE(r.adapter.open(r.setup).ok());
    operation up;
    up.set_deadline(r.machine.time() + patience);
    r.adapter.bring_up(up);
    const std::uint64_t end = up.deadline();
    EXPECT_TRUE(r.await(up).ok()) << r.failure();
    EXPECT_LE(r.machine.time(), end);
    EXPECT_GE(r.machine.time() + moment, end) << "it waits as long as it may";
    for (unsigned n = 1; n <= 2; ++n)
      EXPECT_EQ(r.adapter.port(n).state, port_state::initialize) << "looked at";
    EXPECT_TRUE(r.tear_down().ok());
  }
}

TEST_F(port_wait, is_not_needed_to_hear_of_a_cable_that_comes_later) {
  rig r;
  r.setup.link_wait = 0;
  r.machine.adapter().plug_cable(1, false);
  r.machine.adapter().plug_cable(2, false);
  EXPECT_LE(r.time_in_the_step(), moment);
  unsigned told = 0;
  event_sinks sinks;
  sinks.context = &told;
  sinks.port = [](void* context, unsigned port) noexcept {
    *static_cast<unsigned*>(context) = port;
  };
  r.adapter.set_sinks(sinks);
  r.machine.adapter().plug_cable(2, true);
  EXPECT_TRUE(r.run([&] { return r.adapter.port(2).active(); }, clock::seconds(5)));
  EXPECT_EQ(told, 2u);
  EXPECT_TRUE(r.tear_down().ok());
}

/// A link that trains is Polling in turns with Training: whoever hears a partner is awaited.
TEST(port_attributes, of_every_state_say_whether_there_is_a_partner) {
  for (const port_physical_state p :
       {port_physical_state::sleep, port_physical_state::polling, port_physical_state::disabled,
        port_physical_state::training, port_physical_state::link_up,
        port_physical_state::link_error_recovery, port_physical_state::phy_test}) {
    port_attributes a;
    a.physical_state = p;
    EXPECT_EQ(a.has_partner(), p == port_physical_state::training ||
                                   p == port_physical_state::link_up ||
                                   p == port_physical_state::link_error_recovery)
        << static_cast<unsigned>(p);
    for (const port_state s : {port_state::initialize, port_state::armed, port_state::active}) {
      a.state = s;
      EXPECT_TRUE(a.has_partner());
    }
  }
}

/// 150 ms Training and 150 ms Polling in turns, and up after 4 s.
TEST_F(port_wait, a_link_that_trains_in_turns_with_polling_is_awaited) {
  testing::device_rig r;
  std::uint64_t begun = 0;
  unsigned training = 0;
  r.machine.alter_adapter_write = [&](std::uint64_t, std::byte* bytes, std::size_t count) {
    if (r.adapter.step() != bring_up_step::wait_for_ports) return;
    if (begun == 0) begun = r.machine.time();
    const std::uint64_t passed = r.machine.time() - begun;
    if (count < layouts::smp::bytes || passed >= clock::seconds(4)) return;
    auto mad = layouts::image<layouts::smp>::from_bytes(bytes);
    using info = layouts::port_info;
    if (mad.get<&layouts::smp::attribute_id>() !=
        static_cast<std::uint16_t>(layouts::smp_attribute::port_info))
      return;
    auto answer = layouts::image<info>::from_bytes(mad.bytes_of<&layouts::smp::data>());
    const bool trains = passed / clock::milliseconds(150) % 2 == 0;
    training += trains;
    answer.set<&info::state>(port_state::down)
        .set<&info::physical_state>(trains ? port_physical_state::training
                                           : port_physical_state::polling);
    std::memcpy(bytes + (mad.bytes_of<&layouts::smp::data>() - mad.data()), answer.data(),
                info::bytes);
  };
  ASSERT_TRUE(r.adapter.open(r.setup).ok());
  operation up;
  r.adapter.bring_up(up);
  ASSERT_TRUE(r.await(up).ok());
  EXPECT_GT(training, 0u);
  for (const unsigned port : {1u, 2u}) EXPECT_TRUE(r.adapter.port(port).active()) << port;
  r.machine.alter_adapter_write = {};
  EXPECT_TRUE(r.tear_down().ok());
}

}  // namespace
}  // namespace freehca
