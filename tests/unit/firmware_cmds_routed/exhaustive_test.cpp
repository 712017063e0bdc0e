// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Every order of events in a small world: a few commands, two slots, and a firmware that answers in
// time, late or never. Each order is played from the start; what must hold is looked at after each
// event.
#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <string>

#include "channel_fixture.hpp"

namespace freehca::testing {
namespace {

constexpr unsigned slots = 2;
constexpr std::uint64_t patience_of_all = 1000;
constexpr unsigned starts_per_command = 2;

enum class happening : std::uint8_t {
  poll,
  start,   ///< command n is submitted (again)
  cancel,  ///< command n
  answer,  ///< the firmware runs command n: with ok where n is even, else with an error
  expire,  ///< time passes, until everything in flight is overdue
  repeat,  ///< the completion event that was seen last comes once more
  reset,
};
struct event {
  happening what;
  unsigned n = 0;
};
const char* name_of(happening h) {
  constexpr const char* names[] = {"poll",   "start",  "cancel", "answer",
                                   "expire", "repeat", "reset"};
  return names[static_cast<unsigned>(h)];
}

/// A command with an output mailbox and a lease.
struct unit : command {
  unsigned starts = 0, completions = 0, doubts = 0, settlements = 0;
  std::byte output[4] = {};
  bool cancelled = false;  // since the last start
  lease what{
      lease_kind::page, 3,
      [](lease&, const settlement&, void* p) noexcept { ++static_cast<unit*>(p)->settlements; },
      this};

  std::uint32_t decoded() const { return layouts::load_be<std::uint32_t>(output); }
  void start(channel& on, unsigned number) {
    if (starts++ != 0) restart();
    request.opcode = layouts::opcode::nop;
    request.input_modifier = number;
    request.output = command_request::form::mailbox;
    request.output_data = output;
    request.output_bytes = sizeof output;
    std::fill(std::begin(output), std::end(output), std::byte{});
    cancelled = false;
    put_at_risk(what);
    then(
        [](operation&, void* p) noexcept {
          auto& self = *static_cast<unit*>(p);
          ++self.completions;
          if (self.what.in_doubt()) ++self.doubts;
        },
        this);
    on.submit(*this);
  }
};

struct coverage {
  std::uint64_t orders = 0, late = 0, timed_out = 0, detached = 0, beside_doubt = 0,
                resets_in_doubt = 0;
};

/// Driver and firmware, from the start. `wrong` is the first thing that did not hold.
class small_world {
 public:
  small_world(unsigned commands, bool by_events, coverage& seen)
      : commands_(commands), seen_(seen) {
    const channel_resources resources{
        .hcr = device_.command_register(),
        .mailboxes = device_.memory(channel::mailbox_bytes_for(slots)),
        .storage = reinterpret_cast<std::byte*>(storage_),
        .storage_bytes = sizeof storage_,
        .slots = slots,
        .platform = device_.platform()};
    check(channel_.open(resources).ok(), "open");
    for (unsigned p = 0; p < patience_classes; ++p)
      channel_.set_limit(static_cast<patience>(p), patience_of_all);
    if (by_events) {
      channel_.use_events(slots);
      channel_.poll();
    }
  }
  ~small_world() {
    if (channel_.is_open()) channel_.device_was_reset();
  }

  std::string wrong;

  /// What can happen now.
  std::vector<event> next() const {
    std::vector<event> all;
    // A third poll in a row sees what the second saw.
    if (polls_in_a_row_ < 2 && units_[0].starts > 0) all.push_back({happening::poll});
    for (unsigned n = 0; n < commands_; ++n) {
      const unit& c = units_[n];
      // All are alike: which of those that never ran starts first makes no difference.
      const bool in_turn = c.starts > 0 || n == 0 || units_[n - 1].starts > 0;
      const bool startable = c.starts == 0 || (c.done() && !c.what.in_doubt());
      if (in_turn && startable && c.starts < starts_per_command)
        all.push_back({happening::start, n});
      if (!c.cancelled && c.under_way()) all.push_back({happening::cancel, n});
    }
    for (unsigned i = 0; i < with_firmware_.size(); ++i) all.push_back({happening::answer, i});
    if (!with_firmware_.empty()) {
      all.push_back({happening::expire});
      all.push_back({happening::reset});
    }
    if (last_token_ != none) all.push_back({happening::repeat});
    return all;
  }

  void apply(event e) {
    polls_in_a_row_ = e.what == happening::poll ? polls_in_a_row_ + 1 : 0;
    switch (e.what) {
      case happening::poll:
        channel_.poll();
        break;
      case happening::start:
        units_[e.n].start(channel_, e.n);
        break;
      case happening::cancel:
        units_[e.n].cancel();
        units_[e.n].cancelled = true;
        break;
      case happening::answer:
        answer(e.n);
        break;
      case happening::expire:
        device_.now += patience_of_all;
        break;
      case happening::repeat:
        repeat();
        break;
      case happening::reset:
        reset();
        break;
    }
    take_note();
    check_counts();
  }

  /// Ends it, and looks at what must hold in the end.
  void finish() {
    const channel_statistics& s = channel_.statistics();
    seen_.late += s.late;
    seen_.timed_out += s.timed_out;
    seen_.detached += s.detached;
    reset();
    channel_.poll();
    for (unsigned n = 0; n < commands_; ++n) {
      const unit& c = units_[n];
      check(c.completions == c.starts, "a command did not complete once for each start");
      check(c.settlements == c.doubts, "a lease in doubt was not settled once");
      check(!c.what.at_risk() && !c.what.in_doubt(), "a lease is still held");
    }
    check(channel_.idle() && channel_.slots_in_use() == 0, "slots are still in use");
    check(channel_.next_deadline() == operation::no_deadline, "it wants to be polled for nothing");
    check(s.posted == device_.posted.size(), "a command was posted twice, or not counted");
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  /// A command that the firmware may still run: its mailbox is the firmware's.
  struct outstanding {
    unsigned n;  // of the unit
    unsigned start;
    std::uint16_t token;
    std::uint64_t box;
    bool by_event;
    std::uint32_t value;  // what it will write
  };

  void check(bool holds, const char* what) {
    if (!holds && wrong.empty()) wrong = what;
  }
  /// Everything that was posted since the last look.
  void take_note() {
    for (; noted_ < device_.posted.size(); ++noted_) {
      const posted_command& p = device_.posted[noted_];
      const auto n = static_cast<unsigned>(p.get<&hcr::in_modifier>());
      const outstanding now{n,
                            units_[n].starts,
                            static_cast<std::uint16_t>(p.get<&hcr::token>()),
                            p.get<&hcr::out_param>(),
                            p.get<&hcr::e>(),
                            ++values_};
      if (!with_firmware_.empty() && channel_.in_doubt(lease_kind::slot) > 0) ++seen_.beside_doubt;
      check(p.get<&hcr::e>() || with_firmware_.empty(), "posted into a register that is taken");
      for (const outstanding& other : with_firmware_) {
        check(now.token != other.token,
              "a token of a command that the firmware has was used again");
        check(now.box != other.box, "a mailbox that the firmware may write was used again");
      }
      check(tokens_.insert(now.token).second, "a token came twice");
      with_firmware_.push_back(now);
    }
  }
  void answer(unsigned i) {
    const outstanding o = with_firmware_[i];
    with_firmware_.erase(with_firmware_.begin() + i);
    const unit& c = units_[o.n];
    const bool waits =
        c.starts == o.start && !c.cancelled && c.where() == operation::phase::in_flight;
    std::byte word[4];
    layouts::store_be(word, o.value);
    device_.write(o.box, word, sizeof word);
    const std::uint8_t status = o.n % 2 == 0 ? 0 : 3;
    if (o.by_event) {
      last_token_ = o.token;
      channel_.on_completion(o.token, status, 0);
    } else {
      device_.answer(status);
    }
    if (waits && status == 0 && o.by_event)
      check(c.decoded() == o.value, "a command decoded what is not its answer");
    if (!waits && c.starts == o.start) check(c.decoded() == 0, "a late answer was decoded");
  }
  void repeat() {
    const auto ignored = [this] {
      const channel_statistics& s = channel_.statistics();
      return s.stale + s.duplicate + s.foreign;
    };
    const std::uint64_t before = ignored();
    channel_.on_completion(static_cast<std::uint16_t>(last_token_), 0, 0);
    check(ignored() == before + 1, "a completion that came twice matched something");
    last_token_ = none;
  }
  void reset() {
    if (channel_.in_doubt(lease_kind::slot) > 0) ++seen_.resets_in_doubt;
    // An answer that was on its way when the reset came.
    for (const outstanding& o : with_firmware_)
      if (o.by_event) last_token_ = o.token;
    with_firmware_.clear();
    channel_.device_was_reset();
    std::fill_n(device_.command_register().base, hcr::bytes, std::byte{0});
    check(channel_.slots_in_use() == 0, "a slot outlived the reset");
  }
  void check_counts() {
    std::uint64_t pages = 0;
    for (unsigned n = 0; n < commands_; ++n) {
      const unit& c = units_[n];
      pages += c.what.in_doubt() ? c.what.amount(lease_kind::page) : 0;
      check(c.completions <= c.starts, "a command completed twice");
      check(c.settlements <= c.doubts, "a lease settled before it was in doubt");
      check(c.completions + (c.done() || c.starts == 0 ? 0 : 1) == c.starts,
            "a completion was lost");
    }
    check(channel_.in_doubt(lease_kind::page) == pages, "pages in doubt are counted wrong");
    check(channel_.in_doubt(lease_kind::slot) <= slots, "more slots in doubt than there are");
    if (channel_.in_doubt(lease_kind::slot) > 0)
      check(channel_.next_deadline() != operation::no_deadline,
            "nobody would look for a late answer");
  }

  unsigned commands_;
  unsigned polls_in_a_row_ = 0;
  coverage& seen_;
  scripted_device device_;
  alignas(std::max_align_t) std::byte storage_[channel::storage_bytes_for(slots)];
  reactor reactor_;
  channel channel_{reactor_};
  unit units_[3];
  std::vector<outstanding> with_firmware_;
  std::set<std::uint16_t> tokens_;
  std::size_t noted_ = 0;
  std::uint32_t values_ = 0x100;
  std::uint32_t last_token_ = none;
};

struct scope {
  unsigned commands;
  bool by_events;
  unsigned depth;
  std::uint64_t least;  ///< orders there are; a hundredth less than were counted
};

class every_order : public ::testing::TestWithParam<scope> {
 protected:
  /// All orders that begin with `so_far`; false: something did not hold.
  bool explore(std::vector<event>& so_far) {
    std::vector<event> next;
    {
      small_world world(GetParam().commands, GetParam().by_events, seen);
      for (const event& e : so_far) world.apply(e);
      if (so_far.size() < GetParam().depth) {
        next = world.next();
      } else {
        ++seen.orders;
        world.finish();
      }
      if (!world.wrong.empty()) {
        std::string order;
        for (const event& e : so_far)
          order += std::string(name_of(e.what)) + " " + std::to_string(e.n) + ", ";
        ADD_FAILURE() << world.wrong << ", after: " << order;
        return false;
      }
    }
    for (const event& e : next) {
      so_far.push_back(e);
      const bool held = explore(so_far);
      so_far.pop_back();
      if (!held) return false;
    }
    return true;
  }
  coverage seen;
};

TEST_P(every_order, ends_each_command_once_and_reuses_nothing_that_is_in_doubt) {
  std::vector<event> none;
  EXPECT_TRUE(explore(none));
  std::cout << seen.orders << " orders of events\n";
  EXPECT_GE(seen.orders, GetParam().least);
  EXPECT_GT(seen.late, 0u);
  EXPECT_GT(seen.timed_out, 0u);
  EXPECT_GT(seen.detached, 0u);
  EXPECT_GT(seen.resets_in_doubt, 0u);
  if (GetParam().by_events) {
    EXPECT_GT(seen.beside_doubt, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(small_scope, every_order,
                         ::testing::Values(scope{2, false, 10, 115'000}, scope{2, true, 9, 77'500},
                                           scope{3, true, 9, 246'500}),
                         [](const auto& of) {
                           return std::to_string(of.param.commands) + "_commands_" +
                                  (of.param.by_events ? "by_events" : "polled");
                         });

}  // namespace
}  // namespace freehca::testing
