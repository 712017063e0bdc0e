// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Every command in a call that is good, each with what must be there before it: what tests of
// strictness spoil.
#pragma once

#include <span>
#include <vector>

#include "transport_fixture.hpp"

namespace freehca::model::test {

/// How far an adapter has been brought up.
enum class stage : std::uint8_t { cold, lent, firmware, sized, context_memory, running };

/// A command as it will be posted.
struct call {
  layouts::opcode what{};
  std::vector<std::byte> mailbox = {};  ///< input; empty: `immediate` instead
  std::uint64_t immediate = 0;
  std::uint32_t modifier = 0;
  unsigned opcode_modifier = 0;
  bool output = false;            ///< has an output mailbox
  std::uint64_t in = 0, out = 0;  ///< the mailboxes' addresses

  template <class T>
  call& with(const layouts::image<T>& m, std::size_t at = 0) {
    mailbox.resize(std::max(mailbox.size(), at + T::bytes));
    std::copy_n(m.data(), T::bytes, mailbox.begin() + static_cast<std::ptrdiff_t>(at));
    return *this;
  }
  /// The mailbox's T with one of its fields changed.
  template <auto Field, class T, class V>
  call& change(V value, std::size_t at = 0) {
    return with(layouts::image<T>::from_bytes(mailbox.data() + at).template set<Field>(value), at);
  }
  call& numbered(std::uint32_t number) {
    modifier = number;
    return *this;
  }
  call& by(unsigned modifier_of_opcode) {
    opcode_modifier = modifier_of_opcode;
    return *this;
  }
  call& given(std::uint64_t value) {
    immediate = value;
    return *this;
  }
  call& answered() {
    output = true;
    return *this;
  }
};

/// An adapter at work that can be taken back to any stage of its bring-up.
class strict_world : public transport_fixture {
 public:
  /// Numbers that the calls are about.
  static constexpr std::uint32_t a_eqn = 50, a_cqn = 300, a_srqn = 100, an_mpt = 400, a_qpn = 0x180;

  strict_world() : transport_fixture(test_options(), std::make_unique<test_host>(96u << 20)) {}

  /// Begins anew; options::strict.
  void begin(bool strict);
  /// The options that it began with.
  options how = test_options();

  void go_to(stage s);
  void steer_by_rules();
  /// Posts it; the answer's status. One that is refused changes none of the adapter's counters, but
  /// those of commands and complaints, unless `refused_in_part`.
  layouts::command_status issue(const call& c);
  layouts::command_status issue(const call& c, std::uint64_t& output);

  void make_eq();
  void make_cq();
  void make_srq();
  void make_mpt();
  /// A queue pair of that number in that state.
  void make_qp_in(layouts::qp_state s);
  call qp_call(layouts::opcode o, const layouts::image<layouts::qpc>& context) const;
  test_qp fresh_qp(layouts::qp_service service = layouts::qp_service::rc);
  layouts::image<layouts::qpc> ready() { return ready_context(qp, a_qpn); }

  using transport_fixture::driver, transport_fixture::hca, transport_fixture::host;
  using transport_fixture::eqn, transport_fixture::cqn, transport_fixture::pd;
  using transport_fixture::first_context, transport_fixture::links, transport_fixture::srq_context;
  using transport_fixture::make_srq_buffer, transport_fixture::data,
      transport_fixture::region_start;
  using transport_fixture::modify, transport_fixture::key, transport_fixture::state_of;
  using transport_fixture::no_completion, transport_fixture::post_receive, transport_fixture::start;

  bool refused_in_part = false;
  test_driver::queue other_eq, other_cq;
  test_srq srq;
  test_qp qp;
};

struct good_call {
  layouts::opcode what;
  stage at;                     ///< the least stage in which it is good
  call (*make)(strict_world&);  ///< in that stage
  bool ethernet = false;        ///< of adapters with an Ethernet port, which port 2 then is
};
std::span<const good_call> good_calls();
const good_call& good_call_of(layouts::opcode o);

}  // namespace freehca::model::test
