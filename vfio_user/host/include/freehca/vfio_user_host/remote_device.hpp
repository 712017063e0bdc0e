// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <freehca/blocking/host.hpp>
#include <freehca/hal/platform.hpp>
#include <freehca/vfio_user/client.hpp>

namespace freehca::vfio_user_host {

/// An adapter that a server of vfio-user has, as the driver's platform and host. It needs no guest,
/// no kernel driver and no root. It defines the accessors of the routed flavour: an access to a
/// register is a message, and DMA memory is shared with the server.
///
/// In a forked child the adapter still belongs to the parent. The platform's functions return
/// transport_error::gone there, and the destructor sends nothing to the server.
///
/// It maps no memory of the program: the server maps files, and the pages of such memory would have
/// to be replaced by pages of a file while other threads use them.
class remote_device final : public blocking::host {
 public:
  /// Connects to the server. On failure it returns null, and `why` has the reason.
  static std::unique_ptr<remote_device> open(const std::string& socket, std::string& why);
  ~remote_device() override;
  remote_device(const remote_device&) = delete;
  remote_device& operator=(const remote_device&) = delete;

  freehca::platform platform() override;
  void wait(std::uint64_t deadline) override;
  int descriptor() override { return watched_.get(); }
  void wake() noexcept override;
  std::unique_ptr<blocking::owner_wait> wait_for(unsigned vector, std::string& why) override;
  /// The connection to the server is closed.
  bool gone() const override { return gone_; }

  /// The last refusal of the server, for messages. Empty: none.
  const std::string& last_refusal() const { return refusal_; }

  // Functions for the routed accessors. A write is posted, as on a bus: it does not wait for a
  // reply.
  std::uint32_t read_register(unsigned bar, std::size_t offset) noexcept;
  void write_register(unsigned bar, std::size_t offset, std::uint64_t value,
                      unsigned bytes) noexcept;

 private:
  struct window {
    std::byte* at = nullptr;
    std::size_t bytes = 0;
  };
  struct block {
    std::byte* at;
    std::size_t bytes;
  };

  remote_device() = default;
  bool is_in_child() const;
  std::string begin(const std::string& socket);
  status refused(const char* what, int code);
  status write_command(std::uint32_t clear, std::uint32_t set);
  status share(std::byte* at, std::size_t bytes);
  status unshare(std::byte* at, std::size_t bytes);
  status restore_configuration();
  bool watch(int descriptor, std::uint32_t events, std::uint32_t what);
  void serve_socket();

  static constexpr unsigned configuration_words = 64;
  static constexpr std::uint32_t socket_heard = 0x10000, woken_heard = 0x10001;

  static const platform_operations operations;
  static remote_device& of(void* context) { return *static_cast<remote_device*>(context); }
  static status map_bar(void* context, unsigned bar, mmio_region* mapped);
  static status read_configuration(void* context, unsigned offset, std::uint32_t* value);
  static status write_configuration(void* context, unsigned offset, std::uint32_t value);
  static status reset_function(void* context);
  static status set_bus_master(void* context, bool allowed);
  static status restore_after_reset(void* context);
  static status allocate_dma(void* context, std::size_t bytes, std::size_t alignment,
                             dma_region* out);
  static void free_dma(void* context, const dma_region& region);
  static status arm_interrupts(void* context, unsigned count,
                               void (*notify)(void*, unsigned) noexcept, void* of);
  static void disarm_interrupts(void* context);

  pid_t opened_by_ = ::getpid();
  std::mutex talking_;  ///< held during a request, from any thread
  vfio_user::client client_;
  std::atomic<bool> gone_{false};  ///< set by the first thread that notices it
  unsigned vectors_ = 0;
  std::array<window, 3> bars_;
  std::array<std::uint32_t, configuration_words> saved_{};
  std::vector<block> blocks_;
  std::vector<vfio_user::descriptor> events_;  ///< one for each vector that was ever armed
  std::vector<bool> waited_for_;               ///< for each vector: another thread waits for it
  bool armed_ = false;
  vfio_user::descriptor watched_, woken_;
  void (*notify_)(void*, unsigned) noexcept = nullptr;
  void* notify_context_ = nullptr;
  std::string refusal_;
};

}  // namespace freehca::vfio_user_host
