// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <dirent.h>

#include <string>
#include <vector>

namespace freehca::ibverbs_files {

/// The listing of a folder of the tree, in the place of a DIR of the C library. The program owns it
/// and passes it to closedir(). As with other streams, one thread uses it at a time.
class folder_stream {
 public:
  /// Takes the descriptor of the folder if it succeeds. nullptr, with errno: the system refused its
  /// own entries of the folder. Throws std::bad_alloc and what the facts source throws.
  static folder_stream* open(int descriptor, const std::string& path);

  /// The stream, or nullptr: the DIR is one of the C library.
  static folder_stream* of(DIR* stream) noexcept;

  /// Closes the descriptor and deletes the stream. 0, or -1 with errno.
  int close();

  /// The next entry, valid until the stream is closed or rewound; nullptr at the end.
  const struct dirent* read() noexcept;

  /// Reads the folder from its start, with the entries that it has now. Throws as open().
  void rewind();

  long position() const noexcept { return static_cast<long>(at_); }
  void seek(long to) noexcept;
  int descriptor() const noexcept { return descriptor_; }
  DIR* handle() noexcept { return reinterpret_cast<DIR*>(this); }

 private:
  folder_stream(int descriptor, const std::string& path) : descriptor_(descriptor), path_(path) {}

  int descriptor_;
  std::string path_;
  std::vector<struct dirent> entries_ = {};
  std::size_t at_ = 0;
  folder_stream* next_ = nullptr;  ///< of all open streams, under the lock
};

}  // namespace freehca::ibverbs_files
