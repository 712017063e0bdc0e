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

/// Memory that a client did not share as a file. The server reads and writes it by messages, also
/// while the client waits for a reply. The functions return false if there is no such memory.
class served_memory {
 public:
  virtual bool read(std::uint64_t address, std::span<std::byte> to) = 0;
  virtual bool write(std::uint64_t address, std::span<const std::byte> from) = 0;

 protected:
  ~served_memory() = default;
};

/// A client that sends one request at a time. Functions that return an int return 0 or an errno:
/// that of the server's reply, ECONNRESET if the server is gone, or EPROTO if its message is not a
/// valid reply.
class client {
 public:
  int connect(const std::string& path);
  void disconnect() { channel_.close(); }
  bool connected() const { return channel_.open(); }
  channel& raw() { return channel_; }

  /// Negotiates the version. `own` are the client's terms; the server's are stored.
  int negotiate(const terms& own = {});
  const terms& server() const { return server_; }

  /// Sets the memory that the client serves; it must exist as long as requests are sent. Null:
  /// none.
  void serve(served_memory* memory) { memory_ = memory; }

  int describe(device_info& info);
  int describe(region_info& info);
  /// The same, with the areas of the region that may be mapped. `file` has the region from
  /// info.offset on. Without areas nothing may be mapped.
  int describe(region_info& info, std::vector<mappable_area>& areas, descriptor& file);
  int describe(irq_info& info);
  /// If `file` is below 0, the client serves the memory by messages.
  int map(std::uint64_t address, std::uint64_t size, int file, std::uint64_t offset = 0,
          std::uint32_t flags = dma_readable | dma_writeable);
  int unmap(std::uint64_t address, std::uint64_t size);
  int set_irqs(const irq_set& what, std::span<const int> eventfds = {},
               std::span<const std::byte> selection = {});
  int read(std::uint32_t region, std::uint64_t offset, std::span<std::byte> to);
  int write(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> from);
  int reset();

  /// Sends any request. `body` receives the body of the reply, `received` its descriptors.
  int request(command what, std::span<const std::byte> first, std::span<const std::byte> second,
              std::span<const int> files, std::vector<std::byte>& body,
              std::vector<descriptor>* received = nullptr);
  /// Waits for the reply to the request with this number. Serves memory during the wait.
  int await(std::uint16_t id, std::vector<std::byte>& body,
            std::vector<descriptor>* received = nullptr);
  /// Answers pending requests of the server without waiting. Returns false if the server is gone.
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
