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

/// The connection to the served client. Each request is answered once, in the order of arrival.
/// Memory that the client did not share is accessed by messages to the client.
class session final : public memory_messages {
 public:
  void connect(adapter_function& function, client_memory& memory, keeper_side& keeper) {
    function_ = &function;
    memory_ = &memory;
    keeper_ = &keeper;
  }

  void begin(vfio_user::channel with);
  /// Continues with the client of a process that died. The function then has an internal error, as
  /// when a card's firmware fails, which a driver ends by a reset. Returns false if that is not
  /// possible; the client is disconnected then.
  bool resume(keeper::kept_client& from);
  /// Continues with the client of a process that has handed over its function. The function has no
  /// state yet. Returns false if that is not possible.
  bool take_over(keeper::kept_client& from);
  /// Whether no message of the client is in hand, and none was received in part.
  bool quiet() const { return waiting_.empty() && !lost_ && !channel_.in_message(); }
  bool serving() const { return channel_.open(); }
  int socket() const { return channel_.socket(); }
  /// Whether requests arrived while the session waited for a reply, or the client must be
  /// disconnected.
  bool has_work() const { return !waiting_.empty() || lost_; }

  /// Answers a bounded number of requests. Returns false if the client is gone or must be
  /// disconnected.
  bool work();
  /// Disconnects the client at the next call of work().
  void hang_up() { lost_ = true; }
  /// Removes all state of the client, and resets the function as the kernel's VFIO does.
  void end();

  bool read(std::uint64_t address, void* to, std::size_t bytes) override;
  bool write(std::uint64_t address, const void* from, std::size_t bytes) override;

 private:
  using body = std::span<const std::byte>;

  void answer(vfio_user::message& request);
  /// Executes a request. Returns 0 if a reply without error was sent, else the errno for the reply.
  int handle(vfio_user::message& request);
  /// The same. Returns ENOMEM if an allocation failed or memory is short.
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
  void repeat_requests(keeper::kept_client& from, doorbell_pages::doorbells what);
  void answer_in_hand();
  int succeed(const vfio_user::message& request, body first = {}, body second = {},
              std::span<const int> files = {});
  void refuse(const vfio_user::message& request, int why);
  /// Sends the reply, if the request needs one. If this process dies before the kernel has taken
  /// the reply, the next process executes the request again.
  void reply_to(const vfio_user::message& request, int error, body first = {}, body second = {},
                std::span<const int> files = {});

  bool ask(vfio_user::command what, const vfio_user::dma_access& about, body data,
           std::size_t reply_bytes, vfio_user::message& reply);
  bool wait_for_reply(std::uint16_t id, vfio_user::command what, vfio_user::message& reply);

  static constexpr unsigned most_at_once = 64;  ///< requests before other descriptors are served
  static constexpr std::size_t most_waiting = 1024;
  static constexpr int patience_ms = 5000;

  adapter_function* function_ = nullptr;
  client_memory* memory_ = nullptr;
  keeper_side* keeper_ = nullptr;
  vfio_user::channel channel_;
  bool agreed_ = false;  ///< whether a version was negotiated
  bool lost_ = false;    ///< the client is disconnected once no call into the model is active
  vfio_user::terms client_;
  std::deque<vfio_user::message> waiting_;
  std::uint16_t next_id_ = 0;
  bounded_report refusals_{"client"};
};

}  // namespace freehca::device_server
