// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Sends messages in both directions between two queue pairs of one adapter, over a reliable
// connection and as datagrams, and verifies each byte.
#include <new>

#include <freehca/bare/console.hpp>
#include <freehca/bare/image.hpp>

#include "bring_up.hpp"
#include "rally.hpp"

namespace freehca::bare {

const char image_name[] = "pingpong";

namespace {

constexpr budget size = players::size;

// Constructed in place, because an image runs no global constructors and no destructors.
struct driver {
  port in;
  device hca;
  verbs objects;
};
alignas(driver) std::byte room[sizeof(driver)];
alignas(16) std::byte device_storage[device::storage_bytes(size)];
alignas(16) std::byte verbs_storage[verbs::storage_bytes(size, rally::objects)];

bool play(driver& d) {
  const unsigned number = active_port(d.hca);
  if (number == 0) return false;
  if (const status s = d.objects.open(d.hca, rally::objects, verbs_storage, sizeof verbs_storage);
      !s.ok()) {
    tell({"opening the verbs", "there is no room for the objects", "see its status", s});
    return false;
  }
  rally r(d.hca, d.objects, number);
  if (const status s = r.play(); !s.ok()) {
    tell({r.doing(), r.wrong() != nullptr ? r.wrong() : "it ended early",
          "look at the port and the registers; boot the image bringup", s});
    tell_registers(d.in, d.hca, registers::now(d.in));
    return false;
  }
  return true;
}

}  // namespace

bool run_image() {
  driver& d = *new (room) driver;
  if (const trouble why = d.in.open(device::dma_bytes(size)); !why.ok()) {
    tell(why);
    port::quieten_all();
    return false;
  }
  tell_place(d.in);
  const bool passed = bring_up(d.in, d.hca, size, device_storage, sizeof device_storage) && play(d);
  const bool down = tell_down(d.hca);
  // Objects that were left in use were released by the reset.
  if (d.objects.is_open()) static_cast<void>(d.objects.close());
  line("arena") << d.in.arena_bytes_used() << " bytes were used";
  line("books") << sizeof device_storage + sizeof verbs_storage
                << " bytes of the variables are the driver's";
  d.hca.close();
  return d.in.quieten() && passed && down;
}

}  // namespace freehca::bare
