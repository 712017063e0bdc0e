// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hca/capabilities.hpp>
#include <freehca/hca/context_layout.hpp>
#include <freehca/hca/ports.hpp>

namespace freehca {

/// What users ask of a device. Filled from bring-up on; memory and counts are of the moment.
struct device_info {
  std::uint16_t pci_vendor = 0, pci_device = 0, pci_subsystem_vendor = 0, pci_subsystem = 0;
  std::uint8_t pci_revision = 0;
  std::uint32_t hardware_id = 0;  ///< as the identification register gives it
  std::uint16_t firmware_major = 0, firmware_minor = 0, firmware_subminor = 0;
  unsigned command_interface = 0;
  unsigned most_commands = 0;  ///< in flight by events
  char board_id[17] = {};      ///< ends with a zero byte
  std::uint64_t node_guid = 0, system_image_guid = 0;
  unsigned ports = 0;
  port_attributes port[most_ports];  ///< [0] is port 1

  std::uint64_t commands_issued = 0;
  bool secure_host = false;  ///< firmware keeps management datagrams from the host
  bool interrupts_work =
      false;  ///< the self-test saw the vector fire; else event queues are polled
  /// How many were armed; fewer than there are event queues: these share them.
  unsigned interrupt_vectors = 0;
  /// The error buffer that QUERY_FW names can be read; else an internal error of the device shows
  /// only in commands that get no answer.
  bool internal_errors_show = false;
  /// That buffer: BAR, offset and words; no words: it is not known, or cannot be read.
  std::uint8_t error_buffer_bar = 0;
  std::uint32_t error_buffer = 0, error_buffer_words = 0;
  std::uint64_t resets = 0;

  /// Host memory lent to the device, in bytes.
  std::uint64_t lent_firmware = 0, lent_auxiliary = 0;
  std::uint64_t lent_context[context_tables_count] = {};  ///< by context_table
};

/// Everything that a device holds; all zero before bring-up and after teardown.
struct device_holdings {
  std::uint64_t pages = 0;     ///< of the arena, lent or in rings, in 4 KiB
  std::uint64_t mappings = 0;  ///< blocks of context memory, firmware and auxiliary areas
  std::uint64_t slots = 0;  ///< of the command channel: tokens and mailboxes in flight or in doubt
  std::uint64_t numbers = 0;    ///< object numbers and UAR pages
  std::uint64_t doorbells = 0;  ///< bytes of doorbell records
  /// What waits for a late answer or a reset. A slot is a token; mailboxes are counted apart,
  /// because not every command has any.
  std::uint64_t pages_in_doubt = 0, mappings_in_doubt = 0, numbers_in_doubt = 0,
                buffers_in_doubt = 0, mailboxes_in_doubt = 0, slots_in_doubt = 0;
  std::uint64_t in_doubt() const {
    return pages_in_doubt + mappings_in_doubt + numbers_in_doubt + buffers_in_doubt +
           mailboxes_in_doubt + slots_in_doubt;
  }
  bool none() const { return pages + mappings + slots + numbers + doorbells == 0; }
};

}  // namespace freehca
