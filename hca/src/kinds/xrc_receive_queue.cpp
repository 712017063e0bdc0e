// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// XRC domains, their receive queues, and the completions of these queues.
#include <freehca/hca/kinds/xrc_receive_queue.hpp>

namespace freehca {

using namespace layouts;

namespace {

/// Returns the XRC receive queue that has the object, or null if the object is of another kind.
xrc_receive_queue* xrc_receive_queue_of(object_record* object) {
  const bool is = object != nullptr && object->what->identity == &identity_of<xrc_receive_queue>;
  return is ? static_cast<xrc_receive_queue*>(object) : nullptr;
}

}  // namespace

status xrc_domain::build(verbs& in, const attributes&) {
  const capabilities& can = in.adapter().capabilities();
  if (!can.has(dev_cap_flag::xrc)) return status(driver_error::unsupported, facts.item);
  // The first domain that is not reserved is that of all shared receive queues without XRC (Linux
  // 6.1 mlx4/pd.c mlx4_init_xrcd_table).
  const auto first = static_cast<std::uint32_t>(can.raw.get<&query_dev_cap::num_rsvd_xrcds>()) + 1;
  const auto log_most = static_cast<unsigned>(can.raw.get<&query_dev_cap::log_max_xrcds>());
  // Each owner has numbers of its own. A number costs nothing, because the device has no memory of
  // domains. The context of a queue pair has 16 bits for it.
  const std::uint32_t place = index & ((std::uint32_t{1} << slab::place_bits) - 1);
  const std::uint32_t named = first + (in.owner_index() << log_domains_of_owner) + place;
  if (place >> log_domains_of_owner != 0 || named >> (log_most < 16 ? log_most : 16) != 0)
    return status(driver_error::no_resource, facts.item);
  number = named;
  return {};
}

status xrc_receive_queue::plan(verbs& in, const attributes& a, creation<creating>& to) {
  xrc_domain* const of = in.find(a.domain);
  xrc_completion_queue* const completions = in.find(a.cq);
  FREEHCA_TRY(verbs::usable(of));
  FREEHCA_TRY(verbs::usable(completions));
  FREEHCA_TRY(shared_receive_queue::plan(
      in, {.pd = a.pd, .receives = a.receives, .scatter = a.scatter, .cookie = a.cookie}, to));
  use(*of);
  use(*completions);
  cq = completions;
  return {};
}

status xrc_receive_queue::build(verbs& in, const attributes& a, creation<creating>& to) {
  FREEHCA_TRY(shared_receive_queue::build(
      in, {.pd = a.pd, .receives = a.receives, .scatter = a.scatter, .cookie = a.cookie}, to));
  named.owner = static_cast<queue_object*>(this);
  named.shared = &rings;
  to.command.input.set<&srqc::xrcd>(in.find(a.domain)->number).set<&srqc::cqn>(cq->number);
  return {};
}

void xrc_receive_queue::strip(verbs& in) {
  if (cq != nullptr && number != none) cq->rings.forget_named(number);
  cq = nullptr;
  shared_receive_queue::strip(in);
}

inline queues::qp_rings* xrc_completion_queue::rings_of(std::uint32_t srqn) {
  // The device may name any queue.
  xrc_receive_queue* const queue = xrc_receive_queue_of(owner->shared_receive_queues().find(srqn));
  return queue != nullptr && queue->cq == this ? &queue->named : nullptr;
}

unsigned xrc_completion_queue::take(queues::work_completion* to, unsigned most) {
  const auto named = [this](std::uint32_t srqn) { return rings_of(srqn); };
  return most == 1 && rings.take_named_receive(*to, named) ? 1 : take_any(to, most);
}

unsigned xrc_completion_queue::take_any(queues::work_completion* to, unsigned most) {
  const auto named = [](void* self, std::uint32_t srqn) {
    return static_cast<xrc_completion_queue*>(self)->rings_of(srqn);
  };
  const unsigned taken = rings.take_named(to, most, named, this);
  for (unsigned i = 0; i < taken; ++i) {
    using enum queues::completion_status;
    const queues::work_completion& done = to[i];
    if (done.ok() || !done.is_receive() || done.status == flushed || done.status == implausible)
      continue;
    queues::qp_rings* const target = owner->queue_pairs().find(done.qpn());
    if (target != nullptr && target->failed != nullptr) target->failed(*target, false);
  }
  return taken;
}

void xrc_completion_queue::hand_over(verbs& in) {
  if (!rings.is_open()) return;
  queues::work_completion done;
  // The number of entries bounds the loop, whatever the ring contains.
  for (std::uint32_t n = 0; n < rings.entries() && take(&done, 1) == 1; ++n) {
    auto& from = *static_cast<queue_object*>(done.queue->owner);
    const bool is_named = xrc_receive_queue_of(&from) != nullptr;
    in.tell_ended(is_named ? qp_handle{} : qp_handle{from.index, from.generation}, from.cookie,
                  done, {});
  }
}

}  // namespace freehca
