// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Commands that the driver does not send yet: queries of objects, and commands on
// translations.
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/cqc.hpp>
#include <freehca/layouts/eqc.hpp>
#include <freehca/layouts/mpt.hpp>
#include <freehca/layouts/mtt.hpp>
#include <freehca/layouts/srqc.hpp>

namespace freehca {

/// As the `input` of a family: a sequence of entries behind a structure Header, which is the member
/// `header`.
template <class Header, class Entry>
struct headed_sequence {
  static constexpr unsigned most = (mailbox::bytes - Header::bytes) / Entry::bytes;
};

namespace detail {
template <class Header, class Entry>
struct command_input<headed_sequence<Header, Entry>> : command_input<sequence<Entry>> {
  layouts::image<Header> header;
};
}  // namespace detail

namespace commands {

/// Each reads the context of an object from the device.
using query_cq = family<opcode::query_cq, nothing, layouts::cqc, object_kind::cq>;
using query_eq = family<opcode::query_eq, nothing, layouts::eqc, object_kind::eq>;
using query_srq = family<opcode::query_srq, nothing, layouts::srqc, object_kind::srq>;
/// Reads a memory protection entry from the device.
using query_mpt = family<opcode::query_mpt, nothing, layouts::mpt, object_kind::mpt>;

/// Writes translation entries. `header` has the address of the first one.
using write_mtt =
    family<opcode::write_mtt, headed_sequence<layouts::write_mtt_header, layouts::mtt>, nothing>;

/// Makes the device drop its cached protection and translation entries.
using sync_tpt = family<opcode::sync_tpt, nothing, nothing>;

}  // namespace commands
}  // namespace freehca
