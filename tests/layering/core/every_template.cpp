// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Every class template of the core's public headers, instantiated whole. Tables and command
// families come from a generated file beside this one.
#include <freehca/firmware_cmds/ethernet_port.hpp>
#include <freehca/firmware_cmds/flow_rule.hpp>
#include <freehca/firmware_cmds/mr.hpp>
#include <freehca/firmware_cmds/object_contexts.hpp>
#include <freehca/firmware_cmds/port_settings.hpp>
#include <freehca/firmware_cmds/qp.hpp>
#include <freehca/firmware_cmds/raw_command.hpp>
#include <freehca/hal/list.hpp>
#include <freehca/hal/operation.hpp>
#include <freehca/hal/status.hpp>
#include <freehca/hca/every_kind.hpp>
#include <freehca/hca/objects/verbs.hpp>
#include <freehca/queues/blueflame.hpp>
#include <freehca/queues/counting.hpp>
#include <freehca/queues/frame_requests.hpp>
#include <freehca/queues/masked_atomics.hpp>
#include <freehca/queues/memory_requests.hpp>
#include <freehca/queues/prepared_packet.hpp>
#include <freehca/queues/received_frame.hpp>
#include <freehca/queues/requests.hpp>
#include <freehca/queues/sq.hpp>
#include <freehca/queues/xrc_requests.hpp>

namespace freehca {

template class list_place<void>;
template class list_place<reactor>;
template class list<operation>;
template class list<operation, reactor>;
template class interrupt_count<atomics>;
template struct basic_crossing<atomics>;
template class basic_inbox<atomics>;
template class basic_event_relay<atomics, layouts::image<layouts::eqe>, 256>;
template class result<std::uint64_t>;
template struct operation_awaiter<operation>;
template struct handle<queue_pair>;
template class create_object<queue_pair>;
template class destroy_object<queue_pair>;
template struct handle<xrc_queue_pair>;
template class create_object<raw_ethernet_queue_pair>;
template class create_object<xrc_receive_queue>;
template struct creation<commands::sw2hw_cq>;
template class create_object<resizable_completion_queue>;
template class create_object<completion_ring>;
template class create_object<special_queue_pairs>;
template class destroy_object<management_queue_pair>;
template class create_object<receive_work_queue>;
template class create_object<rss_queue_pair>;
template class firmware_command<commands::query_if_stat>;
template class firmware_command<commands::modify_qp<layouts::opcode::rtr2rts_qp>>;
template class firmware_command<commands::set_mcast_fltr<layouts::set_mcast_fltr_modifier::config>>;
template class firmware_command<commands::mad_ifc<>>;
template class firmware_command<commands::mad_ifc_received<>>;
template class firmware_command<
    commands::set_port_ethernet<layouts::set_port_general, layouts::set_port_selector::general>>;
template struct queues::send_of<queues::data_entry>;
template struct queues::send_with_immediate_of<queues::data_entry>;
template struct queues::send_with_invalidate_of<queues::data_list>;
template struct queues::xrc<queues::rdma_write>;
template struct queues::send_datagram_of<queues::data_entry>;
template struct queues::send_frame_of<queues::inline_data>;
template struct queues::send_large_frame_of<queues::data_list>;
template class queues::received_frame<queues::entry_in_ring>;
template struct queues::send_datagram_with_immediate_of<queues::inline_data>;
template struct queues::rdma_write_of<queues::data_list>;
template struct queues::rdma_write_with_immediate_of<queues::inline_data>;
template struct queues::rdma_read_of<queues::data_entry>;
template struct queues::completion_of<std::uint64_t[layouts::cqe::bytes / 8]>;
template struct sequence<layouts::map_entry>;
static_assert(headed_sequence<layouts::write_mtt_header, layouts::mtt>::most == 510);
static_assert(std::same_as<commands::mad_ifc_received<>::input,
                           joined<layouts::mad, layouts::mad_ifc_extended_info>>);

template struct crossing_of<owner_link>;

/// Each request posts by a function of its own.
status post_each(queues::sq& to, const queues::address& peer) {
  FREEHCA_TRY(to.post(queues::send{}));
  FREEHCA_TRY(to.post(queues::send_with_immediate_of<queues::inline_data>{}));
  FREEHCA_TRY(to.post(queues::send_with_invalidate{}));
  FREEHCA_TRY(to.post(queues::xrc<queues::send>{}));
  FREEHCA_TRY(to.post(queues::send_packet{}));
  queues::blueflame by;
  FREEHCA_TRY(to.post_and_push(by, queues::send{}));
  FREEHCA_TRY(to.post_and_push(by, queues::rdma_write_inline{}));
  FREEHCA_TRY(to.post_and_push(by, queues::send_frame_inline{}));
  FREEHCA_TRY(to.post(queues::send_large_frame_list{}));
  FREEHCA_TRY(to.post(queues::masked_compare_and_swap{}));
  FREEHCA_TRY(to.post(queues::masked_fetch_and_add{}));
  FREEHCA_TRY(to.post(queues::fast_register{}));
  FREEHCA_TRY(to.post(queues::local_invalidate{}));
  FREEHCA_TRY(to.post(queues::bind_window{}));
  FREEHCA_TRY(to.post(queues::send_datagram{.to = {&peer}}));
  FREEHCA_TRY(to.post(queues::send_datagram_list{.to = {&peer}}));
  FREEHCA_TRY(to.post(queues::send_datagram_with_immediate_inline{.to = {&peer}}));
  FREEHCA_TRY(to.post(queues::rdma_write_list{}));
  FREEHCA_TRY(to.post(queues::rdma_write_with_immediate_of<queues::data_entry>{}));
  FREEHCA_TRY(to.post(queues::rdma_read_list{}));
  FREEHCA_TRY(to.post(queues::compare_and_swap{}));
  FREEHCA_TRY(to.post(queues::fetch_and_add{}));
  const queues::rdma_write like{};
  const queues::stream<queues::rdma_write>::place place{};
  if (to.post_many(&like, 1) != 1) return driver_error::queue_full;
  if (to.post_many(queues::stream<queues::rdma_write>(like, &place), 1) != 1)
    return driver_error::queue_full;
  return to.post(queues::nop{});
}

/// A function of its own that drains into a sink.
unsigned drain_each(queues::cq& from, queues::counting& to) {
  return to.drain(from, 1);
}

}  // namespace freehca
