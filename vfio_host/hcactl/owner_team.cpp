// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "owner_team.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace freehca::hcactl {

using loopback_traffic::owner_port;
using loopback_traffic::owner_traffic;
using vfio_host::failure;
using vfio_host::trouble;

namespace {

// A reset and a bring-up with a slow subnet manager take much less.
constexpr std::uint64_t longest_recovery = clock::seconds(60);
constexpr std::uint64_t longest_silence = clock::seconds(30);

class sleep_by final : public loopback_traffic::owner_sleep {
 public:
  explicit sleep_by(blocking::owner_wait& wait) : wait_(wait) {}
  void sleep(std::uint64_t deadline) override { wait_.wait(deadline); }

 private:
  blocking::owner_wait& wait_;
};

}  // namespace

owner_team::~owner_team() {
  static_cast<void>(end());
}

std::optional<failure> owner_team::add(unsigned which) {
  member& m = members_.emplace_back(which);
  if (adapter().completion_context(which).shares_vector()) {
    const unsigned vectors = adapter().info().interrupt_vectors;
    return failure{
        trouble::system,
        fmt::format("--threads {}: each thread needs an interrupt vector of its own, and "
                    "so does the adapter; {} has {}, so the limit is {}",
                    adapter().completion_contexts(), at_.address, vectors,
                    vectors < 2 ? "no thread at all" : std::to_string(vectors - 1))};
  }
  std::string why;
  m.wait = at_.driver.host().wait_for(adapter().completion_context(which).vector(), why);
  if (m.wait == nullptr) return failure{trouble::system, m.name + ": " + why};
  const auto buffer =
      at_.memory.allocate(at_.driver.host().platform(), owner_traffic::buffer_bytes);
  if (!buffer.ok()) return at_.verdict(buffer.error(), "memory of traffic");
  m.buffer = buffer.value();
  const verbs_budget objects = owner_traffic::objects_needed();
  static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= 16);
  m.storage.resize(verbs::event_owner_storage_bytes(objects));
  const status opened = m.objects.open(adapter(), objects,
                                       {.completion_context = which,
                                        .name = m.name.c_str(),
                                        .wake = &blocking::owner_wait::wake_it,
                                        .wake_context = m.wait.get()},
                                       m.storage.data(), m.storage.size(), m.traffic.events());
  if (!opened.ok()) return at_.verdict(opened, "opening the objects of an owner");
  return std::nullopt;
}

std::optional<failure> owner_team::start(const threads_options& settings) {
  for (unsigned i = 0; i < settings.threads; ++i)
    if (auto why = add(i)) return why;
  const port_attributes& port = adapter().port(settings.port);
  const owner_port at{.port = settings.port, .lid = port.lid, .mtu = port.active_mtu};
  begin_watch();
  for (member& m : members_)
    m.thread = std::thread([this, &m, at] {
      sleep_by sleep(*m.wait);
      m.traffic.run(m.objects, at, *m.buffer, sleep, stop_);
      m.ended.store(true, std::memory_order_release);
      at_.driver.host().wake();
    });
  return std::nullopt;
}

void owner_team::begin_watch() {
  const std::uint64_t now = adapter().platform().now();
  for (member& m : members_) {
    m.seen = m.messages();
    m.moved_at = now;
    m.moved = false;
  }
}

status owner_team::recover() {
  operation again;
  again.set_deadline(clock::after(adapter().platform().now(), longest_recovery));
  adapter().recover(again);
  // A thread that has ended does not release the device. The recovery would wait for it, so cancel.
  for (bool cancelled = false; !again.done(); at_.driver.turn()) {
    if (cancelled || (!at_.driver.host().interrupted() && !somebody_ended())) continue;
    again.cancel();
    cancelled = true;
  }
  begin_watch();
  return again.outcome();
}

std::string owner_team::look() {
  const std::uint64_t now = adapter().platform().now();
  for (member& m : members_) {
    if (const std::uint64_t count = m.messages(); count != m.seen) {
      m.seen = count;
      m.moved_at = now;
      m.moved = true;
    }
    if (now - m.moved_at > longest_silence)
      return fmt::format("{} has moved nothing for {} s", m.name, longest_silence / 1'000'000'000);
  }
  return {};
}

bool owner_team::all_moved() const {
  return std::all_of(members_.begin(), members_.end(), [](const member& m) { return m.moved; });
}

bool owner_team::somebody_ended() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const member& m) { return m.ended.load(std::memory_order_acquire); });
}

std::uint64_t owner_team::least_messages() const {
  std::uint64_t least = ~std::uint64_t{0};
  for (const member& m : members_) least = std::min(least, m.messages());
  return least;
}

/// Whether all threads have ended and no member holds objects.
bool owner_team::done() const {
  return std::all_of(members_.begin(), members_.end(), [](const member& m) {
    return !m.thread.joinable() && (!m.objects.is_open() || m.objects.holdings().none());
  });
}

/// Polls the device, and the objects of members whose threads have ended.
void owner_team::turn() {
  for (member& m : members_) {
    if (m.thread.joinable() && m.ended.load(std::memory_order_acquire)) m.thread.join();
    if (!m.thread.joinable() && m.objects.is_open()) m.objects.poll();
  }
  at_.driver.turn();
}

void owner_team::take_down() {
  auto down = at_.driver.adapter().tear_down();
  while (!down.done()) turn();
}

std::optional<failure> owner_team::end() {
  stop_.store(true, std::memory_order_relaxed);
  for (member& m : members_)
    if (m.wait != nullptr) m.wait->wake();
  const auto needs_reset = [this] {
    // Only a reset releases the objects of a thread that failed.
    return !adapter().up() || std::any_of(members_.begin(), members_.end(), [](const member& m) {
      return m.ended.load(std::memory_order_acquire) && m.objects.is_open() &&
             !m.objects.holdings().none();
    });
  };
  for (bool taken_down = false; !done(); turn()) {
    if (taken_down || !needs_reset()) continue;
    take_down();
    taken_down = true;
  }
  std::optional<failure> why;
  for (member& m : members_) {
    if (m.objects.is_open() && !m.objects.close().ok())
      why = failure{trouble::system, m.name + " could not be closed: a defect of this program"};
    m.wait.reset();
  }
  return why;
}

}  // namespace freehca::hcactl
