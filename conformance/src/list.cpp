// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/conformance/list.hpp>

#include "groups.hpp"

namespace freehca::conformance {

row_groups all_rows() {
  static constexpr const row_group* groups[] = {&limits,
                                                &queries,
                                                &ports,
                                                &management,
                                                &regions,
                                                &event_queues,
                                                &completion_queues,
                                                &shared_receive_queues,
                                                &queue_pair_states,
                                                &transitions,
                                                &transition_mailboxes,
                                                &transition_ports,
                                                &in_use,
                                                &requests,
                                                &request_errors,
                                                &datagrams,
                                                &events};
  return {groups, static_cast<unsigned>(sizeof groups / sizeof groups[0])};
}

unsigned count_rows() {
  unsigned n = 0;
  for (const row_group* g : all_rows()) n += g->count;
  return n;
}

}  // namespace freehca::conformance
