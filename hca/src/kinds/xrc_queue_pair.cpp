// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/xrc_queue_pair.hpp>

#include <freehca/hal/storage.hpp>

namespace freehca {

using namespace layouts;

status xrc_queue_pair::plan(verbs& in, const attributes& a, creation<creating>& to) {
  const capabilities& can = in.adapter().capabilities();
  if (!can.has(dev_cap_flag::xrc)) return driver_error::unsupported;
  // Numbers of queue pairs would have the bit that marks XRC targets.
  if (in.adapter().opened_with().log_qps > 23) return driver_error::unsupported;
  xrc_domain* const of = in.find(a.domain);
  if (a.domain) {
    refused_attribute& note = in.refused();
    FREEHCA_TRY(verbs::usable(of));
    FREEHCA_TRY(note.check(attribute_id::sends, a.sends, 0));
  }
  // The transitions and the WQEs are those of a reliable connection.
  FREEHCA_TRY(queue_pair::plan(in,
                               {.pd = a.pd,
                                .send_cq = a.cq,
                                .receive_cq = a.cq,
                                .sends = a.sends,
                                .gather = a.gather,
                                .inline_bytes = a.inline_bytes,
                                .cookie = a.cookie,
                                .masked_atomics = a.masked_atomics},
                               to));
  std::uint64_t opcodes = opcodes_of(*service, can);
  if (!a.masked_atomics) opcodes &= ~queues::opcodes_of_masked_atomics();
  own_ = *service;
  own_.code = qp_service::xrc;
  own_.opcodes = of != nullptr ? 0 : queues::opcodes_of_xrc(opcodes);
  service = &own_;
  // Without a receive queue, the context has no doorbell record (Linux 6.1 hw/mlx4/qp.c
  // __mlx4_ib_modify_qp).
  receive_shape = {};
  record = {};
  ring.bytes = send_shape.bytes();
  domain_ = of;
  xrcd = 0;
  if (of == nullptr) return {};
  use(*of);
  xrcd = static_cast<std::uint16_t>(of->number);
  return {};
}

status xrc_queue_pair::build(verbs& in, const attributes& a, creation<creating>&) {
  if (is_target()) number |= xrc_target_qpn_bit;
  queues::qp_rings& found = is_target() ? target_ : rings;
  rings.qpn = 0;
  found.qpn = number;
  found.owner = static_cast<queue_object*>(this);
  found.failed = &failed;
  FREEHCA_TRY(rings.send.open({.ring = ring,
                               .shape = send_shape,
                               .slots = storage_for<queues::posted_request>(slots.host),
                               .uar = in.uar().doorbells,
                               .qpn = number,
                               .most_gather = a.gather,
                               .most_inline = a.inline_bytes,
                               .most_message_bytes = in.adapter().capabilities().most_message_bytes,
                               .opcodes = own_.opcodes}));
  return in.queue_pairs().add(found);
}

void xrc_queue_pair::strip(verbs& in) {
  if (number != none) in.queue_pairs().remove(target_);
  queue_pair::strip(in);
  domain_ = nullptr;
}

/// An error of a send or of a receive moves the queue pair to the error state, as that of a
/// reliable connection.
void xrc_queue_pair::failed(queues::qp_rings& rings, bool) noexcept {
  auto& pair = static_cast<queue_pair&>(*static_cast<queue_object*>(rings.owner));
  if (pair.qp_state != layouts::qp_state::reset) pair.qp_state = layouts::qp_state::error;
}

}  // namespace freehca
