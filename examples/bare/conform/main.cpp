// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Performs the checks that every such adapter should pass, and prints each row. No effect of the
// checks outlasts a reset.
#include <new>

#include <freehca/bare/console.hpp>
#include <freehca/bare/image.hpp>
#include <freehca/conformance/runner.hpp>

#include "bring_up.hpp"

namespace freehca::bare {

const char image_name[] = "conform";

namespace {

constexpr budget size = size_of_a_small_device();
constexpr verbs_budget objects = conformance::objects_needed();

// Constructed in place, because an image runs no global constructors and no destructors.
struct driver {
  port in;
  device hca;
  verbs made;
  conformance::heard_events heard;
};
alignas(driver) std::byte room[sizeof(driver)];
alignas(16) std::byte device_storage[device::storage_bytes(size)];
alignas(16) std::byte verbs_storage[verbs::storage_bytes(size, objects)];

// Prints a row in the format of hcactl.
void tell_row(void*, const conformance::row_report& r) {
  char text[240];
  text_writer to(text);
  to << r;
  line() << text;
}

bool run_list(driver& d) {
  const unsigned number = active_port(d.hca);
  if (number == 0) return false;
  if (const status s =
          d.made.open(d.hca, objects, verbs_storage, sizeof verbs_storage, d.heard.events());
      !s.ok()) {
    tell({"opening the verbs", "there is no room for the objects", "see its status", s});
    return false;
  }
  const conformance::summary sum = conformance::run_all({.adapter = d.hca,
                                                         .objects = d.made,
                                                         .events = d.heard,
                                                         .port = number,
                                                         .turn =
                                                             [](void* made) {
                                                               static_cast<verbs*>(made)->poll();
                                                               machine::pause();
                                                             },
                                                         .context = &d.made},
                                                        &tell_row, nullptr);
  line("conform") << sum.rows() << " rows of " << conformance::count_rows() << ": "
                  << sum.as_expected << " as expected, " << sum.differ << " differ, "
                  << sum.not_applicable << " not applicable";
  if (sum.ended.ok()) return sum.differ == 0;
  tell({"running the list",
        sum.left_behind ? "the adapter did not give back what the row above made"
                        : "the adapter could not be asked on",
        "see the row above", sum.ended});
  tell_registers(d.in, d.hca, registers::now(d.in));
  return false;
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
  const bool passed =
      bring_up(d.in, d.hca, size, device_storage, sizeof device_storage) && run_list(d);
  const bool down = tell_down(d.hca);
  // Objects that were left in use were released by the reset.
  if (d.made.is_open()) static_cast<void>(d.made.close());
  d.hca.close();
  return d.in.quieten() && passed && down;
}

}  // namespace freehca::bare
