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

/// Waits for `op`: co_await gives its value() where it has one, else its outcome. A small copyable
/// value: g++ 12 rejects an awaiter that is a reference to something immovable.
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

/// Anything that is started and completes later: a firmware command, a sequence of them, a MAD, a
/// path query. Owned by the caller, immovable, single use until restart(): a second start has no
/// effect. One that is destroyed under way is detached: it ends as if it were cancelled, and what
/// the firmware may still use stays in doubt (lease.hpp). then() does not hear of that. Its owner
/// (channel, device, verbs, adapter) must outlive it as long as it is under way.
///
/// Completes exactly once, only from inside a poll() of its owner (never from the call that starts
/// it, never from interrupt context), in one of three ways for the caller: done() to poll, then()
/// to be called back, co_await to be resumed.
///
/// While it is under way it is in at most two lists: one of the part of the driver that works on
/// it (list_node), and one of its owner's reactor.
class operation : public list_node, public list_place<reactor> {
 public:
  using list_node::linked;
  using list_node::unlink;
  using callback = void (*)(operation&, void* context) noexcept;
  enum class phase : std::uint8_t {
    idle,
    queued,
    in_flight,
    ended,  ///< the outcome is known; the next poll() completes it
    done,
  };
  static constexpr std::uint64_t no_deadline = ~std::uint64_t{0};

  /// Not inline: operations are made of operations, and each would spell them all out.
  [[gnu::noinline]] constexpr operation() {}
  /// A class that adds members which its owner uses calls drop() in a destructor of its own, while
  /// they are there.
  ~operation();

  bool done() const { return state_ == phase::done; }
  bool under_way() const { return state_ != phase::idle && state_ != phase::done; }
  phase where() const { return state_; }
  /// Valid once done().
  status outcome() const {
    FREEHCA_ASSERT(done());
    return outcome_;
  }

  /// Calls f(*this, context) at completion, as the last touch: f may destroy or restart the
  /// operation. At most one, set before completion.
  void then(callback f, void* context) {
    FREEHCA_ASSERT(callback_ == nullptr && !done());
    callback_ = f;
    context_ = context;
  }
  /// The same for a coroutine that waits for it and would else never hear of its end: f is called
  /// from drop() too.
  void then_always(callback f, void* context) {
    then(f, context);
    tells_drop_ = true;
  }

  /// Absolute time in nanoseconds of the platform's clock by which it must have completed. Set
  /// before the start; no effect on one that is under way. A command without one gets the limit of
  /// its class when it is posted. An operation that consists of several steps then ends as if it
  /// were cancelled, with transport_error::timeout: what was answered is undone first.
  void set_deadline(std::uint64_t at) {
    FREEHCA_ASSERT(!under_way());
    if (!under_way()) deadline_ = at;
  }
  std::uint64_t deadline() const { return deadline_; }

  /// Asks the owner to end it early. A queued operation completes with driver_error::cancelled at
  /// the next poll(); one that the firmware has is detached: it completes cancelled, and what it
  /// put at risk stays in doubt until the late answer or a reset. No effect on one that is idle or
  /// done.
  void cancel() { stop(driver_error::cancelled); }

  /// Makes a done operation startable again. False: it is under way, or being destroyed, and stays
  /// as it is.
  bool restart();

  /// co_await gives the outcome.
  auto operator co_await() & noexcept { return operation_awaiter<operation>{*this}; }

 protected:
  using canceller = void (*)(operation&, void* owner) noexcept;

 public:
  // The owner's side: called by the channel or the sequence that runs the operation, by nobody
  // else.

  /// For whatever starts it, ahead of all else: false for one that is under way, or done and not
  /// restarted. It is left alone then; a debug build traps.
  bool startable() const {
    FREEHCA_ASSERT(state_ == phase::idle);
    return state_ == phase::idle;
  }
  /// Takes it over: idle to queued. `on_cancel` is called for cancel() with `owner`.
  void begin(canceller on_cancel, void* owner) {
    FREEHCA_ASSERT(state_ == phase::idle);
    cancel_ = on_cancel;
    owner_ = owner;
    outcome_ = {};
    expired_ = false;
    state_ = phase::queued;
  }
  /// Its deadline has passed: `on_cancel` is called as for cancel().
  void expire() {
    expired_ = true;
    stop(transport_error::timeout);
  }
  bool expired() const { return expired_; }
  /// Why it was told to end early: driver_error::cancelled or transport_error::timeout, whichever
  /// came first, or why it was refused; ok when it was not. Until it is done.
  status stop_reason() const {
    FREEHCA_ASSERT(!done());
    return outcome_;
  }
  /// For destructors, and for the owner of a part: if it is under way, it ends now as if cancelled,
  /// and nobody waits for it any more. `on_cancel` is called with dropped() true, and forgets the
  /// operation before it returns. It may complete() it, with what is known of its outcome. One that
  /// has ended keeps its outcome.
  void drop();
  /// drop() was called while it was under way.
  bool dropped() const { return dropped_; }
  void mark_in_flight() { state_ = phase::in_flight; }
  /// Ends it, from inside poll(). Unlinks it, then calls back; *this may be gone afterwards.
  void complete(status s);

 private:
  friend class reactor;
  void stop(status why);

  callback callback_ = nullptr;
  void* context_ = nullptr;
  canceller cancel_ = nullptr;
  void* owner_ = nullptr;
  std::uint64_t deadline_ = no_deadline;
  status outcome_;  // until it is done: why it was told to end
  phase state_ = phase::idle;
  bool dropped_ = false;
  bool expired_ = false;
  bool tells_drop_ = false;  // callback_ is called by drop() too
};
static_assert(sizeof(void*) != 8 || sizeof(operation) == 80);

}  // namespace freehca
