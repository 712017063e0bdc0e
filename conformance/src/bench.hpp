// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What rows ask an adapter with: commands of their own, and objects that nobody else has.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/firmware_cmds/command_client.hpp>
#include <freehca/firmware_cmds/raw_command.hpp>
#include <freehca/hal/clock.hpp>
#include <freehca/layouts/opcode.hpp>
#include <freehca/layouts/qpc.hpp>

#include <freehca/conformance/runner.hpp>

namespace freehca::conformance {

/// What a row may have of its own.
enum class object : std::uint8_t {
  region,
  event_queue,
  completion_queue,
  shared_queue,
  queue_pair,
};
inline constexpr unsigned object_kinds = 5;

/// Which of an object's numbers a command names.
enum class named : std::uint8_t {
  own,
  unmade,          ///< another that is the row's too, and never in hardware's hands
  past_the_table,  ///< its own, with a bit that the table has no room for
};

/// A command. The mailboxes are the bench's.
struct call {
  layouts::opcode what{};
  std::uint32_t modifier = 0;
  unsigned opcode_modifier = 0;
  bool input = false, output = false;
  bool immediate = false;
  std::uint64_t value = 0;  ///< with `immediate`
};

class bench {
 public:
  explicit bench(const surroundings& where) : where_(where), user_(where.adapter.commands()) {}
  bench(const bench&) = delete;
  bench& operator=(const bench&) = delete;

  /// Takes numbers, context memory and buffers for one object of each kind.
  status open();
  /// Gives back what open() took, as far as it came. Nothing when the run has ended: hardware may
  /// have any of it still, until it is reset.
  status close();

  /// From now on nothing is asked of the adapter. The first reason stays.
  void end(status why) {
    if (ended_.ok()) ended_ = why;
  }
  /// Memory of a row that hardware may have still.
  void leave(const dma_region& memory) { left_.add_buffer(memory); }
  /// What was left, and, behind close(), what that did not give back.
  left_memory left() const;
  /// ok as long as the adapter may be asked. Looked at before anything is begun.
  status ended() const { return ended_; }
  /// What a row comes to that found `f`, when `undo` has taken back what it made. The adapter is
  /// asked on only when it said that all is back.
  template <class Undo>
  finding conclude(const finding& f, Undo undo) {
    if (f.got.is_trouble()) end(f.got.trouble());
    if (!ended_.ok()) return ended_;
    const status undone = undo();
    if (undone.ok()) return f;
    end(undone);
    return answer(undone).is_trouble() ? finding(undone) : f;
  }

  const surroundings& where() const { return where_; }
  device& adapter() const { return where_.adapter; }
  verbs& objects() const { return where_.objects; }
  const capabilities& can() const { return adapter().capabilities(); }
  const port_attributes& port() const { return adapter().port(where_.port); }

  /// Until it is over. Its outcome; transport_error::gone when the adapter has died meanwhile.
  /// Whatever is no answer of the firmware ends the run.
  status finish(operation& op);
  /// Until `there(of)`; false: the time is over, or the adapter has died.
  bool wait(bool (*there)(void* of), void* of, std::uint64_t limit = clock::seconds(5));
  void turn() { where_.turn(where_.context); }
  std::uint64_t now() const { return adapter().platform().now(); }

  /// The status of the command. When the run has ended, why, and nothing is asked.
  status issue(const call& c);
  /// The immediate output of the last command that was taken.
  std::uint64_t output_immediate() const { return output_immediate_; }
  /// The next input mailbox becomes this, with zeros behind it.
  template <class T>
  void put(const layouts::image<T>& m) {
    static_assert(T::bytes <= sizeof input_);
    __builtin_memset(input_, 0, sizeof input_);
    __builtin_memcpy(input_, m.data(), T::bytes);
  }
  /// Changes one field of the next input mailbox, which is a T from byte `at` on.
  template <class T, auto Field, class V>
  void change(V value, std::size_t at = 0) {
    auto m = layouts::image<T>::from_bytes(input_ + at);
    m.template set<Field>(value);
    __builtin_memcpy(input_ + at, m.data(), T::bytes);
  }
  template <class T>
  layouts::image<T> next_input() const {
    static_assert(T::bytes <= sizeof input_);
    return layouts::image<T>::from_bytes(input_);
  }
  template <class T>
  layouts::image<T> output() const {
    static_assert(T::bytes <= sizeof output_);
    return layouts::image<T>::from_bytes(output_);
  }

  std::uint32_t number(object o, named which = named::own) const;
  /// An index past the table of multicast groups. Its low bits are a group that is not reserved,
  /// has context memory, and is nobody's.
  std::uint32_t group_past_the_table() const;
  /// The next input mailbox is what makes the object.
  void describe(object o);
  /// Gives the object to hardware, or takes it back from wherever it is; not when hardware never
  /// had it.
  status make(object o);
  status unmake(object o);

  /// The next input mailbox is that of a transition of the queue pair to `to`.
  void describe(layouts::qp_service service, layouts::qp_state to);
  /// Takes the queue pair there from RESET: taken, or what came instead.
  answer bring_to(layouts::qp_service service, layouts::qp_state to);
  status transition(layouts::opcode o);
  /// As the device has it; what was left in the way of an answer otherwise.
  finding state();
  /// The same, when a queue that drains has drained.
  finding settled_state();
  status reset_queue_pair();
  /// The device is told of receives, which nobody but a queue pair in ERROR looks into: they are
  /// empty.
  void tell_of_receives(unsigned count);

 private:
  struct scratch {
    std::uint32_t own = 0, unmade = 0, translation = 0;
    dma_region buffer, record;
    bool numbered = false, numbered_unmade = false, mapped = false, mapped_unmade = false;
    bool translated = false, translation_mapped = false;
    bool given = false;  ///< hardware took it, and has not said that it gave it back
  };
  void note_taken(const call& c);
  scratch& of(object o) { return scratch_[static_cast<unsigned>(o)]; }
  const scratch& of(object o) const { return scratch_[static_cast<unsigned>(o)]; }
  number_allocator& numbers_of(object o);
  status map(context_group group, std::uint32_t first, std::uint32_t count, bool* done);
  status unmap(context_group group, std::uint32_t first, std::uint32_t count, bool* done);
  status open(object o);
  status close(object o);
  status write_translation(const scratch& s);
  std::uint32_t group() const;
  std::uint64_t translation(object o) const;

  const surroundings& where_;
  command_client user_;
  scratch scratch_[object_kinds];
  bool group_mapped_ = false;
  status ended_;
  left_memory left_;
  std::uint64_t output_immediate_ = 0;
  alignas(8) std::byte input_[512] = {};
  alignas(8) std::byte output_[512] = {};
};

}  // namespace freehca::conformance
