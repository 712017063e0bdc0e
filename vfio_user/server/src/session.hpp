// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include <freehca/vfio_user/channel.hpp>
#include <freehca/vfio_user/negotiation.hpp>

#include "adapter_function.hpp"
#include "client_memory.hpp"
#include "keeper_side.hpp"
#include "report.hpp"

namespace freehca::device_server {

/// The client that is served: its requests are answered in the order in which they come, each once,
/// and it is asked for memory that it did not share.
class session final : public memory_messages {
 public:
  void connect(adapter_function& function, client_memory& memory, keeper_side& keeper) {
    function_ = &function;
    memory_ = &memory;
    keeper_ = &keeper;
  }

  void begin(vfio_user::channel with);
  /// Goes on with the client of a process that died. The function has an internal error, which a
  /// driver ends by a reset, as when a card's firmware dies. False: it cannot be gone on with, and
  /// was hung up on.
  bool resume(keeper::kept_client& from);
  bool serving() const { return channel_.open(); }
  int socket() const { return channel_.socket(); }
  /// Requests came while the client was asked something, or it must go.
  bool has_work() const { return !waiting_.empty() || lost_; }

  /// Answers some of what has come. False: the client has gone, or must go.
  bool work();
  /// The client is to go at the next call of work().
  void hang_up() { lost_ = true; }
  /// Forgets the client, and resets the function as the kernel's VFIO does.
  void end();

  bool read(std::uint64_t address, void* to, std::size_t bytes) override;
  bool write(std::uint64_t address, const void* from, std::size_t bytes) override;

 private:
  using body = std::span<const std::byte>;

  void answer(vfio_user::message& request);
  /// 0, or the errno of the reply; a reply without error has been sent.
  int handle(vfio_user::message& request);
  /// The same. ENOMEM if an allocation failed, or if memory is short.
  int handle_if_memory(vfio_user::message& request);
  static bool needs_memory(const vfio_user::message& request);
  int handle_version(const vfio_user::message& request);
  int handle_dma_map(vfio_user::message& request);
  int handle_dma_unmap(const vfio_user::message& request);
  int handle_device_info(const vfio_user::message& request);
  int handle_region_info(const vfio_user::message& request);
  int answer_mappable(const vfio_user::message& request, const vfio_user::region_info& asked,
                      vfio_user::region_info info);
  int handle_irq_info(const vfio_user::message& request);
  int handle_set_irqs(vfio_user::message& request);
  int handle_region_read(const vfio_user::message& request);
  int handle_region_write(const vfio_user::message& request);
  int handle_region_write_multi(const vfio_user::message& request);
  int handle_reset(const vfio_user::message& request);
  int check_access(const vfio_user::region_access& access) const;
  void land_messages();
  void answer_in_hand();
  int succeed(const vfio_user::message& request, body first = {}, body second = {},
              std::span<const int> files = {});
  void refuse(const vfio_user::message& request, int why);

  bool ask(vfio_user::command what, const vfio_user::dma_access& about, body data,
           std::size_t reply_bytes, vfio_user::message& reply);
  bool wait_for_reply(std::uint16_t id, vfio_user::command what, vfio_user::message& reply);

  static constexpr unsigned most_at_once = 64;  ///< before others have a turn
  static constexpr std::size_t most_waiting = 1024;
  static constexpr int patience_ms = 5000;

  adapter_function* function_ = nullptr;
  client_memory* memory_ = nullptr;
  keeper_side* keeper_ = nullptr;
  vfio_user::channel channel_;
  bool agreed_ = false;  ///< on a version
  bool lost_ = false;    ///< the client is to go as soon as nobody is inside the model
  vfio_user::terms client_;
  std::deque<vfio_user::message> waiting_;
  std::uint16_t next_id_ = 0;
  bounded_report refusals_{"client"};
};

}  // namespace freehca::device_server
