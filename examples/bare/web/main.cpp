// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Serves pages by HTTP on an Ethernet port of the adapter, with lwIP. It runs until the user types
// "end" on the serial line.
#include <new>

#include <lwip/init.h>
#include <lwip/ip4_addr.h>

#include <freehca/bare/console.hpp>
#include <freehca/bare/image.hpp>
#include <freehca/bare/typed_line.hpp>
#include <freehca/hal/cache.hpp>

#include "bring_up.hpp"
#include "lwip_interface.hpp"
#include "server.hpp"

namespace freehca::bare {

const char image_name[] = "web";

namespace {

using web::lwip_interface;

constexpr std::size_t memory_bytes = lwip_interface::own_bytes + web::page_bytes;
constexpr std::uint16_t http_port = 80;
// The serial line is a slow device, and keeps 16 characters.
constexpr unsigned turns_of_a_character = 64;

constexpr budget size_of_device() {
  budget b = size_of_a_small_device();
  b.queue_bytes = std::size_t{4} << 20;  // rings, and the memory of the interface
  return b;
}
constexpr budget size = size_of_device();
constexpr verbs_budget objects =
    network::interface::with_objects(verbs_budget{}, lwip_interface::shape);

// Constructed in place, because an image runs no global constructors and no destructors.
struct machinery {
  port in;
  device hca;
  verbs objects;
  lwip_interface network;
  web::server server;
};
alignas(machinery) std::byte room[sizeof(machinery)];
alignas(16) std::byte device_storage[device::storage_bytes(size)];
alignas(16) std::byte verbs_storage[verbs::storage_bytes(size, objects)];

/// Reads an address from the command line, as in "address=10.0.2.15". Leaves `to` unchanged if the
/// name is not there. Returns false if the value is no address.
bool read_address(const char* name, ip4_addr_t& to) {
  for (const char* at = machine::command_line(); *at != '\0';) {
    const char* n = name;
    while (*n != '\0' && *at == *n) ++at, ++n;
    if (*n == '\0') return ip4addr_aton(at, &to) != 0;
    while (*at != '\0' && *at != ' ') ++at;
    while (*at == ' ') ++at;
  }
  return true;
}

/// Returns the first Ethernet port. If there is none, prints the reason and returns 0.
unsigned ethernet_port(const device& of) {
  const device_info i = of.info();
  for (unsigned n = 1; n <= i.ports; ++n)
    if (of.port(n).link_layer == layouts::port_type::ethernet) return n;
  tell({"looking for an Ethernet port",
        "the adapter has none",
        "set the type of a port in the adapter's configuration (in QEMU: link1=eth)",
        {}});
  return 0;
}

text_writer& write_address(text_writer& to, const ip4_addr_t& a) {
  char text[16];
  return to << ip4addr_ntoa_r(&a, text, sizeof text);
}

text_writer& write_mac(text_writer& to, std::uint64_t mac) {
  constexpr char digits[] = "0123456789abcdef";
  for (unsigned shift = 48; shift != 0;) {
    shift -= 4;
    to.put(digits[mac >> shift & 0xf]);
    if (shift % 8 == 0 && shift != 0) to.put(':');
  }
  return to;
}

/// The text of the page "/".
void write_facts(void* context, text_writer& to) {
  const machinery& m = *static_cast<const machinery*>(context);
  const device_info i = m.hca.info();
  to << "freehca web on " << machine::name << ", lwIP " LWIP_VERSION_STRING "\nfirmware ";
  to.decimal(i.firmware_major).put('.').decimal(i.firmware_minor).put('.');
  to.decimal(i.firmware_subminor) << ", board " << i.board_id << "\nMAC ";
  write_mac(to, m.network.adapter().mac()) << ", address ";
  write_address(to, m.network.address()) << "\nframes ";
  const network::interface_counters& n = m.network.adapter().counters();
  to.decimal(n.received) << " received, ";
  to.decimal(n.sent) << " sent, ";
  to.decimal(m.network.counted().wrong_checksums) << " with wrong checksums\nanswers ";
  to.decimal(m.server.counted().answers) << "\n/page has ";
  to.decimal(web::page_bytes) << " bytes\n";
}

/// Runs until the user types "end", or until the adapter fails.
status serve(machinery& m) {
  typed_line typed;
  for (unsigned turn = 0;; ++turn) {
    FREEHCA_TRY(m.network.turn());
    char c = 0;
    if (turn % turns_of_a_character == 0 && machine::get(&c) && typed.take(c)) {
      if (words(typed.text()).take("end")) return {};
      line("REFUSED") << "type end";
    }
    machine::pause();
  }
}

void tell_counts(const machinery& m) {
  const network::interface_counters& n = m.network.adapter().counters();
  const lwip_interface::counters& l = m.network.counted();
  line("frames") << n.received << " received, " << n.sent << " sent, " << n.filtered
                 << " to others, " << l.wrong_checksums << " with wrong checksums, " << l.copied
                 << " copied, " << l.not_sent << " not sent, " << n.receive_errors << " and "
                 << n.send_errors << " errors";
  const web::server::counters& s = m.server.counted();
  line("server") << s.connections << " connections, " << s.answers << " answers, " << s.errors
                 << " of them errors, " << s.broken << " broken, " << s.bytes
                 << " bytes of the page";
}

bool run(machinery& m) {
  const auto failed = [&](const char* step, const char* what, status s) {
    tell({step, what, "look at the port and the registers; boot the image bringup", s});
    tell_registers(m.in, m.hca, registers::now(m.in));
    return false;
  };
  web::ip_settings ip;
  IP4_ADDR(&ip.address, 10, 0, 2, 15);
  IP4_ADDR(&ip.mask, 255, 255, 255, 0);
  IP4_ADDR(&ip.gateway, 10, 0, 2, 2);
  if (!read_address("address=", ip.address) || !read_address("mask=", ip.mask) ||
      !read_address("gateway=", ip.gateway)) {
    tell({"reading the command line",
          "an address is wrong",
          "write it as in address=10.0.2.15 mask=255.255.255.0 gateway=10.0.2.2",
          {}});
    return false;
  }
  const unsigned number = ethernet_port(m.hca);
  if (number == 0) return false;
  if (const status s = m.objects.open(m.hca, objects, verbs_storage, sizeof verbs_storage); !s.ok())
    return failed("opening the verbs", "there is no room for the objects", s);
  const result<dma_region> memory = m.hca.arena().allocate(memory_bytes);
  if (!memory.ok())
    return failed("taking memory", "there is no room for frames and page", memory.error());
  std::byte* const page = memory.value().host + lwip_interface::own_bytes;
  for (std::size_t i = 0; i < web::page_bytes; ++i) page[i] = web::page_byte(i);
  cache::clean(page, web::page_bytes);

  if (const status s = m.network.up(m.objects, number, memory.value(), ip); !s.ok())
    return failed("bringing the interface up", "an object or the port was refused", s);
  if (const status s = m.server.start(http_port, page, &write_facts, &m); !s.ok())
    return failed("starting the server", "lwIP has no room", s);
  char text[80];
  text_writer to(text);
  write_mac(to << "port " << (number == 1 ? "1" : "2") << ", MAC ", m.network.adapter().mac());
  line("network") << text;
  to = text_writer(text);
  write_address(to << "http://", m.network.address()) << "/ and /page; type end to stop";
  line("serving") << text;

  const status end = serve(m);
  m.server.stop();
  tell_counts(m);
  if (!end.ok()) return failed("serving", "the interface does not work any more", end);
  if (const status s = m.network.down(); !s.ok())
    return failed("taking the interface down", "it did not end", s);
  m.hca.arena().free(memory.value());
  return true;
}

}  // namespace

bool run_image() {
  machinery& m = *new (room) machinery;
  if (const trouble why = m.in.open(device::dma_bytes(size)); !why.ok()) {
    tell(why);
    port::quieten_all();
    return false;
  }
  tell_place(m.in);
  const bool passed = bring_up(m.in, m.hca, size, device_storage, sizeof device_storage) && run(m);
  const bool down = tell_down(m.hca);
  // Objects that were left in use were released by the reset.
  if (m.objects.is_open()) static_cast<void>(m.objects.close());
  line("arena") << m.in.arena_bytes_used() << " bytes were used";
  m.hca.close();
  return m.in.quieten() && passed && down;
}

}  // namespace freehca::bare
