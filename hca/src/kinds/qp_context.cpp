// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The contexts of a queue pair's transitions, as Linux 6.1 fills them (hw/mlx4/qp.c
// __mlx4_ib_modify_qp). common() sets the fields that all services have. The service adds its own
// fields.
#include "qp_context.hpp"

namespace freehca {

using namespace layouts;

namespace {

image<qpc> common(const queue_pair& pair, qp_state to) {
  image<qpc> c;
  c.set<&qpc::state>(to)
      .set<&qpc::service>(pair.service->code)
      .set<&qpc::pm_state>(path_migration::migrated);
  c.set<&qpc::pd>(pair.domain->number)
      .set<&qpc::usr_page>(pair.owner->uar().index)
      .set<&qpc::local_qpn>(pair.number);
  c.set<&qpc::log_sq_size>(pair.send_shape.log_entries)
      .set<&qpc::log_sq_stride>(pair.send_shape.log_stride - 4u);
  if (pair.shared != nullptr) {
    c.set<&qpc::no_rq>(true).set<&qpc::ric>(true);
    c.set<&qpc::srq>(true).set<&qpc::srqn>(pair.shared->number);
  } else {
    c.set<&qpc::log_rq_size>(pair.receive_shape.log_entries)
        .set<&qpc::log_rq_stride>(pair.receive_shape.log_stride - 4u);
  }
  // Without this bit the device refuses fast registration, whatever the opcodes are. Linux 6.1 sets
  // the bit for every queue pair of the kernel.
  c.set<&qpc::fre>((pair.service->opcodes(pair.owner->adapter().capabilities()) &
                    queues::opcodes_of_memory_management()) != 0);
  c.set<&qpc::cqn_send>(pair.send_cq->number).set<&qpc::cqn_recv>(pair.receive_cq->number);
  if (to != qp_state::init) return c;
  if (pair.shared == nullptr) c.set<&qpc::db_rec_addr>(pair.record.device_address);
  c.set<&qpc::log_page_size>(pair.log_page - 12u)
      .set<&qpc::mtt_base>(pair.owner->adapter().contexts().translation_offset(pair.translations));
  return c;
}

}  // namespace

result<image<qp_mailbox>> qp_mailbox_for(const queue_pair& pair, qp_state to,
                                         const connection_attributes& a) {
  const capabilities& can = pair.owner->adapter().capabilities();
  if (const status s = check_port(a.address.port, can); !s.ok()) return s;
  if (a.pkey_index >= 128 || !pair.service->check(a, to, can))
    return status(driver_error::bad_argument);
  image<qpc> c = common(pair, to);
  c.set<&primary_path::pkey_index>(a.pkey_index);
  image<qp_mailbox> mailbox;
  mailbox.set<&qp_mailbox::opt_param_mask>(pair.service->fill(c, a, to, can));
  mailbox.set_bytes<&qp_mailbox::context>(c.data());
  return mailbox;
}

}  // namespace freehca
