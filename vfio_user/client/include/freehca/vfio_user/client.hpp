// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <freehca/vfio_user/channel.hpp>
#include <freehca/vfio_user/messages.hpp>
#include <freehca/vfio_user/negotiation.hpp>

namespace freehca::vfio_user {

/// Memory that a client did not share as a file: the server asks for it, while the client waits for
/// an answer of its own. False: there is no such memory.
class served_memory {
 public:
  virtual bool read(std::uint64_t address, std::span<std::byte> to) = 0;
  virtual bool write(std::uint64_t address, std::span<const std::byte> from) = 0;

 protected:
  ~served_memory() = default;
};

/// A client that asks one thing after another. Functions that return an int return 0 or an errno:
/// that of the server's reply, or ECONNRESET when the server is gone (EPROTO: when what it said is
/// no answer).
class client {
 public:
  int connect(const std::string& path);
  void disconnect() { channel_.close(); }
  bool connected() const { return channel_.open(); }
  channel& raw() { return channel_; }

  /// What the server is told; and what it said.
  int negotiate(const terms& own = {});
  const terms& server() const { return server_; }

  /// The other side of served_memory; lives as long as requests are made. Null: there is none.
  void serve(served_memory* memory) { memory_ = memory; }

  int describe(device_info& info);
  int describe(region_info& info);
  /// The same, with what of the region may be mapped: areas of `file`, which has the region from
  /// info.offset on. No areas: nothing.
  int describe(region_info& info, std::vector<mappable_area>& areas, descriptor& file);
  int describe(irq_info& info);
  /// `file` below 0: the memory is served.
  int map(std::uint64_t address, std::uint64_t size, int file, std::uint64_t offset = 0,
          std::uint32_t flags = dma_readable | dma_writeable);
  int unmap(std::uint64_t address, std::uint64_t size);
  int set_irqs(const irq_set& what, std::span<const int> eventfds = {},
               std::span<const std::byte> wanted = {});
  int read(std::uint32_t region, std::uint64_t offset, std::span<std::byte> to);
  int write(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> from);
  int reset();

  /// Any request; `body` is filled with that of the reply, `received` with its descriptors.
  int request(command what, std::span<const std::byte> first, std::span<const std::byte> second,
              std::span<const int> files, std::vector<std::byte>& body,
              std::vector<descriptor>* received = nullptr);
  /// Waits for the reply to a request with this number, and serves memory meanwhile.
  int await(std::uint16_t id, std::vector<std::byte>& body,
            std::vector<descriptor>* received = nullptr);
  /// Answers what the server asks, without waiting. False: it is gone.
  bool serve_now();

 private:
  template <class T>
  int describe_by(command what, T& info);
  void answer(const message& asked);

  static constexpr int patience_ms = 10000;

  channel channel_;
  terms server_;
  served_memory* memory_ = nullptr;
  std::uint16_t next_id_ = 1;
};

}  // namespace freehca::vfio_user
