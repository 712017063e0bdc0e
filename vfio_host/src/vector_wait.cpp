// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/vfio_host/vector_wait.hpp>

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <freehca/vfio_host/sleep.hpp>

namespace freehca::vfio_host {
namespace {

constexpr std::uint32_t of_vector = 0, of_others = 1;

failure refused(const char* what) {
  return {trouble::system, std::string(what) + ": " + std::strerror(errno)};
}

// Edge-triggered: each write to an eventfd gives one event, and no eventfd is read.
bool watch(int set, int event, std::uint32_t what) {
  epoll_event added{};
  added.events = EPOLLIN | EPOLLET;
  added.data.u32 = what;
  return epoll_ctl(set, EPOLL_CTL_ADD, event, &added) == 0;
}

}  // namespace

outcome<std::unique_ptr<vector_wait>> vector_wait::open(int event, unsigned vector, listener to,
                                                        std::function<void()> ended) {
  std::unique_ptr<vector_wait> w(new vector_wait);
  w->watched_ = file(epoll_create1(EPOLL_CLOEXEC));
  if (!w->watched_.open()) return refused("epoll_create1");
  w->woken_ = file(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!w->woken_.open()) return refused("eventfd");
  if (!watch(w->watched_.get(), event, of_vector) ||
      !watch(w->watched_.get(), w->woken_.get(), of_others))
    return refused("epoll_ctl");
  w->vector_ = vector;
  w->to_ = to;
  w->ended_ = std::move(ended);
  return w;
}

vector_wait::~vector_wait() {
  if (ended_) ended_();
}

void vector_wait::wait(std::uint64_t deadline) {
  epoll_event events[2];
  const int count = wait_for_events(watched_.get(), events, 2, deadline);
  for (int i = 0; i < count; ++i)
    if (events[i].data.u32 == of_vector && to_.notify != nullptr) to_.notify(to_.context, vector_);
}

void vector_wait::wake() noexcept {
  ring(woken_.get());
}

}  // namespace freehca::vfio_host
