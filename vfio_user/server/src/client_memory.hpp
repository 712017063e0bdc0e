// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <freehca/vfio_user/channel.hpp>

#include "file_mappings.hpp"
#include "memory_limits.hpp"

namespace freehca::device_server {

/// Accesses to memory that the client mapped without a file, by messages to the client. They return
/// false if the client refused or is gone.
class memory_messages {
 public:
  virtual bool read(std::uint64_t address, void* to, std::size_t bytes) = 0;
  virtual bool write(std::uint64_t address, const void* from, std::size_t bytes) = 0;

 protected:
  ~memory_messages() = default;
};

/// The ranges of its memory that the client has mapped. A range with a file is an offset into a
/// mapping of that file, which all ranges of the file share.
class client_memory {
 public:
  static constexpr std::uint64_t page = 4096;

  explicit client_memory(memory_messages& messages,
                         const memory_limits& limits = memory_limits::of_process(),
                         const mapping_calls& calls = {})
      : messages_(messages), greatest_count_(limits.ranges), files_(limits.mappings, calls) {}
  ~client_memory() { clear(); }
  client_memory(const client_memory&) = delete;
  client_memory& operator=(const client_memory&) = delete;

  /// Returns 0, or the errno of the reply. ENOSPC: there are greatest_count() ranges, or as many
  /// mappings of files as the process may have. ENOMEM: an allocation failed. After a failure
  /// everything is as it was.
  int map(const vfio_user::dma_map& what, std::span<const vfio_user::descriptor> files);
  /// Removes every range that lies within the given one, if any. Returns EINVAL if the given range
  /// would cut one.
  int unmap(std::uint64_t address, std::uint64_t size);
  void clear();

  /// The greatest number of ranges, which the server announces (max_dma_maps).
  std::size_t greatest_count() const { return greatest_count_; }
  std::size_t count() const { return regions_.size(); }
  const file_mappings& files() const { return files_; }
  std::uint64_t bytes() const;

  bool read(std::uint64_t address, void* to, std::size_t bytes);
  bool write(std::uint64_t address, const void* from, std::size_t bytes);
  /// Counts accesses to parts of a file that are gone because the file was cut short.
  std::uint64_t cut_short() const { return cut_short_; }

 private:
  struct region {
    std::uint64_t size;
    std::uint32_t flags;
    file_mapping* file;    ///< null: accessed by messages
    std::uint64_t offset;  ///< in the file
  };
  using by_address = std::map<std::uint64_t, region>;

  int map_file(const vfio_user::dma_map& what, int file, file_mapping*& found);
  void release(const region& r);
  by_address::iterator find(std::uint64_t address);
  template <class Piece>
  bool in_pieces(std::uint64_t address, std::size_t bytes, std::uint32_t right, const Piece& piece);

  memory_messages& messages_;
  const std::size_t greatest_count_;
  file_mappings files_;
  by_address regions_;
  by_address::iterator last_ = regions_.end();  ///< the range that the last search found
  std::uint64_t cut_short_ = 0;
};

}  // namespace freehca::device_server
