// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "source_place.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>
#include <unwind.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>

namespace freehca::ibverbs {

namespace {

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string file_name(const char* path) {
  const std::string all = path != nullptr ? path : "";
  return all.substr(all.rfind('/') + 1);
}

/// The function of a C++ program without its mangling.
std::string readable(const char* name) {
  int failed = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(name, nullptr, nullptr, &failed), &std::free);
  return failed == 0 && plain != nullptr ? plain.get() : name;
}

/// The functions of libdw that are used. The library is loaded when the first place is asked for:
/// programs that nothing is explained of do without it.
class debug_library {
 public:
  debug_library() : handle_(dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) return;
    complete_ = find(begin, "dwfl_begin") && find(report, "dwfl_linux_proc_report") &&
                find(report_end, "dwfl_report_end") && find(report_begin, "dwfl_report_begin") &&
                find(module_of, "dwfl_addrmodule") && find(symbol_of, "dwfl_module_addrinfo") &&
                find(line_of, "dwfl_module_getsrc") && find(line_info, "dwfl_lineinfo") &&
                find(unit_of, "dwfl_module_addrdie") && find(scopes_at, "dwarf_getscopes") &&
                find(tag_of, "dwarf_tag") && find(name_of, "dwarf_diename") &&
                find(attribute_of, "dwarf_attr") && find(number_of, "dwarf_formudata") &&
                find(files_of, "dwarf_getsrcfiles") && find(file_of, "dwarf_filesrc") &&
                find(find_elf, "dwfl_linux_proc_find_elf") &&
                find(find_debug_information, "dwfl_standard_find_debuginfo");
  }
  bool complete() const { return complete_; }

  decltype(&dwfl_begin) begin = nullptr;
  decltype(&dwfl_linux_proc_report) report = nullptr;
  decltype(&dwfl_report_begin) report_begin = nullptr;
  decltype(&dwfl_report_end) report_end = nullptr;
  decltype(&dwfl_addrmodule) module_of = nullptr;
  decltype(&dwfl_module_addrinfo) symbol_of = nullptr;
  decltype(&dwfl_module_getsrc) line_of = nullptr;
  decltype(&dwfl_lineinfo) line_info = nullptr;
  decltype(&dwfl_module_addrdie) unit_of = nullptr;
  decltype(&dwarf_getscopes) scopes_at = nullptr;
  decltype(&dwarf_tag) tag_of = nullptr;
  decltype(&dwarf_diename) name_of = nullptr;
  decltype(&dwarf_attr) attribute_of = nullptr;
  decltype(&dwarf_formudata) number_of = nullptr;
  decltype(&dwarf_getsrcfiles) files_of = nullptr;
  decltype(&dwarf_filesrc) file_of = nullptr;
  decltype(&dwfl_linux_proc_find_elf) find_elf = nullptr;
  decltype(&dwfl_standard_find_debuginfo) find_debug_information = nullptr;

 private:
  template <class F>
  bool find(F& to, const char* name) {
    to = reinterpret_cast<F>(dlsym(handle_, name));
    return to != nullptr;
  }

  void* handle_;
  bool complete_ = false;
};

class places {
 public:
  std::mutex lock;

  /// The functions of the program, innermost first, at most `most` of them.
  std::string of(const program_place& at, unsigned most) {
    std::string all;
    unsigned found = 0;
    for (const void* address : at.at) {
      if (address == nullptr || found == most) break;
      const std::string one = of(address);
      if (one.starts_with("ibv_") || one.starts_with("__ibv_")) continue;
      // Beyond main() are functions of the C library.
      if (found != 0 && one.find(" (") == std::string::npos) break;
      if (found != 0 && one.starts_with("__libc_start")) break;
      all += (found++ == 0 ? "" : ", by ") + one;
    }
    return all;
  }

 private:
  std::string of(const void* return_address) {
    // The call stands before the address to which it returns.
    const auto address = reinterpret_cast<std::uintptr_t>(return_address) - 1;
    if (!library_.complete()) return by_dynamic_symbol(return_address);
    if (session_ == nullptr) {
      session_ = library_.begin(&callbacks_);
      if (session_ == nullptr) return by_dynamic_symbol(return_address);
      read_mappings();
    }
    Dwfl_Module* module = library_.module_of(session_, address);
    if (module == nullptr) {  // the program has loaded it since
      read_mappings();
      module = library_.module_of(session_, address);
    }
    return module != nullptr ? by_module(*module, address, return_address)
                             : by_dynamic_symbol(return_address);
  }

  void read_mappings() {
    library_.report_begin(session_);
    library_.report(session_, getpid());
    library_.report_end(session_, nullptr, nullptr);
  }

  std::string by_module(Dwfl_Module& module, std::uintptr_t address, const void* return_address) {
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* const name =
        library_.symbol_of(&module, address, &offset, &symbol, nullptr, nullptr, nullptr);
    if (name == nullptr) return by_dynamic_symbol(return_address);
    if (const source_line found = source_of(module, address, name); found.file != nullptr)
      return readable(found.function) + " (" + file_name(found.file) + ":" +
             std::to_string(found.line) + ")";
    Dl_info known{};
    static_cast<void>(dladdr(return_address, &known));
    return readable(name) + "+" + hex(offset + 1) + " (" + file_name(known.dli_fname) + ")";
  }

  struct source_line {
    const char* function;
    const char* file = nullptr;
    int line = 0;
  };

  /// The line of the program. Functions of libibverbs' header are inline. Where one of them stands,
  /// this is the line that calls it.
  source_line source_of(Dwfl_Module& module, std::uintptr_t address, const char* symbol) {
    source_line found{symbol};
    if (Dwfl_Line* const line = library_.line_of(&module, address); line != nullptr)
      found.file = library_.line_info(line, nullptr, &found.line, nullptr, nullptr, nullptr);
    Dwarf_Addr bias = 0;
    Dwarf_Die* const unit = library_.unit_of(&module, address, &bias);
    Dwarf_Die* scopes = nullptr;
    const int count = unit != nullptr ? library_.scopes_at(unit, address - bias, &scopes) : 0;
    const std::unique_ptr<Dwarf_Die, decltype(&std::free)> kept(scopes, &std::free);
    for (int i = 0; i < count && found.file != nullptr; ++i) {
      const int tag = library_.tag_of(&scopes[i]);
      if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
      const bool of_header = file_name(found.file) == "verbs.h";
      if (!of_header || tag == DW_TAG_subprogram) {
        if (const char* const name = library_.name_of(&scopes[i])) found.function = name;
        break;
      }
      found.line = static_cast<int>(number(scopes[i], DW_AT_call_line));
      found.file = file(*unit, number(scopes[i], DW_AT_call_file));
    }
    return found;
  }

  Dwarf_Word number(Dwarf_Die& of, unsigned attribute) {
    Dwarf_Attribute found;
    Dwarf_Word value = 0;
    if (library_.attribute_of(&of, attribute, &found) != nullptr)
      static_cast<void>(library_.number_of(&found, &value));
    return value;
  }

  const char* file(Dwarf_Die& unit, Dwarf_Word index) {
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    if (library_.files_of(&unit, &files, &count) != 0 || index >= count) return nullptr;
    return library_.file_of(files, index, nullptr, nullptr);
  }

  static std::string by_dynamic_symbol(const void* return_address) {
    Dl_info known{};
    if (dladdr(return_address, &known) == 0) {
      return hex(reinterpret_cast<std::uintptr_t>(return_address));
    }
    const auto at = static_cast<const char*>(return_address);
    if (known.dli_sname != nullptr)
      return readable(known.dli_sname) + "+" +
             hex(static_cast<std::uint64_t>(at - static_cast<const char*>(known.dli_saddr))) +
             " (" + file_name(known.dli_fname) + ")";
    return file_name(known.dli_fname) + "+" +
           hex(static_cast<std::uint64_t>(at - static_cast<const char*>(known.dli_fbase)));
  }

  debug_library library_;
  Dwfl_Callbacks callbacks_{.find_elf = library_.find_elf,
                            .find_debuginfo = library_.find_debug_information,
                            .section_address = nullptr,
                            .debuginfo_path = nullptr};
  Dwfl* session_ = nullptr;
};

/// Never destroyed: exit functions of the program may still make calls.
places& all_places() {
  static places& all = *new places;
  return all;
}

}  // namespace

program_place unwind_to(const void* caller) {
  struct search {
    program_place found;
    unsigned count;  // 0: `caller` was not passed yet
  } state{{{caller}}, 0};
  _Unwind_Backtrace(
      [](_Unwind_Context* frame, void* to) {
        auto& s = *static_cast<search*>(to);
        const auto address = reinterpret_cast<const void*>(_Unwind_GetIP(frame));
        if (s.count == 0 && address == s.found.at[0]) s.count = 1;
        else if (s.count != 0) s.found.at[s.count++] = address;
        return s.count == program_place::most ? _URC_END_OF_STACK : _URC_NO_REASON;
      },
      &state);
  return state.found;
}

std::string place_of(const program_place& at) {
  const std::lock_guard alone(all_places().lock);
  return all_places().of(at, 3);
}

std::string function_at(const program_place& at) {
  const std::lock_guard alone(all_places().lock);
  const std::string all = all_places().of(at, 1);
  return all.substr(0, all.find_first_of(" +"));
}

void lock_places() {
  all_places().lock.lock();
}

void unlock_places() {
  all_places().lock.unlock();
}

}  // namespace freehca::ibverbs
