// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/wires/wire.hpp>

#include <fmt/format.h>

#include <freehca/wires/datagram_wire.hpp>
#include <freehca/wires/frame_wire.hpp>
#include <freehca/wires/stream_wire.hpp>

namespace freehca::wires {

std::unique_ptr<wire> make_wire(const std::string& text, std::string& why) {
  const auto behind = [&](const std::string& beginning) { return text.substr(beginning.size()); };
  const std::string listen = "stream:listen=", connect = "stream:connect=", local = "dgram:local=",
                    remote = ",remote=", tap = "tap:", user = "user:";
  std::unique_ptr<wire> made;
  if (text.starts_with(listen)) {
    made = stream_wire::listen(behind(listen), why);
  } else if (text.starts_with(connect)) {
    made = stream_wire::connect(behind(connect), why);
  } else if (const std::size_t comma = text.find(remote);
             text.starts_with(local) && comma != std::string::npos) {
    made = datagram_wire::make(text.substr(local.size(), comma - local.size()),
                               text.substr(comma + remote.size()), why);
  } else if (text.starts_with(tap)) {
    made = frame_wire::tap(behind(tap), why);
  } else if (text == "user" || text.starts_with(user)) {
    made = frame_wire::user(text == "user" ? "" : behind(user), why);
  } else {
    why = fmt::format(
        "{}: none, stream:listen=ADDRESS, stream:connect=ADDRESS, "
        "dgram:local=ADDRESS,remote=ADDRESS, tap:ifname=NAME or user",
        text);
  }
  return made;
}

bool carries_frames_alone(const std::string& text) {
  return text.starts_with("tap:") || text == "user" || text.starts_with("user:");
}

}  // namespace freehca::wires
