// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The time stamp counter, whose rate is measured against the 8254 timer's counter 0 (1193182 Hz in
// every PC), else taken from CPUID.
#include <freehca/texts/text.hpp>

#include "x86.hpp"

namespace freehca::bare {

namespace {

constexpr std::uint64_t timer_hz = 1'193'182;
constexpr std::uint16_t timer_data = 0x40, timer_control = 0x43;
constexpr std::uint8_t counter_0_rate = 0x34, counter_0_latch = 0x00;
constexpr std::uint32_t measured_ticks = 11'932;  // 10 ms
constexpr unsigned most_looks = 1'000'000;

std::uint64_t begin = 0;
std::uint64_t factor = 0;  // nanoseconds in a tick, times 2^32
char text[100];

std::uint64_t ticks() {
  std::uint32_t low, high;
  __asm__ __volatile__("lfence\n\trdtsc" : "=a"(low), "=d"(high)::"memory");
  return std::uint64_t{high} << 32 | low;
}

std::uint16_t timer() {
  x86::out8(timer_control, counter_0_latch);
  const unsigned low = x86::in8(timer_data);
  return static_cast<std::uint16_t>(low | unsigned{x86::in8(timer_data)} << 8);
}

/// 0: there is no such timer.
std::uint64_t measured_hz() {
  x86::out8(timer_control, counter_0_rate);
  x86::out8(timer_data, 0);
  x86::out8(timer_data, 0);
  const std::uint64_t from = ticks();
  std::uint16_t last = timer();
  std::uint32_t passed = 0;
  for (unsigned i = 0; i < most_looks; ++i) {
    const std::uint16_t now = timer();
    passed += static_cast<std::uint16_t>(last - now);
    last = now;
    if (passed >= measured_ticks) return (ticks() - from) * timer_hz / passed;
  }
  return 0;
}

/// Intel's leaves: the crystal's rate and the ratio to it, or the nominal rate.
std::uint64_t told_hz() {
  const std::uint32_t last = x86::cpuid(0).a;
  if (last >= 0x15) {
    const x86::identification i = x86::cpuid(0x15);
    if (i.a != 0 && i.b != 0 && i.c != 0) return std::uint64_t{i.c} * i.b / i.a;
  }
  return last >= 0x16 ? std::uint64_t{x86::cpuid(0x16).a & 0xffff} * 1'000'000 : 0;
}

}  // namespace

trouble x86::start_clock() {
  const std::uint64_t measured = measured_hz();
  const std::uint64_t hz = measured != 0 ? measured : told_hz();
  if (hz == 0)
    return {
        "starting the clock", "nothing tells the rate of the time stamp counter",
        "the machine needs an 8254 timer, or a processor whose CPUID leaf 0x15 or 0x16 tells it",
        driver_error::unsupported};
  factor = (std::uint64_t{1'000'000'000} << 32) / hz;
  begin = ticks();
  text_writer to(text);
  to << "time stamp counter, ";
  to.decimal(hz / 1'000'000) << " MHz, "
                             << (measured != 0 ? "measured against the 8254 timer"
                                               : "as CPUID tells it");
  return {};
}

std::uint64_t machine::now() noexcept {
  __extension__ using wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<wide>(ticks() - begin) * factor >> 32);
}

const char* machine::clock_text() noexcept {
  return text;
}

}  // namespace freehca::bare
