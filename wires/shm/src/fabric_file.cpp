// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "fabric_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "file_locks.hpp"

namespace freehca::wires::shm {
namespace {

constexpr unsigned lock_milliseconds = 10'000;
// Each attempt but the last lost a race against the last port of a fabric, which removed the name.
constexpr unsigned most_attempts = 1000;

std::string error_text(int error) {
  return std::strerror(error);
}

std::string cannot_open(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EROFS:
      return path +
             ": its folder is missing or read-only. A fabric has a file in /dev/shm, or else " +
             "in /tmp: make one of them writable.";
    case ELOOP:
      return path + ": a symbolic link, where a fabric's file is expected. Remove it.";
    case EISDIR:
      return path + ": a folder, where a fabric's file is expected. Remove it.";
    case EACCES:
    case EPERM:
      return path + ": no permission to open it. A file of another user has this name: have it " +
             "removed, or use another name for the fabric.";
    default:
      return path + ": " + error_text(error);
  }
}

// 0: done. The file system of a test may not have the function; then nothing is promised.
int promise(int file, off_t at, std::size_t bytes) {
  int done;
  do done = fallocate(file, 0, at, static_cast<off_t>(bytes));
  while (done != 0 && errno == EINTR);
  return done == 0 || errno == EOPNOTSUPP ? 0 : errno;
}

std::string in_kib(std::size_t bytes) {
  return std::to_string(bytes / 1024) + " KiB";
}

}  // namespace

std::string first_writable(std::initializer_list<const char*> folders) {
  for (const char* const folder : folders) {
    struct stat found;
    if (stat(folder, &found) == 0 && S_ISDIR(found.st_mode) && access(folder, W_OK | X_OK) == 0)
      return folder;
  }
  return *folders.begin();
}

std::string default_folder() {
  return first_writable({"/dev/shm", "/tmp"});
}

std::string fabric_prefix() {
  return "freehca-" + std::to_string(geteuid()) + "-";
}

std::string fabric_path(const std::string& folder, const std::string& name, std::string& why) {
  constexpr const char* allowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  if (name.empty() || name.size() > 64 || name.find_first_not_of(allowed) != std::string::npos) {
    why =
        "'" + name + "': a fabric's name has 1 to 64 letters, digits, dots, dashes and underscores";
    return "";
  }
  return folder + "/" + fabric_prefix() + name;
}

std::shared_ptr<fabric_file> fabric_file::open(const std::string& path, link_layer link,
                                               std::string& why) {
  for (unsigned attempt = 0; attempt < most_attempts; ++attempt) {
    const int number =
        ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (number < 0) {
      why = cannot_open(path, errno);
      return nullptr;
    }
    std::shared_ptr<fabric_file> file(new fabric_file(path, number));
    if (!file->check_owner(why) || !file->lock_creation(why)) return nullptr;
    if (!file->still_named()) continue;
    const content found = file->check_content(why);
    if (found == content::bad) return nullptr;
    const bool fresh = found == content::empty || !file->anyone_alive();
    if ((fresh && !file->make(link, why)) || !file->map(why)) {
      if (fresh) file->remove_name();
      return nullptr;
    }
    return file;
  }
  why = path + ": other processes make and remove it all the time";
  return nullptr;
}

std::shared_ptr<fabric_file> fabric_file::look(const std::string& path, std::string& why,
                                               bool& gone) {
  const int number = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  gone = number < 0 && errno == ENOENT;
  if (number < 0) {
    if (!gone) why = cannot_open(path, errno);
    return nullptr;
  }
  std::shared_ptr<fabric_file> file(new fabric_file(path, number));
  if (!file->check_owner(why)) return nullptr;
  const content found = file->check_content(why);
  return found == content::good && file->map(why) ? file : nullptr;
}

fabric_file::~fabric_file() {
  for (const auto& ring : ring_addresses_)
    if (std::byte* at = ring.load(std::memory_order_relaxed)) munmap(at, ring_bytes);
  if (control_ != nullptr) munmap(control_, control_bytes);
  abandon();
}

void fabric_file::abandon() {
  if (number_ >= 0) close(number_);
  number_ = -1;
}

bool fabric_file::check_owner(std::string& why) const {
  struct stat about {};
  if (fstat(number_, &about) != 0) {
    why = path_ + ": " + error_text(errno);
  } else if (!S_ISREG(about.st_mode)) {
    why = path_ + ": not a regular file, where a fabric's file is expected. Remove it.";
  } else if (about.st_uid != geteuid()) {
    why = path_ + ": it belongs to user " + std::to_string(about.st_uid) +
          ". Have it removed, or use another name for the fabric.";
  } else if ((about.st_mode & 077) != 0) {
    why = path_ + ": other users may open it. A fabric's file has mode 0600: remove it.";
  } else {
    return true;
  }
  return false;
}

bool fabric_file::still_named() const {
  struct stat named {};
  struct stat opened {};
  return lstat(path_.c_str(), &named) == 0 && fstat(number_, &opened) == 0 &&
         named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

fabric_file::content fabric_file::check_content(std::string& why) const {
  struct stat about {};
  struct {
    std::uint64_t magic = 0;
    std::uint32_t version = 0;
    std::uint32_t rest = 0;
  } begins;
  if (fstat(number_, &about) != 0 || pread(number_, &begins, sizeof begins, 0) < 0) {
    why = path_ + ": " + error_text(errno);
    return content::bad;
  }
  if (about.st_size == 0) return content::empty;
  // The process that made the file was killed before the end.
  if (about.st_size == file_bytes && begins.magic == 0 && !anyone_alive()) return content::empty;
  const std::string remedy =
      " End the programs that use it and remove it, or use another name for the fabric.";
  if (begins.magic != file_magic) {
    why = path_ + ": not a fabric's file: it begins with other bytes." + remedy;
  } else if (begins.version != file_version) {
    why = path_ + ": made by another version of freehca: its format is " +
          std::to_string(begins.version) + ", and this program knows format " +
          std::to_string(file_version) + "." + remedy;
  } else if (about.st_size != file_bytes) {
    why = path_ + ": truncated: it has " + std::to_string(about.st_size) + " bytes instead of " +
          std::to_string(file_bytes) + "." + remedy;
  } else {
    return content::good;
  }
  return content::bad;
}

bool fabric_file::make(link_layer link, std::string& why) const {
  rlimit most{};
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < static_cast<rlim_t>(file_bytes)) {
    why = path_ + ": this process may not make files of " + std::to_string(file_bytes) +
          " bytes, most of which take no memory. Raise the limit: ulimit -f unlimited";
    return false;
  }
  const std::uint64_t magic = file_magic;
  const std::uint32_t version = file_version;
  int error = 0;
  // The old content goes first: all members of that fabric are dead.
  if (fchmod(number_, 0600) != 0 || ftruncate(number_, 0) != 0 ||
      ftruncate(number_, file_bytes) != 0)
    error = errno;
  if (error == 0) error = promise(number_, 0, control_bytes);
  if (error == 0 &&
      (pwrite(number_, &version, sizeof version, offsetof(control_part, version)) < 0 ||
       pwrite(number_, &link, sizeof link, offsetof(control_part, link)) < 0 ||
       pwrite(number_, &magic, sizeof magic, offsetof(control_part, magic)) < 0))
    error = errno;
  if (error == ENOSPC)
    why = path_ + ": no memory for a fabric's first " + in_kib(control_bytes) +
          ". Make the tmpfs of its folder larger, or remove files there.";
  else if (error != 0) why = path_ + ": " + error_text(error);
  return error == 0;
}

fabric_file::fabric_file(std::string path, int number) : path_(std::move(path)), number_(number) {
  struct stat now {};
  if (fstat(number_, &now) != 0) return;
  device_ = now.st_dev;
  inode_ = now.st_ino;
}

bool fabric_file::map(std::string& why) {
  void* at = mmap(nullptr, control_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, number_, 0);
  if (at == MAP_FAILED) {
    why = path_ + ": cannot be mapped: " + error_text(errno);
    return false;
  }
  control_ = static_cast<control_part*>(at);
  return true;
}

bool fabric_file::is_open() const {
  struct stat now {};
  return fstat(number_, &now) == 0 && now.st_dev == device_ && now.st_ino == inode_;
}

bool fabric_file::lock_creation(std::string& why) const {
  if (lock_within(number_, create_lock, lock_milliseconds)) return true;
  const pid_t owner = lock_owner(number_, create_lock);
  why = path_ + ": another process has been joining or leaving for " +
        std::to_string(lock_milliseconds / 1000) + " seconds" +
        (owner != 0 ? ": process " + std::to_string(owner) : "") + ". Let it go on, or end it.";
  return false;
}

void fabric_file::unlock_creation() const {
  unlock(number_, create_lock);
}

bool fabric_file::take_slot(unsigned slot) {
  const std::uint64_t bit = std::uint64_t{1} << slot;
  if ((own_slots_.load() & bit) != 0 || !try_lock(number_, first_slot_lock + slot)) return false;
  own_slots_.fetch_or(bit);
  return true;
}

void fabric_file::free_slot(unsigned slot) {
  own_slots_.fetch_and(~(std::uint64_t{1} << slot));
  unlock(number_, first_slot_lock + slot);
}

bool fabric_file::alive(unsigned slot) const {
  return (own_slots_.load() >> slot & 1) != 0 || !is_open() ||
         locked_by_another(number_, first_slot_lock + slot, 1);
}

bool fabric_file::anyone_alive() const {
  return own_slots_.load() != 0 || !is_open() || locked_by_another(number_, first_slot_lock, slots);
}

bool fabric_file::bury(unsigned slot) {
  std::uint32_t life = control_->slot[slot].life.load(std::memory_order_acquire);
  if (life % 2 == 0) return true;
  if (alive(slot)) return false;
  // A port that takes the slot in this moment writes a life of its own, which stays.
  control_->slot[slot].life.compare_exchange_strong(life, life + 1);
  return true;
}

void fabric_file::remove_name() const {
  if (still_named()) unlink(path_.c_str());
}

std::byte* fabric_file::ring(unsigned consumer, unsigned producer) {
  std::atomic<std::byte*>& place = ring_addresses_[consumer * slots + producer];
  std::byte* at = place.load(std::memory_order_acquire);
  if (at != nullptr) return at;
  if (!is_open()) return nullptr;
  void* made = mmap(nullptr, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, number_,
                    ring_offset(consumer, producer));
  if (made == MAP_FAILED) return nullptr;
  if (place.compare_exchange_strong(at, static_cast<std::byte*>(made)))
    return static_cast<std::byte*>(made);
  munmap(made, ring_bytes);  // another thread was first
  return at;
}

bool fabric_file::lend(unsigned consumer, unsigned producer, std::size_t bytes) const {
  return is_open() && promise(number_, ring_offset(consumer, producer), bytes) == 0;
}

}  // namespace freehca::wires::shm
