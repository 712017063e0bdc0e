// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "nic.hpp"

#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include <fmt/format.h>

#include <freehca/hca/ethernet/port_type.hpp>
#include <freehca/network/interface.hpp>

#include "tap.hpp"

namespace freehca::hcactl {

using vfio_host::failure;
using vfio_host::trouble;

namespace {

/// The longest packet that the kernel leaves to be cut, and its headers.
constexpr std::size_t slot_bytes = std::size_t{68} << 10;
constexpr std::uint32_t slots = 64, receives = 256;
constexpr unsigned batch = 32;

network::interface_setup setup_of(const nic_options& o) {
  constexpr std::uint32_t line = 64;
  return {.port = o.port,
          .mtu = static_cast<std::uint16_t>(o.mtu),
          .receive_rings = o.rings,
          .receives = receives,
          .sends = slots,
          .buffer_bytes = (network::interface::least_buffer_bytes(o.mtu) + line - 1) / line * line,
          .pieces = 2,
          .large_sends = o.offload,
          .filter = {.all_groups = true, .promiscuous = o.promiscuous}};
}

struct traffic_counts {
  std::uint64_t frames = 0, bytes = 0, dropped = 0;
};

nlohmann::json to_json(const traffic_counts& c) {
  return {{"bytes", c.bytes}, {"dropped", c.dropped}, {"frames", c.frames}};
}

/// Memory for frames, which the device and this program see. If the interface does not come down,
/// it stays until the adapter is closed.
class frame_memory {
 public:
  explicit frame_memory(const platform& from) : from_(from) {}
  status allocate(std::size_t bytes) {
    return from_.operations->allocate_dma(from_.context, bytes, 4096, &block_);
  }
  void release() { from_.operations->free_dma(from_.context, block_); }
  const dma_region& block() const { return block_; }

 private:
  platform from_;
  dma_region block_;
};

/// Moves frames between the interface and the TAP device.
class joint {
 public:
  joint(network::interface& nic, const tap& kernel, std::byte* slots_at)
      : nic_(nic), kernel_(kernel), first_(slots_at) {
    for (std::uint32_t i = 0; i < slots; ++i) free_.push_back(i);
  }
  /// Moves the frames that wait, at most a batch of each ring. Returns false if there was none.
  bool turn() {
    bool moved = false;
    std::uint64_t done[batch];
    while (const unsigned n = nic_.reap(0, done, batch))
      for (unsigned i = 0; i < n; ++i) free_.push_back(static_cast<std::uint32_t>(done[i]));
    for (unsigned ring = 0; ring < nic_.setup().receive_rings; ++ring) moved |= receive(ring);
    return send() || moved;
  }
  bool has_room() const { return !free_.empty(); }

  traffic_counts received, sent;

 private:
  bool receive(unsigned ring) {
    network::received_buffer got[batch];
    const unsigned n = nic_.receive(ring, got, batch);
    for (unsigned i = 0; i < n; ++i) {
      virtio_header h{};
      if (got[i].l4_checksum_ok) h.flags = h.checksum_is_right;
      if (kernel_.write(h, got[i].at, got[i].length))
        ++received.frames, received.bytes += got[i].length;
      else ++received.dropped;
    }
    static_cast<void>(nic_.release(ring, got, n));
    return n != 0;
  }
  bool send() {
    network::outgoing_frame all[batch];
    unsigned count = 0;
    while (count < batch && !free_.empty()) {
      const std::uint32_t slot = free_.back();
      std::byte* const at = first_ + slot * slot_bytes;
      virtio_header h{};
      const std::size_t bytes = kernel_.read(h, at, slot_bytes);
      if (bytes == 0) break;
      if (!prepare(nic_, h, at, bytes, prepared_[count])) {
        ++sent.dropped;
        continue;
      }
      free_.pop_back();
      all[count] = prepared_[count].what;
      lengths_[slot] = bytes;
      all[count++].cookie = slot;
      ++sent.frames;
      sent.bytes += bytes;
    }
    // A frame that the ring refuses is dropped. Those behind it are sent.
    for (unsigned done = 0; done < count;) {
      status why;
      done += nic_.send(0, all + done, count - done, why);
      if (done == count) break;
      const auto slot = static_cast<std::uint32_t>(all[done++].cookie);
      free_.push_back(slot);
      sent.bytes -= lengths_[slot];
      --sent.frames;
      ++sent.dropped;
    }
    return count != 0;
  }

  network::interface& nic_;
  const tap& kernel_;
  std::byte* first_;
  std::vector<std::uint32_t> free_;
  std::size_t lengths_[slots] = {};
  std::vector<prepared_frame> prepared_{batch};
};

/// Sleeps until a frame comes from either side, an interrupt, or the deadline of the driver.
void sleep(workplace& at, const tap& kernel, bool reads) {
  constexpr int longest_ms = 100;
  pollfd waits[] = {{at.driver.host().descriptor(), POLLIN, 0},
                    {kernel.descriptor(), static_cast<short>(reads ? POLLIN : 0), 0}};
  const std::uint64_t now = at.driver.adapter().hardware().platform().now(),
                      due = at.driver.adapter().next_deadline();
  const std::uint64_t ms = due <= now ? 0 : (due - now) / clock::milliseconds(1);
  static_cast<void>(::poll(waits, 2, static_cast<int>(std::min<std::uint64_t>(ms, longest_ms))));
}

std::optional<failure> drive(workplace& at, network::interface& nic, const tap& kernel,
                             joint& frames, const nic_options& options) {
  const device& adapter = at.driver.adapter().hardware();
  const std::uint64_t end = options.seconds == 0 ? clock::never
                                                 : clock::after(adapter.platform().now(),
                                                                clock::seconds(options.seconds));
  bool carrier = true, armed = false;
  while (!at.driver.host().interrupted() && adapter.platform().now() < end) {
    const unsigned ended = at.driver.look();
    if (!adapter.up()) return at.verdict(transport_error::gone, "network traffic");
    if (!nic.working())
      return failure{
          trouble::system,
          fmt::format("a ring of {} is in error; start hcactl nic again, and report it with "
                      "the output of hcactl dump {}",
                      at.address, at.address)};
    if (nic.link_up() != carrier) kernel.set_carrier(carrier = !carrier);
    const bool moved = frames.turn();
    if (moved || ended != 0) {
      armed = false;
    } else if (!armed) {
      nic.arm();
      armed = true;
    } else {
      if (kernel.is_removed())
        return failure{
            trouble::system,
            fmt::format("the kernel's device {} was removed; start hcactl nic again", options.tap)};
      sleep(at, kernel, frames.has_room());
      armed = false;
    }
  }
  if (at.wanted_back && at.wanted_back())
    return at.verdict(driver_error::cancelled, "network traffic");
  return std::nullopt;
}

std::optional<failure> check_port(const workplace& at, const nic_options& options) {
  const device_info i = at.driver.adapter().hardware().info();
  if (options.port > i.ports)
    return failure{trouble::port_down, fmt::format("{} has {} ports, and no port {}", at.address,
                                                   i.ports, options.port)};
  if (i.port[options.port - 1].link_layer != layouts::port_type::ethernet)
    return failure{
        trouble::port_down,
        fmt::format("port {0} of {1} is an InfiniBand port; --ethernet makes a VPI port an "
                    "Ethernet port until the next reset, and mlxconfig -d {1} set LINK_TYPE_P{0}=2 "
                    "for good (freehca-device: --link{0} eth)",
                    options.port, at.address)};
  return std::nullopt;
}

status make_ethernet(workplace& at, unsigned port) {
  device& adapter = at.driver.adapter().hardware();
  if (port > adapter.capabilities().ports ||
      adapter.port(port).link_layer == layouts::port_type::ethernet)
    return {};
  set_port_type change;
  change.start(adapter, port, layouts::port_type::ethernet);
  return at.driver.wait(change);
}

}  // namespace

easy::sizes size_for_nic(const nic_options& options) {
  easy::sizes s = usual_size();
  s.objects = network::interface::with_objects(s.objects, setup_of(options));
  return s;
}

std::size_t nic_bytes(const nic_options& options) {
  const std::size_t all = network::interface::receive_bytes(setup_of(options)) + slots * slot_bytes;
  return (all + 4095) / 4096 * 4096;
}

findings join_tap(workplace& at, const nic_options& options) {
  // Before the adapter is used: what is missing on this machine is known at once.
  auto opened = tap::open(options.tap);
  if (!opened) return opened.error();
  const tap& kernel = *opened;
  if (options.ethernet) {
    const status s = make_ethernet(at, options.port);
    if (s.is(driver_error::bad_argument))
      return failure{trouble::port_down,
                     fmt::format("port {} of {} is an InfiniBand port, and no VPI port that could "
                                 "become an Ethernet port",
                                 options.port, at.address)};
    if (!s.ok()) return at.verdict(s, "making the port an Ethernet port");
  }
  if (auto why = check_port(at, options)) return *why;
  device& adapter = at.driver.adapter().hardware();
  frame_memory memory(adapter.platform());
  if (const status s = memory.allocate(nic_bytes(options)); !s.ok())
    return at.verdict(s, "allocating frames");
  network::interface_setup setup = setup_of(options);
  setup.memory = memory.block().host;
  setup.pages = page_list(memory.block(), 12);
  network::interface nic;
  network::interface_operation change;
  change.up(nic, at.driver.adapter().objects(), setup);
  if (const status s = at.driver.wait(change); !s.ok()) {
    if (nic.state() == network::interface_state::down) memory.release();
    return at.verdict(s, "network interface");
  }
  const tap::offload left = !options.offload        ? tap::offload::none
                            : nic.has_large_sends() ? tap::offload::checksums_and_segmentation
                                                    : tap::offload::checksums;
  std::optional<failure> why = kernel.set_up(nic.mac(), options.mtu, left);
  joint frames(nic, kernel, setup.memory + network::interface::receive_bytes(setup));
  if (!at.json && !why) {
    fmt::print("{}: port {} of {}, MTU {}, {} receive ring{}{}\n", options.tap, options.port,
               at.address, options.mtu, options.rings, options.rings == 1 ? "" : "s",
               nic.has_large_sends() ? ", checksums and TCP segmentation by the adapter" : "");
    fmt::print(
        "until SIGINT or SIGTERM; next: ip address add ADDRESS/BITS dev {0}; ip link set {0} "
        "up\n",
        options.tap);
    std::fflush(stdout);
  }
  if (!why) why = drive(at, nic, kernel, frames, options);
  change.restart();
  change.down(nic);
  const status down = at.driver.finish(change);
  if (down.ok()) memory.release();
  nlohmann::json document{{"tap", options.tap},
                          {"port", options.port},
                          {"mac", fmt::format("{:012x}", nic.mac())},
                          {"received", to_json(frames.received)},
                          {"sent", to_json(frames.sent)}};
  if (!at.json)
    for (const auto& [name, c] : {std::pair{"received", &frames.received}, {"sent", &frames.sent}})
      fmt::print("{:<10} {} frames, {} bytes, {} dropped\n", name, c->frames, c->bytes, c->dropped);
  at.found = document;
  if (why) return *why;
  if (!down.ok()) return at.verdict(down, "taking the interface down");
  return document;
}

}  // namespace freehca::hcactl
