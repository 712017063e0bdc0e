// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hca/capabilities.hpp>
#include <freehca/hca/context_layout.hpp>
#include <freehca/hca/ports.hpp>

namespace freehca {

/// A description of a device for users. The steps of bring-up fill it in. Memory sizes and counts
/// are those of the moment.
struct device_info {
  std::uint16_t pci_vendor = 0, pci_device = 0, pci_subsystem_vendor = 0, pci_subsystem = 0;
  std::uint8_t pci_revision = 0;
  std::uint32_t hardware_id = 0;  ///< from the identification register
  std::uint16_t firmware_major = 0, firmware_minor = 0, firmware_subminor = 0;
  unsigned command_interface = 0;
  unsigned most_commands = 0;  ///< maximum number of commands in flight in event mode
  char board_id[17] = {};      ///< ends with a zero byte
  std::uint64_t node_guid = 0, system_image_guid = 0;
  unsigned ports = 0;
  port_attributes port[most_ports];  ///< [0] is port 1

  std::uint64_t commands_issued = 0;
  bool secure_host = false;  ///< the firmware keeps management datagrams from the host
  bool interrupts_work =
      false;  ///< the self-test saw an interrupt of the vector; if false, event queues are polled
  /// The vector is the line interrupt (INTx), because no MSI-X vector could be armed.
  bool line_interrupt = false;
  /// The number of vectors armed. If there are fewer vectors than event queues, event queues share
  /// vectors. The line interrupt counts as one vector.
  unsigned interrupt_vectors = 0;
  /// True if the driver can read the error buffer that QUERY_FW names. If false, an internal error
  /// of the device shows only as commands without an answer.
  bool internal_errors_show = false;
  /// The BAR, the offset in bytes and the number of words of the error buffer. With 0 words the
  /// error buffer is unknown or cannot be read.
  std::uint8_t error_buffer_bar = 0;
  std::uint32_t error_buffer = 0, error_buffer_words = 0;
  std::uint64_t resets = 0;

  /// Host memory lent to the device, in bytes.
  std::uint64_t lent_firmware = 0, lent_auxiliary = 0;
  std::uint64_t lent_context[context_tables_count] = {};  ///< by context_table
};

/// The number of resources that a device holds. All are zero before bring-up and after teardown.
struct device_holdings {
  std::uint64_t pages = 0;     ///< pages of the arena of 4 KiB, lent or in rings
  std::uint64_t mappings = 0;  ///< blocks of context memory, firmware and auxiliary areas
  /// Slots of the command channel, in flight or in doubt. A slot has a token.
  std::uint64_t slots = 0;
  std::uint64_t numbers = 0;    ///< object numbers and UAR pages
  std::uint64_t doorbells = 0;  ///< bytes of doorbell records
  /// Resources in doubt: the command that named them was not answered, so the firmware may still
  /// use them. A slot stands for a token. Mailboxes are counted separately, because not every
  /// command has mailboxes.
  std::uint64_t pages_in_doubt = 0, mappings_in_doubt = 0, numbers_in_doubt = 0,
                buffers_in_doubt = 0, mailboxes_in_doubt = 0, slots_in_doubt = 0;
  std::uint64_t in_doubt() const {
    return pages_in_doubt + mappings_in_doubt + numbers_in_doubt + buffers_in_doubt +
           mailboxes_in_doubt + slots_in_doubt;
  }
  bool none() const { return pages + mappings + slots + numbers + doorbells == 0; }
};

}  // namespace freehca
