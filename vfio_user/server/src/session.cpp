// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "session.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "memory_reserve.hpp"
#include "without_exceptions.hpp"

namespace freehca::device_server {

using namespace vfio_user;

void session::begin(channel with) {
  channel_ = std::move(with);
  agreed_ = lost_ = false;
  client_ = terms{};
  waiting_.clear();
  refusals_.begin_again();
  function_->make_doorbell_pages();
  land_messages();
  keeper_->note(function_->configuration());
  const int connection = channel_.socket(), pages = function_->doorbells().file();
  keeper_->tell(keeper::record::client_came, {&connection, 1});
  if (pages >= 0) keeper_->tell(keeper::record::doorbell_pages, {&pages, 1});
}

void session::land_messages() {
  if (keeper_->state() == nullptr) return;
  keeper_->state()->request.clear();
  channel_.land_in(&keeper_->state()->request);
}

void session::end() {
  channel_.close();
  waiting_.clear();
  lost_ = false;
  memory_->clear();
  function_->signals().forget();
  function_->reset(false);
  function_->take_doorbell_pages_away();
  keeper_->tell(keeper::record::client_gone);
}

bool session::work() {
  for (unsigned i = 0; i < most_at_once && !lost_; ++i) {
    message request;
    if (!waiting_.empty()) {
      request = std::move(waiting_.front());
      waiting_.pop_front();
    } else {
      const arrival what = channel_.receive(request);
      if (what == arrival::nothing) return true;
      if (what == arrival::out_of_step) {
        refuse(request, EINVAL);
        refusals_("a message of fewer bytes than its header has: hung up");
      }
      if (what != arrival::message) return false;
    }
    answer(request);
  }
  return !lost_;
}

void session::answer(message& request) {
  const std::uint32_t type = request.head.flags & type_mask;
  // Ignore a reply for which no request waits (any more).
  if (type == type_reply) return;
  const int why = type != type_command           ? EINVAL
                  : request.too_long             ? E2BIG
                  : request.too_many_descriptors ? EINVAL
                  : !agreed_ && request.head.command != static_cast<std::uint16_t>(command::version)
                      ? EINVAL
                      : handle_if_memory(request);
  if (why == 0) return;
  without_exceptions([&] {
    refusals_(fmt::format("command {} refused: {}", request.head.command, std::strerror(why)));
  });
  refuse(request, why);
}

// Each handler allocates before it changes anything.
int session::handle_if_memory(message& request) {
  if (request.no_memory) return ENOMEM;
  if (memory_reserve::memory_is_short() && needs_memory(request)) return ENOMEM;
  int why = 0;
  return without_exceptions([&] { why = handle(request); }) ? why : ENOMEM;
}

// Requests that need memory are those for which the model works, those that allocate memory for the
// client's lifetime, and the version: the JSON library allocates in a destructor, which must not
// fail.
bool session::needs_memory(const message& request) {
  switch (static_cast<command>(request.head.command)) {
    case command::version:
    case command::dma_map:
    case command::region_read:
    case command::region_write:
    case command::region_write_multi:
    case command::device_reset:
      return true;
    default:
      return false;
  }
}

int session::handle(message& request) {
  // Doorbells that were stored before the request was sent are processed before it.
  if (!memory_reserve::memory_is_short()) function_->look_at_doorbells(doorbell_pages::every);
  switch (static_cast<command>(request.head.command)) {
    case command::version:
      return handle_version(request);
    case command::dma_map:
      return handle_dma_map(request);
    case command::dma_unmap:
      return handle_dma_unmap(request);
    case command::device_get_info:
      return handle_device_info(request);
    case command::device_get_region_info:
      return handle_region_info(request);
    case command::device_get_irq_info:
      return handle_irq_info(request);
    case command::device_set_irqs:
      return handle_set_irqs(request);
    case command::region_read:
      return handle_region_read(request);
    case command::region_write:
      return handle_region_write(request);
    case command::region_write_multi:
      return handle_region_write_multi(request);
    case command::device_reset:
      return handle_reset(request);
    case command::device_get_region_io_fds:
    case command::dirty_pages:
      return ENOTSUP;
    case command::dma_read:
    case command::dma_write:
      break;  // only the server sends these
  }
  return EINVAL;
}

int session::succeed(const message& request, body first, body second, std::span<const int> files) {
  reply_to(request, 0, first, second, files);
  return 0;
}

void session::refuse(const message& request, int why) {
  reply_to(request, why);
}

void session::reply_to(const message& request, int error, body first, body second,
                       std::span<const int> files) {
  keeper_->note(function_->configuration());
  const header head{request.head.id, request.head.command, 0,
                    type_reply | (error != 0 ? flag_error : 0), static_cast<std::uint32_t>(error)};
  if ((request.head.flags & flag_no_reply) == 0 && !channel_.send(head, first, second, files)) {
    // A part may have been sent. The request stays in hand until the client is gone, so that a next
    // process does not continue behind that part.
    lost_ = true;
    return;
  }
  keeper_->request_done();
}

bool session::wait_for_reply(std::uint16_t id, command what, message& reply) {
  const std::uint64_t deadline = now_ns() + std::uint64_t{patience_ms} * 1'000'000;
  while (true) {
    const arrival came = channel_.receive(reply);
    if (came == arrival::message) {
      if ((reply.head.flags & type_mask) != type_reply) {
        if (waiting_.size() == most_waiting ||
            !without_exceptions([&] { waiting_.push_back(std::move(reply)); }))
          return false;
      } else if (reply.head.id == id && reply.head.command == static_cast<std::uint16_t>(what)) {
        return true;
      }
      continue;
    }
    if (came != arrival::nothing) return false;
    const std::uint64_t now = now_ns();
    if (now >= deadline) return false;
    pollfd one{channel_.socket(), POLLIN, 0};
    poll(&one, 1, static_cast<int>((deadline - now) / 1'000'000) + 1);
  }
}

// Disconnects a client that does not reply, because the server can do nothing else during the wait.
// If the client refuses the request, there is no such memory.
bool session::ask(command what, const dma_access& about, body data, std::size_t reply_bytes,
                  message& reply) {
  if (lost_ || !channel_.open()) return false;
  const std::uint16_t id = next_id_++;
  const header head{id, static_cast<std::uint16_t>(what), 0, type_command, 0};
  if (!channel_.send(head, bytes_of(about), data) || !wait_for_reply(id, what, reply)) {
    refusals_("does not answer for its memory: hung up");
    lost_ = true;
    return false;
  }
  return (reply.head.flags & flag_error) == 0 && !reply.too_long && !reply.no_memory &&
         reply.body.size() >= reply_bytes;
}

bool session::read(std::uint64_t address, void* to, std::size_t bytes) {
  const std::size_t most =
      static_cast<std::size_t>(std::min<std::uint64_t>(client_.max_data_xfer_size, greatest_data));
  for (std::size_t done = 0; done < bytes;) {
    const dma_access about{address + done, std::min(most, bytes - done)};
    message reply;
    if (!ask(command::dma_read, about, {}, sizeof about + about.count, reply) ||
        reply.body.size() != sizeof about + about.count)
      return false;
    std::memcpy(static_cast<std::byte*>(to) + done, reply.body.data() + sizeof about, about.count);
    done += about.count;
  }
  return true;
}

bool session::write(std::uint64_t address, const void* from, std::size_t bytes) {
  const std::size_t most =
      static_cast<std::size_t>(std::min<std::uint64_t>(client_.max_data_xfer_size, greatest_data));
  for (std::size_t done = 0; done < bytes;) {
    const dma_access about{address + done, std::min(most, bytes - done)};
    message reply;
    const body data(static_cast<const std::byte*>(from) + done, about.count);
    if (!ask(command::dma_write, about, data, 0, reply)) return false;
    done += about.count;
  }
  return true;
}

}  // namespace freehca::device_server
