// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Interrupt vectors as eventfds, and the waiting for them. Facts from the kernel's
// include/uapi/linux/vfio.h.
#include <freehca/vfio_host/vfio_device.hpp>

#include <linux/vfio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <freehca/vfio_host/sleep.hpp>

namespace freehca::vfio_host {

status vfio_device::set_interrupts(unsigned index, const std::vector<int>& descriptors) {
  std::vector<std::byte> request(sizeof(vfio_irq_set) + descriptors.size() * sizeof(int));
  vfio_irq_set set{};
  set.argsz = static_cast<std::uint32_t>(request.size());
  set.flags = VFIO_IRQ_SET_ACTION_TRIGGER |
              (descriptors.empty() ? VFIO_IRQ_SET_DATA_NONE : VFIO_IRQ_SET_DATA_EVENTFD);
  set.index = index;
  set.count = static_cast<std::uint32_t>(descriptors.size());
  std::memcpy(request.data(), &set, sizeof set);
  if (!descriptors.empty())
    std::memcpy(request.data() + sizeof set, descriptors.data(), descriptors.size() * sizeof(int));
  const int outcome = ioctl(function_.get(), VFIO_DEVICE_SET_IRQS, request.data());
  if (outcome < 0) {
    // The machine has no vector left, or fewer than the function must have (Linux 6.1
    // pci_alloc_irq_vectors). The driver asks again for fewer.
    const bool too_many = errno == ENOSPC && descriptors.size() > 1;
    const status s = refused("VFIO_DEVICE_SET_IRQS");
    return too_many ? status(driver_error::unsupported) : s;
  }
  // A positive result is the number of available vectors; none is armed then (Linux 6.1
  // vfio_pci_intrs.c, vfio_msi_enable).
  return outcome == 0 ? status() : driver_error::unsupported;
}

status vfio_device::arm_interrupts(void* context, unsigned count,
                                   void (*notify)(void*, unsigned) noexcept, void* notify_context) {
  vfio_device& d = of(context);
  if (d.is_in_child()) return transport_error::gone;
  if (count > d.vectors_) return driver_error::unsupported;
  disarm_interrupts(context);
  FREEHCA_TRY(d.arm(VFIO_PCI_MSIX_IRQ_INDEX, count));
  d.driver_ = {notify, notify_context};
  return {};
}

status vfio_device::arm(unsigned index, unsigned count) {
  std::vector<int> descriptors;
  for (unsigned i = 0; i < count; ++i) {
    if (i == events_.size()) {
      file event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
      if (!event.open()) return refused("eventfd");
      FREEHCA_TRY(watch(event.get(), i));
      events_.push_back({std::move(event)});
    }
    descriptors.push_back(events_[i].event.get());
  }
  FREEHCA_TRY(set_interrupts(index, descriptors));
  armed_ = count;
  armed_index_ = index;
  return {};
}

status vfio_device::arm_line_interrupt(void* context, void (*notify)(void*, unsigned) noexcept,
                                       void* notify_context) {
  vfio_device& d = of(context);
  if (d.is_in_child()) return transport_error::gone;
  disarm_interrupts(context);
  FREEHCA_TRY(d.arm(VFIO_PCI_INTX_IRQ_INDEX, 1));
  // A thread of vector_wait may still read the same values after disarm_interrupts().
  if (d.line_.notify != notify || d.line_.context != notify_context)
    d.line_ = {notify, notify_context};
  d.driver_ = {&vfio_device::on_line, &d};
  return {};
}

/// The kernel masks INTx when it is asserted. If the line is asserted when it is unmasked, the
/// kernel signals the eventfd again (Linux 6.1 vfio_pci_intrs.c, vfio_intx_handler and
/// vfio_pci_intx_unmask). It refuses the call if the line is not armed any more.
void vfio_device::on_line(void* self, unsigned vector) noexcept {
  const vfio_device& d = of(self);
  d.line_.notify(d.line_.context, vector);
  vfio_irq_set set{};
  set.argsz = sizeof set;
  set.flags = VFIO_IRQ_SET_ACTION_UNMASK | VFIO_IRQ_SET_DATA_NONE;
  set.index = VFIO_PCI_INTX_IRQ_INDEX;
  set.count = 1;
  static_cast<void>(ioctl(d.function_.get(), VFIO_DEVICE_SET_IRQS, &set));
}

void vfio_device::disarm_interrupts(void* context) {
  vfio_device& d = of(context);
  if (d.armed_ == 0 || d.is_in_child()) return;
  d.driver_ = {};
  // Vectors that the kernel did not disarm count as armed, so that the next call tries once more.
  if (d.set_interrupts(d.armed_index_, {}).ok()) d.armed_ = 0;
}

outcome<std::unique_ptr<vector_wait>> vfio_device::wait_for(unsigned vector) {
  if (vector >= armed_)
    return failure{trouble::system,
                   fmt::format("interrupt vector {} is not armed: {} are, of the function's {}",
                               vector, armed_, vectors_)};
  if (events_[vector].waited_for)
    return failure{trouble::system,
                   fmt::format("another thread waits for interrupt vector {} already", vector)};
  const int event = events_[vector].event.get();
  auto w = vector_wait::open(event, vector, driver_, [this, vector] {
    // Parent and child share the epoll instance, so the child must not change it.
    if (is_in_child()) return;
    vector_event& back = events_[vector];
    back.waited_for = false;
    static_cast<void>(set_watched(back.event.get(), EPOLL_CTL_MOD, EPOLLIN | EPOLLET, vector));
  });
  if (!w) return w;
  // It stays in the set, silent: to add it again could fail for want of memory, and then nobody
  // would wait for the vector.
  if (!set_watched(event, EPOLL_CTL_MOD, 0, vector).ok())
    return failure{trouble::system, last_refusal()};
  events_[vector].waited_for = true;
  return w;
}

void vfio_device::wake() noexcept {
  ring(woken_.get());
}

status vfio_device::set_watched(int descriptor, int change, std::uint32_t events,
                                std::uint32_t what) {
  epoll_event event{};
  event.events = events;
  event.data.u32 = what;
  return epoll_ctl(watched_.get(), change, descriptor, &event) == 0 ? status()
                                                                    : refused("epoll_ctl");
}

status vfio_device::watch(int event, std::uint32_t what) {
  return set_watched(event, EPOLL_CTL_ADD, EPOLLIN | EPOLLET, what);
}

status vfio_device::listen_for(unsigned index, std::uint32_t what, file* event) {
  vfio_irq_info about{};
  about.argsz = sizeof about;
  about.index = index;
  if (ioctl(function_.get(), VFIO_DEVICE_GET_IRQ_INFO, &about) != 0) {
    // An index that the kernel does not know, or that this function does not have: Linux 6.1
    // vfio_pci_core.c, vfio_pci_ioctl_get_irq_info.
    if (errno == EINVAL) return {};
    return refused("VFIO_DEVICE_GET_IRQ_INFO");
  }
  if (about.count == 0) return {};
  file made(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!made.open()) return refused("eventfd");
  FREEHCA_TRY(watch(made.get(), what));
  FREEHCA_TRY(set_interrupts(index, {made.get()}));
  *event = std::move(made);
  return {};
}

void vfio_device::wait(std::uint64_t deadline, int wake) {
  if (wake >= 0 && wake != wake_) {
    if (wake_ >= 0) epoll_ctl(watched_.get(), EPOLL_CTL_DEL, wake_, nullptr);
    wake_ = set_watched(wake, EPOLL_CTL_ADD, EPOLLIN, wake_of_caller).ok() ? wake : -1;
  }
  epoll_event events[8];  // the next call takes further events
  const int count = wait_for_events(watched_.get(), events, 8, deadline);
  for (int i = 0; i < count; ++i) {
    const std::uint32_t what = events[i].data.u32;
    if (what == removal) wanted_back_ = true;
    else if (what == bus_error) failed_ = true;
    else if (what < events_.size() && driver_.notify != nullptr)
      driver_.notify(driver_.context, what);
  }
}

}  // namespace freehca::vfio_host
