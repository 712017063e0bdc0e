// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/layouts/query_port.hpp>

#include "groups.hpp"

namespace freehca::conformance {

using namespace layouts;

namespace rows_of_ports {
namespace {

enum class port_named : std::uint8_t { own, zero, past_the_last };

struct port_row {
  row about;
  opcode command{};
  port_named port = port_named::own;
  bool output = false;
  bool (*check)(const bench& with) = nullptr;
};

constexpr answer yes = answer::holds(true);
constexpr command_status taken = command_status::ok;
constexpr char not_there[] = "this adapter does not sense the type of its ports";

constexpr port_row rows[] = {
    {.about = {"query_port", "QUERY_PORT of a port", taken, "Linux mlx4/fw.c mlx4_QUERY_PORT"},
     .command = opcode::query_port,
     .output = true},
    {.about = {"query_port-infiniband", "QUERY_PORT says that the port can be an InfiniBand port",
               yes, "Linux mlx4/fw.c mlx4_QUERY_PORT: supported_port_types"},
     .command = opcode::query_port,
     .output = true,
     .check =
         [](const bench& b) {
           const auto type = b.output<query_port>().get<&query_port::supported_port_type>();
           return type == port_type::ib || type == port_type::vpi;
         }},
    {.about = {"query_port-mtu", "QUERY_PORT gives an MTU that InfiniBand has", yes,
               "Linux mlx4/fw.c mlx4_QUERY_PORT: ib_mtu"},
     .command = opcode::query_port,
     .output = true,
     .check =
         [](const bench& b) {
           const auto mtu = b.output<query_port>().get<&query_port::ib_mtu>();
           return mtu >= 1 && mtu <= 5;
         }},
    {.about = {"query_port-lanes", "QUERY_PORT gives at least one data lane", yes,
               "Linux mlx4/fw.c mlx4_QUERY_PORT: max_vl"},
     .command = opcode::query_port,
     .output = true,
     .check =
         [](const bench& b) { return b.output<query_port>().get<&query_port::max_vl>() != 0; }},
    {.about = {"query_port-port-0", "QUERY_PORT of port 0", command_status::bad_index,
               source::port_number},
     .command = opcode::query_port,
     .port = port_named::zero,
     .output = true},
    {.about = {"query_port-past-the-last", "QUERY_PORT of a port past the last",
               command_status::bad_index, source::port_number},
     .command = opcode::query_port,
     .port = port_named::past_the_last,
     .output = true},
    {.about = {"init_port-port-0", "INIT_PORT of port 0", command_status::bad_index,
               source::port_number},
     .command = opcode::init_port,
     .port = port_named::zero},
    {.about = {"init_port-past-the-last", "INIT_PORT of a port past the last",
               command_status::bad_index, source::port_number},
     .command = opcode::init_port,
     .port = port_named::past_the_last},
    {.about = {"close_port-port-0", "CLOSE_PORT of port 0", command_status::bad_index,
               source::port_number},
     .command = opcode::close_port,
     .port = port_named::zero},
    {.about = {"close_port-past-the-last", "CLOSE_PORT of a port past the last",
               command_status::bad_index, source::port_number},
     .command = opcode::close_port,
     .port = port_named::past_the_last},
    {.about = {"sense_port-port-0", "SENSE_PORT of port 0", command_status::bad_index,
               source::port_number},
     .command = opcode::sense_port,
     .port = port_named::zero},
    {.about = {"sense_port-past-the-last", "SENSE_PORT of a port past the last",
               command_status::bad_index, source::port_number},
     .command = opcode::sense_port,
     .port = port_named::past_the_last},
};

finding ask(bench& with, const port_row& r) {
  if (r.command == opcode::sense_port && !with.can().has(dev_cap_flag::sense_port))
    return finding::impossible(not_there);
  unsigned port = with.where().port;
  if (r.port == port_named::zero) port = 0;
  if (r.port == port_named::past_the_last) port = with.can().ports + 1;
  const status s = with.issue({.what = r.command, .modifier = port, .output = r.output});
  if (r.check == nullptr || !s.ok()) return s;
  return answer::holds(r.check(with));
}

}  // namespace
}  // namespace rows_of_ports

extern const row_group ports = group_of<rows_of_ports::rows, rows_of_ports::ask>(
    "ports", "asks for a port, and names ports that there are not");

}  // namespace freehca::conformance
