// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "lookup.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "descriptors.hpp"
#include "system_calls.hpp"

namespace freehca::ibverbs_files {
namespace {

constinit std::atomic<facts_source> source{nullptr};
/// Initial-exec storage: the first access allocates nothing.
__attribute__((tls_model("initial-exec"))) constinit thread_local bool facts_in_work = false;

constexpr unsigned most_links = 40;  // as Linux

/// Marks the thread as busy with the facts, so that its nested calls go to the system.
struct facts_turn {
  facts_turn() { facts_in_work = true; }
  ~facts_turn() { facts_in_work = false; }
  facts_turn(const facts_turn&) = delete;
  facts_turn& operator=(const facts_turn&) = delete;
};

struct kept_errno {
  int value = errno;
  ~kept_errno() { errno = value; }
};

tree current_tree() {
  const facts_source ask = source.load(std::memory_order_acquire);
  if (ask == nullptr) return {};
  const facts_turn turn;
  return tree_of(ask());
}

/// Cheap and without allocation, because it sees each path that the process opens. Each path into
/// the tree has one of these words, before or behind a link.
bool has_a_word(const char* path) {
  for (const char* word : {"infiniband", "ffff:00", "mlx4_core"})
    if (std::strstr(path, word) != nullptr) return true;
  return false;
}

/// False: the absolute path certainly leads outside /sys and /dev.
bool may_be_in_tree(const char* path) {
  if (!has_a_word(path)) return false;
  if (std::strstr(path, "..") != nullptr) return true;
  while (path[0] == '/' || (path[0] == '.' && path[1] == '/')) ++path;
  // Shared memory has no place of the tree. The library itself opens the file of its fabric there
  // while the facts about the adapter are not known yet, and its name can have any word.
  if (std::strncmp(path, "dev/shm/", 8) == 0) return false;
  return std::strncmp(path, "sys/", 4) == 0 || std::strncmp(path, "dev/", 4) == 0;
}

/// The name of the current folder; empty if the system has none, as for a folder of the tree.
std::string current_folder() {
  char folder[PATH_MAX];
  return getcwd(folder, sizeof folder) != nullptr && folder[0] == '/' ? folder : "";
}

/// The name of the folder behind a descriptor that the library did not hand out, as "/" or
/// "/sys/class" may be. Empty: not known.
std::string system_folder(int descriptor) {
  char link[32];
  char folder[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t size = system_readlink(link, folder, sizeof folder);
  return size > 0 && folder[0] == '/' ? std::string(folder, static_cast<std::size_t>(size)) : "";
}

/// The folder that a relative path starts from; empty: no entry of the tree is below.
std::string start_of(int at, const char* path) {
  std::string start = at == AT_FDCWD ? current_folder() : "";
  if (start.empty()) start = opened_path(at);
  // A call of the system for each path is too much, so the path itself must look like one.
  if (start.empty() && at >= 0 && has_a_word(path)) start = system_folder(at);
  return start;
}

class walker {
 public:
  walker(const tree& all, bool follow) : all_(all), follow_(follow) {}

  place walk(std::string rest) {
    if (all_.empty()) return {};
    while (true) {
      const std::size_t begin = rest.find_first_not_of('/');
      if (begin == std::string::npos) return end(!rest.empty());
      std::size_t end_of_name = rest.find('/', begin);
      if (end_of_name == std::string::npos) end_of_name = rest.size();
      const std::string name = rest.substr(begin, end_of_name - begin);
      rest.erase(0, end_of_name);
      if (all_.at(at_).what != kind::folder) return {.error = ENOTDIR};
      if (name == ".") continue;
      if (name == "..") {
        at_.erase(at_ == "/" ? 1 : std::max<std::size_t>(at_.rfind('/'), 1));
        continue;
      }
      std::string next = at_ == "/" ? "/" + name : at_ + "/" + name;
      const auto found = all_.find(next);
      if (found == all_.end()) return {.path = next + rest};
      if (found->second.what == kind::link && (follow_ || !rest.empty())) {
        if (++links_ > most_links) return {.error = ELOOP};
        // From the folder that holds the link: no target in the tree begins with a slash.
        rest = found->second.text + rest;
        continue;
      }
      at_ = std::move(next);
    }
  }

 private:
  place end(bool slash) const {
    return {.in_tree = true, .folder_asked = slash, .path = at_, .entry = all_.at(at_)};
  }

  const tree& all_;
  const bool follow_;
  std::string at_ = "/";
  unsigned links_ = 0;
};

}  // namespace

void set_facts_source(facts_source s) noexcept {
  source.store(s, std::memory_order_release);
}

place find_place(int at, const char* path, bool follow) {
  if (facts_in_work || path == nullptr || path[0] == '\0' ||
      source.load(std::memory_order_acquire) == nullptr)
    return {};
  const kept_errno kept;
  if (path[0] == '/') {
    if (!may_be_in_tree(path)) return {};
    return walker(current_tree(), follow).walk(path);
  }
  const std::string start = start_of(at, path);
  if (start.empty()) return {};
  const std::string whole = start + "/" + path;
  if (!may_be_in_tree(whole.c_str())) return {};
  return walker(current_tree(), follow).walk(whole);
}

place find_clean(const std::string& path) {
  const kept_errno kept;
  return walker(current_tree(), false).walk(path);
}

std::map<std::string, node> entries_of(const std::string& folder) {
  const kept_errno kept;
  const tree all = current_tree();
  const std::string before = folder == "/" ? "/" : folder + "/";
  std::map<std::string, node> entries;
  for (auto i = all.upper_bound(before); i != all.end() && i->first.starts_with(before); ++i)
    if (i->first.find('/', before.size()) == std::string::npos)
      entries.emplace(i->first.substr(before.size()), i->second);
  return entries;
}

}  // namespace freehca::ibverbs_files
