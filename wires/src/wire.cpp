// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/wires/wire.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include <freehca/wires/datagram_wire.hpp>
#include <freehca/wires/frame_wire.hpp>
#include <freehca/wires/stream_wire.hpp>

namespace freehca::wires {
namespace {

struct two_ends {
  std::string local, remote;
};

// Returns false and a message if the text has one end.
bool read_ends(const std::string& text, two_ends& to, std::string& why) {
  for (const char* option : {",secret=", ",name="})
    if (text.find(option) != std::string::npos) {
      why = fmt::format("dgram:local={}: only a stream has secret= and name=", text);
      return false;
    }
  const std::string remote = ",remote=";
  const std::size_t comma = text.find(remote);
  if (comma == std::string::npos) {
    why = fmt::format(
        "dgram:local={}: a wire of datagrams has two ends: dgram:local=ADDRESS,remote=ADDRESS",
        text);
    return false;
  }
  to = {text.substr(0, comma), text.substr(comma + remote.size())};
  return true;
}

std::unique_ptr<wire> datagrams(const std::string& text, std::string& why) {
  two_ends ends;
  return read_ends(text, ends, why) ? datagram_wire::make(ends.local, ends.remote, why) : nullptr;
}

std::unique_ptr<wire> adopt_datagrams(const std::string& text, handed_wire& from,
                                      std::string& why) {
  two_ends ends;
  return read_ends(text, ends, why) ? datagram_wire::adopt(ends.local, ends.remote, from, why)
                                    : nullptr;
}

struct kind {
  std::string_view beginning;
  bool frames_alone;
  std::unique_ptr<wire> (*make)(const std::string& rest, std::string& why);
  /// For a wire with a process of its own, in place of `make`.
  std::unique_ptr<wire> (*make_process)(const std::string& rest, closed_process::mode closed,
                                        std::string& why);
  std::unique_ptr<wire> (*adopt)(const std::string& rest, handed_wire& from, std::string& why);
};
constexpr kind kinds[] = {
    {"stream:listen=", false, stream_wire::listen, nullptr, stream_wire::adopt_listener},
    {"stream:connect=", false, stream_wire::connect, nullptr, stream_wire::adopt_caller},
    {"dgram:local=", false, datagrams, nullptr, adopt_datagrams},
    {"tap:", true, frame_wire::tap, nullptr, frame_wire::adopt_tap},
    {"user:", true, nullptr, frame_wire::user, frame_wire::adopt_user},
};

// Returns null if there is no such kind.
const kind* kind_of(const std::string& text) {
  const auto found =
      std::ranges::find_if(kinds, [&](const kind& one) { return text.starts_with(one.beginning); });
  return found == std::end(kinds) ? nullptr : &*found;
}

// Adds the colon to the kind whose options may be left out together with it.
std::string written_out(const std::string& text) {
  return text == "user" ? "user:" : text;
}

}  // namespace

std::unique_ptr<wire> make_wire(const std::string& text, std::string& why,
                                closed_process::mode closed) {
  const std::string whole = written_out(text);
  if (const kind* found = kind_of(whole)) {
    const std::string rest = whole.substr(found->beginning.size());
    return found->make != nullptr ? found->make(rest, why) : found->make_process(rest, closed, why);
  }
  why = fmt::format(
      "{}: none, stream:listen=ADDRESS, stream:connect=ADDRESS, "
      "dgram:local=ADDRESS,remote=ADDRESS, tap:ifname=NAME or user",
      text);
  return nullptr;
}

std::unique_ptr<wire> adopt_wire(const std::string& text, handed_wire from, std::string& why) {
  const std::string whole = written_out(text);
  const kind* found = kind_of(whole);
  if (found != nullptr) return found->adopt(whole.substr(found->beginning.size()), from, why);
  why = fmt::format("{}: there is no such wire", text);
  return nullptr;
}

bool carries_frames_alone(const std::string& text) {
  const kind* found = kind_of(written_out(text));
  return found != nullptr && found->frames_alone;
}

}  // namespace freehca::wires
