// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/loopback_traffic/report.hpp>

#include <fmt/format.h>

#include <freehca/blocking/words.hpp>

namespace freehca::loopback_traffic {

using blocking::words;

nlohmann::json to_json(const traffic_result& r) {
  nlohmann::json j = {{"ok", r.ok()},
                      {"mtu", r.mtu},
                      {"bytes", r.bytes},
                      {"packets",
                       {{"rc_send_packets", r.expected.sends},
                        {"rc_write_packets", r.expected.writes},
                        {"rc_read_requests", r.expected.read_requests},
                        {"rc_read_responses", r.expected.read_responses}}}};
  for (const tally& t : r.tallies)
    j["messages"].push_back(
        {{"kind", name_of(t.kind)}, {"bytes", t.bytes}, {"verified", t.messages}});
  if (!r.outcome.ok()) j["error"] = words(r.outcome);
  if (!r.wrong.empty()) j["wrong"] = r.wrong;
  return j;
}

std::string to_text(const traffic_result& r) {
  std::string t = fmt::format("traffic    {:<24} {:>10} {:>9}\n", "kind", "bytes", "verified");
  for (const tally& l : r.tallies)
    t += fmt::format("           {:<24} {:>10} {:>9}\n", name_of(l.kind), l.bytes, l.messages);
  t += fmt::format(
      "           {} bytes in all; packets at MTU {}: {} send, {} write, {} read requests, {} read "
      "responses\n",
      r.bytes, r.mtu, r.expected.sends, r.expected.writes, r.expected.read_requests,
      r.expected.read_responses);
  if (!r.outcome.ok()) t += "           ended: " + words(r.outcome) + "\n";
  if (!r.wrong.empty()) t += "           WRONG: " + r.wrong + "\n";
  return t;
}

}  // namespace freehca::loopback_traffic
