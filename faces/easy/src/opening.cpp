// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/easy/adapter.hpp>

namespace freehca::easy {

using layouts::qp_state;

namespace {

constexpr unsigned most_service_level = 15;
constexpr unsigned pkeys_of_block = 32;  // P_KeyTable, IBTA 14.2.5.7

/// Returns the number of completions that the queue can contain if no completion is polled: one for
/// each request of full rings.
result<std::uint32_t> completions_for(layouts::qp_service service,
                                      const connection_options& options) {
  const auto send = queues::sq_shape_for(options.sends, options.entries, options.inline_bytes,
                                         service_of(service)->header_bytes);
  if (!send.ok()) return send.error();
  const auto receive = queues::rq_shape_for(options.receives, options.entries);
  if (!receive.ok()) return receive.error();
  return static_cast<std::uint32_t>(send.value().entries()) + receive.value().entries();
}

/// Returns the PSN of the first packet. It is unlikely to be that of an earlier connection with the
/// same QPN.
std::uint32_t first_psn(std::uint64_t now, std::uint32_t qpn) {
  constexpr std::uint32_t spread = 0x9e3779b1;  // 2^32 divided by the golden ratio
  return (static_cast<std::uint32_t>(now >> 10) ^ qpn * spread) & 0xffffff;
}

}  // namespace

void opening::start(adapter& hca, layouts::qp_service service, const connection_options& options) {
  if (!startable()) return;
  device& adapter = hca.hardware();
  if (!hca.up()) return refuse(hca, driver_error::bad_state);
  if (options.port < 1 || options.port > adapter.capabilities().ports)
    return refuse(hca, driver_error::bad_argument);
  const port_attributes& port = adapter.port(options.port);
  how_ = options;
  service_ = service;
  made_ = 0;
  subject = {};
  route_ = infiniband_path{.port = options.port};
  result_value.self = {};
  if (port.link_layer != layouts::port_type::ib) {
    const status s =
        hca.ethernet_ != nullptr ? hca.ethernet_(hca, *this) : driver_error::unsupported;
    if (!s.ok()) return refuse(hca, s);
  } else if (options.sl > most_service_level || options.pkey_index >= port.pkey_table_length) {
    return refuse(hca, driver_error::bad_argument);
  } else if (!port.active()) {
    return refuse(hca, driver_error::bad_state);
  }
  const auto completions = completions_for(service, options);
  if (!completions.ok()) return refuse(hca, completions.error());
  begin_in(hca, &advance);
  // A completion context with an event owner does not report to the control owner.
  unsigned context = 0;
  while (context < adapter.completion_contexts() && adapter.has_owner(context)) ++context;
  part(create_completions_)
      .start(hca.objects(), {.entries = completions.value(), .completion_context = context});
}

void opening::advance(stepper& s, status outcome) noexcept {
  auto& self = static_cast<opening&>(s);
  if (outcome.ok() && self.made_ == 0) self.subject = self.create_completions_.made();
  connection_object* const p = self.found();
  if (self.undoing()) {
    if (p != nullptr) self.owner().leave(*p);
    return self.complete(self.why());
  }
  if (outcome.ok() && p == nullptr) outcome = driver_error::stale_handle;
  if (outcome.ok()) {
    ++self.made_;
    if (self.made_ == 1) self.owner().connections_.push_back(*p);
    if (self.made_ == 2) p->pair = self.pair_handle = self.create_pair_.made();
    outcome = self.stop_reason();
  }
  if (outcome.ok()) outcome = self.go_on(*p);
  if (!outcome.ok()) self.undo(outcome);
}

status opening::go_on(connection_object& of) {
  verbs& objects = owner().objects();
  const cq_handle completions = subject;
  if (made_ == 1) {
    part(create_pair_)
        .start(objects, {.pd = owner().domain(),
                         .send_cq = completions,
                         .receive_cq = completions,
                         .service = service_,
                         .sends = how_.sends,
                         .receives = how_.receives,
                         .gather = how_.entries,
                         .scatter = how_.entries,
                         .inline_bytes = how_.inline_bytes});
  } else if (made_ == 2 && route_.infiniband() != nullptr) {
    part(pkeys_).start(owner().hardware().commands(), how_.port, how_.pkey_index / pkeys_of_block);
  } else if (made_ <= 3) {
    made_ = 3;
    if (route_.infiniband() != nullptr) FREEHCA_TRY(describe());
    const device& adapter = owner().hardware();
    peer& self = result_value.self;
    of.route = settings.address = route_;
    self.qpn = qpn_of(objects, pair_handle);
    self.psn = first_psn(adapter.platform().now(), self.qpn);
    self.qkey = how_.qkey;
    self.mtu = adapter.port(how_.port).active_mtu;
    self.sl = how_.sl;
    settings.remote_read = has(how_.allowed, rights::remote_read);
    settings.remote_write = has(how_.allowed, rights::remote_write);
    settings.remote_atomic = has(how_.allowed, rights::remote_atomic);
    settings.qkey = how_.qkey;
    settings.send_psn = self.psn;
    settings.pkey_index = how_.pkey_index;
    move(qp_state::init);
  } else if (service_ == layouts::qp_service::ud && target != qp_state::rts) {
    // A queue pair for datagrams goes on to RTS, because it needs no peer.
    move(target == qp_state::init ? qp_state::rtr : qp_state::rts);
  } else {
    result_value.pair = pair_handle;
    result_value.completions = completions;
    result_value.objects = &objects;
    end_work({});
  }
  return {};
}

status opening::describe() {
  const port_attributes& port = owner().hardware().port(how_.port);
  peer& self = result_value.self;
  self.pkey = pkeys_.pkey(how_.pkey_index % pkeys_of_block);
  // The entry of the table is empty. No packet would belong to this connection (IBTA 10.9.1).
  if ((self.pkey & 0x7fff) == 0) return driver_error::bad_argument;
  self.lid = port.lid;
  self.gid = gid_of(port.subnet_prefix, port.guid);
  return {};
}

void opening::undo(status why) {
  connection_object* const p = found();
  if (p == nullptr) return complete(why);
  if (!dropped()) {
    begin_undoing(why);
    return part(close_).start(owner(), *p);
  }
  owner().leave(*p);
  complete(why);
}

}  // namespace freehca::easy
