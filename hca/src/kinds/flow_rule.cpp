// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/flow_rule.hpp>

namespace freehca {

using namespace layouts;

namespace {

/// How a header is written.
struct written_header {
  flow_header_id what;
  std::uint8_t place;  ///< 0: the link's, 1: IP, 2: its ports
  std::uint8_t bytes;
  std::uint8_t row_count;
  const field_row* rows;
};

#define FREEHCA_FLOW(member, field) FREEHCA_FIELD(flow, member, &header::field)
constexpr auto ethernet_rows = [] {
  using flow = ethernet_flow;
  using header = flow_header_ethernet;
  return fields_of<header>(
      FREEHCA_FIELD_AS(flow, destination, &header::dmac, attribute_id::dmac),
      FREEHCA_FIELD_AS(flow, destination_mask, &header::dmac_mask, attribute_id::dmac),
      FREEHCA_FIELD_AS(flow, source, &header::smac, attribute_id::rule_smac),
      FREEHCA_FIELD_AS(flow, source_mask, &header::smac_mask, attribute_id::rule_smac),
      FREEHCA_FLOW(by_ether_type, ether_type_valid), FREEHCA_FLOW(ether_type, ether_type),
      FREEHCA_FLOW(vlan_mask, vlan_mask), FREEHCA_FLOW(vlan, vlan));
}();
constexpr auto ipv4_rows = [] {
  using flow = ipv4_flow;
  using header = flow_header_ipv4;
  return fields_of<header>(FREEHCA_FLOW(destination, destination),
                           FREEHCA_FLOW(destination_mask, destination_mask),
                           FREEHCA_FLOW(source, source), FREEHCA_FLOW(source_mask, source_mask));
}();
constexpr auto port_rows = [] {
  using flow = tcp_flow;
  using header = flow_header_ports;
  return fields_of<header>(FREEHCA_FLOW(destination, destination),
                           FREEHCA_FLOW(destination_mask, destination_mask),
                           FREEHCA_FLOW(source, source), FREEHCA_FLOW(source_mask, source_mask));
}();
constexpr auto infiniband_rows = [] {
  using flow = infiniband_flow;
  using header = flow_header_infiniband;
  return fields_of<header>(FREEHCA_FLOW(qpn, qpn), FREEHCA_FLOW(qpn_mask, qpn_mask));
}();
constexpr auto control_rows = [] {
  using flow = flow_rule_attributes;
  using header = flow_rule_control;
  return fields_of<header>(FREEHCA_FLOW(priority, priority), FREEHCA_FLOW(type, type),
                           FREEHCA_FLOW(allow_loopback, allow_loopback),
                           FREEHCA_FLOW(exclusive, exclusive), FREEHCA_FLOW(port, port));
}();
#undef FREEHCA_FLOW

status written(const field_row* rows, std::uint32_t count, const void* from, std::byte* to,
               refused_attribute& note) {
  return freehca::detail::copy_fields(rows, count, static_cast<std::byte*>(const_cast<void*>(from)),
                                      to, &note);
}

// The two GIDs of the header of InfiniBand are copied as they are.
static_assert(flow_header_infiniband{}.dgid.offset + sizeof(gid) ==
                  flow_header_infiniband{}.dgid_mask.offset &&
              offsetof(infiniband_flow, destination) + sizeof(gid) ==
                  offsetof(infiniband_flow, destination_mask));

constexpr written_header written_headers[] = {
    {flow_header_id::ethernet, 0, flow_header_ethernet::bytes, 8, ethernet_rows.rows},
    {flow_header_id::infiniband, 0, flow_header_infiniband::bytes, 2, infiniband_rows.rows},
    {flow_header_id::ipv4, 1, flow_header_ipv4::bytes, 4, ipv4_rows.rows},
    {flow_header_id::tcp, 2, flow_header_ports::bytes, 4, port_rows.rows},
    {flow_header_id::udp, 2, flow_header_ports::bytes, 4, port_rows.rows},
};

}  // namespace

// ---- Commands.

flow_rule_change::flow_rule_change() = default;
flow_rule_change::~flow_rule_change() {
  drop();
}

void flow_rule_change::refuse(verbs& owner, status why) {
  owner.reactor_->refuse(*this, why);
}

void flow_rule_change::begin_change(flow_rule& rule, bool creates) {
  rule_ = &rule;
  rule.in_creation_ = creates;
  rule.state = creates ? object_record::phase::creating : object_record::phase::destroying;
  begin_parts(&advance);
  rule.owner->reactor_->watch(*this);
  command_request& r = part(command_).request = {};
  r.opcode = commands::qp_flow_steering_detach::code;
  commands::qp_flow_steering_detach::aim(r, rule.registration);
  if (creates) {
    r.opcode = commands::qp_flow_steering_attach::code;
    r.lane = lane::bulk;
    r.input = command_request::form::mailbox;
    r.input_modifier = bytes_ / 4u;
    r.input_data = input_;
    r.input_bytes = bytes_;
    r.output = command_request::form::immediate;
  }
  command_.put_at_risk(rule.at_risk_);
  rule.owner->adapter().commands().submit(command_);
}

void flow_rule_change::advance(stepper& self, status outcome) noexcept {
  using enum object_record::phase;
  auto& o = static_cast<flow_rule_change&>(self);
  flow_rule& rule = *o.rule_;
  const bool was_reset = rule.state == forgotten;
  if (rule.at_risk_.in_doubt()) {
    rule.state = was_reset           ? doubtful_forgotten
                 : rule.in_creation_ ? doubtful_creation
                                     : doubtful_destruction;
    return o.complete(outcome);
  }
  if (was_reset) {
    if (outcome.ok()) outcome = transport_error::reset;
    rule.owner->release(rule);
  } else if (rule.in_creation_ && outcome.ok() && !o.dropped()) {
    rule.registration = o.command_.output_immediate();
    o.made_ = verbs::handle_of(rule);
    rule.state = live;
  } else {
    rule.ended(outcome.ok());
  }
  o.complete(outcome);
}

/// Ends a command. If a removal was `done`, or a creation was not, the device does not have the
/// rule.
void flow_rule::ended(bool done) {
  if (done != in_creation_) owner->release(*this);
  else state = done ? phase::held_until_reset : phase::live;
}

void flow_rule::settled(lease&, const settlement& end, void* self) noexcept {
  auto& rule = *static_cast<flow_rule*>(self);
  if (rule.state == phase::doubtful_forgotten) return rule.owner->release(rule);
  // verbs::forget() follows, and releases the rule.
  if (end.by_reset) rule.state = phase::live;
  else rule.ended(end.answer.ok());
}

// ---- Creation.

/// Writes the rule into input_.
status create_flow_rule::write(verbs& owner, const flow_rule_attributes& a, std::uint32_t qpn) {
  const device& d = owner.adapter();
  refused_attribute& note = owner.refused();
  const bool regular = a.type == flow_rule_type::regular;
  const auto type = static_cast<unsigned>(a.type);
  FREEHCA_TRY(note.check(attribute_id::port, a.port, d.capabilities().ports, 1));
  FREEHCA_TRY(note.check(attribute_id::priority, a.priority, a.most_priority));
  constexpr unsigned types = 1u << static_cast<unsigned>(flow_rule_type::regular) |
                             1u << static_cast<unsigned>(flow_rule_type::all_default) |
                             1u << static_cast<unsigned>(flow_rule_type::multicast_default);
  if (type > 31 || (types >> type & 1) == 0 ||
      (!regular && d.port(a.port).link_layer != port_type::ethernet))
    return note.refuse(attribute_id::rule_type, type, type);
  FREEHCA_TRY(note.check(attribute_id::rule_headers, a.header_count, regular ? a.most_headers : 0,
                         regular));
  using control = flow_rule_control;
  __builtin_memset(input_, 0, sizeof input_);
  image<control> head;
  FREEHCA_TRY(written(control_rows.rows, 5, &a, head.data(), note));
  // The domain is in the upper bits of the priority.
  head.set<&control::priority>(a.priority | static_cast<unsigned>(a.domain))
      .set<&control::qpn>(qpn);
  __builtin_memcpy(input_, head.data(), control::bytes);
  std::byte* at = input_ + control::bytes;
  for (unsigned i = 0; i < a.header_count; ++i) {
    const flow_part& h = a.headers[i];
    const auto id = static_cast<std::uint32_t>(h.what);
    const written_header* how = written_headers;
    while (how->what != h.what || how->place != i)
      if (++how == written_headers + sizeof written_headers / sizeof *how)
        return note.refuse(attribute_id::rule_header, id, id);
    if (h.what == flow_header_id::ethernet) {
      // 4095 is reserved (IEEE 802.1Q).
      FREEHCA_TRY(
          note.check(attribute_id::vlan, h.ethernet.vlan | (h.ethernet.vlan_mask & 0xf000u), 4094));
      // A group is no source (IEEE 802.3).
      if (is_multicast_mac(h.ethernet.source))
        return note.refuse(attribute_id::rule_smac, h.ethernet.source, h.ethernet.source);
    }
    if (h.what == flow_header_id::infiniband)
      __builtin_memcpy(at + flow_header_infiniband{}.dgid.offset, &h.infiniband, 2 * sizeof(gid));
    FREEHCA_TRY(written(how->rows, how->row_count, &h.ethernet, at, note));
    const auto first = image<flow_header>{}
                           .set<&flow_header::words>(how->bytes / 4u)
                           .set<&flow_header::id>(h.what);
    __builtin_memcpy(at, first.data(), flow_header::bytes);
    at += how->bytes;
  }
  bytes_ = static_cast<std::uint16_t>(at - input_);
  return {};
}

void create_flow_rule::start_creation(verbs& owner, const kind& what,
                                      const flow_rule_attributes& a) {
  made_ = {};
  queue_pair* const pair = owner.find(a.pair);
  status s = owner.is_control_owner() && owner.adapter().steers_by_rules()
                 ? verbs::usable(pair)
                 : driver_error::unsupported;
  if (s.ok()) s = write(owner, a, pair->number);
  if (!s.ok()) return refuse(owner, s);
  const result<object_record*> taken = owner.take(what);
  if (!taken.ok()) return refuse(owner, taken.error());
  auto& rule = static_cast<flow_rule&>(*taken.value());
  rule.use(*pair);
  rule.users = 1;  // the device has it: verbs::destroy() refuses
  begin_change(rule, true);
}

void destroy_flow_rule::start(verbs& owner, flow_rule_handle which) {
  if (!startable()) return;
  flow_rule* const rule = owner.find(which);
  if (const status s = verbs::usable(rule); !s.ok()) return refuse(owner, s);
  begin_change(*rule, false);
}

}  // namespace freehca
