// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <freehca/vfio_user/channel.hpp>

namespace freehca::device_server {

/// How memory is reached that came without a file: by messages to the client. False: the client
/// refused, or is gone.
class memory_messages {
 public:
  virtual bool read(std::uint64_t address, void* to, std::size_t bytes) = 0;
  virtual bool write(std::uint64_t address, const void* from, std::size_t bytes) = 0;

 protected:
  ~memory_messages() = default;
};

/// The client's memory as the function sees it: what was mapped, and not unmapped since.
class client_memory {
 public:
  static constexpr std::size_t greatest_count = 65535;  ///< as the kernel's VFIO has it
  static constexpr std::uint64_t page = 4096;

  explicit client_memory(memory_messages& messages) : messages_(messages) {}
  ~client_memory() { clear(); }
  client_memory(const client_memory&) = delete;
  client_memory& operator=(const client_memory&) = delete;

  /// 0, or the errno of the reply.
  int map(const vfio_user::dma_map& what, std::span<const vfio_user::descriptor> files);
  /// Takes back every mapping within the range, if there is any. EINVAL when the range would cut
  /// one.
  int unmap(std::uint64_t address, std::uint64_t size);
  void clear();

  std::size_t count() const { return regions_.size(); }
  std::uint64_t bytes() const;

  bool read(std::uint64_t address, void* to, std::size_t bytes);
  bool write(std::uint64_t address, const void* from, std::size_t bytes);
  /// How often a file was found cut short behind its mapping.
  std::uint64_t cut_short() const { return cut_short_; }

 private:
  struct region {
    std::uint64_t size;
    std::uint32_t flags;
    std::byte* mapped;  ///< null: by messages
  };
  using by_address = std::map<std::uint64_t, region>;

  static int map_file(const vfio_user::dma_map& what, int file, std::byte*& mapped);
  static void release(const region& r);
  by_address::iterator find(std::uint64_t address);
  template <class Piece>
  bool in_pieces(std::uint64_t address, std::size_t bytes, std::uint32_t right, const Piece& piece);

  memory_messages& messages_;
  by_address regions_;
  by_address::iterator last_ = regions_.end();  ///< that was found
  std::uint64_t cut_short_ = 0;
};

}  // namespace freehca::device_server
