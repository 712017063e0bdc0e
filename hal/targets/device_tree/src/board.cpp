// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/device_tree/board.hpp>

#include <freehca/hal/cache.hpp>

namespace freehca::device_tree {
namespace {

constexpr const char* step = "reading the device tree";

bool names(const node& n, const char* prefix) {
  const char* at = n.name();
  while (*prefix != 0 && *at == *prefix) {
    ++at;
    ++prefix;
  }
  return *prefix == 0;
}

}  // namespace

bare::trouble board::read(const tree& from, std::uint64_t image) {
  if (const bare::trouble why = read_memory(from, image); !why.ok()) return why;
  read_command_line(from);
  read_pci(from);
  return {};
}

// Devicetree Specification 0.4: /memory 3.4, /reserved-memory 3.5, the reservation block 5.3.
bare::trouble board::read_memory(const tree& from, std::uint64_t image) {
  node n(from);
  status s;
  while ((s = n.next()).ok()) {
    const bytes type = n.depth() == 1 ? n.property("device_type") : bytes();
    window w;
    for (unsigned i = 0; type.is("memory") && n.reg(i, w).ok(); ++i)
      if (image - w.base < w.bytes) memory_ = w;
  }
  if (!s.is(driver_error::no_resource))
    return {step, "it is damaged", "look at what the boot loader hands over", s};
  if (memory_.bytes == 0)
    return {step, "it knows of no memory where the image lies",
            "link the image for this board's memory (link.ld of this architecture)",
            driver_error::no_resource};

  bool is_reserved = false;
  for (node r(from); r.next().ok();) {
    if (r.depth() == 1) is_reserved = names(r, "reserved-memory");
    window w;
    for (unsigned i = 0; is_reserved && r.depth() == 2 && r.reg(i, w).ok(); ++i)
      end_memory_at(w.base, image);
  }
  window w;
  for (unsigned i = 0; from.reserved(i, w); ++i) end_memory_at(w.base, image);
  return {};
}

void board::end_memory_at(std::uint64_t reserved, std::uint64_t image) {
  if (reserved > image && reserved - memory_.base < memory_.bytes)
    memory_.bytes = reserved - memory_.base;
}

void board::read_command_line(const tree& from) {
  for (node n(from); n.next().ok();) {
    if (n.depth() != 1 || !names(n, "chosen")) continue;
    const bytes text = n.property("bootargs");
    for (std::size_t i = 0; i < text.size && i + 1 < most_command_line; ++i)
      command_line_[i] = static_cast<char>(text.at[i]);
  }
}

// Rows of "ranges": PCI Bus Binding to Open Firmware 2.1, 2.2.1.1. Generic configuration space:
// Linux Documentation/devicetree/bindings/pci/host-generic-pci.yaml.
void board::read_pci(const tree& from) {
  constexpr std::uint32_t kind = 0x4300'0000, memory_below_4_gib = 0x0200'0000;
  constexpr unsigned inside = 3, size_cells = 2;
  constexpr std::uint64_t bus_bytes = std::uint64_t{1} << 20;
  node host;
  window ecam;
  pci_found_ = from.find_compatible("pci-host-ecam-generic", host);
  if (pci_found_.ok()) pci_found_ = host.reg(0, ecam);
  if (!pci_found_.ok()) return;
  pci_.ecam = ecam;
  if (host.is_below("dma-coherent")) pci_coherence_ = coherence::coherent;
  if (host.is_below("dma-noncoherent")) pci_coherence_ = coherence::incoherent;
  const bytes buses = host.property("bus-range");
  pci_.first_bus = buses.cell(0);
  const std::uint64_t count = buses.cells() == 2 ? buses.cell(1) - pci_.first_bus + 1 : 256;
  if (count < ecam.bytes / bus_bytes) pci_.ecam.bytes = count * bus_bytes;

  const bytes ranges = host.property("ranges");
  const unsigned outside = host.parent_address_cells(), row = inside + outside + size_cells;
  for (std::size_t i = 0; i + row <= ranges.cells(); i += row) {
    std::uint64_t seen = ranges.number(i + inside, outside);
    // One space of addresses for processor and PCI: freehca/bare/machine.hpp.
    if ((ranges.cell(i) & kind) != memory_below_4_gib || !host.translate(seen).ok() ||
        seen != ranges.number(i + 1, 2))
      continue;
    pci_.memory = {seen, ranges.number(i + inside + outside, size_cells)};
  }
}

bare::trouble board::find_pci(bool unless_said, bare::pci_host* to) const {
  if (!pci_found_.ok())
    return {"looking for the PCI host bridge",
            "the device tree has none with generic configuration space (pci-host-ecam-generic)",
            "a host bridge of another kind needs a find_pci() of its own in this port", pci_found_};
  const bool coherent = pci_coherence_ == coherence::coherent ||
                        (pci_coherence_ == coherence::not_said && unless_said);
  if (!coherent && !cache::is_maintained)
    return {
        "looking for the PCI host bridge",
        "the device tree says that caches and what devices do to memory do not agree",
        "if they do on this board, give the host bridge the property dma-coherent; if not, build "
        "with FREEHCA_INCOHERENT_DMA (docs/incoherent-dma.md)",
        driver_error::unsupported};
  *to = pci_;
  return {};
}

}  // namespace freehca::device_tree
