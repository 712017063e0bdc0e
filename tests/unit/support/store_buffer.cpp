// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "support/store_buffer.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>

namespace freehca::testing {

namespace {

bool is_load(access_kind k) {
  return k == access_kind::dma_load || k == access_kind::mmio_load;
}
bool is_register(access_kind k) {
  return k == access_kind::mmio_load || k == access_kind::mmio_store;
}
bool overlap(const std::byte* a, std::size_t a_bytes, const std::byte* b, std::size_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}
/// The accessors of words store and load four or eight aligned bytes at once.
bool is_word(const std::byte* at, std::size_t bytes) {
  return (bytes == 4 || bytes == 8) && reinterpret_cast<std::uintptr_t>(at) % bytes == 0;
}
/// The path of a source from the checkout. The compiler names a source by its absolute path. ccache
/// makes that path relative to the build folder. -ffile-prefix-map replaces the checkout by ".".
/// A source that is compiled as part of a joined source is named by the joined source's folder and
/// the path from there.
std::string path_in_checkout(std::filesystem::path path) {
  path = path.lexically_normal();
  if (!path.empty() && *path.begin() == "..") path = FREEHCA_BINARY_DIR / path;
  if (path.is_absolute()) path = path.lexically_normal().lexically_relative(FREEHCA_SOURCE_DIR);
  return path.generic_string();
}
barrier_site site_of(const char* file, unsigned line) {
  // A scenario passes a barrier thousands of times.
  static std::map<const char*, std::string> paths;
  std::string& path = paths[file];
  if (path.empty()) path = path_in_checkout(file);
  return {path, line};
}

}  // namespace

bool barrier_orders(machine m, barrier::use which, access_kind before, access_kind behind) {
  using u = barrier::use;
  using k = access_kind;
  if (m == machine::aarch64) {
    switch (which) {
      case u::dma_store_to_dma_store:
      case u::dma_store_to_mmio_store:  // dmb oshst
        return !is_load(before) && !is_load(behind);
      case u::dma_store_to_mmio_copy:
      case u::mmio_store_to_mmio_store:  // dsb st: nothing behind it begins before
        return !is_load(before);
      case u::dma_load_to_dma_load:
      case u::mmio_load_to_dma_load:
      case u::dma_load_to_store:  // dmb oshld
        return is_load(before);
    }
    return false;
  }
  switch (which) {
    case u::dma_store_to_dma_store:
      return before == k::dma_store && behind == k::dma_store;
    case u::dma_store_to_mmio_store:
    case u::dma_store_to_mmio_copy:
      return before == k::dma_store && behind == k::mmio_store;
    case u::mmio_store_to_mmio_store:
      return before == k::mmio_store && behind == k::mmio_store;
    case u::dma_load_to_dma_load:
      return before == k::dma_load && behind == k::dma_load;
    case u::mmio_load_to_dma_load:
      return before == k::mmio_load && behind == k::dma_load;
    case u::dma_load_to_store:
      return before == k::dma_load && !is_load(behind);
  }
  return false;
}

bool always_ordered(machine m, access_kind before, access_kind behind) {
  if (!is_register(before) || !is_register(behind)) return false;
  return m == machine::aarch64 || is_load(before) || is_load(behind);
}

// --- stores ----------------------------------------------------------------------------------

const std::byte* store_buffer::view::at(const std::byte* host) const {
  for (const part& p : parts_)
    if (host >= p.host && host < p.host + p.bytes.size()) return p.bytes.data() + (host - p.host);
  std::abort();
}

void store_buffer::record() {
  before_.parts_.clear();
  for (const extent& e : watched_)
    before_.parts_.push_back({e.host, std::vector<std::byte>(e.host, e.host + e.bytes)});
  recording_ = true;
}

void store_buffer::hold(std::byte* to, const std::byte* from, std::size_t bytes, access_kind kind) {
  std::memcpy(to, from, bytes);
  if (!recording_) return;
  // A string may arrive in any order. A long one is taken as blocks: what matters is whether one of
  // them is missing.
  std::size_t each = is_word(to, bytes) || is_register(kind) ? bytes : bytes <= 64 ? 1 : 64;
  for (std::size_t at = 0; at < bytes; at += each) {
    each = std::min(each, bytes - at);
    const bool combined = std::any_of(combining_.begin(), combining_.end(), [&](const extent& e) {
      return overlap(e.host, e.bytes, to + at, each);
    });
    pieces_.push_back(
        {to + at, std::vector<std::byte>(from + at, from + at + each), kind, combined});
  }
}

void store_buffer::dma_store(std::byte* to, const std::byte* from, std::size_t bytes) {
  hold(to, from, bytes, access_kind::dma_store);
}
void store_buffer::mmio_store(std::byte* to, const std::byte* from, std::size_t bytes) {
  hold(to, from, bytes, access_kind::mmio_store);
}
void store_buffer::barrier(barrier::use which, const char* file, unsigned line) {
  if (!recording_) return;
  barriers_.push_back({which, site_of(file, line), pieces_.size()});
  sites_.insert(barriers_.back().where);
}

store_buffer::view store_buffer::last() const {
  return moment(set().set());
}

store_buffer::view store_buffer::moment(const set& seen) const {
  view v = before_;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!seen[i]) continue;
    const piece& p = pieces_[i];
    for (view::part& part : v.parts_)
      if (p.to >= part.host && p.to < part.host + part.bytes.size())
        std::memcpy(part.bytes.data() + (p.to - part.host), p.bytes.data(), p.bytes.size());
  }
  return v;
}

/// Of each piece, those that the device sees before it.
std::vector<store_buffer::set> store_buffer::predecessors(const trial& which) const {
  std::vector<passed> active;
  for (const passed& p : barriers_)
    if (!which.without.contains(p.where)) active.push_back(p);
  const std::size_t n = pieces_.size();
  if (n > most_pieces) std::abort();
  std::vector<set> ahead(n);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i-- != 0;) {
      if (ahead[j][i]) continue;
      const piece &a = pieces_[i], &b = pieces_[j];
      bool first = overlap(a.to, a.bytes.size(), b.to, b.bytes.size()) ||
                   (!a.combined && !b.combined && always_ordered(which.target, a.kind, b.kind));
      for (const passed& p : active)
        first = first || (p.ahead > i && p.ahead <= j &&
                          barrier_orders(which.target, p.which, a.kind, b.kind));
      if (!first) continue;
      ahead[j] |= ahead[i];
      ahead[j].set(i);
    }
  }
  return ahead;
}

std::string store_buffer::explore(const observer& look, const trial& which) const {
  const std::size_t n = pieces_.size();
  const std::vector<set> ahead = predecessors(which);
  std::string wrong;
  const auto is_wrong = [&](const set& seen) {
    wrong = look(moment(seen));
    return !wrong.empty();
  };

  // The earliest moment of each: it and what must be there. The latest: all but what waits for it.
  for (std::size_t x = n; x-- != 0;) {
    set early = ahead[x], late = set().set();
    early.set(x);
    for (std::size_t y = x; y < n; ++y)
      if (y == x || ahead[y][x]) late.reset(y);
    if (is_wrong(early) || is_wrong(late)) return wrong;
  }

  // All moments, each once: piece by piece, seen where what must be there is, or not seen.
  unsigned moments = 0;
  set seen;
  complete_ = true;
  const std::function<bool(std::size_t)> from = [&](std::size_t i) {
    if (!complete_) return false;
    if (i == n) {
      complete_ = ++moments <= most_moments;
      return complete_ && is_wrong(seen);
    }
    // What is left out keeps out all that is behind it, so that short ways come first.
    if (from(i + 1)) return true;
    if ((ahead[i] & ~seen).any()) return false;
    seen.set(i);
    const bool found = from(i + 1);
    seen.reset(i);
    return found;
  };
  if (from(0)) return wrong;
  if (complete_) return {};

  std::mt19937 random(20240229);
  for (unsigned k = 0; k < most_moments; ++k) {
    // Of each store, whether it dawdles; what waits for one that is not there is not there either.
    const auto share = random() % 100;
    for (std::size_t i = 0; i < n; ++i)
      seen.set(i, random() % 100 >= share && (ahead[i] & ~seen).none());
    if (is_wrong(seen)) return wrong;
  }
  return {};
}

// --- loads -----------------------------------------------------------------------------------

void load_run::device_writes(std::byte* to, const void* from, std::size_t bytes) {
  const auto* const source = static_cast<const std::byte*>(from);
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::size_t each = std::min<std::size_t>(8, bytes - at);
    writes_.push_back({to + at, std::vector<std::byte>(source + at, source + at + each)});
  }
}

/// The first write that the device does not do yet, for it waits.
std::size_t load_run::unpassed() const {
  for (const gate& g : gates_)
    if (!g.passed) return g.position;
  return writes_.size();
}

void load_run::settle() {
  settled_ = true;
}

bool load_run::feasible() const {
  if (impossible_) return false;
  // A load has seen what the device wrote only after a store that never came.
  return std::all_of(loads_.begin(), loads_.end(),
                     [&](const load& l) { return l.moment <= unpassed(); });
}

std::size_t load_run::choose(std::size_t of) {
  if (of == 1) return 0;
  if (next_choice_ == choices_.size()) choices_.push_back({0, of});
  return choices_[next_choice_++].taken;
}

bool load_run::ordered(std::size_t earlier, access_kind behind) const {
  if (always_ordered(trial_.target, loads_[earlier].kind, behind)) return true;
  return std::any_of(barriers_.begin(), barriers_.end(), [&](const passed& p) {
    return p.ahead > earlier &&
           barrier_orders(trial_.target, p.which, loads_[earlier].kind, behind);
  });
}

void load_run::load_piece(std::byte* to, const std::byte* from, std::size_t bytes,
                          access_kind kind) {
  // Where the value changes, and since when: moment 0 is memory as the driver left it.
  std::vector<std::size_t> changes{0};
  std::size_t over = 0;
  for (const own_store& s : own_)
    if (overlap(s.to, s.bytes, from, bytes)) over = std::max(over, s.over);
  for (std::size_t w = over; w < writes_.size(); ++w)
    if (overlap(writes_[w].to, writes_[w].bytes.size(), from, bytes)) changes.push_back(w + 1);
  std::size_t moment = 0;
  if (changes.size() > 1) {
    std::size_t floor = settled_ ? unpassed() : 0;
    for (std::size_t i = 0; i < loads_.size(); ++i)
      if (ordered(i, kind) || overlap(loads_[i].from, loads_[i].bytes, from, bytes))
        floor = std::max(floor, loads_[i].moment);
    // Each value that it may still see, at the first moment of it: a later one binds others more.
    std::vector<std::size_t> moments;
    for (std::size_t c = 0; c < changes.size(); ++c)
      if (c + 1 == changes.size() || changes[c + 1] > floor)
        moments.push_back(std::max(changes[c], floor));
    if (settled_) moments.resize(1);
    moment = moments[choose(moments.size())];
  }
  loads_.push_back({from, bytes, kind, moment});
  std::memcpy(to, from, bytes);
  for (std::size_t w = over; w < moment; ++w)
    for (std::size_t b = 0; b < writes_[w].bytes.size(); ++b)
      if (const std::byte* const at = writes_[w].to + b; at >= from && at < from + bytes)
        to[at - from] = writes_[w].bytes[b];
}

void load_run::load_all(std::byte* to, const std::byte* from, std::size_t bytes, access_kind kind) {
  if (!running_) {
    std::memcpy(to, from, bytes);
    return;
  }
  if (is_word(from, bytes)) return load_piece(to, from, bytes, kind);
  for (std::size_t at = 0; at < bytes;) {
    const std::size_t each =
        std::min(bytes - at, 8 - reinterpret_cast<std::uintptr_t>(from + at) % 8);
    load_piece(to + at, from + at, each, kind);
    at += each;
  }
}

void load_run::store(const std::byte* to, std::size_t bytes, access_kind kind) {
  if (!running_) return;
  // A load of the same bytes cannot have seen what was written over this store.
  for (const load& l : loads_)
    if (l.moment > unpassed() && overlap(l.from, l.bytes, to, bytes)) impossible_ = true;
  own_.push_back({to, bytes, unpassed()});
  for (gate& g : gates_) {
    if (g.passed) continue;
    if (g.at != to) return;
    g.passed = true;
    // A load that must be satisfied before this store cannot have seen what came after it.
    for (std::size_t i = 0; i < loads_.size(); ++i)
      if (loads_[i].moment > g.position && ordered(i, kind)) impossible_ = true;
    return;
  }
}

void load_run::dma_store(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  store(to, bytes, access_kind::dma_store);
}
void load_run::mmio_store(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  store(to, bytes, access_kind::mmio_store);
}
void load_run::dma_load(std::byte* to, const std::byte* from, std::size_t bytes) {
  load_all(to, from, bytes, access_kind::dma_load);
}
void load_run::mmio_load(std::byte* to, const std::byte* from, std::size_t bytes) {
  load_all(to, from, bytes, access_kind::mmio_load);
}
void load_run::barrier(barrier::use which, const char* file, unsigned line) {
  if (!running_) return;
  const barrier_site where = site_of(file, line);
  sites_.insert(where);
  if (!trial_.without.contains(where)) barriers_.push_back({which, loads_.size()});
}

std::string load_explorer::explore(const scenario& one, const trial& which) {
  std::vector<load_run::choice> choices;
  for (runs_ = 0;;) {
    if (++runs_ > most_runs) return "more runs than the bound";
    load_run run(which, choices);
    std::string wrong = one(run);
    sites_.insert(run.sites_.begin(), run.sites_.end());
    if (!wrong.empty() && run.feasible()) return wrong;
    // The next choice of all, from the last backwards; a run with other moments begins anew.
    choices.resize(std::min(choices.size(), run.next_choice_));
    while (!choices.empty() && ++choices.back().taken == choices.back().of) choices.pop_back();
    if (choices.empty()) return {};
  }
}

}  // namespace freehca::testing
