// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <gtest/gtest.h>

#include <freehca/model/c_api.h>
#include <freehca/layouts/register_map.hpp>

#include <cstring>
#include <string>
#include <tuple>

#include "test_host.hpp"

namespace freehca::model::test {
namespace {

/// The C face of an environment, in front of a test_host.
freehca_model_environment face_of(test_host& host) {
  static constexpr auto host_of = [](void* context) { return static_cast<test_host*>(context); };
  freehca_model_environment e{};
  e.context = &host;
  e.dma_read = [](void* c, uint64_t at, void* to, size_t n) {
    return host_of(c)->dma_read(at, to, n);
  };
  e.dma_write = [](void* c, uint64_t at, const void* from, size_t n) {
    return host_of(c)->dma_write(at, from, n);
  };
  e.bus_master = [](void* c) { return host_of(c)->bus_master(); };
  e.msix_enabled = [](void* c) { return host_of(c)->msix_enabled(); };
  e.msix = [](void* c, unsigned vector) { host_of(c)->msix(vector); };
  e.intx = [](void* c, bool asserted) { host_of(c)->intx(asserted); };
  e.now = [](void* c) { return host_of(c)->now(); };
  e.arm_timer = [](void* c, uint64_t deadline) { host_of(c)->arm_timer(deadline); };
  e.wipe_configuration_space = [](void* c) { host_of(c)->wipe_configuration_space(); };
  e.listens = [](void*, unsigned) { return false; };
  e.tell = [](void* c, unsigned kind, const char* rule, const char* text) {
    host_of(c)->tell({0, 0, static_cast<remark_kind>(kind), rule, text});
  };
  e.link_send = [](void* c, unsigned port, const void* from, size_t n) {
    return host_of(c)->link_send(port, static_cast<const std::byte*>(from), n);
  };
  e.packet_passed = [](void* c, unsigned port, const void* from, size_t n) {
    host_of(c)->packet_passed(port, static_cast<const std::byte*>(from), n);
  };
  return e;
}

struct core_c_api : ::testing::Test {
  test_host host{1u << 20};
  freehca_model_environment environment = face_of(host);
  freehca_model_options how{};
  void SetUp() override { freehca_model_default_options(&how); }

  /// Why the options are refused; empty when they make an adapter.
  std::string refusal() {
    char error[200] = "never written";
    freehca_model* m = freehca_model_create(&environment, &how, error, sizeof error);
    EXPECT_EQ(m == nullptr, error[0] != '\0');
    freehca_model_destroy(m);
    return error;
  }
};

TEST_F(core_c_api, the_defaults_make_an_adapter) {
  EXPECT_EQ(refusal(), "");
}

TEST_F(core_c_api, bad_options_are_refused_by_a_message_that_names_what_is_allowed) {
  const freehca_model_options good = how;
  const auto why = [&](auto&& change) {
    how = good;
    change(how);
    return refusal();
  };
  const auto names = [](const std::string& text, const char* word) {
    return text.find(word) != std::string::npos;
  };
  EXPECT_TRUE(names(why([](auto& o) { o.variant = 3; }), "connectx3-pro"));
  EXPECT_TRUE(names(why([](auto& o) { o.ports = 3; }), "1 or 2"));
  EXPECT_TRUE(names(why([](auto& o) { o.link[1] = 2; }), "ib or eth"));
  EXPECT_TRUE(names(why([](auto& o) { o.log_max_commands = 8; }), "1 to 128"));
  EXPECT_TRUE(names(why([](auto& o) { o.uar_bar_bytes = 3u << 20; }), "8 MiB"));
  EXPECT_TRUE(names(why([](auto& o) { o.uar_bar_bytes = 256u << 20; }), "128 MiB"));
  EXPECT_TRUE(names(why([](auto& o) { o.node_guid |= 0xff; }), "guid"));
  EXPECT_TRUE(names(why([](auto& o) { o.mac = uint64_t{1} << 48; }), "48 bits"));
  EXPECT_TRUE(names(why([](auto& o) { o.mac = uint64_t{1} << 40; }), "group"));
  EXPECT_TRUE(names(why([](auto& o) { o.without = "xrc,wheels"; }), "x-without=xrc,wheels"));
  EXPECT_TRUE(names(why([](auto& o) { o.without = ","; }), "device-managed-steering"));
  EXPECT_EQ(why([](auto& o) { o.without = "xrc,srq"; }), "");
}

TEST_F(core_c_api, a_message_fits_any_buffer) {
  how.ports = 0;
  char small[4] = {'x', 'x', 'x', 'x'};
  EXPECT_EQ(freehca_model_create(&environment, &how, small, sizeof small), nullptr);
  EXPECT_EQ(small[3], '\0');
  EXPECT_EQ(freehca_model_create(&environment, &how, nullptr, 0), nullptr);
}

TEST_F(core_c_api, calls_reach_the_adapter_and_counters_have_names) {
  char error[200];
  freehca_model* m = freehca_model_create(&environment, &how, error, sizeof error);
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(freehca_model_read_registers(m, layouts::bar0::hardware_id, 4), 0x1f7u);
  freehca_model_write_registers(m, layouts::bar0::reset, 1, 4);
  EXPECT_EQ(host.wipes, 1u);
  freehca_model_write_uar(m, 0x800, 0, 4);
  EXPECT_EQ(host.complaints.size(), 1u);
  unsigned found = 0;
  const char* name = nullptr;
  uint64_t value = 0;
  unsigned index = 0;
  for (; freehca_model_counter(m, index, &name, &value); ++index)
    if (std::strcmp(name, "complaints") == 0 || std::strcmp(name, "software_resets") == 0) {
      ++found;
      EXPECT_EQ(value, 1u) << name;
    }
  EXPECT_EQ(found, 2u);
  EXPECT_FALSE(freehca_model_counter(m, index, &name, &value));
  freehca_model_destroy(m);
}

TEST_F(core_c_api, cables_are_reached) {
  how.cable[1] = true;
  char error[200] = "";
  freehca_model* m = freehca_model_create(&environment, &how, error, sizeof error);
  ASSERT_NE(m, nullptr);
  EXPECT_TRUE(freehca_model_link_may_receive(m));
  const char noise[40] = "no packet";
  for (unsigned port = 0; port < 4; ++port) {
    freehca_model_link_receive(m, port, noise, sizeof noise);
    freehca_model_link_has_room(m, port);
    freehca_model_plug_cable(m, port, false);
    freehca_model_plug_cable(m, port, true);
  }
  EXPECT_TRUE(freehca_model_set_link_fault(m, 2, "loss:1000:reordering:5:seed:7", error, 200));
  EXPECT_TRUE(freehca_model_set_link_fault(m, 2, "", error, 200));
  EXPECT_TRUE(freehca_model_set_link_fault(m, 1, "", error, 200));
  for (const auto& [port, text, why] :
       {std::tuple{1u, "loss:1", "must have a cable"}, std::tuple{2u, "los:1", "'corruption'"},
        std::tuple{2u, "loss", "0 to 1000000"}, std::tuple{2u, "loss:1000001", "0 to 1000000"},
        std::tuple{2u, "seed:-1", "32 bits"}}) {
    EXPECT_FALSE(freehca_model_set_link_fault(m, port, text, error, sizeof error)) << text;
    EXPECT_NE(std::string(error).find(why), std::string::npos) << error;
  }
  freehca_model_destroy(m);
}

TEST_F(core_c_api, a_port_that_lets_nothing_in_writes_no_filter) {
  how.link[1] = 1;
  how.cable[0] = how.cable[1] = true;
  char error[200] = "";
  freehca_model* m = freehca_model_create(&environment, &how, error, sizeof error);
  ASSERT_NE(m, nullptr);
  unsigned calls = 0;
  freehca_model_receive_filter filter{};
  filter.context = &calls;
  filter.add_address = [](void* c, uint64_t) { ++*static_cast<unsigned*>(c); };
  filter.add_vlan = [](void* c, uint16_t) { ++*static_cast<unsigned*>(c); };
  filter.mac = 7;
  // No such port, InfiniBand, Ethernet that nobody has opened.
  for (unsigned port = 0; port < 4; ++port)
    EXPECT_FALSE(freehca_model_receives(m, port, &filter)) << port;
  EXPECT_EQ(calls, 0u);
  EXPECT_EQ(filter.mac, 7u);
  freehca_model_destroy(m);
}

TEST_F(core_c_api, how_a_port_stands) {
  how.link[1] = 1;
  how.cable[1] = true;
  char error[200] = "";
  freehca_model* m = freehca_model_create(&environment, &how, error, sizeof error);
  ASSERT_NE(m, nullptr);
  freehca_model_port_view view{};
  ASSERT_TRUE(freehca_model_view_port(m, 1, &view));
  EXPECT_FALSE(view.ethernet || view.open || view.link_up || view.active);
  EXPECT_TRUE(view.peer) << "the built-in subnet manager";
  freehca_model_plug_cable(m, 1, false);
  ASSERT_TRUE(freehca_model_view_port(m, 2, &view));
  EXPECT_TRUE(view.ethernet && view.peer);
  for (const unsigned port : {0u, 3u}) EXPECT_FALSE(freehca_model_view_port(m, port, &view));
  freehca_model_fail(m);
  EXPECT_FALSE(freehca_model_view_port(m, 1, &view));
  freehca_model_destroy(m);
}

TEST_F(core_c_api, vpi_ports_are_asked_for_beside_their_first_link) {
  how.link[1] = 1;
  how.vpi[0] = how.vpi[1] = how.record = true;
  static std::string recorded;
  environment.record = [](void*, const char* from, size_t bytes) {
    recorded.append(from, bytes);
    return true;
  };
  char error[200] = "";
  freehca_model* m = freehca_model_create(&environment, &how, error, sizeof error);
  ASSERT_NE(m, nullptr) << error;
  freehca_model_destroy(m);
  EXPECT_NE(recorded.find("\"links\":[\"vpi-ib\",\"vpi-eth\"]"), std::string::npos) << recorded;
}

TEST_F(core_c_api, faults_are_asked_for_in_words_and_a_catastrophe_by_a_call) {
  char error[200] = "";
  freehca_model* m = freehca_model_create(&environment, &how, error, sizeof error);
  ASSERT_NE(m, nullptr);
  EXPECT_FALSE(freehca_model_set_command_fault(m, "any:never", error, sizeof error));
  EXPECT_NE(std::string(error).find("'stuck' or a status"), std::string::npos);
  EXPECT_FALSE(freehca_model_set_command_fault(m, "any:never", nullptr, 0));
  EXPECT_TRUE(freehca_model_set_command_fault(m, "QUERY_FW:silent", error, sizeof error));
  EXPECT_FALSE(freehca_model_failed(m));
  freehca_model_fail(m);
  EXPECT_TRUE(freehca_model_failed(m));
  EXPECT_EQ(freehca_model_read_registers(m, 0x1f020, 4), 0x0fffffffu);
  freehca_model_reset(m);
  EXPECT_FALSE(freehca_model_failed(m));
  freehca_model_destroy(m);
}

}  // namespace
}  // namespace freehca::model::test
