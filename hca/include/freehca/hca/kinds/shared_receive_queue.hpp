// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/srq.hpp>
#include <freehca/hal/storage.hpp>
#include <freehca/queues/srq.hpp>

#include <freehca/hca/kinds/protection_domain.hpp>
#include <freehca/hca/objects/creation.hpp>

namespace freehca {

struct shared_receive_queue_attributes {
  pd_handle pd{};
  std::uint32_t receives = 0;  ///< receives outstanding at the same time, at least
  unsigned scatter = 1;        ///< data entries of one receive
  void* cookie = nullptr;      ///< passed back in the events of the queue
};

/// A queue of receives for several queue pairs. If a queue pair is reset or destroyed while a
/// message arrives, it keeps the receive that it has taken. The user must therefore move the queue
/// pair to ERROR first and wait for its event srq_last_wqe, as the IBTA specification requires.
struct shared_receive_queue : queue_object {
  using attributes = shared_receive_queue_attributes;
  using creating = commands::sw2hw_srq;
  static constexpr kind_facts facts{.name = "shared receive queue",
                                    .item = 0x46,
                                    .numbers = &number_spaces::srqs,
                                    .group = context_group::srq,
                                    .destroying = taking_back<commands::hw2sw_srq>};

  queues::srq rings;  ///< for posting

  status plan(verbs& in, const attributes& a, creation<creating>&) {
    const capabilities& can = in.adapter().capabilities();
    if (!can.has(layouts::dev_cap_flag::srq)) return driver_error::unsupported;
    protection_domain* const domain = in.find(a.pd);
    FREEHCA_TRY(verbs::usable(domain));
    refused_attribute& note = in.refused();
    using id = attribute_id;
    const unsigned log_most = can.log_most_srq_wqes < 15 ? can.log_most_srq_wqes : 15;
    FREEHCA_TRY(note.check(id::receives, a.receives, (1u << log_most) - 1, 1));
    FREEHCA_TRY(note.check(id::scatter, a.scatter, 127));
    const queues::srq_shape s = queues::srq_shape_for(a.receives, a.scatter).value();
    FREEHCA_TRY(note.check(id::receive_wqe_bytes, std::uint64_t{1} << s.log_stride,
                           can.most_qp_wqe_bytes_rq));
    use(*domain);
    cookie = a.cookie;
    return in.plan_rings(*this, s.bytes(), layouts::rq_doorbell_record::bytes, s.entries());
  }

  status build(verbs& in, const attributes& a, creation<creating>& to) {
    using layouts::srqc;
    device& adapter = in.adapter();
    const capabilities& can = adapter.capabilities();
    const queues::srq_shape s = queues::srq_shape_for(a.receives, a.scatter).value();
    FREEHCA_TRY(rings.open({.ring = ring,
                            .shape = s,
                            .slots = storage_for<queues::posted_request>(slots.host),
                            .record = record,
                            .most_scatter = a.scatter}));
    in.shared_receive_queues().add(*this);

    // The fields are set as in Linux (6.1 mlx4/srq.c mlx4_srq_alloc).
    layouts::image<srqc> context;
    context.set<&srqc::log_srq_size>(s.log_entries).set<&srqc::srqn>(number);
    context.set<&srqc::log_srq_stride>(s.log_stride - 4u).set<&srqc::pd>(in.find(a.pd)->number);
    context.set<&srqc::log_page_size>(log_page - 12u)
        .set<&srqc::mtt_base_addr>(adapter.contexts().translation_offset(translations));
    context.set<&srqc::db_rec_addr>(record.device_address);
    // A queue without an XRC domain names the first XRC domain that is not reserved for the
    // firmware (Linux 6.1 hw/mlx4/srq.c mlx4_ib_create_srq).
    if (can.has(layouts::dev_cap_flag::xrc))
      context.set<&srqc::xrcd>(can.raw.get<&layouts::query_dev_cap::num_rsvd_xrcds>());
    to.command.aim(number);
    to.command.input = context;
    return {};
  }

  void strip(verbs& in) {
    if (number != none) in.shared_receive_queues().remove(*this);
    rings.close();
  }
  void suspend() { rings.accept(false); }
  void resume() { rings.accept(true); }

  void notice(verbs& in, const object_event& event) {
    const verbs_events& to = in.events();
    if (to.srq != nullptr) to.srq(to.context, verbs::handle_of(*this), cookie, event.type);
  }

  void end_requests(verbs& in, status why) {
    queues::work_completion completion;
    completion.status = queues::completion_status::device_reset;
    completion.opcode = queues::work_opcode::receive;
    while (const queues::posted_request* const posted = rings.retire_oldest()) {
      completion.wr_id = posted->wr_id;
      in.tell_ended({}, cookie, completion, why);
    }
  }
};
static_assert(sizeof(void*) != 8 || sizeof(shared_receive_queue) == 328);

using create_shared_receive_queue = create_object<shared_receive_queue>;
/// Fails with driver_error::busy while a queue pair refers to the queue. Posted receives are
/// dropped without a completion.
using destroy_shared_receive_queue = destroy_object<shared_receive_queue>;

/// Requests one event srq_limit (verbs_events::srq). The device raises it when fewer than `limit`
/// receives are left. If `limit` is 0, no event is requested.
class arm_shared_receive_queue : public object_operation {
 public:
  arm_shared_receive_queue() = default;
  ~arm_shared_receive_queue() { drop(); }

  void start(verbs& owner, srq_handle which, std::uint32_t limit) {
    if (startable()) start_for(owner, owner.find(which), limit);
  }

 protected:
  void start_for(verbs& owner, shared_receive_queue* queue, std::uint32_t limit) {
    status s = verbs::usable(queue);
    if (s.ok())
      s = owner.refused().check(attribute_id::srq_limit, limit, queue->rings.most_outstanding());
    if (!s.ok()) return refuse(owner, s);
    arm_.restart();
    arm_.aim(queue->number, limit);
    start_command(*queue, step::modify, arm_, nullptr);
  }

 private:
  firmware_command<commands::arm_srq> arm_{std::uint32_t{0}, std::uint32_t{0}};
};

}  // namespace freehca
