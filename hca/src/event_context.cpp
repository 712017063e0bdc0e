// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/event_context.hpp>

#include <freehca/hca/objects/number_directory.hpp>

namespace freehca {

using layouts::event_type;

namespace {
/// Reads field M with the layout of the entry's type. All layouts cover the same 32 bytes.
template <class T, auto M>
auto value_of(const layouts::image<layouts::eqe>& e) {
  static_assert(T::bytes == layouts::eqe::bytes);
  return layouts::image<T>::template value_in<M>(e.data());
}
}  // namespace

status event_context::open(std::uint32_t eqn, unsigned vector, bool shares_vector,
                           const queues::eq_resources& ring, channel* commands) {
  FREEHCA_TRY(ring_.open(ring));
  eqn_ = eqn;
  vector_ = vector;
  shares_vector_ = shares_vector;
  commands_ = commands;
  statistics_ = {};
  interrupts_.reset();
  looks_until_armed_ = 0;
  ending_.store(false, std::memory_order_relaxed);
  return {};
}

void event_context::close() {
  ring_.close();
  commands_ = nullptr;
}

unsigned event_context::poll(unsigned limit) {
  if (!is_open()) return 0;
  // Read the interrupt count before the ring. If an interrupt comes later, the next call looks for
  // its event.
  const bool fired = interrupts_.see();
  if (limit > ring_.entries()) limit = ring_.entries();
  unsigned count = 0;
  layouts::image<layouts::eqe> e;
  while (count < limit && ring_.next(e)) {
    ++count;
    dispatch(e);
    // A sink may have closed the queue.
    if (!is_open()) return count;
  }
  if (count != 0) {
    looks_until_armed_ = commands_ != nullptr ? 3 : 1;
  } else if (fired || !armed()) {
    looks_until_armed_ = fired ? 0 : looks_until_armed_ - 1;
    if (armed() && !ending()) ring_.arm();
  }
  return count;
}

void event_context::dispatch(const layouts::image<layouts::eqe>& e) {
  ++statistics_.events;
  const event_type type = e.get<&layouts::eqe::event_type>();
  switch (type) {
    case event_type::completion: {
      ++statistics_.completions;
      using completion = layouts::eqe_completion;
      return notice(static_cast<std::uint32_t>(value_of<completion, &completion::cqn>(e)),
                    {.what = object_event::family::completion});
    }
    case event_type::command_completion: {
      ++statistics_.commands;
      using answer = layouts::eqe_command;
      if (commands_ != nullptr)
        commands_->on_completion(static_cast<std::uint16_t>(value_of<answer, &answer::token>(e)),
                                 static_cast<std::uint8_t>(value_of<answer, &answer::status>(e)),
                                 value_of<answer, &answer::out_param>(e));
      return;
    }
    default:
      dispatch_to_object(e);
  }
}

void event_context::dispatch_to_object(const layouts::image<layouts::eqe>& e) {
  if (asynchronous_ != nullptr && asynchronous_(*device_, e)) return;
  const event_type type = e.get<&layouts::eqe::event_type>();
  const event_subject subject = subject_of(e);
  switch (subject.of) {
    case event_subject::kind::completion_queue:
      using error = layouts::eqe_cq_error;
      return notice(subject.number, {.what = object_event::family::cq_error,
                                     .syndrome = value_of<error, &error::syndrome>(e)});
    case event_subject::kind::queue_pair:
      if (sinks_.qp != nullptr) sinks_.qp(sinks_.context, subject.number, type);
      return;
    case event_subject::kind::shared_receive_queue:
      if (sinks_.srq != nullptr) sinks_.srq(sinks_.context, subject.number, type);
      return;
    case event_subject::kind::none:
      ++statistics_.unknown;
  }
}

void event_context::notice(std::uint32_t cqn, const object_event& event) {
  if (sinks_.completion_queues == nullptr) return;
  object_record* const queue = sinks_.completion_queues->find(cqn);
  if (queue != nullptr) queue->what->notice(*sinks_.objects, *queue, event);
}

event_subject subject_of(const layouts::image<layouts::eqe>& event) {
  using enum event_subject::kind;
  // The number is at the same offset for all three kinds of object.
  const auto number =
      static_cast<std::uint32_t>(value_of<layouts::eqe_qp, &layouts::eqe_qp::qpn>(event));
  switch (event.get<&layouts::eqe::event_type>()) {
    case event_type::cq_error:
      return {completion_queue, number};
    case event_type::path_migrated:
    case event_type::communication_established:
    case event_type::sq_drained:
    case event_type::wq_catastrophic_error:
    case event_type::path_migration_failed:
    case event_type::wq_invalid_request_error:
    case event_type::wq_access_violation:
    case event_type::srq_last_wqe:
      return {queue_pair, number};
    case event_type::srq_limit:
    case event_type::srq_catastrophic_error:
      return {shared_receive_queue, number};
    default:
      return {};
  }
}

}  // namespace freehca
