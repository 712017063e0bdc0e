// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/drop_log.hpp"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <string>

#include "ports/ports.hpp"
#include "queues/explanations.hpp"
#include "transport/transport_counters.hpp"

namespace freehca::model {

void drop_log::drop(const transport_packet& v, const char* format, ...) {
  ++counters_.packets_dropped;
  if (!rules_.explains_drop()) return;
  std::array<char, 240> text;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  rules_.explain(remark_kind::packet_dropped, words_for(v) + ": dropped", {"", text.data()});
}

void drop_log::drop_malformed(unsigned port, const packet& p) {
  ++counters_.packets_dropped;
  if (!rules_.explains_drop()) return;
  rules_.explain(remark_kind::packet_dropped,
                 "port " + std::to_string(port) + ": a packet was dropped",
                 {"", links_.codec(port).why_not(p)});
}

}  // namespace freehca::model
