// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "basis/rule_book.hpp"

#include <cstdio>

namespace freehca::model {

namespace {

/// "found; demand (name; source)".
std::string with_rule(const std::string& found, const rule_entry& e) {
  std::string text = found;
  text.append("; wanted: ").append(e.demand).append(" (rule ").append(e.name).append("; ");
  text.append(e.source.empty() ? "no source: chosen" : e.source).append(")");
  return text;
}

/// Rules that stand for memory which the adapter must reach. Without bus mastering it reaches none,
/// and asks for none (PCIe 7.5.1.1.3): that is how Linux's VFIO ends a driver that died with
/// commands under way (vfio_pci_core.c vfio_pci_core_disable), and nobody's fault. A driver that
/// posts a command while bus mastering is off is to blame: see excuse_unreachable_memory().
constexpr bool needs_memory(rule r) {
  return r == rule::context_stays_mapped || r == rule::eq_reachable || r == rule::cq_reachable ||
         r == rule::completion_by_event || r == rule::mailbox_writable ||
         r == rule::chunk_writable || r == rule::buffer_lent || r == rule::context_lent ||
         r == rule::receive_queue;
}

}  // namespace

std::string rule_book::formatted(const char* format, va_list arguments) {
  char text[text_bytes];
  std::vsnprintf(text, sizeof text, format, arguments);
  return text;
}

bool rule_book::refuses(rule r, const char* format, ...) {
  if (is_off(r)) return false;
  va_list arguments;
  va_start(arguments, format);
  const std::string found = formatted(format, arguments);
  va_end(arguments);
  const rule_entry& e = entry_of(r);
  if (e.hardware == reaction::takes && !how_.strict) {
    if (!is_excused(r)) complain_of(r, found);
    return false;
  }
  reason_ = {e.name.data(), with_rule(found, e)};
  return true;
}

bool rule_book::is_excused(rule r) const {
  return excuses_ && needs_memory(r) && !environment_.bus_master();
}

bool rule_book::complain(rule r, const char* format, ...) {
  if (is_off(r) || is_excused(r)) return false;
  va_list arguments;
  va_start(arguments, format);
  complain_of(r, formatted(format, arguments));
  va_end(arguments);
  return true;
}

void rule_book::because(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  reason_ = {"", formatted(format, arguments)};
  va_end(arguments);
}

void rule_book::because_of_drop(const char* format, ...) {
  if (!listened_to(remark_kind::packet_dropped)) return;
  va_list arguments;
  va_start(arguments, format);
  reason_ = {"", formatted(format, arguments)};
  va_end(arguments);
}

bool rule_book::keeps_drop() {
  const std::uint64_t now = clock_.now();
  if (now - drops_since_ >= drop_remarks_interval_ns) {
    drops_since_ = now;
    drops_explained_ = 0;
  }
  return drops_explained_ < remarks_kept;
}

void rule_book::explain(remark_kind k, const std::string& subject, const reason& why) {
  pass_on({0, 0, k, why.rule, subject + ": " + why.text});
}

void rule_book::mention(remark_kind k, const std::string& subject, const reason& why) {
  remark n{0, clock_.now(), k, why.rule, subject + ": " + why.text};
  if (n.text.size() > text_bytes) n.text.resize(text_bytes);
  environment_.tell(n);
}

void rule_book::tell(remark_kind k, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  pass_on({0, 0, k, "", formatted(format, arguments)});
  va_end(arguments);
}

void rule_book::complain_of(rule r, const std::string& text) {
  ++complaints_;
  const rule_entry& e = entry_of(r);
  const std::string found = subject_ == nullptr ? text : std::string(subject_) + ": " + text;
  pass_on({0, 0, remark_kind::complaint, e.name.data(), with_rule(found, e)});
}

void rule_book::pass_on(remark n) {
  if (n.text.size() > text_bytes) n.text.resize(text_bytes);
  n.time = clock_.now();
  if (!explains(n.kind)) {
    environment_.tell(n);
    return;
  }
  if (n.kind == remark_kind::packet_dropped) ++drops_explained_;
  n.number = ++told_;
  environment_.tell(n);
  kept_remark& place = ring_[(n.number - 1) % ring_.size()];
  place = {std::move(n)};
}

}  // namespace freehca::model
