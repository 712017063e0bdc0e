// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "hostile_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <type_traits>

#include <freehca/wires_shm/fabric_port.hpp>

#include "../check.hpp"
#include "../surviving_child.hpp"
#include "fabric_file.hpp"
#include "file_locks.hpp"
#include "ring_word.hpp"

namespace freehca::fuzz {

using namespace wires::shm;

namespace {

constexpr unsigned first_kept = slots - 3;
constexpr std::uint16_t lid_of_first_kept = 900, group_of_kept = first_multicast_lid + 1;
constexpr std::array<unsigned, 8> used_slots{0, 1, 2, 3, 4, first_kept, first_kept + 1, slots - 1};
constexpr std::array<std::uint32_t, 16> lengths{
    0,    1,    7,        8,           9,          64,          4351,    4352,
    4353, 4360, 1u << 20, 0x7fff'ffff, ~0u - 4096, 0xffff'fff8, ~0u - 1, ~0u};

template <class Word>
void change(std::atomic<Word>& word, input& from) {
  using number = std::make_unsigned_t<Word>;
  const std::uint64_t now = static_cast<number>(word.load(std::memory_order_relaxed));
  word.store(static_cast<Word>(hostile_word(from, now)));
}

}  // namespace

std::uint64_t hostile_word(input& from, std::uint64_t now) {
  const unsigned how = from.byte();
  const std::uint64_t amount = from.byte();
  switch (how % 8) {
    case 0:
      return now + amount;
    case 1:
      return now - amount;
    case 2:
      return now ^ std::uint64_t{1} << amount % 64;
    case 3:
      return amount;
    case 4:
      return now + (amount << (how / 8 % 4 * 8));
    case 5:
      // The borders of a ring's positions, and of the ring.
      return now + amount % 8 * (ring_units / 2) - how / 8;
    case 6:
      return ~std::uint64_t{0} - amount;
    default:
      return std::uint64_t{from.word()} << 32 | from.word();
  }
}

hostile_file& hostile_file::get() {
  // Never destroyed: its child removes the file.
  static auto& one = *new hostile_file;
  return one;
}

hostile_file::hostile_file() : name_("fuzz-" + std::to_string(getpid())) {
  std::string why;
  path_ = fabric_path(default_folder(), name_, why);
  const auto first = wires::fabric_port::join(name_, why);
  check(first != nullptr, why.c_str());
  number_ = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  void* const at = mmap(nullptr, static_cast<std::size_t>(file_bytes), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_NORESERVE, number_, 0);
  check(number_ >= 0 && at != MAP_FAILED, "the file cannot be mapped");
  base_ = static_cast<std::byte*>(at);
  control_ = static_cast<control_part*>(at);
  start_keeper();
}

void hostile_file::start_keeper() {
  const auto lock = [this] {
    const int file = open(path_.c_str(), O_RDWR | O_CLOEXEC);
    bool locked = file >= 0;
    for (unsigned slot = first_kept; slot < slots; ++slot)
      locked = locked && try_lock(file, first_slot_lock + static_cast<off_t>(slot));
    return locked;
  };
  start_surviving_child(lock, [this] { unlink(path_.c_str()); });
}

void hostile_file::renew(wires::link_layer link) {
  check(fallocate(number_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, control_bytes,
                  file_bytes - off_t{control_bytes}) == 0,
        "the rings cannot be emptied");
  std::memset(base_, 0, control_bytes);
  control_->magic = file_magic;
  control_->version = file_version;
  control_->link = static_cast<std::uint32_t>(link);
  for (unsigned slot = first_kept; slot < slots; ++slot) {
    const auto lid = static_cast<std::uint16_t>(lid_of_first_kept + slot - first_kept);
    control_->slot[slot].lid = lid;
    control_->slot_of_lid[lid] = static_cast<std::uint8_t>(slot + 1);
    control_->groups[slot].words[0] = 1u << (group_of_kept - first_multicast_lid);
    control_->slot[slot].life = 1;
  }
}

unsigned hostile_file::slot_of(input& from) {
  const unsigned which = from.byte();
  return which < 0xf0 ? used_slots[which % used_slots.size()] : from.byte() % slots;
}

// The words of a ring, the length of the record that its consumer takes next, or any bytes.
void hostile_file::write_ring(input& from) {
  const unsigned consumer = slot_of(from), producer = slot_of(from), what = from.byte();
  ring_control& words = control_->rings[consumer][producer];
  const auto lives = [&] {
    return ring_word::of(control_->slot[producer].life, control_->slot[consumer].life);
  };
  switch (what % 8) {
    case 0:
      return change(words.head, from);
    case 1:
      return change(words.tail, from);
    case 2:
      words.head = lives().at(static_cast<std::uint32_t>(hostile_word(from, 0))).value;
      return;
    case 3:
      words.tail = lives().at(static_cast<std::uint32_t>(hostile_word(from, 0))).value;
      return;
    case 4:
      return change(words.wants_room, from);
    default:
      break;
  }
  const ring_word next{what % 2 != 0 ? words.tail : words.head};
  const std::uint32_t unit = (next.position() + what / 16 % 4) % ring_units;
  std::byte* const place = ring(consumer, producer) + unit * unit_bytes;
  const std::uint32_t length = lengths[from.byte() % lengths.size()];
  std::memcpy(place, &length, sizeof length);
  if (what % 8 != 5) return;
  // The consumer finds so many units from there on.
  const std::uint32_t units = from.byte() * 8u << what / 64;
  words.head = lives().at(next.position() + units).value;
  control_->slot[consumer].talkers |= std::uint64_t{1} << producer;
}

void hostile_file::write_record(input& from) {
  slot_record& record = control_->slot[slot_of(from)];
  switch (from.byte() % 4) {
    case 0:
      return change(record.life, from);
    case 1:
      return change(record.talkers, from);
    case 2:
      return change(record.sleeping, from);
    default:
      return change(record.wakeups, from);
  }
}

void hostile_file::write_rest(input& from) {
  const unsigned slot = slot_of(from);
  slot_record& record = control_->slot[slot];
  switch (from.byte() % 8) {
    case 0:
      return change(record.lid, from);
    case 1:
      return change(control_->slot_of_lid[record.lid % first_multicast_lid], from);
    case 2:
      return change(control_->slot_of_lid[from.word() % first_multicast_lid], from);
    case 3:
      return change(control_->groups[slot].words[from.byte() % 4], from);
    case 4:
      return change(control_->next_lid, from);
    case 5:
      return change(record.process, from);
    case 6:
      return change(record.program[from.byte() % sizeof record.program], from);
    default: {
      // The first aligned 64-bit word behind the fields at the head of the file.
      constexpr std::size_t first = (offsetof(control_part, next_lid) + 4 + 7) / 8 * 8;
      const std::size_t word = from.word() % ((control_bytes - first) / 8);
      return change(*reinterpret_cast<std::atomic<std::uint64_t>*>(base_ + first + word * 8), from);
    }
  }
}

void hostile_file::write(input& from, reach where) {
  const unsigned what = from.byte() % 8;
  if (what < 4) write_ring(from);
  else if (where == reach::healed || what < 6) write_record(from);
  else write_rest(from);
}

}  // namespace freehca::fuzz
