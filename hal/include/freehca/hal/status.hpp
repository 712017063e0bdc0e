// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <type_traits>

#include <freehca/hal/assert.hpp>
#include <freehca/layouts/command_status.hpp>

namespace freehca {

/// The source of a failure.
enum class origin : std::uint8_t { none, driver, transport, firmware };

/// Errors that the driver itself reports. The refused request was not sent to the device; only a
/// cancelled one may have been sent.
enum class driver_error : std::uint8_t {
  bad_argument = 1,
  no_memory,     ///< the storage or DMA budget that `where` names is used up
  no_resource,   ///< no free number, slot or handle of the kind that `where` names
  unsupported,   ///< the device or the platform cannot do this
  bad_state,     ///< the object is not in a state that allows this
  busy,          ///< the object has users (a PD with MRs), or another driver owns the device
  stale_handle,  ///< the object that the handle named does not exist any more
  cancelled,
  queue_full,
  exceeds_limits,  ///< the device asks for more than the budget that `where` names
  // Errors of lists of attributes (faces/interfaces). `where` is the identifier of the attribute.
  unknown_attribute,   ///< this library does not know the mandatory attribute
  repeated_attribute,  ///< the attribute is in the list twice
  missing_attribute,   ///< the attribute is required and not in the list
  wrong_size,          ///< the value has another size than this library expects
};

/// Failures between driver and firmware.
enum class transport_error : std::uint8_t {
  /// No answer before the deadline. If the command was posted, the resources that it named are in
  /// doubt.
  timeout = 1,
  gone,       ///< the device reads as all ones, or reported a catastrophic error
  bad_reply,  ///< an answer that no correct firmware gives
  reset,      ///< ended by a reset of the device
  /// The platform refused (mapping, interrupt, configuration space). `where` has its code.
  refused,
  events_lost,  ///< an event queue was full; the device must be reset
};

/// The outcome of a call or of an operation. It has 4 bytes and travels in a register. `where`
/// names the opcode of a firmware command, the step of a sequence, or the budget that ran out. The
/// function that returns the status documents which.
class [[nodiscard]] status {
 public:
  constexpr status() = default;
  constexpr status(driver_error c, unsigned at = 0)
      : status(origin::driver, static_cast<unsigned>(c), at) {}
  constexpr status(transport_error c, unsigned at = 0)
      : status(origin::transport, static_cast<unsigned>(c), at) {}
  /// The status that the firmware returned. If it is command_status::ok, the result is ok.
  constexpr status(layouts::command_status c, unsigned at = 0)
      : status(c == layouts::command_status::ok ? origin::none : origin::firmware,
               static_cast<unsigned>(c), at) {}

  constexpr bool ok() const { return who() == origin::none; }
  constexpr origin who() const { return static_cast<origin>(bits_ & 0xff); }
  /// The raw value of the enumeration that who() selects.
  constexpr std::uint8_t code() const { return static_cast<std::uint8_t>(bits_ >> 8); }
  constexpr std::uint16_t where() const { return static_cast<std::uint16_t>(bits_ >> 16); }
  constexpr status at(unsigned place) const {
    return status(who(), code(), static_cast<std::uint16_t>(place));
  }
  constexpr bool is(driver_error c) const {
    return who() == origin::driver && code() == static_cast<std::uint8_t>(c);
  }
  constexpr bool is(transport_error c) const {
    return who() == origin::transport && code() == static_cast<std::uint8_t>(c);
  }
  constexpr bool is(layouts::command_status c) const {
    return who() == origin::firmware && code() == static_cast<std::uint8_t>(c);
  }
  friend constexpr bool operator==(const status&, const status&) = default;

 private:
  constexpr status(origin w, unsigned c, unsigned at)
      : bits_(static_cast<std::uint32_t>(w) | (c & 0xff) << 8 | at << 16) {}
  // One number, so that a constant is one instruction: 8 bits of who(), 8 bits of code(), 16 bits
  // of where().
  std::uint32_t bits_ = 0;
};
static_assert(sizeof(status) == 4 && std::is_trivially_copyable_v<status>);

/// A T, or a status that is not ok.
template <class T>
class [[nodiscard]] result {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  constexpr result(T v) : value_(v) {}
  constexpr result(status s) : status_(s), none_{} { FREEHCA_ASSERT(!s.ok()); }
  constexpr bool ok() const { return status_.ok(); }
  constexpr status error() const { return status_; }
  constexpr const T& value() const {
    FREEHCA_ASSERT(ok());
    return value_;
  }

 private:
  status status_;
  union {
    T value_;
    char none_;
  };
};

}  // namespace freehca

// Returns the status of `expression` from the enclosing function unless that status is ok.
#define FREEHCA_TRY(expression)                                                              \
  do {                                                                                       \
    if (const ::freehca::status freehca_try_status = (expression); !freehca_try_status.ok()) \
      return freehca_try_status;                                                             \
  } while (false)
