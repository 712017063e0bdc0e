// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "fabric/rmpp_sender.hpp"

#include <algorithm>

namespace freehca::model {

using namespace layouts;

std::uint64_t rmpp_sender::segments_of(std::size_t payload_bytes) {
  return std::max<std::uint64_t>(1, (payload_bytes + segment_bytes - 1) / segment_bytes);
}

const char* rmpp_sender::transfer::broken_invariant() const {
  constexpr std::uint64_t greatest_length = 0xffffffff;  // of sa_mad::payload_length
  if (!fits_headers(way)) return "a number does not fit in the headers of a packet";
  if (segments != segments_of(payload.size())) return "the payload has another number of segments";
  if (payload.size() + segments * header_bytes > greatest_length) return "the payload is too long";
  if (acknowledged > sent || sent > segments) return "more segments are sent than there are";
  return tries < tries_at_most ? nullptr : "it was sent too often";
}

void rmpp_sender::start(const mad_packet& way, const image<sa_mad>& header,
                        std::vector<std::byte> payload) {
  const key k{way.dlid, way.dest_qp, header.get<&sa_mad::tid>()};
  drop(k);
  // Who asks for more at a time has to ask again.
  if (transfers_.size() == transfers_at_most) return;
  transfer t;
  t.way = way;
  t.header = header;
  t.segments = segments_of(payload.size());
  t.payload = std::move(payload);
  t.number = next_number_++;
  transfers_.emplace(k, std::move(t));
  send_window(k);
}

void rmpp_sender::send_window(const key& k) {
  transfer& t = transfers_.at(k);
  const std::uint64_t last = std::min(t.window_last, t.segments);
  work_.cancel(t.again);
  while (t.sent < last) {
    send_segment(t, ++t.sent);
    if (!account_.slice_over() || t.sent == last) continue;
    t.again = work_.soon({.kind = next_slice, .value = t.number});
    return;
  }
  t.again = work_.after(resend_after_ns, {.kind = resend, .value = t.number});
}

void rmpp_sender::run_item(work_item& what) {
  const auto found = std::find_if(transfers_.begin(), transfers_.end(), [&what](const auto& each) {
    return each.second.number == what.value;
  });
  if (found == transfers_.end()) return;
  const key k = found->first;
  found->second.again = {};
  if (what.kind == resend) nobody_acknowledged(k, found->second);
  else send_window(k);
}

void rmpp_sender::nobody_acknowledged(const key& k, transfer& t) {
  if (++t.tries == tries_at_most) return drop(k);
  t.sent = t.acknowledged;
  send_window(k);
}

void rmpp_sender::send_segment(const transfer& t, std::uint64_t number) {
  const std::size_t from = (number - 1) * segment_bytes;
  const std::size_t bytes = std::min(segment_bytes, t.payload.size() - from);
  const bool first = number == 1, last = number == t.segments;
  image<sa_mad> m = t.header;
  // The first segment tells the length of all, with each one's class header; the last tells its
  // own.
  const std::size_t length = first  ? t.payload.size() + t.segments * header_bytes
                             : last ? bytes + header_bytes
                                    : 0;
  m.set<&sa_mad::version>(rmpp_version)
      .set<&sa_mad::type>(rmpp_type::data)
      .set<&sa_mad::response_time>(rmpp_no_response_time)
      .set<&sa_mad::flags>(rmpp_flag::active | (first ? rmpp_flag::first : 0u) |
                           (last ? rmpp_flag::last : 0u))
      .set<&sa_mad::segment_number>(number)
      .set<&sa_mad::payload_length>(length);
  mad_packet p = t.way;
  std::copy_n(m.data(), p.mad.size(), p.mad.begin());
  std::copy_n(t.payload.begin() + static_cast<std::ptrdiff_t>(from), bytes,
              p.mad.begin() + sa_mad{}.data.offset);
  send_(p);
}

void rmpp_sender::receive(const mad_packet& m) {
  const auto in = image<sa_mad>::from_bytes(m.mad.data());
  const key k{m.slid, m.source_qp, in.get<&sa_mad::tid>()};
  const auto found = transfers_.find(k);
  if (found == transfers_.end()) return;
  if (in.get<&sa_mad::type>() != rmpp_type::ack) return drop(k);
  transfer& t = found->second;
  const auto acknowledged = in.get<&sa_mad::segment_number>();
  const auto window_last = in.get<&sa_mad::payload_length>();
  if (acknowledged > t.sent || window_last < acknowledged) return;
  if (acknowledged > t.acknowledged) t.tries = 0;
  t.acknowledged = std::max(t.acknowledged, acknowledged);
  t.window_last = std::max(t.window_last, window_last);
  if (t.acknowledged == t.segments) return drop(k);
  send_window(k);
}

void rmpp_sender::drop(const key& k) {
  const auto found = transfers_.find(k);
  if (found == transfers_.end()) return;
  work_.cancel(found->second.again);
  transfers_.erase(found);
}

void rmpp_sender::clear() {
  for (auto& [k, t] : transfers_) work_.cancel(t.again);
  transfers_.clear();
}

}  // namespace freehca::model
