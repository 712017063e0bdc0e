// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The objects, how they are made and destroyed, and the table of operations.
#include "every_object.hpp"

#include <algorithm>
#include <iterator>

#include "finding.hpp"
#include "reach.hpp"

namespace freehca::fuzz {

using layouts::qp_state;

const every_object::entry every_object::table[] = {
    {"make", &every_object::make_one},
    {"destroy", &every_object::remove},
    {"transition", &every_object::modify},
    {"change of a queue pair", &every_object::change},
    {"query of a queue pair", &every_object::query},
    {"send", &every_object::send},
    {"receive", &every_object::receive},
    {"wait", &every_object::wait},
    {"change of a region", &every_object::change_region},
    {"replacement of a region", &every_object::replace_region},
    {"resize", &every_object::resize},
    {"moderation", &every_object::moderate},
    {"arm", &every_object::arm},
    {"join", &every_object::join},
    {"leave", &every_object::leave},
    {"rule", &every_object::make_rule},
    {"end of a rule", &every_object::remove_rule},
    {"promiscuous mode", &every_object::be_promiscuous},
    {"port", &every_object::open_port},
    {"addresses of a port", &every_object::set_addresses},
    {"settings of a port", &every_object::set_port},
    {"statistics", &every_object::read_statistics},
    {"module", &every_object::read_module},
    {"sense", &every_object::sense},
    {"type of a port", &every_object::set_type},
    {"counters", &every_object::read_counters},
    {"clock", &every_object::read_clock},
    {"table of a port", &every_object::read_table},
    {"management datagram", &every_object::send_datagram},
    {"event", &every_object::raise},
    {"context", &every_object::read_context},
    {"cable", &every_object::use_cable},
};

every_object::every_object(surroundings of)
    : of_(std::move(of)),
      block_(of_.machine.memory().allocate((pages + 2) * page, page)),
      list_(of_.machine.memory().allocate(queues::page_list_bytes(pages), page)) {
  std::fill_n(block_.host, block_.bytes, std::byte{0x5a});
  // The cable leads back to the port.
  of_.machine.on_link_send = [this](unsigned port, const std::byte* from, std::size_t bytes) {
    of_.machine.deliver(port, of_.machine.time(), from, bytes);
    return true;
  };
}
every_object::~every_object() {
  of_.machine.on_link_send = {};
  of_.machine.memory().release(block_);
  of_.machine.memory().release(list_);
}

void every_object::perform(input& from) {
  const std::uint8_t which = from.byte(), a = from.byte(), b = from.byte();
  drops_ = which >= 0x80;
  (this->*table[which % 0x80 % std::size(table)].perform)({a, b});
  drops_ = false;
  of_.rest(clock::microseconds(20));
  poll();
}

void every_object::make(pd_handle domain) {
  domain_ = domain;
  open_port({1, 0});
  for (unsigned i = 0; i < 100 && !of_.adapter.port(ethernet).active(); ++i)
    of_.rest(clock::milliseconds(100));
  set_addresses({});
  // Queue pairs come last.
  for (unsigned i = 0; i < things; ++i) make_or_find(static_cast<thing>((i + pairs) % things));
  for (unsigned i = 0; i < pairs; ++i)
    for (const qp_state to : {qp_state::init, qp_state::rtr, qp_state::rts})
      static_cast<void>(move(i, to));
  for (const management_qp_handle each : management_)
    for (const qp_state to : {qp_state::init, qp_state::rtr, qp_state::rts}) {
      modify_management_queue_pair op;
      run(op, of_.objects, each, to);
    }
}

// Not every adapter has all features.
void every_object::make_or_find(thing which) {
  const status s = make(which, false);
  if (!s.ok() && !s.is(driver_error::unsupported) && !s.is(driver_error::stale_handle))
    found("an honest adapter gives no object", s);
}

template <class K>
status every_object::create(handle<K>& to, const typename K::attributes& how) {
  if constexpr (device_kind<K>) {
    create_object<K> op;
    const status s = outcome_of(op, of_.objects, how);
    if (s.ok()) to = op.made();
    return s;
  } else {
    const result<handle<K>> made = of_.objects.create<K>(how);
    if (made.ok()) to = made.value();
    return made.ok() ? status{} : made.error();
  }
}

template <class K>
status every_object::destroy(handle<K> which) {
  if constexpr (device_kind<K>) {
    destroy_object<K> op;
    return outcome_of(op, of_.objects, which);
  } else {
    return of_.objects.destroy(which);
  }
}

status every_object::make(thing which, bool varied) {
  const std::uint32_t receives = varied ? 1 : 8;
  switch (which) {
    case region:
      return create(region_, {.pd = domain_,
                              .pages = memory(),
                              .virtual_address = base,
                              .access = {.local_write = true,
                                         .remote_read = true,
                                         .remote_write = true,
                                         .remote_atomic = !varied,
                                         .bind_windows = true}});
    case fast_region:
      return create(fast_, {.pd = domain_, .most_pages = pages});
    case window:
    case window_2: {
      const auto type = which == window ? queues::window_type::one : queues::window_type::two;
      return create(windows_[which - window], {.pd = domain_, .type = type});
    }
    case shared:
      return create(shared_, {.pd = domain_, .receives = receives});
    case xrc_domain_:
      return create(xrcd_, {});
    case xrc_shared:
      return create(shared_of_xrc_,
                    {.pd = domain_, .domain = xrcd_, .cq = of_xrc_, .receives = receives});
    case work_range:
      return create(range_, {.count = 2});
    case special:
      return create(special_, {});
    case smi:
    case gsi:
      return create(
          management_[which - smi],
          {{.pd = domain_, .send_cq = plain_, .receive_cq = plain_, .sends = 4, .receives = 4},
           special_,
           which == smi ? layouts::qp0_smi : layouts::qp1_gsi});
    case groups:
      return create(groups_, {});
    case counter:
      return create(counter_, {});
    case to_itself:
    case to_group:
    case to_itself_by_roce:
      return make_address(which);
    default:
      return which < pairs ? make_pair(which, varied) : make_queue(which, varied);
  }
}

status every_object::make_queue(thing which, bool varied) {
  const completion_queue_attributes how{.entries = varied ? 3u : 63u};
  switch (which) {
    case plain_cq:
      return create(plain_, how);
    case counting_cq:
      return create(counting_, how);
    case resizable_cq:
      return create(resizable_, how);
    case ring:
      return create(ring_, {.entries = varied ? 127u : 31u});
    case extended_cq:
      return create(extended_, {how, !varied, varied});
    default:
      return create(of_xrc_, how);
  }
}

cq_handle every_object::completions_of(unsigned which) const {
  switch (which) {
    case rc:
      return resizable_;
    case ud:
    case roce:
      return extended_;
    default:
      return plain_;
  }
}

status every_object::make_pair(thing which, bool varied) {
  using layouts::qp_service;
  queue_pair_attributes how{.pd = domain_,
                            .send_cq = which == uc ? counting_ : completions_of(which),
                            .receive_cq = completions_of(which),
                            .sends = varied ? 2u : 16u,
                            .receives = varied ? 2u : 16u,
                            .gather = 2,
                            .inline_bytes = 64};
  switch (which) {
    case uc:
      how.service = qp_service::uc;
      break;
    case ud:
    case roce_ud:
      how.service = qp_service::ud;
      break;
    case roce:
      how.shared = shared_, how.receives = 0;
      break;
    case initiator: {
      xrc_qp_handle made;
      const status s = create(
          made,
          {.pd = domain_, .cq = plain_, .sends = 16, .inline_bytes = 64, .masked_atomics = true});
      if (s.ok()) pairs_[which] = made;
      return s;
    }
    case target: {
      xrc_qp_handle made;
      const status s = create(made, {.domain = xrcd_, .pd = domain_, .cq = plain_});
      if (s.ok()) pairs_[which] = made;
      return s;
    }
    case raw: {
      raw_ethernet_qp_handle made;
      const status s = create(made, {how, 64, !varied, varied});
      if (s.ok()) pairs_[which] = made;
      return s;
    }
    case first_work:
    case last_work: {
      how.sends = 0, how.gather = 0, how.inline_bytes = 0;
      handle<receive_work_queue>& to = work_[which - first_work];
      const status s = create(to, {range_, how});
      if (s.ok()) pairs_[which] = to;
      return s;
    }
    case spread: {
      static constexpr std::uint8_t key[40] = {0x6d, 0x5a, 0x56, 0xda};
      handle<rss_queue_pair> made;
      const status s = create(
          made, {.queue = {.pd = domain_, .send_cq = plain_, .receive_cq = plain_},
                 .table = work_.data(),
                 .count = static_cast<std::uint32_t>(work_.size()),
                 .hash = varied ? layouts::rss_hash::exclusive_or : layouts::rss_hash::toeplitz,
                 .headers = rss_headers::ipv4 | rss_headers::tcp_ipv4,
                 .key = key,
                 .key_bytes = sizeof key});
      if (s.ok()) pairs_[which] = made;
      return s;
    }
    default:
      how.masked_atomics = !varied;
  }
  return create(pairs_[which], how);
}

status every_object::make_address(thing which) {
  gid group;
  group.raw[0] = 0xff, group.raw[1] = 0x12, group.raw[15] = 1;
  address_attributes to = path(rc);
  if (which == to_itself_by_roce) to = path(roce_ud);
  if (which == to_group)
    to = infiniband_path{.dlid = 0xc001, .global = true, .hop_limit = 1, .dgid = group};
  return create(addresses_[which - to_itself], {.pd = domain_, .address = to});
}

status every_object::destroy(thing which) {
  switch (which) {
    case region:
      return destroy(region_);
    case fast_region:
      return destroy(fast_);
    case window:
    case window_2:
      return destroy(windows_[which - window]);
    case plain_cq:
      return destroy(plain_);
    case counting_cq:
      return destroy(counting_);
    case resizable_cq:
      return destroy(resizable_);
    case ring:
      return destroy(ring_);
    case extended_cq:
      return destroy(extended_);
    case xrc_cq:
      return destroy(of_xrc_);
    case shared:
      return destroy(shared_);
    case xrc_domain_:
      return destroy(xrcd_);
    case xrc_shared:
      return destroy(shared_of_xrc_);
    case work_range:
      return destroy(range_);
    case special:
      return destroy(special_);
    case smi:
    case gsi:
      return destroy(management_[which - smi]);
    case groups:
      return destroy(groups_);
    case counter:
      return destroy(counter_);
    case to_itself:
    case to_group:
    case to_itself_by_roce:
      return destroy(addresses_[which - to_itself]);
    default:
      return destroy(pairs_[which]);
  }
}

void every_object::make_one(arguments o) {
  static_cast<void>(make(static_cast<thing>(o.a % things), o.b % 2u != 0));
}
void every_object::remove(arguments o) {
  static_cast<void>(destroy(static_cast<thing>(o.a % things)));
}

// ---- Completions

template <class Queue>
void every_object::poll_queue(Queue* queue) {
  queues::work_completion w[4];
  if (queue == nullptr) return;
  for (unsigned n = 4; n == 4;) {
    // What has targets of XRC in it is taken by its own function.
    if constexpr (std::is_base_of_v<xrc_completion_queue, Queue>) n = queue->take(w, 4);
    else n = queue->rings.poll(w, 4);
    for (unsigned i = 0; i < n; ++i) take(w[i]);
  }
}
void every_object::poll() {
  if (!of_.objects.is_open()) return;
  const verbs& in = of_.objects;
  poll_queue(in.find(plain_));
  poll_queue(in.find(resizable_));
  poll_queue(in.find(extended_));
  poll_queue(in.find(of_xrc_));
}

void every_object::take(const queues::work_completion& w) {
  reach::completion(w);
  const std::uint64_t which = w.wr_id - first_id;
  if (which >= posted_) found("a completion names no request");
  if (!outstanding_.test(which)) found("a request completes that is not outstanding");
  outstanding_.reset(which);
  if (w.ok()) static_cast<void>(timestamp_of(w));
}

std::uint64_t every_object::next_id() {
  return posted_ < requests ? first_id + posted_ : 0;
}
status every_object::posted(status s) {
  if (s.ok()) outstanding_.set(posted_++);
  return s;
}

void every_object::check_memory() const {
  for (const std::byte* edge : {block_.host, block_.host + (pages + 1) * page})
    if (!std::all_of(edge, edge + page, [](std::byte b) { return b == std::byte{0x5a}; }))
      found("memory has changed that is in no region");
}

}  // namespace freehca::fuzz
