// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/in_process/processor_cache.hpp>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <freehca/hal/cache.hpp>

namespace freehca::in_process {

namespace {

processor_cache* the_one = nullptr;
constexpr std::size_t most_findings = 100;

std::uintptr_t address_of(const std::byte* at) {
  return reinterpret_cast<std::uintptr_t>(at);
}
constexpr std::uintptr_t line_of(std::uintptr_t at) {
  return at / processor_cache::line_bytes * processor_cache::line_bytes;
}
std::byte* byte_at(std::uintptr_t address) {
  return reinterpret_cast<std::byte*>(address);
}

}  // namespace

processor_cache::processor_cache() {
  if (the_one != nullptr) throw std::logic_error("one processor cache in a process");
  the_one = this;
}
processor_cache::~processor_cache() {
  the_one = nullptr;
}
processor_cache* processor_cache::present() {
  return the_one;
}

void processor_cache::find(const std::string& what, std::uintptr_t where) {
  const std::string finding = what + ", line " + std::to_string(where / line_bytes);
  if (on_finding) on_finding(finding);
  if (findings_.size() < most_findings) findings_.push_back(finding);
}

template <class Each>
void processor_cache::each_part(const std::byte* at, std::size_t bytes, Each&& each) {
  for (std::size_t done = 0; done < bytes;) {
    const std::uintptr_t here = address_of(at) + done;
    const std::size_t within = here % line_bytes,
                      count = std::min(line_bytes - within, bytes - done);
    const std::uint64_t ones =
        count == line_bytes ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    each(part{done, count, here - within, within, ones << within});
    done += count;
  }
}

template <class Each>
void processor_cache::each_line(const std::byte* at, std::size_t bytes, Each&& each) {
  const std::uintptr_t end = address_of(at) + bytes;
  for (auto i = lines_.lower_bound(line_of(address_of(at))); i != lines_.end() && i->first < end;) {
    each(i->first, i->second);
    i = i->second.differs() ? std::next(i) : lines_.erase(i);
  }
}

void processor_cache::store(std::byte* to, const std::byte* from, std::size_t bytes) {
  each_part(to, bytes, [&](const part& p) {
    line& l = lines_[p.line];
    for (std::size_t i = 0; i < p.bytes; ++i)
      if (((l.stored | l.written) >> (p.within + i) & 1) == 0)
        l.memory[p.within + i] = to[p.offset + i];
    l.stored |= p.mask;
  });
  std::memcpy(to, from, bytes);
  if (on_step) on_step();
}

void processor_cache::load(std::byte* to, const std::byte* from, std::size_t bytes) {
  each_part(from, bytes, [&](const part& p) {
    const auto found = lines_.find(p.line);
    if (found != lines_.end() && (found->second.written & ~found->second.stored & p.mask) != 0)
      find("the driver loads what the adapter has written since the line was invalidated", p.line);
  });
  std::memcpy(to, from, bytes);
}

void processor_cache::clean(const std::byte* at, std::size_t bytes, const site& from) {
  passed_.insert(from);
  if (from == left_out_) return;
  if (before_clean) before_clean();
  each_line(at, bytes, [this](std::uintptr_t where, line& l) {
    // If the driver has stored nothing to the line, the cache has nothing to write back.
    if (l.stored == 0) return;
    if ((l.written & ~l.stored) != 0)
      find("the driver cleans a line that the adapter has written to, and undoes that", where);
    l.stored = l.written = 0;
  });
  if (on_step) on_step();
}

void processor_cache::invalidate(const std::byte* at, std::size_t bytes, const site& from) {
  passed_.insert(from);
  if (from == left_out_) return;
  each_line(at, bytes, [this](std::uintptr_t where, line& l) {
    if (l.stored != 0) find("the driver invalidates a line, and loses what it stored to it", where);
    for (std::size_t i = 0; i < line_bytes; ++i)
      if (((l.stored | l.written) >> i & 1) != 0) *byte_at(where + i) = l.memory[i];
    l.stored = l.written = 0;
  });
}

void processor_cache::on_register_write() {
  for (auto i = lines_.begin(); i != lines_.end();) {
    if (i->second.stored != 0)
      find("the driver writes a register while what it stored is in the cache alone", i->first);
    i->second.stored = 0;  // each store is reported once
    i = i->second.differs() ? std::next(i) : lines_.erase(i);
  }
}

void processor_cache::read(void* to, const std::byte* at, std::size_t bytes) const {
  read_after({}, to, at, bytes);
}

std::set<std::uintptr_t> processor_cache::dirty() const {
  std::set<std::uintptr_t> all;
  for (const auto& [at, l] : lines_)
    if (l.stored != 0) all.insert(at);
  return all;
}

void processor_cache::read_after(const std::set<std::uintptr_t>& written_back, void* to,
                                 const std::byte* at, std::size_t bytes) const {
  std::memcpy(to, at, bytes);
  each_part(at, bytes, [&](const part& p) {
    const auto found = lines_.find(p.line);
    if (found == lines_.end() || written_back.contains(p.line)) return;
    const line& l = found->second;
    for (std::size_t i = 0; i < p.bytes; ++i)
      if (((l.stored | l.written) >> (p.within + i) & 1) != 0)
        static_cast<std::byte*>(to)[p.offset + i] = l.memory[p.within + i];
  });
}

void processor_cache::write(std::byte* at, const void* from, std::size_t bytes) {
  each_part(at, bytes, [&](const part& p) {
    line& l = lines_[p.line];
    if (l.stored != 0) find("the adapter writes to a line that the driver has not cleaned", p.line);
    std::memcpy(l.memory.data() + p.within, static_cast<const std::byte*>(from) + p.offset,
                p.bytes);
    l.written |= p.mask;
  });
}

void processor_cache::forget(const std::byte* at, std::size_t bytes) {
  each_line(at, bytes, [](std::uintptr_t where, line& l) {
    for (std::size_t i = 0; i < line_bytes; ++i)
      if ((l.written >> i & 1) != 0) *byte_at(where + i) = l.memory[i];
    l.stored = l.written = 0;
  });
}

}  // namespace freehca::in_process

namespace freehca::routed {

void passed_cache(cache::use which, const std::byte* at, std::size_t bytes, const char* file,
                  unsigned line) noexcept {
  in_process::processor_cache* const here = in_process::processor_cache::present();
  if (here == nullptr) return;
  if (which == cache::use::clean) here->clean(at, bytes, {file, line});
  else here->invalidate(at, bytes, {file, line});
}

}  // namespace freehca::routed
