// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Interrupt vectors as eventfds, and the sleep of the driver's thread.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include <freehca/vfio_host/sleep.hpp>
#include <freehca/vfio_host/vector_wait.hpp>
#include <freehca/vfio_user_host/remote_device.hpp>

namespace freehca::vfio_user_host {

using namespace vfio_user;

bool remote_device::watch(int number, std::uint32_t events, std::uint32_t what) {
  epoll_event event{};
  event.events = events;
  event.data.u32 = what;
  return epoll_ctl(watched_.get(), EPOLL_CTL_ADD, number, &event) == 0;
}

status remote_device::arm_interrupts(void* context, unsigned count,
                                     void (*notify)(void*, unsigned) noexcept, void* whom) {
  remote_device& d = of(context);
  if (d.is_in_child()) return transport_error::gone;
  if (count > d.vectors_) return driver_error::unsupported;
  disarm_interrupts(context);
  while (d.events_.size() < count) {
    vfio_user::descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event.open() ||
        !d.watch(event.get(), EPOLLIN | EPOLLET, static_cast<std::uint32_t>(d.events_.size())))
      return d.refused("eventfd", errno);
    d.events_.push_back(std::move(event));
    d.waited_for_.push_back(false);
  }
  const std::lock_guard alone(d.talking_);
  const unsigned at_once = std::clamp(d.client_.server().max_msg_fds, 1u, greatest_descriptors);
  for (unsigned start = 0; start < count; start += at_once) {
    std::vector<int> files;
    for (unsigned i = start; i < std::min(count, start + at_once); ++i)
      files.push_back(d.events_[i].get());
    const irq_set what{sizeof what, irq_set_eventfd | irq_set_trigger, msix_irq, start,
                       static_cast<std::uint32_t>(files.size())};
    if (const int code = d.client_.set_irqs(what, files); code != 0)
      return d.refused("device_set_irqs", code);
  }
  d.armed_ = true;
  d.notify_ = notify;
  d.notify_context_ = whom;
  return {};
}

void remote_device::disarm_interrupts(void* context) {
  remote_device& d = of(context);
  if (!d.armed_ || d.is_in_child()) return;
  const std::lock_guard alone(d.talking_);
  const irq_set none{sizeof none, irq_set_none | irq_set_trigger, msix_irq, 0, 0};
  static_cast<void>(d.client_.set_irqs(none));
  d.armed_ = false;
  d.notify_ = nullptr;
}

std::unique_ptr<blocking::owner_wait> remote_device::wait_for(unsigned vector, std::string& why) {
  class vector_of_server final : public blocking::owner_wait {
   public:
    explicit vector_of_server(std::unique_ptr<vfio_host::vector_wait> wait)
        : wait_(std::move(wait)) {}
    void wait(std::uint64_t deadline) override { wait_->wait(deadline); }
    void wake() noexcept override { wait_->wake(); }

   private:
    std::unique_ptr<vfio_host::vector_wait> wait_;
  };
  if (!armed_ || vector >= events_.size() || waited_for_[vector]) {
    why = fmt::format("interrupt vector {} is not armed, or another thread waits for it", vector);
    return nullptr;
  }
  const int event = events_[vector].get();
  auto made = vfio_host::vector_wait::open(event, vector, {notify_, notify_context_},
                                           [this, vector, event] {
                                             // Parent and child share the epoll instance, so the
                                             // child must not change it.
                                             if (is_in_child()) return;
                                             waited_for_[vector] = false;
                                             watch(event, EPOLLIN | EPOLLET, vector);
                                           });
  if (!made) {
    why = made.error().message;
    return nullptr;
  }
  epoll_ctl(watched_.get(), EPOLL_CTL_DEL, event, nullptr);
  waited_for_[vector] = true;
  return std::make_unique<vector_of_server>(std::move(*made));
}

void remote_device::serve_socket() {
  const std::lock_guard alone(talking_);
  if (client_.serve_now()) return;
  gone_ = true;
  epoll_ctl(watched_.get(), EPOLL_CTL_DEL, client_.raw().socket(), nullptr);
}

void remote_device::wake() noexcept {
  vfio_host::ring(woken_.get());
}

// Edge-triggered: each write to an eventfd gives one event, and no eventfd is read.
void remote_device::wait(std::uint64_t deadline) {
  std::array<epoll_event, 8> heard;  // the next call takes further events
  const int count =
      vfio_host::wait_for_events(watched_.get(), heard.data(), heard.size(), deadline);
  for (int i = 0; i < count; ++i) {
    const std::uint32_t what = heard[static_cast<std::size_t>(i)].data.u32;
    if (what == socket_heard) serve_socket();
    else if (what < events_.size() && notify_ != nullptr) notify_(notify_context_, what);
  }
}

}  // namespace freehca::vfio_user_host
