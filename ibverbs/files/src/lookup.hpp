// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include "tree.hpp"

namespace freehca::ibverbs_files {

/// Where a path of the program leads.
struct place {
  /// 0, or the errno of the walk: ENOTDIR or ELOOP.
  int error = 0;
  /// The path leads to an entry of the tree. False: to the system.
  bool in_tree = false;
  /// The path names the entry with a slash behind it: only a folder is right.
  bool folder_asked = false;
  /// Absolute, without links of the tree. Of a path that leads to the system: what to give to it
  /// instead of the program's own words, since these may lead through folders that the system does
  /// not have. Empty: the program's own words.
  std::string path = {};
  /// The entry, if `in_tree`.
  node entry = {};
};

/// Finds out where `path` leads, seen from the folder of the descriptor `at` (AT_FDCWD: the current
/// one). `follow`: a link at the path's end is followed. Any thread; no lock is held while the
/// facts source runs. Calls of the facts source itself lead to the system. errno stays as it is.
/// Throws std::bad_alloc and what the facts source throws.
place find_place(int at, const char* path, bool follow);

/// The same for an absolute path that is known to be clean, as of a folder's descriptor.
place find_clean(const std::string& path);

/// Names of the tree's entries in the folder, with their nodes.
std::map<std::string, node> entries_of(const std::string& folder);

}  // namespace freehca::ibverbs_files
