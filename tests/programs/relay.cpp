// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// freehca_program_relay FABRIC pass|alter|damage: a port of the fabric between two processes, each
// of which takes it for the other one. Writes its LID, reads a line "REQUESTER TARGET PSN OFFSET",
// and forwards packets until its input ends. In the request with that PSN it changes the payload
// byte at that offset:
//   alter   each time, with both CRCs right: no adapter can find that.
//   damage  the first time, with a right VCRC and a wrong ICRC.
// At the end it writes how many packets it has forwarded and changed.
#include <poll.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <freehca/layouts/headers.hpp>
#include <freehca/packets/wire_form.hpp>
#include <freehca/wires_shm/fabric_port.hpp>

namespace {

using namespace freehca;
using layouts::bth;
using layouts::image;
using layouts::lrh;

struct plan {
  unsigned requester = 0, target = 0, psn = 0, offset = 0;
};

class relay {
 public:
  relay(wires::fabric_port& port, std::string_view how, const plan& change)
      : port_(port), how_(how), plan_(change) {}

  /// Forwards the packet that has arrived. Returns false if there is none, or no room for it.
  bool forward() {
    if (held_.empty()) {
      const std::span<const std::byte> arrived = port_.receive();
      if (arrived.empty()) return false;
      held_ = changed(arrived);
      port_.release();
      if (held_.empty()) return true;
    } else if (!port_.has_room_again()) {
      return false;
    }
    if (!port_.send(held_.data(), held_.size())) return false;
    held_.clear();
    ++forwarded;
    return true;
  }

  unsigned forwarded = 0, altered = 0;

 private:
  /// The packet with its new addresses. Empty: it goes to nobody.
  std::vector<std::byte> changed(std::span<const std::byte> arrived) {
    if (packets::check(arrived) != packets::arrival::good) return {};
    const auto content = packets::content_of(arrived);
    std::vector<std::byte> made(content.begin(), content.end());
    auto route = image<lrh>::from_bytes(made.data());
    const auto transport = image<bth>::from_bytes(made.data() + lrh::bytes);
    const bool request = route.get<&lrh::slid>() == plan_.requester;
    if (!request && route.get<&lrh::slid>() != plan_.target) return {};
    route.set<&lrh::slid>(port_.lid());
    route.set<&lrh::dlid>(request ? plan_.target : plan_.requester);
    std::memcpy(made.data(), route.data(), lrh::bytes);

    const std::size_t place = lrh::bytes + bth::bytes + plan_.offset;
    const bool meant = request && transport.get<&bth::psn>() == plan_.psn && place < made.size() &&
                       how_ != "pass" && (how_ != "damage" || altered == 0);
    constexpr std::byte change{1};
    if (meant) ++altered;
    if (meant && how_ == "alter") made[place] ^= change;
    std::vector<std::byte> wire = packets::to_wire(std::move(made));
    if (meant && how_ == "damage") {
      wire[place] ^= change;
      packets::renew_variant_crc(wire);
    }
    return wire;
  }

  wires::fabric_port& port_;
  const std::string how_;
  const plan plan_;
  std::vector<std::byte> held_;
};

bool input_has_ended() {
  pollfd input{0, POLLIN, 0};
  return poll(&input, 1, 0) > 0;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  std::string why;
  const std::unique_ptr<wires::fabric_port> port = wires::fabric_port::join(words[1], why);
  if (port == nullptr) {
    std::fprintf(stderr, "relay: %s\n", why.c_str());
    return 1;
  }
  std::printf("lid %u\n", unsigned{port->lid()});
  std::fflush(stdout);
  plan instructions;
  if (std::scanf("%u %u %u %u%*c", &instructions.requester, &instructions.target, &instructions.psn,
                 &instructions.offset) != 4)
    return 1;
  std::printf("ready\n");
  std::fflush(stdout);
  relay between(*port, words[2], instructions);
  constexpr std::uint64_t nap = 10'000'000;  // nanoseconds
  while (!input_has_ended())
    if (!between.forward()) port->sleep(nap);
  std::printf("forwarded %u\naltered %u\n", between.forwarded, between.altered);
  return 0;
}
