// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "arena.hpp"

#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#define FREEHCA_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FREEHCA_POISONS 1
#endif
#endif
#ifdef FREEHCA_POISONS
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(from, bytes) (static_cast<void>(from), static_cast<void>(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(from, bytes) (static_cast<void>(from), static_cast<void>(bytes))
#define __asan_address_is_poisoned(at) (static_cast<void>(at), 0)
#endif

namespace freehca::fuzz {

namespace {

constexpr std::size_t zone = 32;  // before each block, and at least so much behind it
constexpr std::size_t saved_pages_bytes = arena::most_bytes / 4096 * sizeof(std::uint32_t);
constexpr std::size_t freed_bytes = arena::most_bytes / zone * sizeof(void*);
constexpr std::size_t ahead = std::size_t{1} << 20;  // poisoned at a time
constexpr std::size_t most_left = std::size_t{8}
                                  << 20;   // of what inputs allocate, left to the next
constexpr int unspecified = 0xbe;          // what a new block holds
constexpr std::size_t most_copied = 8192;  // pages; after so many, those to be saved are found anew
// From so many bytes on, the kernel gives zeros more cheaply than writing them does: most are never
// looked at.
constexpr std::size_t given_by_kernel = std::size_t{256} << 10;

thread_local arena* now = nullptr;
std::array<arena*, arena::most_at_once> all{};
struct sigaction fault_before {};

[[noreturn]] void give_up(const char* why) {
  now = nullptr;  // libFuzzer, which then writes the input down, allocates too
  std::fprintf(stderr, "arena: %s\n", why);
  __builtin_trap();
}

void* reserve(void* at, std::size_t bytes, int access) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at != nullptr ? MAP_FIXED : 0);
  void* p = mmap(at, bytes, access, flags, -1, 0);
  if (p == MAP_FAILED) give_up("no address space");
  return p;
}

// All arenas stand side by side, so that which one an address belongs to is a division.
std::byte* first() {
  static auto* const at =
      static_cast<std::byte*>(reserve(nullptr, arena::most_at_once * arena::most_bytes, PROT_NONE));
  return at;
}

arena* at_address(const void* address) {
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - first());
  return offset < arena::most_at_once * arena::most_bytes ? all[offset / arena::most_bytes]
                                                          : nullptr;
}

std::size_t up(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}

// Poisoned bytes too, so not with memcpy, which the sanitizer watches; and the compiler must not
// make it one.
__attribute__((no_sanitize("address"))) void copy_page(std::byte* to, const std::byte* from) {
  using words = std::uint64_t __attribute__((vector_size(32), may_alias));
  for (std::size_t at = 0; at < 4096; at += sizeof(words)) {
    *reinterpret_cast<words*>(to + at) = *reinterpret_cast<const words*>(from + at);
    asm volatile("" ::: "memory");
  }
}

// How long a block is stands before it, in what is poisoned.
__attribute__((no_sanitize("address"))) std::size_t& bytes_of(void* block) {
  return *reinterpret_cast<std::size_t*>(static_cast<std::byte*>(block) - zone / 2);
}
__attribute__((no_sanitize("address"))) void note_bytes(void* block, std::size_t bytes) {
  bytes_of(block) = bytes;
}
__attribute__((no_sanitize("address"))) std::size_t noted_bytes(void* block) {
  return bytes_of(block);
}
// In a free block stands the next one of its size.
__attribute__((no_sanitize("address"))) void* next_of(void* block) {
  return *static_cast<void**>(block);
}
__attribute__((no_sanitize("address"))) void note_next(void* block, void* next) {
  *static_cast<void**>(block) = next;
}

}  // namespace

struct fault_handler {
  // A write to a page that is not saved yet. Everything else is for whoever was asked before.
  static void handle(int, siginfo_t* information, void*) {
    arena* of = at_address(information->si_addr);
    if (of != nullptr && of->saves(information->si_addr)) return;
    sigaction(SIGSEGV, &fault_before, nullptr);
  }
  static void install() {
    struct sigaction present {};
    sigaction(SIGSEGV, nullptr, &present);
    if ((present.sa_flags & SA_SIGINFO) != 0 && present.sa_sigaction == handle) return;
    fault_before = present;
    struct sigaction mine {};
    mine.sa_sigaction = handle;
    mine.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &mine, nullptr);
  }
};

arena::arena() {
  const auto place = std::find(all.begin(), all.end(), nullptr);
  if (place == all.end()) give_up("too many of them");
  *place = this;
  constexpr int all_access = PROT_READ | PROT_WRITE;
  base_ = first() + static_cast<std::size_t>(place - all.begin()) * most_bytes;
  reserve(base_, most_bytes, all_access);
  saved_ = static_cast<std::byte*>(reserve(nullptr, most_bytes, all_access));
  saved_pages_ = static_cast<std::uint32_t*>(reserve(nullptr, saved_pages_bytes, all_access));
  freed_ = static_cast<void**>(reserve(nullptr, freed_bytes, all_access));
}

arena::~arena() {
  ASAN_UNPOISON_MEMORY_REGION(base_, poisoned_);
  reserve(base_, most_bytes, PROT_NONE);
  munmap(saved_, most_bytes);
  munmap(saved_pages_, saved_pages_bytes);
  munmap(freed_, freed_bytes);
  *std::find(all.begin(), all.end(), this) = nullptr;
}

arena* arena::current() {
  return now;
}

arena* arena::of(const void* block) {
  return at_address(block);
}

arena::within::within(arena& a) : before_(now) {
  now = &a;
}
arena::within::~within() {
  now = before_;
}

std::byte* arena::take(std::size_t bytes, std::size_t alignment) {
  if (top_ > reused_from && alignment <= zone / 2 && size_class(bytes) < size_classes) {
    void*& first_free = free_[size_class(bytes)];
    if (void* const block = first_free; block != nullptr) {
      first_free = next_of(block);
      note_bytes(block, bytes);
      ASAN_UNPOISON_MEMORY_REGION(block, bytes);
      return static_cast<std::byte*>(block);
    }
  }
  const std::size_t at = up(top_ + zone, std::max(alignment, zone / 2));
  const std::size_t end = at + up(bytes, zone / 2);
  if (bytes > most_bytes || end + ahead > most_bytes) give_up("full");
  for (; poisoned_ < end + zone; poisoned_ += ahead)
    ASAN_POISON_MEMORY_REGION(base_ + poisoned_, ahead);
  top_ = end;
  std::byte* block = base_ + at;
  note_bytes(block, bytes);
  ASAN_UNPOISON_MEMORY_REGION(block, bytes);
  return block;
}

void* arena::allocate(std::size_t bytes, std::size_t alignment) {
  std::byte* block = take(bytes, alignment);
  std::memset(block, unspecified, bytes);
  return block;
}

void* arena::allocate_zeroed(std::size_t bytes) {
  std::byte* block = take(bytes, page);
  // Before seal() nothing has been here.
  if (sealed_ == 0) return block;
  const std::size_t whole = bytes < given_by_kernel ? 0 : bytes / page * page;
  if (whole != 0 && madvise(block, whole, MADV_DONTNEED) != 0) give_up("cannot empty pages");
  std::memset(block + whole, 0, bytes - whole);
  return block;
}

void arena::free(void* block) {
  if (__asan_address_is_poisoned(block)) give_up("freed twice, or never allocated");
  ASAN_POISON_MEMORY_REGION(block, noted_bytes(block));
  if (static_cast<std::size_t>(static_cast<std::byte*>(block) - base_) < sealed_) {
    freed_[freed_count_++] = block;
  } else if (const std::size_t of = size_class(noted_bytes(block)); of != 0 && of < size_classes) {
    note_next(block, free_[of]);
    free_[of] = block;
  }
}

void arena::seal() {
  fault_handler::install();
  sealed_ = top_;
  free_.fill(nullptr);
  protect();
}

void arena::protect() {
  if (mprotect(base_, up(sealed_, page), PROT_READ) != 0) give_up("cannot protect pages");
  saved_count_ = copied_ = 0;
}

bool arena::saves(const void* address) {
  const auto* at = static_cast<const std::byte*>(address);
  if (at < base_ || at >= base_ + up(sealed_, page)) return false;
  const std::size_t which = static_cast<std::size_t>(at - base_) / page;
  copy_page(saved_ + which * page, base_ + which * page);
  saved_pages_[saved_count_++] = static_cast<std::uint32_t>(which);
  return mprotect(base_ + which * page, page, PROT_READ | PROT_WRITE) == 0;
}

void arena::restore() {
  for (std::size_t i = 0; i < saved_count_; ++i)
    copy_page(base_ + saved_pages_[i] * page, saved_ + saved_pages_[i] * page);
  for (; freed_count_ != 0; --freed_count_)
    ASAN_UNPOISON_MEMORY_REGION(freed_[freed_count_ - 1], noted_bytes(freed_[freed_count_ - 1]));
  ASAN_POISON_MEMORY_REGION(base_ + sealed_, top_ - sealed_);
  if (const std::size_t kept = up(sealed_, page) + most_left; top_ > kept)
    madvise(base_ + kept, up(top_, page) - kept, MADV_DONTNEED);
  top_ = sealed_;
  free_.fill(nullptr);
  copied_ += saved_count_;
  if (copied_ > most_copied) protect();
}

}  // namespace freehca::fuzz
