// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Queries the identity of an adapter's firmware with the program's own commands, which share the
// channel with those of the driver.
// Usage: raw_command 0000:03:00.0
#include <algorithm>
#include <cstdio>
#include <string>

#include <freehca/blocking/session.hpp>
#include <freehca/firmware_cmds/command_client.hpp>
#include <freehca/firmware_cmds/raw_command.hpp>
#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/mad_ifc.hpp>
#include <freehca/layouts/query_fw.hpp>
#include <freehca/layouts/smp.hpp>

using namespace freehca;
using layouts::image;

namespace {

/// Sends one command. Any command can be sent this way, with mailboxes of up to 4096 bytes.
status send(blocking::session& session, raw_command& command) {
  command_client user(session.adapter().hardware().commands());
  command.set_deadline(session.adapter().hardware().platform().now() + clock::seconds(1));
  user.submit(command);
  return session.wait(command);
}

status print_firmware(blocking::session& session) {
  using row = layouts::query_fw;
  std::byte answer[row::bytes];
  raw_command query;
  query.request.opcode = layouts::opcode::query_fw;
  query.set_output_mailbox(answer, sizeof answer);
  FREEHCA_TRY(send(session, query));
  const auto fw = image<row>::from_bytes(answer);
  const auto number = [](auto n) { return static_cast<unsigned>(n); };
  std::printf("firmware %u.%u.%04u, command interface %u\n", number(fw.get<&row::fw_rev_major>()),
              number(fw.get<&row::fw_rev_minor>()), number(fw.get<&row::fw_rev_subminor>()),
              number(fw.get<&row::cmd_interface_rev>()));
  std::printf("takes %u pages of memory and %u commands at a time\n",
              number(fw.get<&row::fw_pages>()), 1u << fw.get<&row::log_max_outstanding_cmd>());
  return {};
}

/// A command with two mailboxes: a management datagram to the agent of port 1, and its answer.
status print_description(blocking::session& session) {
  using layouts::smp;
  image<smp> question;
  question.set<&smp::base_version>(layouts::mad_base_version)
      .set<&smp::mgmt_class>(layouts::mad_class::subnet_lid_routed)
      .set<&smp::class_version>(1)
      .set<&smp::method>(layouts::mad_method::get)
      .set<&smp::attribute_id>(
          static_cast<std::uint16_t>(layouts::smp_attribute::node_description));
  std::byte answer[smp::bytes];
  raw_command datagram;
  datagram.request.opcode = layouts::opcode::mad_ifc;
  datagram.request.input_modifier = 1;  // the port
  datagram.set_input_mailbox(question.data(), smp::bytes);
  datagram.set_output_mailbox(answer, sizeof answer);
  FREEHCA_TRY(send(session, datagram));
  const auto mad = image<smp>::from_bytes(answer);
  if (mad.get<&smp::status>() != layouts::mad_status::success) return transport_error::bad_reply;
  using row = layouts::node_description;
  const auto node = image<row>::from_bytes(mad.bytes_of<&smp::data>());
  const auto* const text = reinterpret_cast<const char*>(node.bytes_of<&row::text>());
  std::printf("node description '%s'\n",
              std::string(text, std::find(text, text + row::bytes, '\0')).c_str());
  return {};
}

status ask(blocking::session& session) {
  FREEHCA_TRY(session.wait(session.adapter().bring_up()));
  FREEHCA_TRY(print_firmware(session));
  FREEHCA_TRY(print_description(session));
  return session.wait(session.adapter().tear_down());
}

}  // namespace

int main(int argc, char** argv) {
  blocking::session session(argc > 1 ? argv[1] : "");
  if (!session.trouble().empty()) return std::fprintf(stderr, "%s\n", session.trouble().c_str()), 1;
  const status outcome = ask(session);
  if (!outcome.ok()) std::fprintf(stderr, "%s\n", blocking::words(outcome).c_str());
  return outcome.ok() ? 0 : 1;
}
