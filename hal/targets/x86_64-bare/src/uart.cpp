// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The serial line: a 16550 at COM1, 115200 8n1 (National Semiconductor PC16550D data sheet).
#include "x86.hpp"

namespace freehca::bare {

namespace {

constexpr std::uint16_t com1 = 0x3f8;
constexpr std::uint16_t line_status = com1 + 5;
constexpr std::uint8_t holding_empty = 0x20;
constexpr std::uint8_t data_ready = 0x01;
constexpr std::uint8_t damage = 0x1e;  // overrun, parity, framing, break
constexpr std::uint8_t absent = 0xff;  // as a port reads that has nothing behind it
// A byte takes 87 us at this rate, a read of a port about 1 us.
constexpr unsigned most_looks = 10'000;

bool opened = false;
bool stopped = false;  // it was waited for in vain: the limit is for all text, not for each byte

void open() {
  opened = true;
  x86::out8(com1 + 1, 0x00);  // no interrupts
  x86::out8(com1 + 3, 0x80);  // the divisor
  x86::out8(com1 + 0, 0x01);
  x86::out8(com1 + 1, 0x00);
  x86::out8(com1 + 3, 0x03);  // 8n1
  x86::out8(com1 + 2, 0x07);  // FIFOs on and empty
}

}  // namespace

void machine::put(char c) noexcept {
  if (!opened) open();
  unsigned looks = stopped ? 1 : most_looks;
  for (; looks != 0 && (x86::in8(line_status) & holding_empty) == 0; --looks) pause();
  stopped = looks == 0;
  x86::out8(com1, static_cast<std::uint8_t>(c));
}

bool machine::get(char* to) noexcept {
  if (!opened) open();
  const std::uint8_t said = x86::in8(line_status);
  if ((said & data_ready) == 0 || said == absent) return false;
  const std::uint8_t came = x86::in8(com1);
  *to = (said & damage) == 0 ? static_cast<char>(came) : '\0';
  return true;
}

}  // namespace freehca::bare
