// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <freehca/hal/assert.hpp>
#include <freehca/hal/dma_arena.hpp>
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
  frames(std::byte* storage, std::size_t bytes) {
    // The first bytes are the arena's record of the others, which have no device address. If they
    // are no room for a frame, the arena stays closed.
    const std::size_t record = (dma_arena::storage_bytes_for(bytes, unit) + 15) / 16 * 16;
    if (record > bytes) return;
    static_cast<void>(
        arena_.open({.host = storage + record, .bytes = bytes - record}, unit, storage, record, 0));
  }
  template <std::size_t Bytes>
  explicit frames(std::byte (&storage)[Bytes]) : frames(storage, Bytes) {}
  ~frames() { FREEHCA_ASSERT(arena_.bytes_out() == 0); }
  frames(const frames&) = delete;
  frames& operator=(const frames&) = delete;

  /// Returns null if there is no room.
  void* take(std::size_t bytes) {
    const result<dma_region> run = arena_.allocate(sizeof(head) + bytes);
    return run.ok() ? ::new (static_cast<void*>(run.value().host)) head{this, run.value()} + 1
                    : nullptr;
  }
  static void give_back(void* frame) {
    const head& at = static_cast<head*>(frame)[-1];
    at.owner->arena_.free(at.run);
  }

 private:
  struct alignas(16) head {
    frames* owner;
    dma_region run;
  };
  static constexpr std::size_t unit = 64;
  dma_arena arena_;
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

  /// The task is an operation, which ends when no code uses the frame any more.
  struct alignas(16) promise_type : operation {
    promise_type() { begin(&on_cancel, nullptr); }
    task get_return_object() { return task(frame::from_promise(*this)); }
    static task get_return_object_on_allocation_failure() { return task(nullptr); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct completing_awaiter {
        bool await_ready() const noexcept { return false; }
        void await_suspend(frame f) const noexcept { f.promise().end(); }
        void await_resume() const noexcept {}
      };
      return completing_awaiter{};
    }
    void return_value(const result<T>& r) { value_ = r; }
    void unhandled_exception() noexcept {}
    /// Valid once done().
    result<T> value() const { return value_; }

    template <class... Arguments>
    static void* operator new(std::size_t bytes, frames& from, Arguments&&...) noexcept {
      return from.take(bytes);
    }
    static void operator delete(void* at) noexcept { frames::give_back(at); }

    template <class Operation>
    requires(std::derived_from<std::remove_cvref_t<Operation>, operation>) auto await_transform(
        Operation&& o) {
      return awaiter<std::remove_cvref_t<Operation>, false>{&o};
    }
    template <class Operation>
    auto await_transform(attempt<Operation>&& a) {
      return awaiter<Operation, true>{&a.of};
    }
    template <class U>
    auto await_transform(const task<U>& inner) {
      return awaiter<typename task<U>::promise_type, false>{inner.promise()};
    }

    void fail(status why) {
      value_ = why;
      end();
    }
    void end() {
      awaited_ = nullptr;
      // The task was destroyed, and its operation was dropped.
      if (done()) return frame::from_promise(*this).destroy();
      // The call is the last access to the frame, because the callback may destroy the task.
      complete(value_.ok() ? status() : value_.error());
    }
    static void on_cancel(operation& self, void*) noexcept {
      if (operation* const o = static_cast<promise_type&>(self).awaited_) o->cancel();
    }

    result<T> value_{status(driver_error::cancelled)};
    operation* awaited_ = nullptr;
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
    // The code of the task must not destroy the task.
    FREEHCA_ASSERT(frame_.promise().awaited_ != nullptr);
    // Only a task that waits for this one is called. A callback of then() is not.
    frame_.promise().drop();
  }

  bool done() const { return !frame_ || frame_.promise().done(); }
  /// Valid once done(). driver_error::no_memory means that there was no room for the frame.
  result<T> value() const {
    FREEHCA_ASSERT(done());
    return frame_ ? frame_.promise().value() : result<T>(status(driver_error::no_memory));
  }
  /// Cancels the operation or task for which this task waits. This task ends with that outcome,
  /// unless it continues after an attempt().
  void cancel() {
    if (!done()) frame_.promise().cancel();
  }
  /// Calls f(operation&, context) when the task is done, as the last access to it. A task has at
  /// most one callback, which must be set before that.
  void then(operation::callback f, void* context) {
    FREEHCA_ASSERT(!done());
    frame_.promise().then(f, context);
  }
  /// The operation of the task; null if there was no room for the frame.
  promise_type* promise() const { return frame_ ? &frame_.promise() : nullptr; }

 private:
  template <class Operation, bool Attempted>
  struct awaiter {
    Operation* o;  // null: a task without a frame

    status outcome() const { return o != nullptr ? o->outcome() : driver_error::no_memory; }
    bool await_ready() const noexcept {
      return o != nullptr && o->done() && (Attempted || o->outcome().ok());
    }
    void await_suspend(frame f) const noexcept {
      promise_type& p = f.promise();
      if (o == nullptr || o->done()) return p.fail(outcome());
      p.awaited_ = o;
      o->then_always(&ended, f.address());
    }
    auto await_resume() const noexcept {
      if constexpr (!requires { o->value(); }) {
        if constexpr (Attempted) return o->outcome();
      } else if constexpr (Attempted) {
        return o->value();
      } else {
        return o->value().value();
      }
    }
    static void ended(operation& op, void* at) noexcept {
      const frame f = frame::from_address(at);
      promise_type& p = f.promise();
      p.awaited_ = nullptr;
      if (p.done()) p.end();
      else if (Attempted || op.outcome().ok()) f.resume();
      else p.fail(op.outcome());
    }
  };

  explicit task(frame f) : frame_(f) {}
  frame frame_;
};

/// The result of a task without a result: `co_return easy::done;`.
struct no_result {};
inline constexpr no_result done{};

}  // namespace freehca::easy
