// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include "basis/rule_book.hpp"
#include "link/packet.hpp"
#include "link/transport_packet.hpp"

namespace freehca::model {

class ports;
struct transport_counters;

/// Packets that go no further on their way in: counted, and told why.
class drop_log {
 public:
  drop_log(rule_book& rules, const ports& links, transport_counters& counters)
      : rules_(rules), links_(links), counters_(counters) {}

  [[gnu::format(printf, 3, 4)]] void drop(const transport_packet& v, const char* format, ...);
  /// A packet that came by `port`, and whose headers make no sense.
  void drop_malformed(unsigned port, const packet& p);

 private:
  rule_book& rules_;
  const ports& links_;
  transport_counters& counters_;
};

}  // namespace freehca::model
