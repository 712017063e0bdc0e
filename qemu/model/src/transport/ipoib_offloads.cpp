// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/ipoib_offloads.hpp"

#include "frames/checksum.hpp"
#include "frames/segmentation.hpp"
#include "tables/memory_regions.hpp"

namespace freehca::model {

std::optional<failure> ipoib_offloads::make_segment(const queue_pair& qp, const send_request& r,
                                                    std::vector<std::byte>& payload) const {
  const auto cut = segmentation::of_ipoib(r.large->header, static_cast<std::size_t>(r.data.size()),
                                          r.large->mss);
  if (!cut) {
    rules_.because(
        "an LSO header of %zu bytes and mss %u; wanted: IPoIB's header, and TCP or UDP over IP to "
        "its end",
        r.large->header.size(), unsigned{r.large->mss});
    return failures::local_qp_operation;
  }
  const segmentation::piece piece = cut->payload_of(r.next_packet);
  std::vector<std::byte> data(piece.bytes);
  if (!data.empty() && r.data.gather(regions_, qp.owner, piece.offset, data.data(), data.size()) !=
                           access_result::ok)
    return failures::local_protection;
  payload = cut->segment(r.next_packet, data).bytes;
  return std::nullopt;
}

void ipoib_offloads::put_checksums(const send_request& r, std::span<std::byte> payload) const {
  if (!profile_.ipoib_checksums || (!r.ip_checksum && !r.l4_checksum)) return;
  account_.charge_check(payload.size());
  const auto v = frame_view::of_ipoib(payload);
  if (!v) return;
  if (r.l4_checksum) put_l4_checksum(payload, v->outer);
  if (r.ip_checksum) put_ipv4_checksum(payload, v->outer);
}

std::optional<receive_checks> ipoib_offloads::checks_of(std::span<const std::byte> payload) const {
  if (!profile_.ipoib_checksums) return std::nullopt;
  const auto v = frame_view::of_ipoib(payload);
  if (!v) return std::nullopt;
  account_.charge_check(payload.size());
  return check(*v, v->outer);
}

}  // namespace freehca::model
