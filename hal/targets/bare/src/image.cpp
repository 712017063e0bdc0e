// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/bare/image.hpp>

#include <freehca/bare/console.hpp>
#include <freehca/bare/machine.hpp>
#include <freehca/bare/port.hpp>

namespace freehca::bare {

namespace {

constexpr std::uint64_t unused = 0x5ac1'eafe'57ac'c001;
// Of the stack below the function that marks it: what that itself and an interrupt may be using.
constexpr std::size_t in_use = 1024;

std::uint64_t* word(std::byte* at) {
  return static_cast<std::uint64_t*>(static_cast<void*>(at));
}

void mark(std::byte* from, std::byte* to) {
  for (volatile std::uint64_t* at = word(from); at < word(to); ++at) *at = unused;
}

stack_use use_of(std::byte* low, std::byte* high) {
  const volatile std::uint64_t* at = word(low);
  while (at < word(high) && *at == unused) ++at;
  return {static_cast<std::size_t>(high - low),
          static_cast<std::size_t>(word(high) - at) * sizeof *at};
}

void tell_stack(const char* name, stack_use s) {
  line("stack") << name << ": " << s.most << " of " << s.bytes << " bytes were used at most";
}

}  // namespace

void mark_stacks() noexcept {
  auto* const here = static_cast<std::byte*>(__builtin_frame_address(0));
  const std::size_t odd = reinterpret_cast<std::uintptr_t>(here) % sizeof(std::uint64_t);
  mark(freehca_bare_stack_low, here - odd - in_use);
  mark(freehca_bare_interrupt_stack_low, freehca_bare_interrupt_stack_high);
}

stack_use main_stack() noexcept {
  return use_of(freehca_bare_stack_low, freehca_bare_stack_high);
}

stack_use interrupt_stack() noexcept {
  return use_of(freehca_bare_interrupt_stack_low, freehca_bare_interrupt_stack_high);
}

void tell_sizes() {
  const auto loaded = static_cast<std::size_t>(freehca_bare_loaded_end - freehca_bare_image_begin);
  const auto zeros = static_cast<std::size_t>(freehca_bare_data_end - freehca_bare_loaded_end);
  line("image") << loaded << " bytes of code and data, " << zeros
                << " of page tables, stacks and variables that begin as zeros";
  tell_stack("main", main_stack());
  tell_stack("interrupts", interrupt_stack());
}

bool asked_for(const char* word) noexcept {
  const char* at = machine::command_line();
  while (*at != '\0') {
    const char* w = word;
    while (*w != '\0' && *at == *w) ++at, ++w;
    if (*w == '\0' && (*at == '\0' || *at == ' ')) return true;
    while (*at != '\0' && *at != ' ') ++at;
    while (*at == ' ') ++at;
  }
  return false;
}

namespace {

[[noreturn]] void end(bool passed) {
  line() << image_name << ": " << (passed ? "passed" : "failed");
  machine::stop(passed);
}

}  // namespace

void fault() noexcept {
  port::quieten_all();
  line("remedy")
      << "addr2line -fCe IMAGE ADDRESS names the source. An access outside of memory and BARs "
         "ends here too";
  end(false);
}

}  // namespace freehca::bare

void freehca_bare_entry() noexcept {
  using namespace freehca::bare;
  mark_stacks();
  line() << "freehca " << image_name << " on " << machine::name;
  if (const trouble why = machine::start(); !why.ok()) {
    tell(why);
    end(false);
  }
  line("clock") << machine::clock_text();
  const bool passed = run_image();
  tell_sizes();
  end(passed);
}
