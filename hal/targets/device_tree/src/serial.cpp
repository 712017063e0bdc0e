// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/device_tree/serial.hpp>

namespace freehca::device_tree {

// PL011: Arm DDI 0183, 3.3.1 UARTDR (errors beside the byte, bits 8 to 11), 3.3.3 UARTFR (TXFF,
// bit 5; RXFE, bit 4). 16550: TI PC16550D, 8.0, THR, RBR and LSR (THRE, bit 5; DR, bit 0; errors,
// bits 1 to 4); the offsets count registers, which "reg-shift" sets apart (Linux
// Documentation/devicetree/bindings/serial/8250.yaml).
const serial_line::shape serial_line::shapes[] = {
    {"arm,pl011", 0x00, 0x18, 0x20, false, 0x10, false, 0xf00, true},
    {"ns16550a", 0, 5, 0x20, true, 0x01, true, 0x1e, false},
    {"ns16550", 0, 5, 0x20, true, 0x01, true, 0x1e, false},
    {"snps,dw-apb-uart", 0, 5, 0x20, true, 0x01, true, 0x1e, false},
};

namespace {

constexpr unsigned most_looks = 1'000'000;  // at a line that is stopped: some tenths of a second

}

status serial_line::find(const tree& in) {
  node n;
  status s = in.find_console(n);
  for (const shape& known : shapes)
    if (s.is(driver_error::no_resource)) s = in.find_compatible(known.compatible, n);
  FREEHCA_TRY(s);
  for (const shape& known : shapes) {
    if (!n.is_compatible(known.compatible)) continue;
    FREEHCA_TRY(n.reg(0, registers_));
    const bool is_pl011 = &known == shapes;
    bytes_ = is_pl011 ? 4 : n.cell("reg-io-width", 1);
    step_ = is_pl011 ? 1 : std::size_t{1} << (n.cell("reg-shift", 0) % 8);
    shape_ = &known;
    return {};
  }
  return driver_error::unsupported;
}

void serial_line::assume(const char* compatible, const window& registers, std::size_t step,
                         unsigned access) {
  for (const shape& known : shapes)
    if (same(known.compatible, compatible)) shape_ = &known;
  registers_ = registers;
  const bool is_pl011 = shape_ == shapes;
  bytes_ = is_pl011 ? 4 : access;
  step_ = is_pl011 ? 1 : step;
}

bool serial_line::has_room() const {
  return ((read(shape_->state) & shape_->room_bits) != 0) == shape_->room_when_set;
}

unsigned serial_line::put(char c) {
  if (at_ == nullptr || shape_ == nullptr) return 0;
  const unsigned most = stopped_ ? 1 : most_looks;
  unsigned in_vain = 0;
  while (in_vain != most && !has_room()) ++in_vain;
  stopped_ = in_vain == most;
  write(shape_->data, static_cast<unsigned char>(c));
  return in_vain;
}

bool serial_line::get(char* to) const {
  if (at_ == nullptr || shape_ == nullptr) return false;
  const std::uint32_t state = read(shape_->state);
  if (((state & shape_->came_bits) != 0) != shape_->came_when_set) return false;
  const std::uint32_t came = read(shape_->data);
  const std::uint32_t errors = shape_->damage_beside ? came : state;
  *to = (errors & shape_->damage_bits) == 0 ? static_cast<char>(came & 0xff) : '\0';
  return true;
}

std::uint32_t serial_line::read(std::size_t offset) const {
  std::byte* const at = at_ + offset * step_;
  if (bytes_ == 4) return *static_cast<const volatile std::uint32_t*>(static_cast<const void*>(at));
  return static_cast<std::uint32_t>(*static_cast<const volatile std::byte*>(at));
}

void serial_line::write(std::size_t offset, std::uint32_t value) const {
  std::byte* const at = at_ + offset * step_;
  if (bytes_ == 4) *static_cast<volatile std::uint32_t*>(static_cast<void*>(at)) = value;
  else *static_cast<volatile std::byte*>(at) = static_cast<std::byte>(value);
}

}  // namespace freehca::device_tree
