// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <freehca/vfio_user/channel.hpp>

namespace freehca::keeper {

/// Records that are not requests of the client. Their numbers are not commands of the protocol, and
/// are sent in the field of the command. Each has the descriptors that its comment names.
enum class record : std::uint16_t {
  ready = 0xff00,  ///< clients may connect: their socket, then the control socket if there is one
  client_came,     ///< a client connected; its connection
  doorbell_pages,  ///< the file that the client may map
  client_gone,
  serving,  ///< the process has the client's complete state, and begins to serve
  // The hand-over (hand_over.hpp). To a process that the keeper starts from a program file:
  shared_memory,     ///< the first record: versions; the file of the shared state
  sockets,           ///< as of `ready`; the body says whether the program removes the control path
  state,             ///< the file of the adapter's state, then the descriptors of its wires
  end_of_hand_over,  ///< everything was sent
  serve,             ///< the process before it has ended
  // From such a process:
  loaded,   ///< it has the state, and waits for `serve`; the body is the version of its build
  refused,  ///< it ends; the body is the reason. The keeper sends it on
  // `state` is sent by the process that hands over, too. The answers to it are `refused` and:
  handed_over,  ///< end without touching anything; the body is the version of the new build
};

inline vfio_user::header record_head(record what) {
  return {0, static_cast<std::uint16_t>(what), 0, vfio_user::type_command, 0};
}
/// The body of a record, for people.
inline std::string record_text(const vfio_user::message& of) {
  return {reinterpret_cast<const char*>(of.body.data()), of.body.size()};
}

/// The present state of a client: everything that a new process of the adapter must know to
/// continue with the client. Its memory and its number of descriptors are bounded.
class kept_client {
 public:
  /// The greatest number of files with mapped memory, far more than clients use. A process has 1024
  /// descriptors by default, and interrupts use some of them.
  static constexpr std::size_t greatest_files = 256;

  /// Processes a record, or a request of the client that was done. The requests version, dma_map,
  /// dma_unmap and device_set_irqs change the kept state; others do not.
  void take(vfio_user::message received);

  bool there() const { return connection_.open(); }
  /// Whether another process can continue with the client. It cannot if the client serves memory by
  /// messages, because a reply to the process that died may still arrive. It cannot either if there
  /// were more descriptors than can be kept.
  bool can_go_on() const { return there() && without_file_ == 0 && !incomplete_; }
  void forget() { *this = kept_client(); }
  /// Whether everything that the client has shared is kept.
  bool complete() const { return !incomplete_; }
  /// Records that the kept state is incomplete, so that another process cannot continue.
  void lose_something() { incomplete_ = true; }

  const vfio_user::descriptor& connection() const { return connection_; }
  const vfio_user::descriptor& doorbell_pages() const { return doorbell_pages_; }
  vfio_user::descriptor& connection() { return connection_; }
  vfio_user::descriptor& doorbell_pages() { return doorbell_pages_; }
  /// Calls `to` with requests that recreate the state. Each has its own copies of the descriptors.
  void tell_again(const std::function<void(vfio_user::message)>& to) const;

 private:
  struct file {
    vfio_user::descriptor open;
    std::size_t mappings = 0;
  };
  /// Device, inode and access mode. All mappings of a file share one descriptor.
  using file_key = std::pair<std::pair<dev_t, ino_t>, int>;
  using files = std::map<file_key, file>;
  struct mapping {
    vfio_user::dma_map what;
    files::iterator from;  ///< end() of the map: no file
  };
  struct line {
    vfio_user::descriptor trigger, unmask;
    bool masked = false;
  };
  using line_key = std::pair<std::uint32_t, std::uint32_t>;  ///< index, and number within it

  void take_mapping(vfio_user::message& received);
  void end_mappings(const vfio_user::message& received);
  void end_mapping(const mapping& one);
  void take_lines(vfio_user::message& received);

  vfio_user::descriptor connection_, doorbell_pages_;
  bool agreed_ = false, incomplete_ = false;
  std::vector<std::byte> version_;
  std::map<std::uint64_t, mapping> mappings_;
  files files_;
  std::size_t without_file_ = 0;
  std::map<line_key, line> lines_;
};

}  // namespace freehca::keeper
