// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include "fabric_layout.hpp"

namespace freehca::wires::shm {

/// A fabric's file as this process has it: one descriptor, the control part and the rings that were
/// used. All ports of the process on the fabric share it, because a second descriptor that is
/// closed would end the locks of the first.
class fabric_file {
 public:
  /// Opens the file, or makes it for ports of this link layer, and returns with create_lock. Null:
  /// `why` has the reason. The caller has the registry's lock.
  static std::shared_ptr<fabric_file> open(const std::string& path, link_layer link,
                                           std::string& why);
  /// Opens the file without a lock, to list its members. Null without `why`: the file has no
  /// content yet. Null with `gone`: another process has removed the file.
  static std::shared_ptr<fabric_file> look(const std::string& path, std::string& why, bool& gone);
  ~fabric_file();
  fabric_file(const fabric_file&) = delete;
  fabric_file& operator=(const fabric_file&) = delete;

  const std::string& path() const { return path_; }
  control_part& control() const { return *control_; }
  /// What the file says. A peer may have overwritten it.
  link_layer link() const {
    return static_cast<link_layer>(control_->link.load(std::memory_order_relaxed));
  }

  /// Waits ten seconds at most.
  bool lock_creation(std::string& why) const;
  void unlock_creation() const;

  /// Takes this slot for a port of this process. False: a port has it.
  bool take_slot(unsigned slot);
  void free_slot(unsigned slot);
  /// Whether a port lives in this slot. Asks the kernel, unless the port is of this process.
  bool alive(unsigned slot) const;
  /// Whether this process has a port on the fabric.
  bool used_by_process() const { return own_slots_.load() != 0; }
  /// Whether a port lives in any slot.
  bool anyone_alive() const;
  /// Frees the record of a slot whose port has died. True: it has.
  bool bury(unsigned slot);
  /// For the child of a fork(): closes the descriptor, while the child has no lock to lose by that.
  void abandon();
  /// Removes the name if it still names this file.
  void remove_name() const;

  /// The bytes of a ring. Null: the kernel refused the mapping.
  std::byte* ring(unsigned consumer, unsigned producer);
  /// The same of a ring that was used before. Null: it was not.
  const std::byte* used_ring(unsigned consumer, unsigned producer) const {
    return ring_addresses_[consumer * slots + producer].load(std::memory_order_acquire);
  }
  /// Has the kernel promise memory for the first bytes of a ring, so that an access does not end in
  /// SIGBUS. False: /dev/shm is full.
  bool lend(unsigned consumer, unsigned producer, std::size_t bytes) const;

 private:
  fabric_file(std::string path, int number);
  enum class content { good, empty, bad };
  bool check_owner(std::string& why) const;
  bool still_named() const;
  content check_content(std::string& why) const;
  bool make(link_layer link, std::string& why) const;
  bool map(std::string& why);

  const std::string path_;
  /// Whether number_ is still the file's. A program may close descriptors that it does not know.
  bool is_open() const;

  int number_;        ///< the descriptor, or -1
  dev_t device_ = 0;  ///< of the file
  ino_t inode_ = 0;
  control_part* control_ = nullptr;
  std::atomic<std::uint64_t> own_slots_{0};  ///< a bit for each slot of this process
  std::atomic<std::byte*> ring_addresses_[slots * slots] = {};
};

/// Where fabrics have their files, unless a test has another folder: /dev/shm, or /tmp on a machine
/// where /dev/shm is missing or read-only. All processes of a machine get the same answer, if they
/// see the same folders.
std::string default_folder();
/// The first of these folders in which this process can make files. If there is none, the first of
/// all.
std::string first_writable(std::initializer_list<const char*> folders);

/// The path of a fabric's file, or an empty one: the name is not allowed.
std::string fabric_path(const std::string& folder, const std::string& name, std::string& why);
/// What the names of this user's files begin with.
std::string fabric_prefix();

}  // namespace freehca::wires::shm
