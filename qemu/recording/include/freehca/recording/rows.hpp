// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <vector>

#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/opcode.hpp>
#include <freehca/recording/driver_replay.hpp>
#include <freehca/recording/structures.hpp>

namespace freehca::recording {

/// Which row of the documentation a difference bears on; where none fits, the section alone. Every
/// row that these can give is in every_row(), and a test looks for each on its page.

/// The card's status and the model's; the one that refuses names the row.
page_row row_of_status(layouts::opcode command, layouts::command_status card,
                       layouts::command_status model);
/// A field of an output mailbox; `differing` has the bits that differ, in the field's own place.
page_row row_of_output(layouts::opcode command, const std::string& field, std::uint64_t differing);
/// The same, one for each capability that the differing bits are about.
std::vector<page_row> rows_of_output(layouts::opcode command, const std::string& field,
                                     std::uint64_t differing);
/// An entry of an event queue, by its type.
page_row row_of_event(std::uint8_t type);
/// An entry of a completion queue: by the opcode of the send, or, in error, by its syndrome.
page_row row_of_completion(std::uint8_t opcode, bool send, std::uint8_t syndrome);
/// A register of BAR 0.
page_row row_of_register(std::uint64_t offset);
/// A double word of configuration space.
page_row row_of_configuration(std::uint64_t offset);

std::vector<page_row> every_row();

}  // namespace freehca::recording
