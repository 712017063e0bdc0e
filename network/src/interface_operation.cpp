// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A network interface comes up and goes down. The members of the interface say what there is: the
// way up goes on behind it, and the way down from it.
#include <freehca/hca/device.hpp>
#include <freehca/network/interface.hpp>

namespace freehca::network {

namespace {

using layouts::qp_state;

/// The key makes the hash of both directions of a connection the same (Woo and Park, Scalable TCP
/// Session Monitoring with Symmetric Receive-side Scaling, 2012).
struct symmetric_key {
  std::uint8_t bytes[40];
  constexpr symmetric_key() : bytes{} {
    for (unsigned i = 0; i < sizeof bytes; i += 2) bytes[i] = 0x6d, bytes[i + 1] = 0x5a;
  }
};
constexpr symmetric_key hash_key;

bool has_room_for_headers(const capabilities& can) {
  // A network stack has large sends of up to 64 KiB.
  constexpr unsigned log_most_payload = 16;
  return can.has(layouts::dev_cap_flag::big_lso_header) &&
         can.raw.get<&layouts::query_dev_cap::log_max_gso_sz>() >= log_most_payload;
}

status check_state(interface_state is, interface_state required) {
  if (is == interface_state::changing) return driver_error::busy;
  return is == required ? status() : status(driver_error::bad_state);
}

status check_filter(refused_attribute& note, const interface_filter& f) {
  FREEHCA_TRY(note.check(attribute_id::groups, f.group_entries, most_groups));
  for (unsigned i = 0; i < f.group_entries; ++i)
    if (f.groups[i] > most_mac || !is_multicast_mac(f.groups[i]))
      return note.refuse(attribute_id::filter_group, f.groups[i], most_mac);
  return {};
}

status check_setup(refused_attribute& note, const interface_setup& s) {
  const std::uint32_t r = s.receive_rings;
  FREEHCA_TRY(note.check(attribute_id::receive_rings, r, most_receive_rings, 1));
  if ((r & (r - 1)) != 0) return note.refuse(attribute_id::receive_rings, r, r);
  FREEHCA_TRY(note.check(attribute_id::transmit_rings, s.transmit_rings, most_transmit_rings, 1));
  constexpr std::uint32_t most = 1u << 16;
  FREEHCA_TRY(note.check(attribute_id::receives, s.receives, most, 1));
  FREEHCA_TRY(note.check(attribute_id::sends, s.sends, most, 1));
  FREEHCA_TRY(note.check(attribute_id::buffer_bytes, s.buffer_bytes, queues::most_data_bytes,
                         std::uint64_t{s.headroom} + s.mtu + bytes_beside_ip));
  const std::uint64_t held = s.pages.bytes() != 0 ? s.pages.bytes() : s.memory_bytes;
  if (s.memory == nullptr || held < interface::receive_bytes(s)) return driver_error::no_memory;
  return check_filter(note, s.filter);
}

}  // namespace

void interface_operation::refuse(verbs& owner, status why) {
  owner.adapter().commands().reactor().refuse(*this, why);
}

void interface_operation::begin(interface& nic, purpose why) {
  nic_ = &nic;
  purpose_ = why;
  settled_ = trimmed_ = false;
  moved_ = 0;
  nic.state_ = interface_state::changing;
  begin_parts(&advance);
  reactor& r = nic.objects_->adapter().commands().reactor();
  r.watch(*this);
  const status s = go_on();
  if (step_ == step::none) r.end(*this, finished(s));
}

void interface_operation::up(interface& nic, verbs& objects, const interface_setup& setup) {
  if (!startable()) return;
  status s = check_state(nic.state_, interface_state::down);
  if (s.ok()) nic.objects_ = &objects;
  if (s.ok() && !objects.up()) s = driver_error::bad_state;
  if (s.ok() && !objects.is_control_owner()) s = driver_error::unsupported;
  if (s.ok()) s = check_setup(objects.refused(), setup);
  if (!s.ok()) return refuse(objects, s);
  nic.setup_ = setup;
  nic.counters_ = {};
  nic.keep_filter(setup.filter);
  begin(nic, purpose::up);
}

void interface_operation::down(interface& nic) {
  FREEHCA_ASSERT(nic.objects_ != nullptr);
  if (!startable()) return;
  if (nic.state_ == interface_state::changing) return refuse(*nic.objects_, driver_error::busy);
  begin(nic, purpose::down);
}

void interface_operation::filter(interface& nic, const interface_filter& to) {
  FREEHCA_ASSERT(nic.objects_ != nullptr);
  if (!startable()) return;
  status s = check_state(nic.state_, interface_state::up);
  if (s.ok()) s = check_filter(nic.objects_->refused(), to);
  if (!s.ok()) return refuse(*nic.objects_, s);
  nic.keep_filter(to);
  begin(nic, purpose::filter);
}

void interface_operation::advance(stepper& self, status outcome) noexcept {
  auto& o = static_cast<interface_operation&>(self);
  const bool down = o.goes_down();
  // A reset of the device has taken the object, or a late answer has: that of a removal which ended
  // early.
  if ((down || o.step_ == step::remove_rule) && outcome.is(driver_error::stale_handle))
    outcome = {};
  // The device has no promiscuous entries.
  if (outcome.is(driver_error::unsupported)) o.nic_->steered_ = false;
  if (outcome.ok()) outcome = o.record();
  if (outcome.ok() && !down) outcome = o.stop_reason();
  if (!o.dropped()) {
    if (!outcome.ok() && o.purpose_ == purpose::up && !down) {
      o.begin_undoing(outcome);
      outcome = {};
    }
    if (outcome.ok()) outcome = o.go_on();
    else o.step_ = step::none;
    if (o.step_ != step::none) return;
  }
  o.complete(o.finished(outcome));
}

status interface_operation::finished(status outcome) {
  using enum interface_state;
  const bool done = outcome.ok() && !dropped();
  nic_->state_ = purpose_ == purpose::filter ? interface_state::up
                 : !done                     ? partial
                 : goes_down()               ? interface_state::down
                                             : interface_state::up;
  return undoing() ? why() : outcome;
}

status interface_operation::go_on() {
  step_ = step::none;
  if (!goes_down()) {
    const status s = go_up();
    if (s.ok() || purpose_ != purpose::up) return s;
    begin_undoing(s);
  }
  return go_down();
}

// ---- The way up.

status interface_operation::go_up() {
  interface& n = *nic_;
  verbs& objects = *n.objects_;
  device& d = objects.adapter();
  const interface_setup& s = n.setup_;
  const bool comes_up = purpose_ == purpose::up;
  if (comes_up && !settled_) {
    step_ = step::settings;
    part(settings_).start(d, s.port, {.mtu = s.mtu});
  } else if (comes_up && !d.port_open(s.port)) {
    step_ = step::open;
    n.opened_ = true;
    part(port_).open(d, s.port);
  } else if (!n.region_) {
    const auto domain = objects.create<protection_domain>();
    if (!domain.ok()) return domain.error();
    n.domain_ = domain.value();
    step_ = step::region;
    const bool own = s.pages.bytes() == 0;
    part(create_region_)
        .start(objects, {.pd = n.domain_,
                         .pages = s.pages,
                         .virtual_address = own ? 0 : reinterpret_cast<std::uintptr_t>(s.memory),
                         .access = {.local_write = true},
                         .memory = {own ? s.memory : nullptr, own ? s.memory_bytes : 0}});
  } else if (n.queue_count_ < s.receive_rings + s.transmit_rings) {
    step_ = step::queue;
    part(create_queue_)
        .start(objects, {.entries = n.queue_count_ < s.receive_rings ? s.receives : s.sends,
                         .completion_context = s.completion_context,
                         .cookie = s.cookie});
  } else if (n.spreads() && !n.range_) {
    step_ = step::range;
    part(create_range_).start(objects, {.count = s.receive_rings});
  } else if (n.pair_count_ < n.pair_total()) {
    create_pair();
  } else if (comes_up && moved_ < 3 * n.pair_count_) {
    move_pair();
  } else if (!d.steers_by_rules()) {
    if (!n.steered_) take_all(true);
  } else if (!trimmed_ && n.rule_count_ > n.own_rules) {
    step_ = step::remove_rule;
    part(destroy_rule_).start(objects, n.rules_[n.rule_count_ - 1]);
  } else if (trimmed_ = true; n.rule_count_ < n.rule_total()) {
    create_rule();
  }
  return {};
}

void interface_operation::create_pair() {
  interface& n = *nic_;
  const interface_setup& s = n.setup_;
  const unsigned i = n.pair_count_, first = n.first_sender();
  step_ = step::pair;
  queue_pair_attributes receiving{
      .pd = n.domain_, .send_cq = n.queues_[0], .receive_cq = n.queues_[0]};
  if (i < first) {
    receiving.send_cq = receiving.receive_cq = n.queues_[i];
    receiving.receives = s.receives;
    part(create_receiver_).start(*n.objects_, {n.range_, receiving});
  } else if (const unsigned ring = i - first; ring < s.transmit_rings) {
    const cq_handle sent = n.queues_[s.receive_rings + ring];
    const bool receives = first == 0 && ring == 0;
    part(create_pair_)
        .start(*n.objects_, {{.pd = n.domain_,
                              .send_cq = sent,
                              .receive_cq = receives ? n.queues_[0] : sent,
                              .sends = s.sends,
                              .receives = receives ? s.receives : 0,
                              .gather = s.pieces},
                             n.large_sends_ ? most_header_bytes : std::uint16_t{0}});
  } else {
    using namespace rss_headers;
    constexpr unsigned tcp = ipv4 | tcp_ipv4 | ipv6 | tcp_ipv6, udp = udp_ipv4 | udp_ipv6;
    const bool has_udp = n.objects_->adapter().capabilities().has(layouts::dev_cap_flag::udp_rss);
    part(create_spreader_)
        .start(*n.objects_, {.queue = receiving,
                             .table = n.table_,
                             .count = s.receive_rings,
                             .headers = static_cast<std::uint8_t>(has_udp ? tcp | udp : tcp),
                             .key = hash_key.bytes,
                             .key_bytes = sizeof hash_key.bytes});
  }
}

/// The receive rings come first: an RSS queue pair runs only when its queues take receives.
void interface_operation::move_pair() {
  constexpr qp_state states[] = {qp_state::init, qp_state::rtr, qp_state::rts};
  interface& n = *nic_;
  const unsigned port = n.setup_.port, ring = moved_ / 3 - n.first_sender();
  const bool sends = ring < n.setup_.transmit_rings;
  connection_attributes how;
  how.address = sends ? raw_ethernet_path{.port = port} : frames_of(port);
  step_ = step::move;
  part(move_).start(*n.objects_, n.pairs_[moved_ / 3], states[moved_ % 3], how);
}

void interface_operation::create_rule() {
  interface& n = *nic_;
  const unsigned i = n.rule_count_, groups = n.setup_.filter.group_entries;
  flow_rule_attributes rule{.pair = n.receiving_pair(),
                            .port = static_cast<std::uint8_t>(n.setup_.port),
                            .domain = flow_domain::network,
                            .allow_loopback = false};
  if (i < n.own_rules + groups) {
    const std::uint64_t to = i == 0 ? n.mac_ : i == 1 ? most_mac : n.groups_[i - n.own_rules];
    rule.header_count = 1;
    rule.headers[0] = ethernet_flow{.destination = to, .destination_mask = most_mac};
  } else {
    rule.type = n.setup_.filter.promiscuous ? layouts::flow_rule_type::all_default
                                            : layouts::flow_rule_type::multicast_default;
  }
  step_ = step::rule;
  part(create_rule_).start(*n.objects_, rule);
}

void interface_operation::take_all(bool on) {
  interface& n = *nic_;
  n.steered_ = true;
  step_ = on ? step::take_all : step::take_none;
  part(take_all_).start(*n.objects_, n.setup_.port, n.receiving_pair(), on, on);
}

status interface_operation::record() {
  interface& n = *nic_;
  device& d = n.objects_->adapter();
  switch (step_) {
    case step::settings:
      settled_ = true;
      n.mac_ = d.port(n.setup_.port).mac;
      n.large_sends_ = n.setup_.large_sends && has_room_for_headers(d.capabilities());
      n.filters_ = !d.steers_by_rules();
      break;
    case step::region:
      n.region_ = create_region_.made();
      n.key_ = key_of(*n.objects_, n.region_);
      break;
    case step::queue:
      n.queues_[n.queue_count_++] = create_queue_.made();
      break;
    case step::range:
      n.range_ = create_range_.made();
      break;
    case step::pair: {
      const unsigned i = n.pair_count_++, ring = i - n.first_sender();
      if (i < n.first_sender()) n.pairs_[i] = n.table_[i] = create_receiver_.made();
      else if (ring < n.setup_.transmit_rings) n.pairs_[i] = create_pair_.made();
      else n.pairs_[i] = create_spreader_.made();
      break;
    }
    case step::move: {
      const unsigned i = moved_ / 3;
      if (moved_ % 3 == 0 && i < n.setup_.receive_rings) FREEHCA_TRY(n.post_all(i));
      // A queue pair that sends nothing stays in RTR.
      moved_ += moved_ % 3 == 1 && i - n.first_sender() >= n.setup_.transmit_rings ? 2u : 1u;
      break;
    }
    case step::rule:
      n.rules_[n.rule_count_++] = create_rule_.made();
      break;
    case step::remove_rule:
      n.rules_[--n.rule_count_] = {};
      break;
    case step::take_none:
      n.steered_ = false;
      break;
    case step::remove_pair:
      n.pairs_[--n.pair_count_] = {};
      break;
    case step::remove_range:
      n.range_ = {};
      break;
    case step::remove_queue:
      n.queues_[--n.queue_count_] = {};
      break;
    case step::remove_region:
      n.region_ = {};
      break;
    case step::close:
      n.opened_ = false;
      break;
    default:
      break;
  }
  return {};
}

// ---- The way down.

status interface_operation::go_down() {
  interface& n = *nic_;
  verbs& objects = *n.objects_;
  device& d = objects.adapter();
  const auto remove = [&](step what, auto& destruction, auto which) {
    step_ = what;
    part(destruction).start(objects, which);
    return status();
  };
  if (n.rule_count_ != 0)
    return remove(step::remove_rule, destroy_rule_, n.rules_[n.rule_count_ - 1]);
  if (n.steered_ && objects.find(n.receiving_pair()) != nullptr) {
    take_all(false);
    return {};
  }
  n.steered_ = false;
  if (n.pair_count_ != 0)
    return remove(step::remove_pair, destroy_pair_, n.pairs_[n.pair_count_ - 1]);
  if (n.range_) return remove(step::remove_range, destroy_range_, n.range_);
  if (n.queue_count_ != 0)
    return remove(step::remove_queue, destroy_queue_, n.queues_[n.queue_count_ - 1]);
  if (n.region_) return remove(step::remove_region, destroy_region_, n.region_);
  if (objects.find(n.domain_) != nullptr) FREEHCA_TRY(objects.destroy(n.domain_));
  n.domain_ = {};
  if (n.opened_ && d.port_open(n.setup_.port)) {
    step_ = step::close;
    part(port_).close(d, n.setup_.port);
  } else n.opened_ = false;
  return {};
}

}  // namespace freehca::network
