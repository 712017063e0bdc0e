// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/recording/compare.hpp>

#include <algorithm>
#include <map>
#include <sstream>

#include <freehca/recording/structures.hpp>

namespace freehca::recording {

namespace {

std::string hex(std::uint64_t n) {
  std::ostringstream text;
  text << "0x" << std::hex << n;
  return text.str();
}

std::string hex(const std::vector<std::byte>& bytes) {
  constexpr std::size_t most = 64;
  std::ostringstream text;
  for (std::size_t i = 0; i < std::min(bytes.size(), most); ++i) {
    constexpr const char* digits = "0123456789abcdef";
    text << digits[std::to_integer<unsigned>(bytes[i]) >> 4]
         << digits[std::to_integer<unsigned>(bytes[i]) & 15];
  }
  if (bytes.size() > most) text << "... (" << bytes.size() << " bytes)";
  return text.str();
}

/// A record in words.
std::string words(const record& r) {
  const std::string subject =
      r.what.empty() ? ""
                     : " (" + r.what + " " + hex(r.of) +
                           (r.index != 0 ? ", number " + std::to_string(r.index) : "") + ")";
  const std::string refused = r.refused ? ", refused" : "";
  switch (r.kind) {
    case record_kind::call:
      return "call " + r.name;
    case record_kind::result:
      return "answers " + hex(r.value);
    case record_kind::read:
      return "reads " + std::to_string(r.bytes) + " bytes at " + hex(r.at) + subject + refused;
    case record_kind::write:
      return "writes " + hex(r.data) + " at " + hex(r.at) + subject + refused;
    case record_kind::bus_master:
      return "sees bus mastering " + std::string(r.value != 0 ? "on" : "off");
    case record_kind::msix_enabled:
      return "sees MSI-X " + std::string(r.value != 0 ? "on" : "off");
    case record_kind::msix:
      return "sends interrupt message " + std::to_string(r.value);
    case record_kind::intx:
      return r.value != 0 ? "asserts INTx" : "releases INTx";
    case record_kind::wipe:
      return "wipes configuration space";
    case record_kind::send:
      return "sends " + hex(r.data) + " by port " + std::to_string(r.at) + refused;
    case record_kind::complaint:
      return "complains: " + r.name;
    case record_kind::command:
      return "accepts " + r.name;
    case record_kind::store:
    case record_kind::step:
      return "is told something";
    case record_kind::answer:
      return "answers " + r.name + " (token " + hex(r.token) + ") with status " +
             hex(static_cast<std::uint64_t>(r.status)) + ", output " + hex(r.output);
  }
  return "";
}

/// A record that is compared, and what is known of its place.
struct item {
  const record* what = nullptr;
  const record* call = nullptr;     ///< in which it is
  const record* command = nullptr;  ///< of a mailbox or an answer
};

bool same(const item& a, const item& b, bool places) {
  const record &x = *a.what, &y = *b.what;
  if (x.kind != y.kind || x.value != y.value || x.refused != y.refused || x.data != y.data)
    return false;
  if (x.kind == record_kind::answer)
    return x.opcode == y.opcode && x.status == y.status && x.token == y.token &&
           x.output == y.output;
  if (x.kind == record_kind::complaint) return x.name == y.name;
  return !places || x.at == y.at;
}

/// The fields of two writes that differ; empty when no table tells.
std::string fields_that_differ(const item& a, const item& b) {
  const record &x = *a.what, &y = *b.what;
  if (x.kind != record_kind::write || y.kind != x.kind || x.data.size() != y.data.size()) return "";
  std::vector<placed> parts;
  std::size_t begin = 0;  // of the write, within what `parts` speak of
  if (x.what == "output_mailbox" && a.command != nullptr) {
    parts = mailbox_of(*a.command, true);
    begin = x.at - a.command->output;
  } else {
    parts = entry_of(x.what, x.data);
  }
  std::string text;
  for (const placed& p : parts) {
    if (p.offset < begin || p.offset + p.what.bytes > begin + x.data.size()) continue;
    const std::vector<field> one = decode(p.what, x.data.data() + (p.offset - begin));
    const std::vector<field> two = decode(p.what, y.data.data() + (p.offset - begin));
    for (std::size_t i = 0; i < one.size(); ++i) {
      if (one[i].value == two[i].value && one[i].bytes == two[i].bytes) continue;
      text +=
          (text.empty() ? "" : "; ") + words_of(one[i]) + " was recorded, now " + words_of(two[i]);
    }
  }
  return text;
}

std::string place(const item& i) {
  std::string text = "line " + std::to_string(i.what->line);
  if (i.call != nullptr) {
    text += ", " + i.call->name;
    if (i.call->name.find("bar") != std::string::npos) text += " " + hex(i.call->at);
  }
  if (i.command != nullptr) text += ", " + i.command->name;
  return text;
}

class comparison {
 public:
  comparison(differences& to, std::size_t limit, bool places)
      : to_(to), limit_(limit), places_(places) {}

  /// Two lists that should be the same.
  void lists(const std::string& where, const std::vector<item>& recorded,
             const std::vector<item>& again) {
    const std::string prefix = where.empty() ? "" : where + ": ";
    for (std::size_t i = 0; i < std::max(recorded.size(), again.size()); ++i) {
      if (i < recorded.size()) ++to_.compared;
      if (i >= again.size()) {
        const std::size_t rest = recorded.size() - i;
        to_.compared += rest - 1;
        return add(prefix + place(recorded[i]) + ": recorded: " + words(*recorded[i].what) +
                   "; now: nothing" + more(rest));
      }
      if (i >= recorded.size())
        return add(prefix + "now too: " + words(*again[i].what) + more(again.size() - i));
      if (same(recorded[i], again[i], places_)) continue;
      const std::string fields = fields_that_differ(recorded[i], again[i]);
      add(prefix + place(recorded[i]) + ": " +
          (fields.empty()
               ? "recorded: " + words(*recorded[i].what) + "; now: " + words(*again[i].what)
               : fields));
    }
  }
  void add(std::string text) {
    if (to_.count++ < limit_) to_.text.push_back(std::move(text));
  }

 private:
  static std::string more(std::size_t n) {
    return n > 1 ? " (and " + std::to_string(n - 1) + " more like it)" : "";
  }
  differences& to_;
  std::size_t limit_;
  bool places_;
};

/// The records that are answers, by call.
std::vector<std::vector<item>> by_call(const recording& of) {
  std::vector<std::vector<item>> calls(1);
  const record* call = nullptr;
  std::map<layouts::opcode, const record*> last;
  for (const record& r : of.records) {
    item i{&r, call, nullptr};
    switch (r.kind) {
      case record_kind::call:
        call = &r;
        calls.emplace_back();
        continue;
      case record_kind::command:
        last[r.opcode] = &r;
        continue;
      case record_kind::read:
      case record_kind::bus_master:
      case record_kind::msix_enabled:
        continue;
      case record_kind::answer:
        i.command = last[r.opcode];
        break;
      case record_kind::write:
        if (r.what == "output_mailbox") i.command = last[static_cast<layouts::opcode>(r.of)];
        break;
      default:
        break;
    }
    calls.back().push_back(i);
  }
  return calls;
}

/// Which teller a record belongs to; empty: to none that counts.
std::string teller(const item& i) {
  const record& r = *i.what;
  if (r.kind == record_kind::answer) return "commands";
  if (r.kind == record_kind::send) return "packets of port " + std::to_string(r.at);
  if (r.kind != record_kind::write || r.refused) return "";
  if (r.what == "output_mailbox")
    return "output of " + std::string(i.command != nullptr ? i.command->name : hex(r.of));
  if (r.what == "eqe") return "event queue " + hex(r.of);
  if (r.what == "cqe") return "completion queue " + hex(r.of);
  if (r.what == "data") return "data of key " + hex(r.of);
  return "";
}

std::map<std::string, std::vector<item>> by_teller(const std::vector<std::vector<item>>& calls) {
  std::map<std::string, std::vector<item>> all;
  for (const std::vector<item>& call : calls)
    for (const item& i : call)
      if (const std::string who = teller(i); !who.empty()) all[who].push_back(i);
  return all;
}

}  // namespace

differences compare(const recording& recorded, const recording& again, closeness how,
                    std::size_t limit) {
  differences found;
  comparison c(found, limit, how == closeness::exact);
  const auto one = by_call(recorded);
  auto two = by_call(again);
  // The rest of the call in which a recording is cut off is lost, not different.
  if (!recorded.problem.empty() && two.size() >= one.size())
    if (auto& last = two[one.size() - 1]; last.size() > one.back().size())
      last.resize(one.back().size());
  if (how == closeness::exact) {
    for (std::size_t i = 0; i < std::min(one.size(), two.size()); ++i) c.lists("", one[i], two[i]);
    if (one.size() != two.size())
      c.add(std::to_string(one.size() - 1) + " calls were recorded, " +
            std::to_string(two.size() - 1) + " were made again");
    return found;
  }
  const auto told = by_teller(one), tells = by_teller(two);
  static const std::vector<item> nothing;
  const auto find = [](const auto& in, const std::string& who) -> const std::vector<item>& {
    const auto f = in.find(who);
    return f == in.end() ? nothing : f->second;
  };
  for (const auto& [who, items] : told) c.lists(who, items, find(tells, who));
  for (const auto& [who, items] : tells)
    if (told.find(who) == told.end()) c.lists(who, nothing, items);
  return found;
}

}  // namespace freehca::recording
