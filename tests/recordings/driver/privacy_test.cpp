// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A recording tells nothing of whose card it was, and nothing of what was sent.
#include <algorithm>
#include <cstring>

#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/smp.hpp>
#include <freehca/layouts/wqe.hpp>

#include "driver_session.hpp"
#include "send_entry.hpp"

namespace freehca {
namespace {

using namespace testing;

std::string hex_of(std::uint64_t value, unsigned bytes, bool little) {
  std::string text;
  for (unsigned i = 0; i < bytes; ++i) {
    const unsigned shift = 8 * (little ? i : bytes - 1 - i);
    constexpr const char* digits = "0123456789abcdef";
    text += digits[value >> (shift + 4) & 15];
    text += digits[value >> shift & 15];
  }
  return text;
}

/// Every identity of the modelled adapter: node, two ports, system image, and two MAC addresses.
std::vector<std::string> identities() {
  std::vector<std::string> all;
  for (std::uint64_t n = 0; n < 4; ++n)
    for (const bool little : {false, true}) {
      all.push_back(hex_of(own_guid + n, 8, little));
      if (n < 2) all.push_back(hex_of(own_mac + n, 6, little));
    }
  return all;
}

TEST(driver_privacy, no_identity_of_the_card_is_in_a_recording) {
  const std::string& text = driver_recording();
  for (const std::string& i : identities()) EXPECT_EQ(text.find(i), std::string::npos) << i;
  // As numbers they have no leading zeros.
  for (std::uint64_t n = 0; n < 4; ++n) {
    const std::string number = hex_of(own_guid + n, 8, false);
    EXPECT_EQ(text.find(number.substr(number.find_first_not_of('0'))), std::string::npos);
  }
}

constexpr std::uint64_t fabric_key = 0x5ec2e7a11fab21c5, fabric_prefix = 0xfec05a5a12345678;

/// A datagram of subnet management about PortInfo, to port 1 itself.
layouts::image<layouts::smp> about_port_info(layouts::mad_method method) {
  using namespace layouts;
  image<smp> packet;
  packet.set<&smp::base_version>(mad_base_version)
      .set<&smp::mgmt_class>(mad_class::subnet_lid_routed)
      .set<&smp::class_version>(1)
      .set<&smp::method>(method)
      .set<&smp::attribute_id>(static_cast<std::uint64_t>(smp_attribute::port_info))
      .set<&smp::attribute_modifier>(1)
      .set<&smp::mkey>(fabric_key);
  return packet;
}

// A manager gives the port the fabric's key and prefix, and both are asked for again.
TEST(driver_privacy, the_management_key_and_the_prefix_of_the_fabric_are_in_no_recording) {
  using namespace layouts;
  in_process::machine_options machine_how;
  recorded_host host(machine_how, {.label = "in process"});
  {
    blocking::session driver(host, {.budget = {}, .objects = every_kind()});
    ASSERT_TRUE(driver.open().ok());
    ASSERT_TRUE(driver.wait(driver.adapter().bring_up()).ok());
    command_client user(driver.adapter().hardware().commands());
    const auto exchange = [&](image<smp> packet) {
      raw_command mad;
      constexpr std::uint32_t port = 1;
      mad.request.opcode = opcode::mad_ifc;
      mad.request.opcode_modifier = 3;  // neither the key nor the sender is checked
      mad.request.input_modifier = port;
      mad.set_input_mailbox(packet.data(), smp::bytes);
      mad.set_output_mailbox(packet.data(), smp::bytes);
      mad.set_deadline(host.platform().now() + clock::seconds(10));
      user.submit(mad);
      EXPECT_TRUE(driver.wait(mad).ok());
      return packet;
    };
    const auto now = exchange(about_port_info(mad_method::get));
    auto info = image<port_info>::from_bytes(now.data() + smp{}.data.offset);
    info.set<&port_info::mkey>(fabric_key)
        .set<&port_info::gid_prefix>(fabric_prefix)
        .set<&port_info::lid>(model::options::default_lid)
        .set<&port_info::master_sm_lid>(model::options::default_sm_lid)
        .set<&port_info::state>(port_state::no_change)
        .set<&port_info::physical_state>(port_physical_state::no_change);
    auto set = about_port_info(mad_method::set);
    std::memcpy(set.data() + smp{}.data.offset, info.data(), port_info::bytes);
    exchange(set);
    const auto then = exchange(about_port_info(mad_method::get));
    const auto kept = image<port_info>::from_bytes(then.data() + smp{}.data.offset);
    ASSERT_EQ(kept.get<&port_info::mkey>(), fabric_key);
    ASSERT_EQ(kept.get<&port_info::gid_prefix>(), fabric_prefix);
    EXPECT_TRUE(driver.tear_down().ok());
  }
  const std::string text = host.listening.text();
  EXPECT_NE(text.find("MAD_IFC"), std::string::npos);
  for (const std::uint64_t secret : {fabric_key, fabric_prefix})
    for (const bool little : {false, true})
      EXPECT_EQ(text.find(hex_of(secret, 8, little)), std::string::npos) << secret;
}

TEST(driver_privacy, with_keep_identity_they_are) {
  const std::string text = record_driver(model::variant::connectx3_pro, true);
  for (std::uint64_t n = 0; n < 4; ++n)
    EXPECT_NE(text.find(hex_of(own_guid + n, 8, false)), std::string::npos) << n;
  EXPECT_NE(text.find(hex_of(own_mac, 6, false)), std::string::npos);
  const recording::driver_replay_result result = recording::replay_driver(load_text(text));
  EXPECT_EQ(all_words(result), "");
}

TEST(driver_privacy, the_same_value_has_the_same_replacement_so_the_recording_stays_coherent) {
  const recording::recording from = load_text(driver_recording());
  // The replayed model is made with the replaced GUID, and answers what the recording has.
  EXPECT_NE(from.how.node_guid, own_guid);
  EXPECT_NE(from.how.mac, own_mac);
  for (std::uint64_t n = 0; n < 4; ++n)
    EXPECT_NE(driver_recording().find(hex_of(from.how.node_guid + n, 8, false)), std::string::npos)
        << n;
}

// Words of the payload, as loopback_traffic makes them for message 0 on.
TEST(driver_privacy, no_payload_is_in_a_recording) {
  const std::string text = record_driver(model::variant::connectx3_pro, true);
  for (std::uint64_t number = 0; number < 60; ++number)
    for (std::uint64_t at : {0u, 8u, 32u}) {
      std::uint64_t word = (number + 1) * 0x9e3779b97f4a7c15u + at * 0xd1342543de82ef95u;
      word ^= word >> 29;
      EXPECT_EQ(text.find(hex_of(word, 8, true)), std::string::npos);
    }
}

TEST(driver_privacy, of_inline_data_the_length_stays_alone) {
  recorder::bytes wqe(128, std::byte{0x5a});
  layouts::image<layouts::wqe_ctrl> control;
  constexpr unsigned length = 40;
  control.set<&layouts::wqe_ctrl::opcode>(layouts::wqe_opcode::send);
  control.set<&layouts::wqe_ctrl::ds>(4);
  std::memcpy(wqe.data(), control.data(), layouts::wqe_ctrl::bytes);
  layouts::image<layouts::wqe_inline> head;
  head.set<&layouts::wqe_inline::inline_data>(true).set<&layouts::wqe_inline::byte_count>(length);
  std::memcpy(wqe.data() + 16, head.data(), layouts::wqe_inline::bytes);
  recorder::leave_payload_out(wqe, layouts::qp_service::rc);
  EXPECT_EQ(layouts::image<layouts::wqe_inline>::from_bytes(wqe.data() + 16)
                .get<&layouts::wqe_inline::byte_count>(),
            length);
  EXPECT_TRUE(std::all_of(wqe.begin() + 20, wqe.begin() + 20 + length,
                          [](std::byte b) { return b == std::byte{0}; }));
  // Behind the request stands what an older one left: its marks are kept, its bytes are not.
  EXPECT_EQ(wqe[64], std::byte{0x5a});
  EXPECT_TRUE(
      std::all_of(wqe.begin() + 68, wqe.end(), [](std::byte b) { return b == std::byte{0}; }));
}

}  // namespace
}  // namespace freehca
