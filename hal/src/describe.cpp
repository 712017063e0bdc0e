// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/text.hpp>
#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/opcode.hpp>

namespace freehca {

namespace {

const char* name_of(driver_error e) {
  switch (e) {
    case driver_error::bad_argument:
      return "bad argument";
    case driver_error::no_memory:
      return "out of memory";
    case driver_error::no_resource:
      return "out of resources";
    case driver_error::unsupported:
      return "not supported";
    case driver_error::bad_state:
      return "wrong state";
    case driver_error::busy:
      return "busy";
    case driver_error::stale_handle:
      return "the handle's object is gone";
    case driver_error::cancelled:
      return "cancelled";
    case driver_error::queue_full:
      return "queue full";
    case driver_error::exceeds_limits:
      return "the device asks for more than the budget has";
    case driver_error::unknown_attribute:
      return "unknown attribute";
    case driver_error::repeated_attribute:
      return "the attribute is given twice";
    case driver_error::missing_attribute:
      return "the attribute is missing";
    case driver_error::wrong_size:
      return "the attribute has another size";
  }
  return "unknown error";
}

const char* name_of(transport_error e) {
  switch (e) {
    case transport_error::timeout:
      return "no answer in time";
    case transport_error::gone:
      return "the device is gone";
    case transport_error::bad_reply:
      return "an answer that makes no sense";
    case transport_error::reset:
      return "ended by a reset of the device";
    case transport_error::refused:
      return "refused by the platform";
  }
  return "unknown error";
}

}  // namespace

void describe(status s, text_writer& to) {
  switch (s.who()) {
    case origin::none:
      to << "ok";
      return;
    case origin::driver:
      to << "driver: " << name_of(static_cast<driver_error>(s.code()));
      break;
    case origin::transport:
      to << "transport: " << name_of(static_cast<transport_error>(s.code()));
      break;
    case origin::firmware:
      to << "firmware: " << layouts::name_of(static_cast<layouts::command_status>(s.code()))
         << " (";
      to.hex(s.code(), 2) << ")";
      break;
  }
  if (s.where() == 0) return;
  to << " at ";
  // Only commands have the firmware for a judge: there `where` is the opcode.
  if (s.who() == origin::firmware) to << layouts::name_of(static_cast<layouts::opcode>(s.where()));
  else to.hex(s.where());
}

std::size_t describe(status s, char* buffer, std::size_t bytes) {
  if (buffer == nullptr || bytes == 0) return 0;
  text_writer to(buffer, bytes);
  describe(s, to);
  return to.length();
}

}  // namespace freehca
