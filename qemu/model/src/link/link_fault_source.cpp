// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "link/link_fault_source.hpp"

#include <span>

#include <freehca/layouts/headers.hpp>
#include <freehca/packets/packet_crc.hpp>

namespace freehca::model {

void link_fault_source::set(const link_faults& how) {
  how_ = how;
  state_ = how.seed;
}

/// SplitMix64: any seed is good, 0 too.
std::uint64_t link_fault_source::draw() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

bool link_fault_source::happens(std::uint32_t rate) {
  return rate != 0 && draw() % link_faults::always < rate;
}

void link_fault_source::damage(std::vector<std::byte>& bytes) {
  const std::uint64_t bit = draw() % (bytes.size() * 8);
  bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  ++corrupted_;
  if (reseals_ == resealing::never) return;
  const bool resealed = draw() % 2 != 0;
  const std::size_t covered = bytes.size() - layouts::vcrc_bytes;
  if (!resealed || bit / 8 >= covered) return;
  const std::uint16_t crc = packets::variant_crc(std::span(bytes).first(covered));
  bytes[covered] = static_cast<std::byte>(crc & 0xff);
  bytes[covered + 1] = static_cast<std::byte>(crc >> 8);
}

link_fault_source::fate link_fault_source::decide(std::vector<std::byte>& bytes, bool can_hold) {
  fate f;
  f.lost = happens(how_.loss);
  if (f.lost) {
    ++lost_;
    return f;
  }
  if (happens(how_.corruption)) damage(bytes);
  f.twice = happens(how_.duplication);
  doubled_ += f.twice;
  f.held_back = !f.twice && happens(how_.reordering) && can_hold;
  reordered_ += f.held_back;
  return f;
}

void link_fault_source::count_in(counter_registry& registry, const std::string& name) const {
  registry.add(name + "_fault_lost", lost_);
  registry.add(name + "_fault_corrupted", corrupted_);
  registry.add(name + "_fault_duplicated", doubled_);
  registry.add(name + "_fault_reordered", reordered_);
}

}  // namespace freehca::model
