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
  if (!hca.up()) return refuse(hca, driver_error::bad_state);
  if (options.port < 1 || options.port > hca.device_.capabilities().ports)
    return refuse(hca, driver_error::bad_argument);
  const port_attributes& port = hca.device_.port(options.port);
  if (port.link_layer != layouts::port_type::ib) return refuse(hca, driver_error::unsupported);
  if (options.sl > most_service_level || options.pkey_index >= port.pkey_table_length)
    return refuse(hca, driver_error::bad_argument);
  if (!port.active()) return refuse(hca, driver_error::bad_state);
  const auto completions = completions_for(service, options);
  if (!completions.ok()) return refuse(hca, completions.error());
  place_ = hca.take_place();
  if (place_ == nullptr)
    return refuse(hca, status(driver_error::no_resource, queue_pair::facts.item));
  how_ = options;
  service_ = service;
  self_ = {};
  to_ = qp_state::reset;
  place_->worked_on = true;
  place_->allowed = options.allowed;
  place_->port = static_cast<std::uint8_t>(options.port);
  place_->pkey_index = options.pkey_index;
  begin_in(hca, &advance);
  // A completion context with an event owner does not report to the control owner.
  unsigned context = 0;
  while (context < hca.device_.completion_contexts() && hca.device_.has_owner(context)) ++context;
  part(create_completions_)
      .start(hca.verbs_,
             {.entries = completions.value(), .completion_context = context, .cookie = place_});
}

void opening::advance(stepper& s, status outcome) noexcept {
  auto& self = static_cast<opening&>(s);
  if (self.undone(outcome)) return;
  if (!outcome.ok()) return self.undo(outcome);
  place& p = *self.place_;
  const bool has_completions = static_cast<bool>(p.completions);
  const bool has_pair = static_cast<bool>(p.pair);
  if (!has_completions) p.completions = self.create_completions_.made();
  else if (!has_pair) p.pair = self.create_pair_.made();
  if (!self.stop_reason().ok()) return self.undo(self.stop_reason());
  if (!has_completions) return self.make_pair();
  if (!has_pair) return self.read_partition();
  if (self.to_ == qp_state::reset) {
    self.self_.pkey = self.pkeys_.pkey(self.how_.pkey_index % pkeys_of_block);
    // The entry of the table is empty. No packet would belong to this connection (IBTA 10.9.1).
    if ((self.self_.pkey & 0x7fff) == 0) return self.undo(driver_error::bad_argument);
    return self.move(qp_state::init);
  }
  // A queue pair for datagrams goes on to RTS, because it needs no peer.
  if (self.service_ != layouts::qp_service::ud || self.to_ == qp_state::rts) return self.succeed();
  self.move(self.to_ == qp_state::init ? qp_state::rtr : qp_state::rts);
}

void opening::make_pair() {
  part(create_pair_)
      .start(owner().verbs_, {.pd = owner().domain_,
                              .send_cq = place_->completions,
                              .receive_cq = place_->completions,
                              .service = service_,
                              .sends = how_.sends,
                              .receives = how_.receives,
                              .gather = how_.entries,
                              .scatter = how_.entries,
                              .inline_bytes = how_.inline_bytes});
}

void opening::read_partition() {
  part(pkeys_).start(owner().device_.commands(), how_.port, how_.pkey_index / pkeys_of_block);
}

void opening::move(qp_state to) {
  adapter& hca = owner();
  if (to == qp_state::init) {
    const port_attributes& port = hca.device_.port(how_.port);
    self_.qpn = qpn_of(hca.verbs_, place_->pair);
    self_.psn = first_psn(hca.setup_.platform.now(), self_.qpn);
    self_.lid = port.lid;
    self_.gid = gid_of(port.subnet_prefix, port.guid);
    self_.qkey = how_.qkey;
    self_.mtu = port.active_mtu;
    self_.sl = how_.sl;
  }
  connection_attributes a;
  a.remote_read = has(how_.allowed, rights::remote_read);
  a.remote_write = has(how_.allowed, rights::remote_write);
  a.remote_atomic = has(how_.allowed, rights::remote_atomic);
  a.qkey = how_.qkey;
  a.send_psn = self_.psn;
  a.pkey_index = how_.pkey_index;
  a.address.port = how_.port;
  to_ = to;
  part(modify_).start(hca.verbs_, place_->pair, to, a);
}

void opening::succeed() {
  const verbs& objects = owner().verbs_;
  place& p = *place_;
  p.queues = objects.find(p.pair);
  p.completed = objects.find(p.completions);
  bring({.self = self_,
         .pair = p.pair,
         .completions = p.completions,
         .where = place_,
         .serial = p.serial});
  end_work({});
}

}  // namespace freehca::easy
