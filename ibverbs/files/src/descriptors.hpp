// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Descriptors of the tree's entries. An entry has no place in the file system, so that nothing is
// left behind by a process that is killed, that calls _exit() or that is replaced by exec:
// - A file is a sealed memory file, opened for reading.
// - A folder that the system has too is the system's. Another one is an empty folder that is
//   removed as soon as it is open. Its listing comes from folder_stream.hpp.
// A copy of the tree below /dev/shm would need no listing, but each of those ends would leave it.
// Descriptors stay recognised after dup(), fork() and passing within the process, because they are
// recognised by device and inode.
#pragma once

#include <sys/stat.h>

#include <string>

namespace freehca::ibverbs_files {

/// Opens a file with this content. `path` is its name in the tree. `flags`: of open().
/// -1 with errno if the system refuses a memory file. Throws std::bad_alloc.
int open_file(const std::string& path, const std::string& content, int flags);

/// Opens a folder of the tree. -1 with errno. Throws std::bad_alloc.
int open_folder(const std::string& path, int flags);

/// Whether the system has the folder, under the same path. errno stays as it is.
bool system_has_folder(const std::string& path);

/// True once a descriptor was handed out.
bool any_entry_open() noexcept;

/// The path in the tree of an open descriptor, or of the current folder (AT_FDCWD); empty: none.
/// The last 1024 descriptors are known. errno stays as it is. Throws std::bad_alloc.
std::string opened_path(int descriptor);

/// The same of a descriptor that has this status; empty if the file system has a name for it.
std::string opened_path_without_name(const struct stat& status);

}  // namespace freehca::ibverbs_files
