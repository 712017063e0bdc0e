// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <coroutine>
#include <cstdint>

#include <freehca/hal/assert.hpp>
#include <freehca/hal/list.hpp>
#include <freehca/hal/status.hpp>

namespace freehca {

class reactor;

/// The awaiter of `op`. co_await returns op.value() if the operation has a value(), else
/// op.outcome(). The awaiter is a small copyable value, because g++ 12 rejects an awaiter that is a
/// reference to an immovable object.
template <class Operation>
struct operation_awaiter {
  Operation& op;
  bool await_ready() const noexcept { return op.done(); }
  void await_suspend(std::coroutine_handle<> waiting) const noexcept {
    op.then(
        [](auto&, void* frame) noexcept { std::coroutine_handle<>::from_address(frame).resume(); },
        waiting.address());
  }
  auto await_resume() const noexcept {
    if constexpr (requires { op.value(); }) return op.value();
    else return op.outcome();
  }
};

/// A request that is started and completes later: a firmware command, a sequence of commands, a
/// MAD, a path query. The caller owns the operation, which is immovable. An operation can be
/// started once. A second start has no effect until restart() is called.
///
/// If an operation is destroyed while it is under way, it is detached. It then ends as if it were
/// cancelled, and resources that the firmware may still use stay in doubt (lease.hpp). The callback
/// of then() is not called in this case. The operation's owner (channel, device, verbs, adapter)
/// must exist as long as the operation is under way.
///
/// An operation completes exactly once, inside a poll() of its owner or inside a call that resets
/// or closes its owner. It never completes inside the call that starts it, and never in interrupt
/// context. The caller learns of the completion in one of three ways: it polls done(), it sets a
/// callback with then(), or it uses co_await.
///
/// While an operation is under way, it is in at most two lists: one list of the part of the driver
/// that works on it (list_node), and one list of its owner's reactor.
class operation : public list_node, public list_place<reactor> {
 public:
  using list_node::linked;
  using list_node::unlink;
  using callback = void (*)(operation&, void* context) noexcept;
  enum class phase : std::uint8_t {
    idle,
    queued,
    in_flight,
    ended,  ///< the outcome is known; the next poll() completes the operation
    done,
  };
  static constexpr std::uint64_t no_deadline = ~std::uint64_t{0};

  /// Not inline: operations contain operations, and each constructor would repeat the code of all
  /// of them.
  [[gnu::noinline]] constexpr operation() {}
  /// If the owner uses members of a derived class, the destructor of that class calls drop() while
  /// these members still exist.
  ~operation();

  bool done() const { return state_ == phase::done; }
  bool under_way() const { return state_ != phase::idle && state_ != phase::done; }
  phase where() const { return state_; }
  /// Valid once done().
  status outcome() const {
    FREEHCA_ASSERT(done());
    return outcome_;
  }

  /// Calls f(*this, context) at completion. The call is the last access to the operation, so f may
  /// destroy or restart it. An operation has at most one callback, which must be set before
  /// completion.
  void then(callback f, void* context) {
    FREEHCA_ASSERT(callback_ == nullptr && !done());
    callback_ = f;
    context_ = context;
  }
  /// Like then(), but f is also called if the operation is destroyed while it is under way. A
  /// coroutine that waits for such an operation would otherwise wait for ever.
  void then_always(callback f, void* context) {
    then(f, context);
    tells_drop_ = true;
  }

  /// Sets the deadline, an absolute time in nanoseconds of the platform's clock. It must be set
  /// before the start; it has no effect on an operation that is under way. If a command has no
  /// deadline, it gets the limit of its class when it is posted. If the deadline of an operation of
  /// several steps passes, the operation ends as if it were cancelled, with
  /// transport_error::timeout: the steps that were answered are undone first.
  void set_deadline(std::uint64_t at) {
    FREEHCA_ASSERT(!under_way());
    if (!under_way()) deadline_ = at;
  }
  std::uint64_t deadline() const { return deadline_; }

  /// Asks the owner to end the operation early. A queued operation completes with
  /// driver_error::cancelled at the next poll(). An operation that the firmware has is detached: it
  /// completes with driver_error::cancelled, and the resources that it put at risk stay in doubt
  /// until the late answer or a reset. cancel() has no effect on an operation that is idle, ended
  /// or done.
  void cancel() { stop(driver_error::cancelled); }

  /// Makes a done operation startable again. Returns false and changes nothing if the operation is
  /// under way, or if drop() calls or has called the callback of then_always().
  bool restart();

  /// co_await gives the outcome.
  auto operator co_await() & noexcept { return operation_awaiter<operation>{*this}; }

 protected:
  using canceller = void (*)(operation&, void* owner) noexcept;

 public:
  // The owner's interface. Only the channel or the sequence that runs the operation calls these
  // functions.

  /// Each function that starts an operation calls this first. Returns false if the operation is
  /// under way, or done and not restarted. The function then leaves the operation unchanged. A
  /// debug build traps.
  bool startable() const {
    FREEHCA_ASSERT(state_ == phase::idle);
    return state_ == phase::idle;
  }
  /// Takes the operation over; its phase changes from idle to queued. cancel() calls `on_cancel`
  /// with `owner`.
  void begin(canceller on_cancel, void* owner) {
    FREEHCA_ASSERT(state_ == phase::idle);
    cancel_ = on_cancel;
    owner_ = owner;
    outcome_ = {};
    expired_ = false;
    state_ = phase::queued;
  }
  /// Reports that the deadline has passed. Calls `on_cancel` as cancel() does.
  void expire() {
    expired_ = true;
    stop(transport_error::timeout);
  }
  bool expired() const { return expired_; }
  /// The reason why the operation is to end early: driver_error::cancelled or
  /// transport_error::timeout, the first that occurred, or the reason of a refusal. Ok if the
  /// operation is not to end early. Valid until the operation is done.
  status stop_reason() const {
    FREEHCA_ASSERT(!done());
    return outcome_;
  }
  /// Returns the outcome of a part of this operation, as this operation reports it. If the part was
  /// cancelled because this operation is to end early, that is stop_reason(), else `part`.
  status reason_for(status part) const;
  /// Ends an operation that is under way at once, as if it were cancelled. Called by destructors,
  /// and by the owner of an operation that is a part of another. The callback of then_always() is
  /// called, that of then() is not. drop() calls `on_cancel` with dropped() true. `on_cancel`
  /// removes every reference to the operation before it returns, and may call complete() with the
  /// known outcome. An operation that has ended keeps its outcome.
  void drop();
  /// True if drop() was called while the operation was under way.
  bool dropped() const { return dropped_; }
  void mark_in_flight() { state_ = phase::in_flight; }
  /// Completes the operation; called inside poll(). Unlinks it and then calls the callback. *this
  /// may be destroyed when complete() returns.
  void complete(status s);

 private:
  friend class reactor;
  void stop(status why);

  callback callback_ = nullptr;
  void* context_ = nullptr;
  canceller cancel_ = nullptr;
  void* owner_ = nullptr;
  std::uint64_t deadline_ = no_deadline;
  status outcome_;  // until the operation is done: its stop_reason()
  phase state_ = phase::idle;
  bool dropped_ = false;
  bool expired_ = false;
  bool tells_drop_ = false;  // callback_ is called by drop() too
};
static_assert(sizeof(void*) != 8 || sizeof(operation) == 80);

/// An operation of several parts, which are operations too and run one after the other. The parts
/// are members of a class that derives from this one. The destructor of that class calls drop().
///
/// cancel() and the deadline cancel the part that is under way. If the stepper is destroyed while
/// it is under way, the part is dropped, and the advancer is called once more. While dropped() is
/// true, the advancer starts no part, but calls complete().
class stepper : public operation {
 protected:
  /// Called when a part has ended. `outcome` is the result of reason_for(). Starts the next part,
  /// or calls complete().
  using advancer = void (*)(stepper& self, status outcome) noexcept;

  stepper() = default;

  /// The stepper is under way until complete().
  void begin_parts(advancer next);
  /// Begins too, and has the reactor watch the deadline. If `checked` is an error, refuses the
  /// operation instead, and returns false.
  bool begin_checked(reactor& of, status checked, advancer next);
  /// Makes `p` startable. The advancer is called when `p` ends.
  template <class Part>
  Part& part(Part& p) {
    prepare_part(p);
    return p;
  }
  /// Begins the undo steps of a stepper that failed or is to end early. cancel() and the deadline
  /// do not stop them.
  void begin_undoing(status why) {
    FREEHCA_ASSERT(!why.ok());
    why_ = why;
  }
  bool undoing() const { return !why_.ok(); }
  /// The argument of begin_undoing().
  status why() const { return why_; }

 private:
  void prepare_part(operation& p);
  static void part_ended(operation& p, void* self) noexcept;
  static void on_cancel(operation& op, void* self) noexcept;

  operation* part_ = nullptr;
  advancer advance_ = nullptr;
  status why_;
};

}  // namespace freehca
