// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <freehca/vfio_user/channel.hpp>

namespace freehca::keeper {

/// Records that are no request of the client's: numbers that the protocol does not have, in the
/// place of its commands. Each comes with the descriptors that its comment names.
enum class record : std::uint16_t {
  ready = 0xff00,  ///< clients may connect: their socket, then the control socket if there is one
  client_came,     ///< its connection
  doorbell_pages,  ///< the file that the client may map
  client_gone,
  serving,  ///< the process has all that the client has told, and begins to serve
};

/// What a client has told the adapter, as long as it counts: all that a process must know which
/// takes the place of the one that was told. The memory and the descriptors that it takes are
/// bounded.
class kept_client {
 public:
  /// Files of which memory is mapped: far more than anybody shares. A process has 1024 descriptors
  /// by default, and interrupts take some of them.
  static constexpr std::size_t greatest_files = 256;

  /// A record, or a request of the client's that was done: version, dma_map, dma_unmap and
  /// device_set_irqs change what is kept; others change nothing.
  void take(vfio_user::message told);

  bool there() const { return connection_.open(); }
  /// Whether another process can go on with it. With memory that is reached by messages it cannot:
  /// an answer may be under way to the one that died. Nor when there were more descriptors than can
  /// be kept.
  bool can_go_on() const { return there() && without_file_ == 0 && !incomplete_; }
  void forget() { *this = kept_client(); }
  /// Something that the client told is lost: another process cannot go on with it.
  void lose_something() { incomplete_ = true; }

  vfio_user::descriptor& connection() { return connection_; }
  vfio_user::descriptor& doorbell_pages() { return doorbell_pages_; }
  /// Calls it with requests that tell all of it again, each with descriptors of its own.
  void tell_again(const std::function<void(vfio_user::message)>& to) const;

 private:
  struct file {
    vfio_user::descriptor open;
    std::size_t mappings = 0;
  };
  /// Device, inode and mode of access: one descriptor will do for all mappings of a file.
  using file_key = std::pair<std::pair<dev_t, ino_t>, int>;
  using files = std::map<file_key, file>;
  struct mapping {
    vfio_user::dma_map what;
    files::iterator from;  ///< the end: it has no file
  };
  struct line {
    vfio_user::descriptor told, unmask;
    bool masked = false;
  };
  using line_key = std::pair<std::uint32_t, std::uint32_t>;  ///< index, and number within it

  void take_mapping(vfio_user::message& told);
  void end_mappings(const vfio_user::message& told);
  void end_mapping(const mapping& one);
  void take_lines(vfio_user::message& told);

  vfio_user::descriptor connection_, doorbell_pages_;
  bool agreed_ = false, incomplete_ = false;
  std::vector<std::byte> version_;
  std::map<std::uint64_t, mapping> mappings_;
  files files_;
  std::size_t without_file_ = 0;
  std::map<line_key, line> lines_;
};

}  // namespace freehca::keeper
