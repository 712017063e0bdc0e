// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Operations on queue pairs, regions, completion queues, groups and rules, and work requests.
#include <iterator>

#include <freehca/hca/kinds/change_memory_region.hpp>
#include <freehca/hca/kinds/promiscuous_mode.hpp>
#include <freehca/hca/kinds/replace_memory_region.hpp>

#include "every_object.hpp"
#include "reach.hpp"

namespace freehca::fuzz {

using layouts::qp_state;
using work_requests::send_opcode;

namespace {

constexpr std::uint32_t qkey = 0x1234567;

// Of TCP by IPv4, to a group of Ethernet.
constexpr std::uint8_t headers[54] = {
    0x01, 0x00, 0x5e, 0x00, 0x00, 0x01, 0x52, 0x54, 0x00, 0x00, 0x07, 0x02, 0x08, 0x00,
    0x45, 0x00, 0x00, 0x00, 0x00, 0x07, 0x40, 0x00, 0x40, 0x06, 0x00, 0x00, 0x0a, 0x00,
    0x09, 0x01, 0x0a, 0x01, 0x09, 0x02, 0x12, 0x34, 0x00, 0x50, 0x00, 0x00, 0x03, 0xe8,
    0x00, 0x00, 0x00, 0x01, 0x50, 0x99, 0x03, 0xe8, 0x00, 0x00, 0x00, 0x00};

}  // namespace

// ---- Queue pairs

address_attributes every_object::path(unsigned which) const {
  if (which >= raw) return frames_of(ethernet);
  if (which == roce || which == roce_ud)
    return roce_path{.port = ethernet, .dmac = mac_, .sgid_index = 0, .dgid = gids_[0].address};
  return infiniband_path{.dlid = of_.adapter.port(1).lid};
}

connection_attributes every_object::connection(unsigned which) const {
  connection_attributes a;
  a.remote_read = a.remote_write = a.remote_atomic = true;
  a.qkey = qkey;
  a.min_rnr_timer = 1;
  a.remote_qpn = number(which == initiator ? target : which == target ? initiator : which);
  a.retry_count = a.rnr_retry = 1;
  a.ack_timeout = 8;
  a.address = path(which);
  a.counter = counter_of(of_.objects, counter_);
  return a;
}

status every_object::move(unsigned which, qp_state to, std::uint8_t how) {
  connection_attributes a = connection(which);
  if ((how & 1) != 0) a.remote_read = a.remote_atomic = false;
  if ((how & 2) != 0) a.remote_qpn ^= 1;
  if ((how & 4) != 0 && a.address.roce() != nullptr)
    a.address.roce()->sgid_index = 2, a.address.roce()->dgid = gids_[2].address;
  if ((how & 8) != 0 && a.address.infiniband() != nullptr) a.address.infiniband()->dlid ^= 0x10;
  modify_queue_pair op;
  return outcome_of(op, of_.objects, pairs_[which], to, a);
}

void every_object::modify(arguments o) {
  constexpr qp_state states[] = {qp_state::reset, qp_state::init, qp_state::rtr, qp_state::rts,
                                 qp_state::error};
  if (o.a < 0xf0) {
    const qp_state to = states[o.b % std::size(states)];
    if (to != qp_state::reset || o.b < 0xc0)
      return static_cast<void>(move(o.a % pairs, to, static_cast<std::uint8_t>(o.b >> 4)));
    for (const qp_state each : {qp_state::reset, qp_state::init, qp_state::rtr, qp_state::rts})
      static_cast<void>(move(o.a % pairs, each, static_cast<std::uint8_t>(o.b >> 4 & 3)));
    return;
  }
  modify_management_queue_pair op;
  run(op, of_.objects, management_[o.a % 2u], states[o.b % std::size(states)]);
}

void every_object::change(arguments o) {
  namespace given = layouts::qp_optpar;
  constexpr struct {
    qp_state to;
    std::uint32_t given;
  } rows[] = {
      {qp_state::init, given::pkey_index | given::sched_queue},
      {qp_state::init, given::rre | given::rwe | given::rae},
      {qp_state::init, given::qkey},
      {qp_state::rts, given::rre | given::rwe | given::rae | given::min_rnr_nak},
      {qp_state::rts, given::alternate_path | given::pm_state},
      {qp_state::rts, given::pm_state},
      {qp_state::rts, given::qkey},
      {qp_state::rts, 0},
      {qp_state::sq_draining, 0},
      {qp_state::sq_drained, given::primary_path | given::pkey_index},
      {qp_state::sq_drained, given::retry_count | given::rnr_retry | given::ack_timeout},
      {qp_state::sq_drained, given::sra_max | given::rra_max},
  };
  const auto& row = rows[(o.b & 0xf) % std::size(rows)];
  queue_pair_changes c{.given = row.given, .remote_read = (o.b & 0x10) != 0, .qkey = qkey};
  c.drained_event = true;
  c.path = c.alternate = path(o.a % pairs);
  if ((o.b & 0x20) != 0) c.migration = layouts::path_migration::rearm;
  if ((o.b & 0x40) != 0) c.migration = layouts::path_migration::armed;
  change_queue_pair op;
  run(op, of_.objects, pairs_[o.a % pairs], row.to, c);
}

void every_object::query(arguments o) {
  query_queue_pair op;
  if (run(op, of_.objects, pairs_[o.a % pairs])) static_cast<void>(report_of(of_.objects, op));
}

// ---- Work requests

// `a` chooses the queue pair and the opcode. The bits of `b` choose how the request differs from
// one that succeeds.
void every_object::send(arguments o) {
  constexpr std::uint32_t lengths[] = {64, 8, 3000, 0};
  constexpr unsigned senders[] = {rc, uc, ud, roce, roce_ud, initiator, raw, target};
  constexpr unsigned place = 1024;
  const unsigned which = senders[o.a % std::size(senders)];
  queue_pair* const from = find_pair(which);
  work_requests::send_request r;
  r.wr_id = next_id();
  if (from == nullptr || r.wr_id == 0) return;
  r.opcode = static_cast<send_opcode>(o.a / std::size(senders) % 16);
  const bool is_atomic = r.opcode == send_opcode::compare_and_swap ||
                         r.opcode == send_opcode::fetch_and_add ||
                         r.opcode == send_opcode::masked_compare_and_swap ||
                         r.opcode == send_opcode::masked_fetch_and_add;
  const queues::data_entry data = piece(0, is_atomic ? 8 : lengths[o.b & 3]);
  r.list = &data;
  r.entries = 1;
  queues::data_entry wrong = data;
  if ((o.b & 4) != 0) wrong.lkey ^= 0x100, r.list = &wrong;
  if ((o.b & 8) != 0 && which != raw) {
    r.list = nullptr, r.entries = 0;
    r.inline_bytes = block_.host + page, r.inline_length = 32;
  }
  if (r.opcode == send_opcode::nop || r.opcode == send_opcode::fast_register ||
      r.opcode == send_opcode::local_invalidate || r.opcode == send_opcode::bind_window)
    r.list = nullptr, r.entries = 0, r.inline_bytes = nullptr, r.inline_length = 0;
  r.solicited = (o.b & 0x20) != 0;
  r.fence = (o.b & 0x40) != 0;
  r.immediate = 0x5a5a;
  r.remote_address = base + place;
  r.rkey = key_of(of_.objects, region_);
  const bool of_window = (o.b & 0x80) != 0;
  if (of_window) r.rkey = key_of(of_.objects, windows_[o.a % 2u]);
  if ((o.b & 0x10) != 0) r.rkey ^= 0x100;
  r.swap_or_add = 1;
  r.remote_srqn = srqn_of(of_.objects, shared_of_xrc_);
  r.remote_qpn = number(which);
  r.qkey = qkey;
  const address_handle* to = nullptr;
  if (which == ud) to = of_.objects.find(addresses_[of_window ? 1 : 0]);
  if (which == roce_ud) to = of_.objects.find(addresses_[2]);
  if (to != nullptr) r.to = &to->address;
  if (which == ud && of_window) r.remote_qpn = layouts::multicast_qpn;

  queues::registration memory;
  fast_memory_region* const fast = of_.objects.find(fast_);
  const bool invalidates =
      r.opcode == send_opcode::local_invalidate || r.opcode == send_opcode::send_with_invalidate;
  if (invalidates && fast != nullptr && !of_window) r.rkey = fast->key;
  if (r.opcode == send_opcode::fast_register && fast != nullptr) {
    using rights = queues::registration_rights;
    static_cast<void>(queues::write_page_list(list_, this->memory()));
    memory = {fast->next_key(),
              list_.device_address,
              fast_base,
              pages * page,
              12,
              rights::local_write | rights::remote_read | rights::remote_write};
    r.memory = &memory;
  }
  queues::window_binding binding;
  const unsigned at = o.b & 1;
  memory_window* const window_of_it = of_.objects.find(windows_[at]);
  if (r.opcode == send_opcode::bind_window && window_of_it != nullptr) {
    using rights = queues::window_rights;
    binding = {.key = window_of_it->next_key(),
               .region = wrong.lkey,
               .address = base,
               .length = (o.b & 2) != 0 ? 0 : pages * page,
               .rights = rights::remote_read | rights::remote_write,
               .type = at == 0 ? queues::window_type::one : queues::window_type::two};
    r.binding = &binding;
  }
  queues::frame_options frame{.ip_checksum = (o.b & 0x10) != 0, .l4_checksum = (o.b & 0x20) != 0};
  queues::frame_headers large{reinterpret_cast<const std::byte*>(headers), sizeof headers, 512};
  if (which == raw) {
    for (std::size_t i = 0; i < sizeof headers; ++i)
      block_.host[page + i] = static_cast<std::byte>(headers[i]);
    if ((o.b & 0x40) != 0) frame.vlan = 5, frame.priority = 3;
    if (of_window) frame.loopback_mac = mac_;
    r.frame = &frame;
    r.headers = &large;
  }
  static_cast<void>(posted(work_requests::post_and_ring(from->rings.send, r)));
}

void every_object::receive(arguments o) {
  constexpr unsigned place = 0x4000;
  const queues::data_entry to = piece(place, (o.b & 1) != 0 ? 16 : 3200);
  for (unsigned i = 0; i <= (o.b >> 1 & 3u); ++i) {
    const queues::receive_request r{next_id(), &to, 1};
    if (r.wr_id == 0) return;
    const unsigned which = o.a % (pairs + 4);
    if (which < pairs) {
      queue_pair* const by = find_pair(which);
      if (by == nullptr) return;
      static_cast<void>(posted(by->rings.receive.post_and_ring(r)));
    } else if (which == pairs) {
      shared_receive_queue* const by = of_.objects.find(shared_);
      if (by == nullptr) return;
      static_cast<void>(posted(by->rings.post_and_ring(r)));
    } else if (which == pairs + 1) {
      xrc_receive_queue* const by = of_.objects.find(shared_of_xrc_);
      if (by == nullptr) return;
      static_cast<void>(posted(by->rings.post_and_ring(r)));
    } else {
      management_queue_pair* const by = of_.objects.find(management_[which % 2]);
      if (by == nullptr) return;
      static_cast<void>(posted(by->rings.receive.post_and_ring(r)));
    }
  }
}

void every_object::wait(arguments o) {
  of_.rest(clock::microseconds(1) << o.a % 20u);
}

// ---- Regions, completion queues, groups and rules

void every_object::change_region(arguments o) {
  change_memory_region op;
  run(op, of_.objects, (o.a & 1) != 0 ? mr_handle(fast_) : region_, domain_,
      memory_access{.local_write = (o.b & 1) == 0,
                    .remote_read = (o.b & 2) == 0,
                    .remote_write = (o.b & 4) == 0,
                    .bind_windows = (o.b & 8) == 0});
}

void every_object::replace_region(arguments o) {
  replace_memory_region op;
  run(op, of_.objects, region_,
      memory_region_attributes{.pd = domain_,
                               .pages = memory(),
                               .virtual_address = base + ((o.b & 1) != 0 ? pages * page : 0),
                               .access = {.local_write = true, .remote_write = (o.b & 2) != 0}});
}

void every_object::resize(arguments o) {
  const handle<resizable_completion_queue> queues[] = {resizable_, of_xrc_, extended_};
  const auto which = queues[o.a % std::size(queues)];
  resize_completion_queue op;
  if (!run(op, of_.objects, which, ring_)) return;
  // A completion behind the resize makes the queue change over to the other ring.
  send({static_cast<std::uint8_t>(send_opcode::nop) * 8, 0});
  of_.rest(clock::milliseconds(1));
  poll();
  const resizable_completion_queue* const queue = of_.objects.find(which);
  if (queue != nullptr && queue->next == nullptr) reach::completion(layouts::cqe_opcode::resize);
}

void every_object::moderate(arguments o) {
  const cq_handle queues[] = {plain_, counting_, resizable_, extended_, of_xrc_};
  moderate_completion_queue op;
  run(op, of_.objects, queues[o.a % std::size(queues)], static_cast<std::uint16_t>(o.b),
      static_cast<std::uint16_t>(o.b * 3));
}

void every_object::arm(arguments o) {
  if (o.a % 4u == 0) {
    arm_shared_receive_queue op;
    run(op, of_.objects, shared_, std::uint32_t{o.b} % 8);
  } else if (o.a % 4u == 1) {
    arm_xrc_receive_queue op;
    run(op, of_.objects, shared_of_xrc_, std::uint32_t{o.b} % 8);
  } else if (o.a % 4u == 2) {
    if (counting_completion_queue* const queue = of_.objects.find(counting_); queue != nullptr)
      queue->wake_at(o.b);
  } else if (completion_queue* const queue = of_.objects.find(plain_); queue != nullptr) {
    queue->rings.arm(o.b % 2u != 0);
  }
}

void every_object::join(arguments o) {
  gid group;
  group.raw[0] = 0xff, group.raw[1] = 0x12, group.raw[15] = static_cast<std::uint8_t>(o.a % 4u);
  join_group op;
  if (run(op, of_.objects, group_attributes{groups_, pairs_[ud], group, o.b % 2u != 0}))
    member_ = op.made();
}

void every_object::leave(arguments) {
  leave_group op;
  run(op, of_.objects, member_);
}

void every_object::make_rule(arguments o) {
  flow_rule_attributes rule{.pair = pairs_[(o.a & 1) != 0 ? spread : raw],
                            .port = ethernet,
                            .priority = static_cast<std::uint16_t>(o.b >> 4),
                            .exclusive = (o.a & 2) != 0,
                            .allow_loopback = (o.a & 4) != 0};
  switch (o.b % 5u) {
    case 0: {
      gid group;
      group.raw[0] = 0xff, group.raw[1] = 0x12, group.raw[15] = 1;
      rule = group_rule(pairs_[ud], 1, group, o.a % 2u != 0);
      break;
    }
    case 1:
      rule.type = layouts::flow_rule_type::all_default;
      break;
    case 2:
      rule.type = layouts::flow_rule_type::multicast_default;
      break;
    default:
      rule.header_count = 1u + o.b % 3u;
      rule.headers[0] = ethernet_flow{.destination = mac_, .destination_mask = most_mac};
      rule.headers[1] = ipv4_flow{.destination = 0x0a010902, .destination_mask = ~0u};
      if (o.b % 5u == 3) rule.headers[2] = tcp_flow{.destination = 80, .destination_mask = 0xffff};
      else rule.headers[2] = udp_flow{{.destination = 80, .destination_mask = 0xffff}};
  }
  create_flow_rule op;
  if (run(op, of_.objects, rule)) rules_[o.a % rules_.size()] = op.made();
}

void every_object::remove_rule(arguments o) {
  destroy_flow_rule op;
  run(op, of_.objects, rules_[o.a % rules_.size()]);
}

void every_object::be_promiscuous(arguments o) {
  set_promiscuous_mode op;
  run(op, of_.objects, unsigned{ethernet}, pairs_[(o.a & 1) != 0 ? spread : raw], (o.b & 1) == 0,
      (o.b & 2) == 0);
}

}  // namespace freehca::fuzz
