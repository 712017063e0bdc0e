// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include "basis/adapter.hpp"
#include "link/wire.hpp"

namespace freehca::model {

struct transport_counters;

/// Packets that go no further on their way in: counted, and told why.
class drop_log {
 public:
  drop_log(adapter& a, transport_counters& counters) : a_(a), counters_(counters) {}

  /// A packet that came by `port`.
  [[gnu::format(printf, 4, 5)]] void drop(unsigned port, const packet_view& v, const char* format,
                                          ...);
  /// One whose headers make no sense.
  void drop_malformed(unsigned port, const packet& p);

 private:
  adapter& a_;
  transport_counters& counters_;
};

}  // namespace freehca::model
