// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <freehca/easy/adapter.hpp>
#include <freehca/texts/names.hpp>
#include <freehca/texts/text.hpp>

namespace freehca::blocking {

/// A status in words, with the names of steps, commands and budgets.
inline std::string words(status s) {
  char text[160];
  describe(s, text, sizeof text);
  return text;
}

/// Names the limit of `size` that has run out, and its value. `item` is the item of
/// driver_error::no_memory or ::no_resource. Example: "queue memory: budget::queue_bytes is
/// 8388608". Empty if the program does not set this limit.
inline std::string limit_in_words(unsigned item, const easy::sizes& size) {
  const freehca::budget& b = size.budget;
  using of = freehca::budget::item;
  const auto entries = [](unsigned log) { return std::uint64_t{1} << log; };
  struct {
    of item;
    const char* member;
    std::uint64_t value;
  } const limits[] = {
      {of::lent_pages, "budget::context_bytes", b.context_bytes},
      {of::queue_memory, "budget::queue_bytes", b.queue_bytes},
      {of::doorbell_records, "budget::doorbell_bytes", b.doorbell_bytes},
      {of::qps, "2 to the power of budget::log_qps", entries(b.log_qps)},
      {of::srqs, "2 to the power of budget::log_srqs", entries(b.log_srqs)},
      {of::cqs, "2 to the power of budget::log_cqs", entries(b.log_cqs)},
      {of::eqs, "2 to the power of budget::log_eqs", entries(b.log_eqs)},
      {of::mpts, "2 to the power of budget::log_mpts", entries(b.log_mpts)},
      {of::mtts, "2 to the power of budget::log_mtts", entries(b.log_mtts)},
      {of::firmware_area, "budget::firmware_bytes", b.firmware_bytes},
      {of::auxiliary_area, "budget::auxiliary_bytes", b.auxiliary_bytes},
  };
  for (const auto& limit : limits)
    if (static_cast<unsigned>(limit.item) == item)
      return std::string(name_of(limit.item)) + ": " + limit.member + " is " +
             std::to_string(limit.value);
  if (item == static_cast<unsigned>(verbs_budget::item::requests))
    return "requests in all rings together: verbs_budget::requests is " +
           std::to_string(size.objects.requests);
  for (const verbs_budget::entry& e : size.objects.kinds)
    if (e.what != nullptr && e.what->facts.item == item)
      return std::string(e.what->facts.name) + ": verbs_budget has " + std::to_string(e.count);
  return {};
}

/// The attribute that was refused in words. Example: "too many gather entries: 5 of 4".
inline std::string words(const refused_attribute& r) {
  const std::string name = name_of(r.what), value = std::to_string(r.value);
  if (r.value == r.limit) return name + ": " + value + " is not possible";
  const bool above = r.value > r.limit;
  const std::string many = std::string(above ? "too many " : "too few ") + name;
  const std::string large = name + (above ? " too large" : " too small");
  return (r.what <= attribute_id::srq_limit ? many : large) + ": " + value + " of " +
         std::to_string(r.limit);
}

/// The rest of a text about `s`, if `s` refuses an attribute. `refused` is that of the owner that
/// refused the call. The owner does not record what posts refuse.
inline std::string refused_in_words(status s, const refused_attribute& refused) {
  const bool names =
      s.is(driver_error::bad_argument) && s.where() == 0 && refused.what != attribute_id::none;
  return names ? ": " + words(refused) : std::string();
}

/// The outcome of an adapter's operation in words. If a budget ran out, the text has its limit and
/// how much is in use. If a sequence of the device failed, it has the step and the cause.
inline std::string words(status s, const device& of, const easy::sizes& size) {
  const sequence_failure& failed = of.failure();
  const bool in_sequence = !failed.cause.ok() && s.where() == static_cast<unsigned>(failed.step);
  const status cause = in_sequence ? failed.cause : s;
  const std::string at = in_sequence ? std::string(name_of(failed.step)) + ": " : std::string();
  const bool ran_out = cause.is(driver_error::no_memory) || cause.is(driver_error::no_resource);
  // A size of a table that the adapter does not support is refused as an argument.
  const bool names_item = ran_out || (in_sequence && (cause.is(driver_error::exceeds_limits) ||
                                                      (failed.step == bring_up_step::plan_context &&
                                                       cause.is(driver_error::bad_argument))));
  const std::string limit = names_item ? limit_in_words(cause.where(), size) : std::string();
  if (limit.empty()) return at + words(cause);
  std::string all = at + words(cause.at(0)) + ": " + limit;
  if (failed.asked != 0 && in_sequence)
    all += "; the device asks for " + std::to_string(failed.asked) + ", and there are " +
           std::to_string(failed.bound);
  if (ran_out)
    all += "; in use are " + std::to_string(of.holdings().pages * dma_arena::page) +
           " bytes of memory and " + std::to_string(of.holdings().numbers) +
           " numbers of all kinds";
  return all;
}

}  // namespace freehca::blocking
