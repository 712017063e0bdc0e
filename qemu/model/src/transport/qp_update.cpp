// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// UPDATE_QP: fields of a queue pair's context change, whatever its state.
#include "command/command_checks.hpp"
#include "queues/qpn.hpp"
#include "queues/queue_pairs.hpp"
#include "tables/queue_context.hpp"
#include "transport/qp_commands.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

/// A bit of a mask, and the field that it stands for.
struct updated_field {
  std::uint64_t mask;
  void (*take)(const image<qpc>& given, image<qpc>& to);
};

template <auto Field>
constexpr updated_field field_of(std::uint64_t mask) {
  return {mask, [](const image<qpc>& given, image<qpc>& to) { to.set<Field>(given.get<Field>()); }};
}

using p = primary_path;

/// Of the queue pair: rates and classes of functions are not reported.
constexpr updated_field of_queue_pair[] = {field_of<&qpc::vsd>(update_qp::vsd)};

/// Of its path: what keeps virtual functions within bounds is not reported.
constexpr updated_field of_path[] = {
    field_of<&p::pkey_index>(update_path::pkey_index),
    field_of<&p::my_lid_smac_idx>(update_path::mac_index),
    field_of<&p::fvl>(update_path::fvl),
    field_of<&p::cv>(update_path::cv),
    field_of<&p::sv>(update_path::sv),
    field_of<&p::vlan_index>(update_path::vlan_index),
    field_of<&p::feup>(update_path::feup),
    field_of<&p::sched_queue>(update_path::sched_queue),
    field_of<&p::counter_index>(update_path::counter_index),
    field_of<&p::src_check_uc_lb>(update_path::src_check_uc_lb),
    field_of<&p::src_check_mc_lb>(update_path::src_check_mc_lb),
};

template <std::size_t N>
constexpr std::uint64_t all_of(const updated_field (&fields)[N]) {
  std::uint64_t all = 0;
  for (const updated_field& f : fields) all |= f.mask;
  return all;
}

}  // namespace

command_status qp_commands::update(command& c) {
  using l = update_qp_mailbox;
  image<l> in;
  command_checks is(a_.rules);
  is.read(c, in);
  if (is.refused()) return is.status();
  const std::uint32_t qpn = c.input_modifier & qpn_mask;
  queue_pair* qp = pairs_.find(qpn);
  const std::uint64_t own = in.get<&l::qp_mask>(), path = in.get<&l::primary_path_mask>();
  const auto reported = [&is](const char* field, std::uint64_t beyond) {
    is.that(beyond == 0, rule::capability_reported, command_status::bad_parameter,
            "%s 0x%llx, which is not reported", field, static_cast<unsigned long long>(beyond));
  };
  is.must(qp != nullptr, rule::qp_state, command_status::bad_qp_state,
          "state of QP 0x%x is reset; any other would do", qpn);
  reported("qp_mask", own & ~all_of(of_queue_pair));
  reported("primary_path_mask", path & ~all_of(of_path));
  reported("alternate_path_mask", in.get<&l::alternate_path_mask>());
  if (is.refused()) return is.status();

  const image<qpc> before = qp->context;
  const auto given = image<qpc>::from_bytes(in.bytes_of<&l::context>());
  for (const updated_field& f : of_queue_pair)
    if ((own & f.mask) != 0) f.take(given, qp->context);
  for (const updated_field& f : of_path)
    if ((path & f.mask) != 0) f.take(given, qp->context);
  qp->refresh(a_.layers);
  check_port(is, "sched_queue", qp->way.port);
  is.lent(pairs_.store(*qp), "context of QP", qpn);
  if (is.refused()) {
    qp->context = before;
    qp->refresh(a_.layers);
  }
  return is.status();
}

}  // namespace freehca::model
