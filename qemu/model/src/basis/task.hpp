// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace freehca::model {

/// A function without arguments that can be moved and is called once. What it captures stands
/// within it: a packet with its port, which is most of what the adapter schedules, takes no memory
/// of its own. More than that stands on the heap.
class task {
 public:
  task() = default;
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, task>)
      task(F&& what) {  // NOLINT: any function is a task
    using function = std::remove_cvref_t<F>;
    if constexpr (fits<function>) {
      new (room_) function(std::forward<F>(what));
      how_ = &inside<function>;
    } else {
      new (room_) function*(new function(std::forward<F>(what)));
      how_ = &outside<function>;
    }
  }
  task(task&& other) noexcept { take(other); }
  task& operator=(task&& other) noexcept {
    if (this == &other) return *this;
    end();
    take(other);
    return *this;
  }
  ~task() { end(); }

  void operator()() { how_->call(room_); }

 private:
  struct operations {
    void (*call)(std::byte* at);
    void (*move)(std::byte* to, std::byte* from);  ///< and ends what it has moved
    void (*end)(std::byte* at);
  };
  static constexpr std::size_t room = 56;
  template <class F>
  static constexpr bool fits =
      sizeof(F) <= room && alignof(F) <= alignof(void*) && std::is_nothrow_move_constructible_v<F>;
  template <class F>
  static F& at(std::byte* place) {
    return *std::launder(reinterpret_cast<F*>(place));
  }
  template <class F>
  static constexpr operations inside{[](std::byte* place) { at<F>(place)(); },
                                     [](std::byte* to, std::byte* from) {
                                       new (to) F(std::move(at<F>(from)));
                                       at<F>(from).~F();
                                     },
                                     [](std::byte* place) { at<F>(place).~F(); }};
  template <class F>
  static constexpr operations outside{
      [](std::byte* place) { (*at<F*>(place))(); },
      [](std::byte* to, std::byte* from) { std::memcpy(to, from, sizeof(F*)); },
      [](std::byte* place) { delete at<F*>(place); }};

  void take(task& other) {
    how_ = std::exchange(other.how_, nullptr);
    if (how_ != nullptr) how_->move(room_, other.room_);
  }
  void end() {
    if (how_ != nullptr) how_->end(room_);
  }

  const operations* how_ = nullptr;
  alignas(void*) std::byte room_[room];
};

}  // namespace freehca::model
