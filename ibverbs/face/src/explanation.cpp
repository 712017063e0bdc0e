// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "explanation.hpp"

#include <pthread.h>

#include <cctype>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <freehca/texts/names.hpp>

#include "environment.hpp"
#include "errors.hpp"
#include "source_place.hpp"

namespace freehca::ibverbs {

namespace {

constexpr std::uint32_t posts_kept = 4096;  // of a queue, the latest; a power of two

struct posted_requests {
  std::vector<const void*> from;  // by index

  void note(std::uint32_t index, const void* place) {
    if (from.empty()) from.resize(posts_kept);
    from[index % posts_kept] = place;
  }
  const void* find(std::uint32_t index) const {
    return from.empty() ? nullptr : from[index % posts_kept];
  }
};

struct known_object {
  const void* made = nullptr;
  const void* destroyed = nullptr;
  std::string facts;
  posted_requests sends, receives;
  std::uint32_t receive_index = 0;
};

struct knowledge {
  std::mutex lock;
  std::map<std::pair<named_kind, std::uint32_t>, known_object> objects;
};

/// Never destroyed: exit functions of the program may still make calls.
knowledge& known() {
  static knowledge& all = *new knowledge;
  return all;
}

thread_local std::string reason;

void before_fork() {
  known().lock.lock();
  lock_places();
}

void after_fork() {
  unlock_places();
  known().lock.unlock();
}

bool begin_explaining() {
  if (*environment("FREEHCA_EXPLAIN") == '\0') return false;
  pthread_atfork(before_fork, after_fork, after_fork);
  return true;
}

struct word {
  std::string_view text;
  named_kind kind;
  const char* name;
  const char* ended;
};
// "SRQ 0x" ends with no other word of the list, but "CQ 0x" could be part of one.
constexpr word words_of_remarks[]{
    {"SRQ 0x", named_kind::shared_receive_queue, "shared receive queue", "destroyed"},
    {"QP 0x", named_kind::queue_pair, "queue pair", "destroyed"},
    {"CQ 0x", named_kind::completion_queue, "completion queue", "destroyed"},
    {"key 0x", named_kind::key, "memory region or window with key", "deregistered"},
};

std::string hex(std::uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", value);
  return text;
}

std::optional<std::uint32_t> number_at(std::string_view text, int base) {
  const std::string digits(text.substr(0, 10));
  char* end = nullptr;
  const unsigned long value = std::strtoul(digits.c_str(), &end, base);
  return end != digits.c_str() ? std::optional(static_cast<std::uint32_t>(value)) : std::nullopt;
}

void add_line(std::string& to, const std::string& line) {
  if (to.find(line) == std::string::npos) to += "         " + line + "\n";
}

void tell_object(std::string& to, const word& what, std::uint32_t number) {
  const auto found = known().objects.find({what.kind, number});
  const std::string subject = std::string(what.name) + " " + hex(number);
  if (found == known().objects.end()) {
    if (what.kind == named_kind::key) add_line(to, "the program has made no " + subject);
    return;
  }
  const known_object& object = found->second;
  std::string line = subject + " made at " + place_of(object.made);
  if (!object.facts.empty()) line += ": " + object.facts;
  if (object.destroyed != nullptr)
    line += "; " + std::string(what.ended) + " at " + place_of(object.destroyed);
  add_line(to, line);
}

/// " send 3" or " receive 3" behind the queue pair's number.
void tell_request(std::string& to, std::uint32_t qpn, std::string_view rest) {
  const auto found = known().objects.find({named_kind::queue_pair, qpn});
  if (found == known().objects.end()) return;
  for (const auto& [name, posts] :
       {std::pair<std::string_view, const posted_requests*>{" send ", &found->second.sends},
        {" receive ", &found->second.receives}}) {
    if (!rest.starts_with(name)) continue;
    const auto index = number_at(rest.substr(name.size()), 10);
    const void* const from = index ? posts->find(*index) : nullptr;
    if (from != nullptr)
      add_line(to, std::string(name.substr(1)) + std::to_string(*index) + " posted at " +
                       place_of(from));
  }
}

std::string lines_about(std::string_view text) {
  std::string lines;
  const std::lock_guard alone(known().lock);
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at != 0 && std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0) continue;
    for (const word& each : words_of_remarks) {
      if (!text.substr(at).starts_with(each.text)) continue;
      const std::string_view digits = text.substr(at + each.text.size());
      const auto number = number_at(digits, 16);
      if (!number) continue;
      tell_object(lines, each, *number);
      if (each.kind == named_kind::queue_pair)
        tell_request(lines, *number, digits.substr(digits.find_first_not_of("0123456789abcdef")));
    }
  }
  return lines;
}

}  // namespace

const bool explains_failures = begin_explaining();

void note_made(named_kind kind, std::uint32_t number, const void* from, std::string facts) {
  if (!explains_failures) return;
  const std::lock_guard alone(known().lock);
  known_object& object = known().objects[{kind, number}] = {};
  object.made = from;
  object.facts = std::move(facts);
}

void note_destroyed(named_kind kind, std::uint32_t number, const void* from) {
  if (!explains_failures) return;
  const std::lock_guard alone(known().lock);
  const auto found = known().objects.find({kind, number});
  if (found != known().objects.end()) found->second.destroyed = from;
}

void note_send(std::uint32_t qpn, std::uint32_t index, const void* from) {
  const std::lock_guard alone(known().lock);
  known().objects[{named_kind::queue_pair, qpn}].sends.note(index, from);
}

void note_receive(std::uint32_t qpn, const void* from) {
  const std::lock_guard alone(known().lock);
  known_object& pair = known().objects[{named_kind::queue_pair, qpn}];
  pair.receives.note(pair.receive_index++, from);
}

void note_reset(std::uint32_t qpn) {
  if (!explains_failures) return;
  const std::lock_guard alone(known().lock);
  known().objects[{named_kind::queue_pair, qpn}].receive_index = 0;
}

void explain_remark(std::string_view text) {
  std::fprintf(stderr, "freehca: %.*s\n%s", static_cast<int>(text.size()), text.data(),
               lines_about(text).c_str());
}

int because(int error, const char* format, ...) {
  if (!explains_failures) return error;
  char text[400];
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  reason = text;
  return error;
}

void because(status why, const refused_attribute& refused) {
  if (!explains_failures || why.ok()) return;
  reason = words(why);
  if (!why.is(driver_error::bad_argument) || refused.what == attribute_id::none) return;
  reason += std::string(": ") + name_of(refused.what) + " " + std::to_string(refused.value);
  if (refused.value == refused.limit) reason += " is not possible here";
  else
    reason += (refused.value < refused.limit ? "; at least " : "; at most ") +
              std::to_string(refused.limit);
}

verbs_call::verbs_call(const char* function, const void* from) : function_(function), from_(from) {
  if (explains_failures) [[unlikely]]
    reason.clear();
}

void verbs_call::explain(int error) const {
  const std::string text = std::string(function_) + ": " + strerrordesc_np(error) + " (" +
                           strerrorname_np(error) + ")" + (reason.empty() ? "" : ": ") + reason;
  std::fprintf(stderr, "freehca: %s\n         called at %s\n%s", text.c_str(),
               place_of(from_).c_str(), lines_about(text).c_str());
}

void verbs_call::explain_errno() const {
  const int error = errno;
  explain(error);
  errno = error;
}

}  // namespace freehca::ibverbs
