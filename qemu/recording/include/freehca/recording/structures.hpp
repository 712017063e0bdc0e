// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <freehca/layouts/layout.hpp>
#include <freehca/layouts/qpc.hpp>
#include <freehca/recording/recording.hpp>

namespace freehca::recording {

/// A table of hal/layouts as data: its rows live for ever.
struct structure {
  const char* name;
  std::size_t bytes;
  const layouts::bits* rows;
  std::size_t count;
};

/// A structure that stands `offset` bytes into a mailbox or an entry.
struct placed {
  structure what;
  std::size_t offset;
};

/// One field that was read.
struct field {
  const layouts::bits* row;
  std::string name;              ///< "qpc.next_send_psn"
  std::uint64_t value;           ///< 0 of a byte string; a number keeps no bit position
  std::vector<std::byte> bytes;  ///< of a byte string
};

/// What the input (or output) mailbox of a command holds; empty for commands without one, and for
/// those whose mailbox has no table. `command` is the record of the command; of QUERY and HW2SW
/// commands the output is the same table as the input of the command that makes the object.
std::vector<placed> mailbox_of(const record& command, bool output);

/// What the bytes of an entry or a record in host memory are: event and completion queue entries by
/// their type, the segments of a send WQE (`service` is that of its queue pair), the scatter
/// entries of a receive, doorbell records. `bytes` must be the whole of it, 32 bytes for an entry
/// of an event or completion queue.
std::vector<placed> entry_of(const std::string& what, const std::vector<std::byte>& bytes,
                             layouts::qp_service service = layouts::qp_service::rc);

/// The fields of structure `s` in its `s.bytes` bytes at `from`.
std::vector<field> decode(const structure& s, const std::byte* from);
/// Writes the fields into `to`, which has `s.bytes` bytes; leaves reserved bits as they are.
void encode(const std::vector<field>& fields, std::byte* to);
/// Byte offset of the first byte with a bit that no row claims; s.bytes when there is none.
std::size_t first_reserved(const structure& s, const std::byte* from);

/// Name and value in words: "qpc.mtu = 0x5".
std::string words_of(const field& f);

}  // namespace freehca::recording
