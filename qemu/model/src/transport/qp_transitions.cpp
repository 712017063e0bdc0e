// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/qp_transitions.hpp"

#include <algorithm>

namespace freehca::model {

using namespace layouts;

namespace {

namespace o = qp_optpar;

constexpr std::uint32_t access_rights = o::rre | o::rae | o::rwe;
constexpr std::uint32_t running = o::alternate_path | access_rights | o::qkey | o::min_rnr_nak |
                                  o::counter_index | o::vlan_stripping;

constexpr qp_transition transitions[] = {
    {opcode::rst2init_qp, qp_state::reset, qp_state::init, 0},
    {opcode::init2init_qp, qp_state::init, qp_state::init,
     access_rights | o::pkey_index | o::qkey | o::sched_queue},
    {opcode::init2rtr_qp, qp_state::init, qp_state::rtr,
     running | o::pkey_index | o::rra_max | o::sched_queue | o::primary_path},
    {opcode::rtr2rts_qp, qp_state::rtr, qp_state::rts,
     running | o::pm_state | o::sra_max | o::retry_count | o::rnr_retry | o::ack_timeout},
    {opcode::rts2rts_qp, qp_state::rts, qp_state::rts, running | o::pm_state},
    {opcode::sqerr2rts_qp, qp_state::sq_error, qp_state::rts,
     access_rights | o::qkey | o::min_rnr_nak},
    {opcode::rts2sqd_qp, qp_state::rts, qp_state::sq_draining, 0},
    {opcode::sqd2rts_qp, qp_state::sq_drained, qp_state::rts, running | o::pm_state},
    {opcode::sqd2sqd_qp, qp_state::sq_drained, qp_state::sq_drained,
     running | o::pm_state | o::pkey_index | o::primary_path | o::sra_max | o::rra_max |
         o::retry_count | o::rnr_retry | o::ack_timeout | o::sched_queue},
};

template <auto... Fields>
void copy(const image<qpc>& from, image<qpc>& to) {
  (to.template set<Fields>(from.template get<Fields>()), ...);
}

/// The primary path, but for what has its own option or its own time.
void take_primary_path(const image<qpc>& given, image<qpc>& context) {
  const image<qpc> before = context;
  set_path<primary_path>(context, path_of<primary_path>(given));
  copy<&primary_path::pkey_index, &primary_path::ack_timeout, &primary_path::counter_index>(
      before, context);
}

bool is_connected(const image<qpc>& context) {
  const qp_service s = context.get<&qpc::service>();
  return s == qp_service::rc || s == qp_service::uc || s == qp_service::xrc;
}

void take_required(opcode command, const image<qpc>& given, image<qpc>& context) {
  switch (command) {
    case opcode::rst2init_qp:
      context = given;
      context.set<&qpc::pm_state>(path_migration::migrated);
      break;
    case opcode::init2rtr_qp:
      take_primary_path(given, context);
      // The port is fixed here and nowhere else (Linux mlx4/qp.c mlx4_qp_to_ready).
      copy<&qpc::mtu, &qpc::msg_max, &qpc::roce, &qpc::fpp>(given, context);
      if (is_connected(context))
        copy<&qpc::remote_qpn, &qpc::next_rcv_psn, &qpc::rra_max, &qpc::min_rnr_nak>(given,
                                                                                     context);
      break;
    case opcode::rtr2rts_qp:
      copy<&qpc::next_send_psn, &qpc::roce_entropy>(given, context);
      if (is_connected(context))
        copy<&primary_path::ack_timeout, &qpc::retry_count, &qpc::rnr_retry, &qpc::sra_max,
             &qpc::ack_req_freq>(given, context);
      break;
    default:
      break;
  }
}

void take_optional(std::uint32_t mask, const image<qpc>& given, image<qpc>& context) {
  const auto chosen = [mask](std::uint32_t bit) { return (mask & bit) != 0; };
  if (chosen(o::alternate_path)) set_path<alternate_path>(context, path_of<alternate_path>(given));
  if (chosen(o::primary_path)) take_primary_path(given, context);
  if (chosen(o::rre)) copy<&qpc::rre>(given, context);
  if (chosen(o::rae)) copy<&qpc::rae>(given, context);
  if (chosen(o::rwe)) copy<&qpc::rwe>(given, context);
  if (chosen(o::pkey_index)) copy<&primary_path::pkey_index>(given, context);
  if (chosen(o::qkey)) copy<&qpc::qkey>(given, context);
  if (chosen(o::min_rnr_nak)) copy<&qpc::min_rnr_nak>(given, context);
  if (chosen(o::sra_max)) copy<&qpc::sra_max>(given, context);
  if (chosen(o::rra_max)) copy<&qpc::rra_max>(given, context);
  if (chosen(o::pm_state)) copy<&qpc::pm_state>(given, context);
  if (chosen(o::retry_count)) copy<&qpc::retry_count>(given, context);
  if (chosen(o::rnr_retry)) copy<&qpc::rnr_retry>(given, context);
  if (chosen(o::ack_timeout)) copy<&primary_path::ack_timeout>(given, context);
  if (chosen(o::sched_queue)) copy<&primary_path::sched_queue>(given, context);
  if (chosen(o::counter_index)) copy<&primary_path::counter_index>(given, context);
  if (chosen(o::vlan_stripping)) copy<&qpc::vsd>(given, context);
}

/// The parameters of RSS stand over the end of the primary path and more. RST2INIT alone gives
/// them: Linux leaves zeros there in each later mailbox (hw/mlx4/qp.c __mlx4_ib_modify_qp calls
/// fill_qp_rss_context from RESET to INIT only), and mlx4_en repeats them (mlx4/qp.c
/// mlx4_qp_to_ready).
void keep_rss_context(const image<qpc>& before, image<qpc>& context) {
  std::copy_n(before.data() + rss_context_offset, rss_context::bytes,
              context.data() + rss_context_offset);
}

}  // namespace

const qp_transition* transition_of(opcode command) {
  for (const qp_transition& t : transitions)
    if (t.command == command) return &t;
  return nullptr;
}

void apply(const qp_transition& transition, std::uint32_t mask, const image<qpc>& given,
           image<qpc>& context) {
  const image<qpc> before = context;
  take_required(transition.command, given, context);
  take_optional(mask & transition.optional, given, context);
  if (before.get<&qpc::rss>()) keep_rss_context(before, context);
  context.set<&qpc::state>(transition.to);
}

}  // namespace freehca::model
