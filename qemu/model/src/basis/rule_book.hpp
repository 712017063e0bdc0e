// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdarg>
#include <cstdint>
#include <string>
#include <utility>

#include <freehca/model/environment.hpp>
#include <freehca/model/options.hpp>
#include <freehca/model/remark.hpp>
#include <freehca/model/rules.hpp>

#include "basis/adapter_clock.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// Judges what a driver does against the rules, and tells why. One for each adapter.
///
/// Whoever finds a rule broken asks refuses(); when the answer is yes, it refuses in the way of its
/// place (a status, an error completion, a packet dropped), and whoever reports that takes the
/// reason and tells it.
class rule_book {
 public:
  rule_book(environment& surroundings, adapter_clock& clock, const options& how)
      : environment_(surroundings), clock_(clock), how_(how) {}

  /// What `because()` or `refuses()` last said; empty when nothing did since it was taken.
  struct reason {
    const char* rule = "";
    std::string text;
    bool empty() const { return text.empty(); }

    template <class Archive>
    void transfer_state(Archive& archive) {
      transfer_rule(archive, rule);
      transfer(archive, text);
    }
  };
  /// The name of a rule, or the empty text: they are not owned.
  template <class Archive>
  static void transfer_rule(Archive& archive, const char*& rule) {
    std::string name = rule;
    transfer(archive, name);
    if constexpr (Archive::loads) {
      const auto known = rule_named(name);
      if (!known && !name.empty()) archive.refuse("there is no rule of that name");
      rule = known ? entry_of(*known).name.data() : "";
    }
  }

  /// `r` is broken, as the text says: the place or field, the value found and the value wanted.
  /// True: refuse it, the reason is kept for take_reason(). False: take it; the rule is switched
  /// off, or excused for want of bus mastering, or it was complained of.
  [[gnu::format(printf, 3, 4)]] [[nodiscard]] bool refuses(rule r, const char* format, ...);

  /// `r` is broken, and the adapter can only complain. What it then does about it is the caller's,
  /// who need not ask whether the rule is switched off, or excused for want of bus mastering. True:
  /// it was complained of.
  [[gnu::format(printf, 3, 4)]] bool complain(rule r, const char* format, ...);

  bool is_off(rule r) const { return how_.rules_off.has(r); }

  /// Is memory that the adapter does not reach while bus mastering is off excused from now on (as
  /// at first)? Not for a command that was posted while it was off.
  void excuse_unreachable_memory(bool excuse) { excuses_ = excuse; }

  /// A reason that is no driver's fault, or follows from what was told before ("the queue pair is
  /// in error").
  [[gnu::format(printf, 2, 3)]] void because(const char* format, ...);

  /// Whose doings are judged from now on: stands before complaints. Null: nobody's in particular.
  /// Lent until the next call.
  void about(const char* subject) { subject_ = subject; }

  bool has_reason() const { return !reason_.empty(); }
  /// A reason that was taken stands for one thing more.
  void again(const reason& why) { reason_ = why; }
  /// Takes the reason, so that it is told once.
  reason take_reason() { return std::exchange(reason_, {}); }

  /// Tells a line of a kind that explains something, with the reason behind it. `subject` says
  /// whose it is and what became of it.
  void explain(remark_kind k, const std::string& subject, const reason& why);
  /// The same for what follows by the hundred from one that was explained: for those who listen,
  /// not kept.
  void mention(remark_kind k, const std::string& subject, const reason& why);
  /// Does mention() reach anybody?
  bool is_heard(remark_kind k) { return environment_.listens(k); }

  /// Is anybody listening to lines of this kind? Ask before you make one that costs.
  bool listened_to(remark_kind k) {
    const bool keeps = k == remark_kind::packet_dropped ? keeps_drop() : explains(k);
    return keeps || environment_.listens(k);
  }
  /// The same of a packet that is dropped now. False is counted.
  bool explains_drop() {
    const bool wanted = listened_to(remark_kind::packet_dropped);
    if (!wanted) ++drops_unexplained_;
    return wanted;
  }
  /// because() for a packet that will be dropped: nothing if that is not explained.
  [[gnu::format(printf, 2, 3)]] void because_of_drop(const char* format, ...);
  const std::uint64_t& drops_unexplained() const { return drops_unexplained_; }
  [[gnu::format(printf, 3, 4)]] void tell(remark_kind k, const char* format, ...);

  /// As printf would write it, up to the length of a remark's text.
  static std::string formatted(const char* format, va_list arguments);

  std::uint64_t complaints() const { return complaints_; }

  /// Calls out(remark) for each remark that is kept, oldest first.
  template <class Out>
  void kept(Out out) const {
    const std::uint64_t first = told_ > ring_.size() ? told_ - ring_.size() : 0;
    for (std::uint64_t n = first; n < told_; ++n) out(ring_[n % ring_.size()]);
  }

 private:
  static constexpr std::size_t text_bytes = 400;
  struct kept_remark : remark {
    template <class Archive>
    void transfer_state(Archive& archive) {
      transfer(archive, number);
      transfer(archive, time);
      transfer(archive, kind);
      transfer_rule(archive, remark::rule);
      transfer(archive, text);
    }
  };
  bool is_excused(rule r) const;
  /// Is there room for a line about a dropped packet in this drop_remarks_interval_ns?
  bool keeps_drop();
  void complain_of(rule r, const std::string& text);
  void pass_on(remark n);

  environment& environment_;
  adapter_clock& clock_;
  const options& how_;
  reason reason_;
  const char* subject_ = nullptr;
  bool excuses_ = true;
  std::uint64_t complaints_ = 0, told_ = 0;
  std::array<kept_remark, remarks_kept> ring_;
  std::uint64_t drops_since_ = 0, drops_explained_ = 0, drops_unexplained_ = 0;

 public:
  using saved = saving::fields<&rule_book::reason_, &rule_book::complaints_, &rule_book::told_,
                               &rule_book::ring_, &rule_book::drops_since_,
                               &rule_book::drops_explained_, &rule_book::drops_unexplained_>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"subject_", "null between calls of the device"},
      {"excuses_", "true between calls of the device"}};
};

}  // namespace freehca::model
