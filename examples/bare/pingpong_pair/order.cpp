// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "order.hpp"

#include <freehca/bare/typed_line.hpp>

namespace freehca::bare {

namespace {

constexpr std::uint32_t most_messages_each_way = 1'000'000;
// IBTA 1.3, 4.1.1: unicast LIDs. QPs 0 and 1 are for management; QPNs and PSNs have 24 bits.
constexpr std::uint64_t last_unicast_lid = 0xbfff, first_qpn = 2;

}  // namespace

const char* read_order(const char* text, std::uint32_t most_bytes, pair_order* to) {
  words from(text);
  to->client = from.take("client");
  if (!to->client && !from.take("server")) return "it begins with neither server nor client";
  std::uint64_t size = 0, count = 0, lid = 0, qpn = 0, psn = 0, high = 0, low = 0;
  if (!from.take_number(1, most_bytes, &size))
    return "its size is no number of bytes, or more than a message may have";
  if (!from.take_number(1, most_messages_each_way, &count))
    return "its count is no number from 1 to 1000000";
  if (from.done()) return "it has no address";
  if (!from.take_digits(4, &lid) || !from.take_mark(':') || lid == 0 || lid > last_unicast_lid)
    return "its address does not begin with a LID: four digits, 0001 to bfff, and a colon";
  if (!from.take_digits(6, &qpn) || !from.take_mark(':') || qpn < first_qpn)
    return "its address has no QPN behind the LID: six digits, 000002 or more, and a colon";
  if (!from.take_digits(6, &psn) || !from.take_mark(':'))
    return "its address has no PSN behind the QPN: six digits and a colon";
  if (!from.take_digits(16, &high) || !from.take_digits(16, &low))
    return "its address has no GID at the end: 32 digits";
  if (high != 0 || low != 0)
    return "its address has a GID, which asks for routing: leave the option -g away";
  if (!from.done()) return "something follows its address";
  to->size = static_cast<std::uint32_t>(size);
  to->count = static_cast<std::uint32_t>(count);
  to->to = {static_cast<std::uint16_t>(lid), static_cast<std::uint32_t>(qpn),
            static_cast<std::uint32_t>(psn)};
  return nullptr;
}

}  // namespace freehca::bare
