// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A guest that knows nothing of the adapter's state: it uses everything that the device offers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <freehca/layouts/doorbell.hpp>
#include <freehca/layouts/hcr.hpp>
#include <freehca/layouts/register_map.hpp>
#include <freehca/model/device.hpp>

namespace freehca::model::test {

class blind_guest {
 public:
  struct arrival {
    unsigned port = 1;
    std::vector<std::byte> bytes;
  };

  /// `advance` lets the clock run so many nanoseconds further, and the timers that expire.
  blind_guest(device& d, std::function<std::uint64_t()> random,
              std::function<void(std::uint64_t)> advance)
      : hca_(d), random_(std::move(random)), advance_(std::move(advance)) {}

  /// Bus addresses that are memory.
  std::uint64_t memory = 0, memory_bytes = 4096;
  /// Numbers of queue pairs and of other objects: these and the next ones.
  std::vector<std::uint32_t> numbers{0};
  /// What may come by the cables.
  std::vector<arrival> packets;
  std::uint32_t uar = 0;  ///< the page of most doorbells

  void act(unsigned actions) {
    for (; actions != 0; --actions) {
      switch (below(10)) {
        case 0:
        case 1:
          ring();
          break;
        case 2:
        case 3:
        case 4:
          if (!packets.empty()) arrive();
          break;
        case 5:
        case 6:
          command();
          break;
        case 7:
          look();
          break;
        case 8:
          seldom();
          break;
        default:
          break;
      }
      constexpr std::uint64_t steps[] = {0, 100, 10'000, 1'000'000, 100'000'000, 5'000'000'000};
      advance_(steps[below(std::size(steps))]);
    }
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  std::uint32_t number() {
    return numbers[below(numbers.size())] + static_cast<std::uint32_t>(below(8));
  }
  std::uint64_t page() { return memory + (below(memory_bytes) & ~std::uint64_t{4095}); }

  void ring() {
    namespace places = layouts::uar;
    const std::uint64_t page = std::uint64_t{below(4) == 0 ? below(256) : uar} * places::page_size;
    switch (below(5)) {
      case 0:
        hca_.write_uar(page + places::cq_doorbell, random_(), 8);
        break;
      case 1:
        hca_.write_uar(page % 0x20000 + places::eq_doorbell + 8 * below(4), random_(), 4);
        break;
      case 2:
        hca_.write_uar(hca_.how().uar_bar_bytes / 2 + page + (below(512) & ~std::uint64_t{7}),
                       random_(), 8);
        break;
      case 3:
        hca_.look_at_uar(uar, below(2) == 0, below(2) == 0);
        break;
      default:
        hca_.write_uar(page + places::send_doorbell, layouts::send_doorbell_word(number()), 4);
    }
  }
  void arrive() {
    arrival a = packets[below(packets.size())];
    if (below(4) == 0 && !a.bytes.empty())
      a.bytes[below(a.bytes.size())] = static_cast<std::byte>(random_());
    if (below(16) == 0) a.port ^= 3;
    hca_.link_receive(a.port, a.bytes.data(), a.bytes.size());
  }
  void command() {
    using layouts::hcr;
    layouts::image<hcr> h;
    const bool immediate = below(4) == 0;
    h.set<&hcr::in_param>(immediate ? random_() : page())
        .set<&hcr::in_modifier>(below(8) == 0 ? random_() & 0xffffffff : number())
        .set<&hcr::out_param>(page())
        .set<&hcr::token>(below(2) == 0 ? 0xffff : below(0x10000));
    h.set<&hcr::go>(true)
        .set<&hcr::e>(below(4) == 0)
        .set<&hcr::t>(toggle_)
        .set<&hcr::opcode_modifier>(below(4))
        .set<&hcr::opcode>(static_cast<layouts::opcode>(below(0x80)));
    toggle_ = !toggle_;
    for (std::uint32_t at = 0; at < hcr::bytes; at += 4)
      hca_.write_registers(layouts::bar0::hcr + at, layouts::load_be<std::uint32_t>(h.data() + at),
                           4);
  }
  void look() {
    const auto ignore_page = [](const uar_page&, void*) {};
    const auto ignore_remark = [](const remark&, void*) {};
    constexpr const char* kinds[] = {"qp:", "cq:", "eq:", "srq:", "mpt:"};
    std::string text;
    reception filter;
    port_view view;
    counter c{};
    switch (below(6)) {
      case 0:
        for (std::size_t i = 0; hca_.counter_at(i, c); ++i) continue;
        break;
      case 1:
        hca_.dump(kinds[below(std::size(kinds))] + std::to_string(number()), text);
        break;
      case 2:
        for (const unsigned port : {1u, 2u}) hca_.receives(port, filter), hca_.view(port, view);
        break;
      case 3:
        hca_.uar_pages(ignore_page, nullptr);
        hca_.remarks(ignore_remark, nullptr);
        break;
      case 4:
        hca_.read_registers(below(layouts::bar0::size) & ~std::uint64_t{3}, 4);
        break;
      default:
        hca_.state_digest();
    }
  }
  void seldom() {
    const auto port = static_cast<std::uint8_t>(1 + below(2));
    switch (below(6)) {
      case 0:
        hca_.plug_cable(port, below(2) == 0);
        break;
      case 1:
        hca_.link_has_room(port);
        break;
      case 2:
        hca_.raise_event({static_cast<layouts::event_type>(below(0x30)),
                          static_cast<std::uint8_t>(below(32)), port});
        break;
      case 3:
        hca_.save();
        break;
      case 4:
        if (below(8) == 0) hca_.fail();
        break;
      default:
        hca_.release_held_commands();
    }
  }

  device& hca_;
  std::function<std::uint64_t()> random_;
  std::function<void(std::uint64_t)> advance_;
  bool toggle_ = false;
};

}  // namespace freehca::model::test
