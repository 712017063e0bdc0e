// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Explanations of failures on standard error (freehca-run --explain). Without it, a call of this
// file costs one comparison.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <freehca/hal/fields.hpp>
#include <freehca/hal/status.hpp>

#include "source_place.hpp"

namespace freehca::ibverbs {

/// Whether FREEHCA_EXPLAIN is set. Constant after the library was loaded.
extern const bool explains_failures;

/// The kinds of objects that remarks of the adapter name.
enum class named_kind : std::uint8_t {
  queue_pair,
  completion_queue,
  shared_receive_queue,
  key,
  domain
};

/// The program has made an object with this number (of a queue pair) or key. `from` is the place
/// of the call. `facts` is a text about it, as "4096 bytes at 0x1000, LOCAL_WRITE".
void note_made(named_kind kind, std::uint32_t number, const program_place& from,
               std::string facts = {});
/// The program has destroyed the object.
void note_destroyed(named_kind kind, std::uint32_t number, const program_place& from);
/// The program has posted the request with this index to a queue pair.
void note_send(std::uint32_t qpn, std::uint32_t index, const program_place& from);
void note_receive(std::uint32_t qpn, const program_place& from);
/// The program has changed the object, as "moved to RTR" or "limit set to 2".
void note_change(named_kind kind, std::uint32_t number, std::string change,
                 const program_place& from);
/// The program has created this address handle.
void note_address(const void* handle, const program_place& from);
/// The latest send of the queue pair goes to this address handle.
void note_destination(std::uint32_t qpn, const void* handle);
/// The queue pair sends to queue pair `peer`.
void note_peer(std::uint32_t qpn, std::uint32_t peer);
/// The queue pair was moved to RESET: its requests are counted from 0 again.
void note_reset(std::uint32_t qpn);
/// The first object uses the second one until it is destroyed.
void note_use(named_kind kind, std::uint32_t number, named_kind used, std::uint32_t used_number);
/// The reason of EBUSY for an object: the names of its users. Returns `error`.
int because_in_use(int error, named_kind kind, std::uint32_t number);
/// Puts the name of an object before the reason of the failure, as "QP 0x000041".
int because_of(int error, named_kind kind, std::uint32_t number);
/// Puts a text before the reason. Returns `error`.
int with_subject(int error, const std::string& subject);

/// Writes a remark of the adapter, and where the program made and posted what the remark names.
void explain_remark(std::string_view text);

/// Keeps the reason of the failure that the current call of this thread is about to return.
/// Returns `error`.
int because(int error, const char* format, ...) __attribute__((format(printf, 2, 3)));
/// The same for a refusal by the driver. `refused` is the attribute that it refused last.
void because(status why, const refused_attribute& refused);

/// One call of the program. If it fails, the end writes the function, the errno, the reason and the
/// place of the call.
class verbs_call {
 public:
  /// `caller` is __builtin_return_address(0) of the exported function.
  verbs_call(const char* function, const void* caller) : function_(function) {
    if (explains_failures) [[unlikely]]
      begin(caller);
  }
  verbs_call(const verbs_call&) = delete;
  verbs_call& operator=(const verbs_call&) = delete;

  /// Returns `error`.
  int ended(int error) const {
    if (error != 0 && explains_failures) [[unlikely]]
      explain(error);
    return error;
  }
  /// Null: the call has failed with errno.
  template <class T>
  T* made(T* object) const {
    if (object == nullptr && explains_failures) [[unlikely]]
      explain_errno();
    return object;
  }
  const program_place& from() const { return from_; }

 private:
  void begin(const void* caller);
  void explain(int error) const;
  void explain_errno() const;

  const char* function_;
  program_place from_;
};

/// Declares the call of the exported function in which it stands.
#define FREEHCA_CALL(name) const verbs_call name(__func__, __builtin_return_address(0))

}  // namespace freehca::ibverbs
