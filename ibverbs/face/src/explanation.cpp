// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "explanation.hpp"

#include <pthread.h>

#include <algorithm>
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
  std::vector<program_place> from;  // by index

  void note(std::uint32_t index, const program_place& place) {
    if (from.empty()) from.resize(posts_kept);
    from[index % posts_kept] = place;
  }
  program_place find(std::uint32_t index) const {
    return from.empty() ? program_place{} : from[index % posts_kept];
  }
};

struct change {
  std::string what;
  program_place from;
};
using object_name = std::pair<named_kind, std::uint32_t>;

struct known_object {
  program_place made, destroyed;
  std::string facts;
  std::vector<change> changes;  // the latest
  std::vector<object_name> uses;
  posted_requests sends, receives;
  std::uint32_t receive_index = 0;
  program_place latest_send, destination;
  std::optional<std::uint32_t> peer;
};

struct knowledge {
  std::mutex lock;
  std::map<object_name, known_object> objects;
  std::map<const void*, program_place> addresses;  // of address handles
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
constexpr word words_of_remarks[]{
    {"SRQ ", named_kind::shared_receive_queue, "shared receive queue", "destroyed"},
    {"QP ", named_kind::queue_pair, "queue pair", "destroyed"},
    {"CQ ", named_kind::completion_queue, "completion queue", "destroyed"},
    {"key ", named_kind::key, "memory region or window with key", "invalidated"},
};

std::string hex(std::uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", value);
  return text;
}

/// The number at the beginning of a text, which is then behind it.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  const std::string digits(text.substr(0, 12));
  char* end = nullptr;
  const unsigned long value = std::strtoul(digits.c_str(), &end, 0);
  if (end == digits.c_str() || digits[0] == ' ') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - digits.c_str()));
  return static_cast<std::uint32_t>(value);
}

std::string name_of_object(const object_name& object) {
  switch (object.first) {
    case named_kind::queue_pair:
      return "QP " + hex(object.second);
    case named_kind::completion_queue:
      return "CQ " + hex(object.second);
    case named_kind::shared_receive_queue:
      return "SRQ " + hex(object.second);
    case named_kind::key:
      return "the memory region or window with key " + hex(object.second);
    case named_kind::domain:
      break;
  }
  return "protection domain (PD) " + hex(object.second);
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
  if (object.destroyed)
    line += "; " + std::string(what.ended) + " at " + place_of(object.destroyed);
  add_line(to, line);
  for (const auto& [kind, used] : object.uses)
    if (what.kind == named_kind::key && kind == named_kind::key) tell_object(to, what, used);
  // Consecutive changes by one function are one line.
  for (std::size_t i = 0; i < object.changes.size();) {
    std::string changes = object.changes[i].what;
    std::size_t next = i + 1;
    while (next < object.changes.size() &&
           function_at(object.changes[next].from) == function_at(object.changes[i].from))
      changes.append(", ").append(object.changes[next++].what);
    add_line(to, subject + " " + changes + " at " + place_of(object.changes[next - 1].from));
    i = next;
  }
}

/// " send 3" or " receive 3" behind the queue pair's number.
void tell_request(std::string& to, std::uint32_t qpn, std::string_view rest) {
  const auto found = known().objects.find({named_kind::queue_pair, qpn});
  if (found == known().objects.end()) return;
  for (const auto& [name, posts] :
       {std::pair<std::string_view, const posted_requests*>{" send ", &found->second.sends},
        {" receive ", &found->second.receives}}) {
    if (!rest.starts_with(name)) continue;
    std::string_view digits = rest.substr(name.size());
    const auto index = take_number(digits);
    const program_place from = index ? posts->find(*index) : program_place{};
    if (from)
      add_line(to, std::string(name.substr(1)) + std::to_string(*index) + " posted at " +
                       place_of(from));
  }
}

/// The latest send of a queue pair that a packet came from.
void tell_latest_send(std::string& to, std::uint32_t qpn, const known_object& pair) {
  if (!pair.latest_send) return;
  add_line(to,
           "latest send of queue pair " + hex(qpn) + " posted at " + place_of(pair.latest_send));
  if (pair.destination)
    add_line(to, "its address handle was made at " + place_of(pair.destination));
}

/// The queue pairs of the program that send to this one.
void tell_peers(std::string& to, std::uint32_t qpn) {
  for (const auto& [name, object] : known().objects)
    if (name.first == named_kind::queue_pair && object.peer == qpn && !object.destroyed)
      tell_latest_send(to, name.second, object);
}

std::string lines_about(std::string_view text) {
  std::string lines;
  const std::lock_guard alone(known().lock);
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at != 0 && std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0) continue;
    for (const word& each : words_of_remarks) {
      if (!text.substr(at).starts_with(each.text)) continue;
      std::string_view rest = text.substr(at + each.text.size());
      const auto number = take_number(rest);
      if (!number) continue;
      tell_object(lines, each, *number);
      if (each.kind != named_kind::queue_pair) continue;
      tell_request(lines, *number, rest);
      const std::string_view before = text.substr(0, at);
      if (before.ends_with("sent by "))
        tell_latest_send(lines, *number, known().objects[{each.kind, *number}]);
      const bool arrived = before.starts_with("port ") && before.ends_with(" to ");
      if (arrived || rest.starts_with(" receive ")) tell_peers(lines, *number);
    }
  }
  return lines;
}

}  // namespace

const bool explains_failures = begin_explaining();

void note_made(named_kind kind, std::uint32_t number, const program_place& from,
               std::string facts) {
  if (!explains_failures) return;
  const std::lock_guard alone(known().lock);
  known_object& object = known().objects[{kind, number}] = {};
  object.made = from;
  object.facts = std::move(facts);
}

void note_destroyed(named_kind kind, std::uint32_t number, const program_place& from) {
  if (!explains_failures) return;
  const std::lock_guard alone(known().lock);
  const auto found = known().objects.find({kind, number});
  if (found != known().objects.end()) found->second.destroyed = from;
}

void note_send(std::uint32_t qpn, std::uint32_t index, const program_place& from) {
  const std::lock_guard alone(known().lock);
  known_object& pair = known().objects[{named_kind::queue_pair, qpn}];
  pair.sends.note(index, from);
  pair.latest_send = from;
}

void note_receive(std::uint32_t qpn, const program_place& from) {
  const std::lock_guard alone(known().lock);
  known_object& pair = known().objects[{named_kind::queue_pair, qpn}];
  pair.receives.note(pair.receive_index++, from);
}

void note_change(named_kind kind, std::uint32_t number, std::string what,
                 const program_place& from) {
  if (!explains_failures) return;
  constexpr std::size_t kept = 6;
  const std::lock_guard alone(known().lock);
  std::vector<change>& changes = known().objects[{kind, number}].changes;
  if (changes.size() == kept) changes.erase(changes.begin());
  changes.push_back({std::move(what), from});
}

void note_use(named_kind kind, std::uint32_t number, named_kind used, std::uint32_t used_number) {
  if (!explains_failures) return;
  const std::lock_guard alone(known().lock);
  known().objects[{kind, number}].uses.emplace_back(used, used_number);
}

int because_in_use(int error, named_kind kind, std::uint32_t number) {
  if (!explains_failures || error != EBUSY) return error;
  const object_name used{kind, number};
  std::string users;
  const std::lock_guard alone(known().lock);
  for (const auto& [name, object] : known().objects)
    if (!object.destroyed &&
        std::find(object.uses.begin(), object.uses.end(), used) != object.uses.end())
      users += (users.empty() ? "" : ", ") + name_of_object(name);
  return because(error, "%s is used by %s", name_of_object(used).c_str(),
                 users.empty() ? "another object" : users.c_str());
}

int because_of(int error, named_kind kind, std::uint32_t number) {
  if (!explains_failures || error == 0) return error;
  return with_subject(error, name_of_object({kind, number}));
}

int with_subject(int error, const std::string& subject) {
  if (explains_failures && error != 0) reason = subject + (reason.empty() ? "" : ": ") + reason;
  return error;
}

void note_address(const void* handle, const program_place& from) {
  if (!explains_failures) return;
  const std::lock_guard alone(known().lock);
  known().addresses[handle] = from;
}

void note_destination(std::uint32_t qpn, const void* handle) {
  const std::lock_guard alone(known().lock);
  known().objects[{named_kind::queue_pair, qpn}].destination = known().addresses[handle];
}

void note_peer(std::uint32_t qpn, std::uint32_t peer) {
  if (!explains_failures) return;
  const std::lock_guard alone(known().lock);
  known().objects[{named_kind::queue_pair, qpn}].peer = peer;
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

void verbs_call::begin(const void* caller) {
  reason.clear();
  from_ = unwind_to(caller);
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
