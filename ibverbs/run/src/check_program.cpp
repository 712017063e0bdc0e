// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "elf_header.hpp"
#include "program_file.hpp"

namespace freehca::run {
namespace {

constexpr unsigned most_scripts = 5;      // as Linux: a script whose interpreter is a script
constexpr std::size_t script_line = 256;  // bytes that Linux reads of "#!"
constexpr const char* privileged_programs =
    "the system ignores preloaded libraries in programs that gain rights";

/// An open file, closed at the end.
class open_file {
 public:
  explicit open_file(const std::string& path)
      : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~open_file() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

refusal refuse(const std::string& why) {
  return {cannot_run, why};
}

/// The words behind "#!", or none: the file is no script.
std::vector<std::string> interpreter_line(int descriptor) {
  std::string head(script_line, '\0');
  const ssize_t n = pread(descriptor, head.data(), head.size(), 0);
  head.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  if (!head.starts_with("#!")) return {};
  std::istringstream line(head.substr(2, head.find('\n') - 2));
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  if (words.empty()) words.emplace_back();
  return words;
}

/// The program that env(1) starts, of the words of an interpreter line; empty: the line names none.
std::string program_of_env(const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "-u" || word == "-C") ++i;  // the next word is the option's
    else if (!word.starts_with('-') && word.find('=') == std::string::npos) return word;
  }
  return "";
}

/// The program that the interpreter line leads to, behind env(1) if the line names it.
std::variant<std::string, refusal> program_of(const std::vector<std::string>& words) {
  const std::string& interpreter = words.front();
  if (interpreter.substr(interpreter.rfind('/') + 1) == "env")
    if (const std::string program = program_of_env(words); !program.empty())
      return find_program(program);
  // The system reads the word as a path, whether there is a slash in it or not.
  return find_program(interpreter.find('/') == std::string::npos ? "./" + interpreter
                                                                 : interpreter);
}

std::optional<refusal> check_rights(const std::string& path, int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) != 0)
    return refuse(fmt::format("{}: {}", path, std::strerror(errno)));
  const bool gains_group = (status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0;
  if ((status.st_mode & S_ISUID) != 0 || gains_group)
    return refuse(fmt::format("{} is {}: {}; run a copy without that bit", path,
                              gains_group ? "set-group-id" : "set-user-id", privileged_programs));
  if (fgetxattr(descriptor, "security.capability", nullptr, 0) > 0)
    return refuse(fmt::format("{} has file capabilities: {}; run a copy, which has none", path,
                              privileged_programs));
  return {};
}

std::optional<refusal> check_elf(const std::string& path, int descriptor) {
  const std::optional<elf_header> program = read_elf_header(descriptor);
  if (!program)
    return refuse(
        fmt::format("{} is neither an ELF program nor a script with '#!'; name its "
                    "interpreter before it",
                    path));
  const std::optional<elf_header> own = own_elf_header();
  if (!own)
    return refusal{system_error,
                   "the launcher cannot read its own file in /proc/self/exe; mount /proc"};
  if (!program->same_machine(*own))
    return refuse(
        fmt::format("{} is for another architecture than libfreehca-verbs.so; build "
                    "freehca for it",
                    path));
  if (program->loader.empty())
    return refuse(
        fmt::format("{} is a static program: no loader preloads a library into it; link "
                    "it with shared libraries",
                    path));
  if (program->loader != own->loader)
    return refuse(
        fmt::format("{} has the loader {}, that of another C library than "
                    "libfreehca-verbs.so needs ({}); build it with this one",
                    path, program->loader, own->loader));
  return {};
}

}  // namespace

std::optional<refusal> check_program(const std::string& path) {
  std::string file = path;
  // A refused interpreter is named with the script that leads to it.
  const auto with_script = [&](refusal why) {
    if (file != path) why.message = fmt::format("{} is a script: {}", path, why.message);
    return why;
  };
  for (unsigned scripts = 0; scripts != most_scripts; ++scripts) {
    const open_file opened(file);
    if (opened.get() < 0)
      return with_script(
          refuse(fmt::format("{} cannot be read ({}), so it is not known whether a "
                             "preloaded library reaches it; run a copy",
                             file, std::strerror(errno))));
    const std::vector<std::string> words = interpreter_line(opened.get());
    if (words.empty()) {
      std::optional<refusal> why = check_rights(file, opened.get());
      if (!why) why = check_elf(file, opened.get());
      if (why) why = with_script(*why);
      return why;
    }
    std::variant<std::string, refusal> next = program_of(words);
    if (const refusal* why = std::get_if<refusal>(&next)) {
      // The program itself is there; what it needs is not.
      return refusal{cannot_run, fmt::format("{} is a script, and its interpreter cannot run: {}",
                                             path, why->message)};
    }
    file = std::get<std::string>(next);
  }
  return refuse(fmt::format("{} is a script of a script, more than {} times", path, most_scripts));
}

}  // namespace freehca::run
