// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "ports/far_end.hpp"

#include <string>
#include <utility>

#include <freehca/layouts/ethernet.hpp>
#include <freehca/packets/link_packets.hpp>

#include "ports/cable.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

constexpr std::size_t least_frame_bytes = ethernet_addresses::bytes + sizeof(std::uint16_t);

}  // namespace

far_end::far_end(scheduler& schedule, rule_book& rules, counter_registry& counters, unsigned number,
                 std::function<void()> changed)
    : schedule_(schedule),
      rules_(rules),
      work_(schedule, "far end of port " + std::to_string(number), *this),
      number_(number),
      changed_(std::move(changed)) {
  counters.add("port" + std::to_string(number) + "_foreign_packets", foreign_);
}

bool far_end::passes(std::span<const std::byte> bytes, link_layer own) {
  const auto link = packets::link_packet_of(bytes);
  if (link) {
    heard_at_ = schedule_.now();
    infiniband_speaks(link->get<&link_packet::op>() != link_packet_op::no_signal);
  } else if (!infiniband_ && bytes.size() >= least_frame_bytes) {
    frames_ = true;
  }
  const bool of_infiniband = link || infiniband_;
  if (of_infiniband == (own == link_layer::infiniband)) return true;
  ++foreign_;
  if (rules_.explains_drop())
    rules_.explain(remark_kind::packet_dropped,
                   "port " + std::to_string(number_) + ": what came out of the cable was dropped",
                   {"", of_infiniband ? "InfiniBand speaks there, and the port is Ethernet"
                                      : "a frame, and the port is InfiniBand"});
  return false;
}

void far_end::infiniband_speaks(bool speaks) {
  if (speaks && !silence_) listen(cable_silence_ns);
  if (!speaks) schedule_.cancel(silence_);
  frames_ = false;
  if (std::exchange(infiniband_, speaks) != speaks) changed_();
}

void far_end::listen(std::uint64_t for_ns) {
  silence_ = work_.after(for_ns, {.kind = end_of_patience});
}

void far_end::run_item(work_item&) {
  silence_ = {};
  const std::uint64_t silent = schedule_.now() - heard_at_;
  if (silent < cable_silence_ns) listen(cable_silence_ns - silent);
  else infiniband_speaks(false);
}

std::optional<link_layer> far_end::heard() const {
  if (infiniband_) return link_layer::infiniband;
  if (frames_) return link_layer::ethernet;
  return std::nullopt;
}

void far_end::clear() {
  schedule_.cancel(silence_);
  frames_ = false;
  if (std::exchange(infiniband_, false)) changed_();
}

}  // namespace freehca::model
