// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Receive work queues, and the queue pair that distributes frames among them.
#include <freehca/layouts/bit_operations.hpp>

#include <freehca/hca/kinds/rss_queue_pair.hpp>

namespace freehca {

using namespace layouts;

namespace {

constexpr std::uint32_t key_bytes = 40;

/// Checks the number of entries of an indirection table. Linux has the same limit (6.1 mlx4/fw.c
/// mlx4_QUERY_DEV_CAP, max_rss_tbl_sz).
status check_table(verbs& in, std::uint32_t count) {
  const image<query_dev_cap>& can = in.adapter().capabilities().raw;
  refused_attribute& note = in.refused();
  if ((count & (count - 1)) != 0) return note.refuse(attribute_id::table_entries, count, count);
  return note.check(attribute_id::table_entries, count,
                    1u << can.get<&query_dev_cap::log_max_rss_tbl_sz>(), 1);
}

constexpr queue_pair_service frames_service{.code = qp_service::mlx,
                                            .header_bytes = 0,
                                            .most_message_bytes = 0,
                                            .opcodes = 0,
                                            .to = {},
                                            .path = &write_raw_ethernet};

}  // namespace

status receive_queue_range::plan(verbs& in, const attributes& a, creation<creating>&) {
  FREEHCA_TRY(check_table(in, a.count));
  number_count = static_cast<std::uint16_t>(a.count);
  left = a.count;
  return {};
}

status receive_work_queue::plan(verbs& in, const attributes& a, creation<creating>&) {
  receive_queue_range* const from = in.find(a.range);
  FREEHCA_TRY(verbs::usable(from));
  if (a.queue.shared) return driver_error::unsupported;
  FREEHCA_TRY(queue_pair::plan(in, a.queue, &frames_service));
  if (from->left == 0) return status(driver_error::no_resource, from->facts.item);
  use(*from);
  number_count = 0;
  device_number = from->number + from->number_count - from->left;
  --from->left;
  return {};
}

status rss_queue_pair::plan(verbs& in, const attributes& a, creation<creating>&) {
  using r = rss_context;
  refused_attribute& note = in.refused();
  const capabilities& can = in.adapter().capabilities();
  const bool toeplitz = a.hash == rss_hash::toeplitz;
  const bool udp = (a.headers & (rss_headers::udp_ipv4 | rss_headers::udp_ipv6)) != 0;
  if (!(toeplitz ? can.raw.get<&query_dev_cap::rss_toeplitz>()
                 : can.raw.get<&query_dev_cap::rss_xor>()) ||
      (udp && !can.has(dev_cap_flag::udp_rss)) || a.queue.shared)
    return driver_error::unsupported;
  FREEHCA_TRY(check_table(in, a.table != nullptr ? a.count : 0));
  FREEHCA_TRY(note.check(attribute_id::receives, a.queue.receives, 0));
  FREEHCA_TRY(note.check(attribute_id::default_queue, a.default_queue, a.count - 1));
  if (toeplitz)
    FREEHCA_TRY(note.check(attribute_id::hash_key_bytes, a.key != nullptr ? a.key_bytes : 0,
                           key_bytes, key_bytes));
  // Linux does not hash by ports without the addresses (6.1 hw/mlx4/qp.c set_qp_rss).
  const unsigned h = a.headers, for_ports = h << 1,
                 needed = ((for_ports | h << 4) & rss_headers::ipv4) |
                          ((for_ports | h << 3) & rss_headers::ipv6);
  if ((needed & ~h) != 0 || h > 0x3f) return note.refuse(attribute_id::hash_headers, h, h);
  FREEHCA_TRY(queue_pair::plan(in, a.queue, &frames_service));
  rss = &spreading;
  receive_work_queue** place = &first;
  for (std::uint32_t number_of_first = 0; count < a.count; ++count) {
    receive_work_queue* const queue = in.find(a.table[count]);
    FREEHCA_TRY(verbs::usable(queue));
    if (count == 0) number_of_first = queue->number & ~(a.count - 1);
    if (queue->number != number_of_first + count)
      return note.refuse(attribute_id::table_order, queue->number, number_of_first + count);
    *place = queue;
    place = &queue->following;
    ++queue->users;
  }
  const std::uint32_t base = first->number;
  spreading = {};
  spreading.set<&r::log_size>(bit_width(count) - 1)
      .set<&r::base_qpn>(base)
      .set<&r::default_qpn>(base + a.default_queue)
      .set<&r::hash>(a.hash)
      .set<&r::base_qpn_udp>(udp ? base : 0);
  // The bits of rss_headers are those of the context.
  spreading.data()[row_of<&r::udp_ipv6>.offset + 3] = static_cast<std::byte>(a.headers);
  if (toeplitz) spreading.set_bytes<&r::key>(reinterpret_cast<const std::byte*>(a.key));
  return {};
}

void rss_queue_pair::strip(verbs& in) {
  for (receive_work_queue* queue = first; count != 0; queue = queue->following, --count)
    --queue->users;
  queue_pair::strip(in);
}

}  // namespace freehca
