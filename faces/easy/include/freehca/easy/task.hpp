// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <freehca/hal/assert.hpp>
#include <freehca/hal/operation.hpp>
#include <freehca/hal/status.hpp>

namespace freehca::easy {

/// Memory for the frames of tasks. The caller provides it. The memory of frames that have ended is
/// used again. The object must outlive the frames, also the frames of tasks that were destroyed
/// while they waited. A program therefore declares it before the adapter, whose teardown ends the
/// last frames. One thread uses the object.
class frames {
 public:
  /// `storage` is aligned to 16.
  frames(std::byte* storage, std::size_t bytes) : at_(storage), left_(bytes) {}
  template <std::size_t Bytes>
  explicit frames(std::byte (&storage)[Bytes]) : frames(storage, Bytes) {}
  ~frames() { FREEHCA_ASSERT(out_ == 0); }
  frames(const frames&) = delete;
  frames& operator=(const frames&) = delete;

  /// Returns null if there is no room.
  void* take(std::size_t bytes) {
    const std::size_t whole = (sizeof(head) + bytes + 15) / 16 * 16;
    for (head** place = &free_; *place != nullptr; place = &(*place)->next) {
      head* const found = *place;
      if (found->bytes < whole) continue;
      *place = found->next;
      ++out_;
      return found + 1;
    }
    if (whole > left_) return nullptr;
    head* const made = static_cast<head*>(static_cast<void*>(at_));
    at_ += whole;
    left_ -= whole;
    made->owner = this;
    made->bytes = whole;
    ++out_;
    return made + 1;
  }
  static void give_back(void* frame) {
    head* const it = static_cast<head*>(frame) - 1;
    --it->owner->out_;
    it->next = it->owner->free_;
    it->owner->free_ = it;
  }

 private:
  struct alignas(16) head {
    frames* owner;
    head* next;
    std::size_t bytes;
  };
  std::byte* at_;
  std::size_t left_;
  head* free_ = nullptr;
  std::size_t out_ = 0;
};

/// attempt(x): co_await gives the result of x, or the outcome if x has no result. The task
/// continues even if x has failed.
template <class Operation>
struct attempt {
  Operation& of;
  explicit attempt(Operation&& o) : of(o) {}
  explicit attempt(Operation& o) : of(o) {}
};

/// A coroutine of operations. `co_await x` gives the result of x. If x fails, the task ends there
/// with the status of x. The memories and connections that the task has made by then stay in the
/// adapter until release(), close() or tear_down(). The first argument of the coroutine is the
/// memory for its frame:
///
///   easy::task<std::uint32_t> work(easy::frames&, easy::adapter& hca);
///
/// The task runs at once up to its first co_await. It continues inside poll(). The caller owns the
/// task. If the task is destroyed while it waits, it is cancelled. Its code does not run any more,
/// and its frame exists until the poll() that ends the operation for which it waits. An operation
/// or a task that was passed to the task may be destroyed before that. The task then receives the
/// outcome "cancelled" for it.
template <class T>
class [[nodiscard]] task {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  struct promise_type;
  using frame = std::coroutine_handle<promise_type>;

  struct alignas(16) promise_type {
    task get_return_object() { return task(frame::from_promise(*this)); }
    static task get_return_object_on_allocation_failure() { return task(nullptr); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    /// Reports the end of the task when no code uses the frame any more.
    auto final_suspend() noexcept {
      struct completing_awaiter {
        bool await_ready() const noexcept { return false; }
        void await_suspend(frame f) const noexcept { f.promise().tell(); }
        void await_resume() const noexcept {}
      };
      return completing_awaiter{};
    }
    void return_value(const result<T>& r) { end_ = r; }
    void unhandled_exception() noexcept {}

    template <class... Arguments>
    static void* operator new(std::size_t bytes, frames& from, Arguments&&...) noexcept {
      return from.take(bytes);
    }
    static void operator delete(void* at) noexcept { frames::give_back(at); }

    template <class Operation>
    requires(std::derived_from<std::remove_cvref_t<Operation>, operation>) auto await_transform(
        Operation&& o) {
      return awaiter<std::remove_cvref_t<Operation>, false>{o};
    }
    template <class Operation>
    auto await_transform(attempt<Operation>&& a) {
      return awaiter<Operation, true>{a.of};
    }
    template <class U>
    auto await_transform(task<U>&& inner) {
      return inner_awaiter<U>{inner};
    }
    template <class U>
    auto await_transform(task<U>& inner) {
      return inner_awaiter<U>{inner};
    }

    void fail(status why) {
      end_ = why;
      tell();
    }
    void tell() {
      ended_ = true;
      waits_for_ = nullptr;
      if (abandoned_) return frame::from_promise(*this).destroy();
      // The call is the last access to the frame, because the callback may destroy the task.
      if (then_ != nullptr) then_(context_);
    }

    result<T> end_{status(driver_error::cancelled)};
    bool ended_ = false;
    bool abandoned_ = false;
    bool tells_drop_ = false;  // the task's destructor calls then_ too
    void (*then_)(void* context) noexcept = nullptr;
    void* context_ = nullptr;
    void (*cancel_)(void* what) = nullptr;
    void* waits_for_ = nullptr;
  };

  task(task&& other) noexcept : frame_(other.frame_) { other.frame_ = nullptr; }
  task(const task&) = delete;
  task& operator=(const task&) = delete;
  ~task() {
    if (!frame_) return;
    if (done()) {
      frame_.destroy();
      return;
    }
    promise_type& p = frame_.promise();
    // The code of the task must not destroy the task.
    FREEHCA_ASSERT(p.waits_for_ != nullptr);
    cancel();
    p.abandoned_ = true;
    // A task that waits for this one can learn of the end only here. A callback of then() is not
    // called.
    if (p.then_ != nullptr && p.tells_drop_) p.then_(p.context_);
    p.then_ = nullptr;
  }

  bool done() const { return !frame_ || frame_.promise().ended_ || frame_.promise().abandoned_; }
  /// Valid once done(). driver_error::no_memory means that there was no room for the frame.
  result<T> value() const {
    FREEHCA_ASSERT(done());
    return frame_ ? frame_.promise().end_ : result<T>(status(driver_error::no_memory));
  }
  /// Cancels the operation or task for which this task waits. This task ends with that outcome,
  /// unless it continues after an attempt().
  void cancel() {
    if (!done() && frame_.promise().waits_for_ != nullptr)
      frame_.promise().cancel_(frame_.promise().waits_for_);
  }
  /// Calls f(context) when the task is done, as the last access to it. A task has at most one
  /// callback, which must be set before that.
  void then(void (*f)(void* context) noexcept, void* context) {
    FREEHCA_ASSERT(!done() && frame_.promise().then_ == nullptr);
    frame_.promise().then_ = f;
    frame_.promise().context_ = context;
  }
  /// Like then(), for a task that waits for this one. f is also called when this task is destroyed
  /// before its end.
  void then_always(void (*f)(void* context) noexcept, void* context) {
    then(f, context);
    frame_.promise().tells_drop_ = true;
  }

 private:
  template <class Operation, bool Attempted>
  struct awaiter {
    Operation& o;

    bool await_ready() const noexcept { return o.done() && (Attempted || o.outcome().ok()); }
    void await_suspend(frame f) const noexcept {
      promise_type& p = f.promise();
      if (o.done()) return p.fail(o.outcome());
      p.waits_for_ = &o;
      p.cancel_ = [](void* what) { static_cast<Operation*>(what)->cancel(); };
      o.then_always(&ended, f.address());
    }
    auto await_resume() const noexcept {
      if constexpr (!requires { o.value(); }) {
        if constexpr (Attempted) return o.outcome();
      } else if constexpr (Attempted) {
        return o.value();
      } else {
        return o.value().value();
      }
    }
    static void ended(operation& op, void* at) noexcept {
      const frame f = frame::from_address(at);
      promise_type& p = f.promise();
      p.waits_for_ = nullptr;
      if (p.abandoned_) p.tell();
      else if (Attempted || op.outcome().ok()) f.resume();
      else p.fail(op.outcome());
    }
  };
  template <class U>
  struct inner_awaiter {
    task<U>& inner;
    frame outer = nullptr;

    bool await_ready() const noexcept { return inner.done() && inner.value().ok(); }
    void await_suspend(frame f) noexcept {
      promise_type& p = f.promise();
      if (inner.done()) return p.fail(inner.value().error());
      outer = f;
      p.waits_for_ = &inner;
      p.cancel_ = [](void* what) { static_cast<task<U>*>(what)->cancel(); };
      inner.then_always(&ended, this);
    }
    U await_resume() const noexcept { return inner.value().value(); }
    static void ended(void* self) noexcept {
      auto& a = *static_cast<inner_awaiter*>(self);
      promise_type& p = a.outer.promise();
      p.waits_for_ = nullptr;
      if (p.abandoned_) p.tell();
      else if (a.inner.value().ok()) a.outer.resume();
      else p.fail(a.inner.value().error());
    }
  };

  explicit task(frame f) : frame_(f) {}
  frame frame_;
};

/// The result of a task without a result: `co_return easy::done;`.
struct no_result {};
inline constexpr no_result done{};

}  // namespace freehca::easy
