// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "firmware/diagnostics.hpp"

#include <string>

#include <freehca/layouts/diag_rprt.hpp>

#include "basis/capabilities.hpp"
#include "command/command_checks.hpp"
#include "queues/completion_queues.hpp"

namespace freehca::model {

using layouts::command_status;

void diagnostics::add_handlers(command_table& commands) {
  commands.on(layouts::opcode::diag_rprt, [this](command& c) { return report(c); });
}

command_status diagnostics::report(command& c) {
  using l = layouts::diag_rprt;
  using s = layouts::cqe_syndrome;
  const std::uint32_t asked = c.input_modifier;
  const unsigned ports = counts_by_port(how_.kind) ? how_.ports : 0;
  command_checks is(rules_);
  is.at_most(rule::input_modifier, "input modifier: port", asked, ports);
  if (is.refused()) return is.status();
  const std::uint32_t port = asked <= ports ? asked : 0;

  constexpr std::uint64_t all = 0xffffffff;
  const auto receive = [this, port](s why) { return cqs_.errors(why, false, port) & all; };
  const auto send = [this, port](s why) { return cqs_.errors(why, true, port) & all; };
  const auto counted = [this, port](const std::string& name) {
    return counters_.value_of(port == 0 ? name : name + "_port" + std::to_string(port)) & all;
  };
  layouts::image<l> out;
  out.set<&l::rq_num_lle>(receive(s::local_length)).set<&l::sq_num_lle>(send(s::local_length));
  out.set<&l::rq_num_lqpoe>(receive(s::local_qp_op)).set<&l::sq_num_lqpoe>(send(s::local_qp_op));
  out.set<&l::rq_num_lpe>(receive(s::local_protection))
      .set<&l::sq_num_lpe>(send(s::local_protection));
  out.set<&l::rq_num_wrfe>(receive(s::wr_flush)).set<&l::sq_num_wrfe>(send(s::wr_flush));
  out.set<&l::sq_num_mwbe>(send(s::mw_bind)).set<&l::sq_num_bre>(send(s::bad_response));
  out.set<&l::rq_num_rire>(receive(s::remote_invalid_request));
  out.set<&l::sq_num_rire>(send(s::remote_invalid_request));
  out.set<&l::rq_num_rae>(receive(s::remote_access)).set<&l::sq_num_rae>(send(s::remote_access));
  out.set<&l::sq_num_roe>(send(s::remote_op))
      .set<&l::sq_num_tree>(send(s::transport_retry_exceeded));
  out.set<&l::sq_num_rree>(send(s::rnr_retry_exceeded));
  out.set<&l::rq_num_rnr>(counted("transport_rnr_naks_sent"));
  out.set<&l::sq_num_rnr>(counted("transport_rnr_waits"));
  out.set<&l::rq_num_oos>(counted("transport_out_of_sequence"));
  out.set<&l::sq_num_oos>(counted("transport_sequence_naks"));
  out.set<&l::rq_num_dup>(counted("transport_duplicates"));
  out.set<&l::sq_num_to>(counted("transport_timeouts"));
  // These two are of the adapter alone (Linux 6.1 hw/mlx4/main.c diag_device_only).
  if (port == 0)
    out.set<&l::rq_num_udsdprd>(counted("datagrams_without_receive"))
        .set<&l::num_cqovf>(cqs_.overruns() & all);
  return is.answer(c, out).status();
}

}  // namespace freehca::model
