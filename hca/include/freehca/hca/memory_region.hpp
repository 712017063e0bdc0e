// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/mr.hpp>
#include <freehca/hal/page_list.hpp>

#include <freehca/hca/handle.hpp>
#include <freehca/hca/object_operation.hpp>

namespace freehca {

/// What a region may be used for, besides being read locally.
struct memory_access {
  bool local_write = false;
  bool remote_read = false;
  bool remote_write = false;   ///< needs local_write
  bool remote_atomic = false;  ///< needs local_write
};

struct memory_region_attributes {
  pd_handle pd{};
  /// Pages of at least 4 KiB (capabilities::log_smallest_page), anywhere. The array of addresses is
  /// the caller's until completion; the memory is, until the region is destroyed.
  page_list pages{};
  /// How data entries count addresses: of the first byte, equal to the offset in the first page
  /// modulo the page size, as the device takes the offset from there.
  std::uint64_t virtual_address = 0;
  memory_access access{};
};

/// The cold part of a region.
struct memory_region : object_record {
  std::uint32_t key = 0;
  pd_handle pd{};
};

/// Registers memory.
class create_memory_region : public object_operation {
 public:
  void start(verbs& owner, const memory_region_attributes& attributes);
  /// Once done and ok. Local and remote key are the same number.
  mr_handle region() const { return region_; }
  std::uint32_t key() const { return key_; }

 private:
  static void write_translations(object_operation& op) noexcept;
  static void finished(object_operation& op, status outcome) noexcept;
  firmware_command<commands::sw2hw_mpt> create_{std::uint32_t{0}};
  page_list pages_;
  mr_handle region_;
  std::uint32_t key_ = 0;
};

/// Takes a region back; its keys are dead once this is done and ok.
class destroy_memory_region : public object_operation {
 public:
  void start(verbs& owner, mr_handle region);
};

}  // namespace freehca
