// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The orders in which a device may see the driver's stores, and in which the driver's loads may be
// satisfied. The driver runs as it ships; its accesses and barriers arrive here, and what a
// processor may do with them is tried out.
//
// Two accesses of one processor keep their order where they are of the same bytes, where a barrier
// between them says so, and where both are of registers and at least one is a load. Nothing else
// does: dependencies are not counted on, so that more is tried out than a processor does.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "support/routed_accesses.hpp"

namespace freehca::testing {

enum class access_kind : std::uint8_t { dma_load, dma_store, mmio_load, mmio_store };

/// What a barrier is taken for: what its name promises and no more, which is the most that any
/// machine may reorder; or what its instruction does on aarch64, where registers are mapped so that
/// stores to them keep their order.
enum class machine : std::uint8_t { as_promised, aarch64 };

bool barrier_orders(machine m, barrier::use which, access_kind before, access_kind behind);
/// Without any barrier.
bool always_ordered(machine m, access_kind before, access_kind behind);

/// Where a barrier stands in the source. `file`: from the root of the checkout on.
struct barrier_site {
  std::string file;
  unsigned line = 0;
  friend bool operator<(const barrier_site& a, const barrier_site& b) {
    return std::tie(a.file, a.line) < std::tie(b.file, b.line);
  }
  std::string text() const { return file + ":" + std::to_string(line); }
};
using barrier_sites = std::set<barrier_site>;

struct trial {
  machine target = machine::as_promised;
  barrier_sites without = {};  ///< barriers that are taken for nothing
};

// --- stores, as the device sees them ---------------------------------------------------------

/// Records stores; afterwards shows every memory that the device may find at some moment.
class store_buffer : public access_listener {
 public:
  /// Memory, or registers, as the device sees them at one moment.
  class view {
   public:
    /// The device's copy of what is at `host`, which is watched.
    const std::byte* at(const std::byte* host) const;
    std::uint32_t word(const std::byte* host) const {
      return layouts::load_be<std::uint32_t>(at(host));
    }

   private:
    friend class store_buffer;
    struct part {
      const std::byte* host;
      std::vector<std::byte> bytes;
    };
    std::vector<part> parts_;
  };
  /// What is wrong with such a moment; empty: nothing.
  using observer = std::function<std::string(const view&)>;

  void watch(const std::byte* host, std::size_t bytes) { watched_.push_back({host, bytes}); }
  /// Registers that are mapped write-combining: their stores keep no order by themselves, on no
  /// machine.
  void watch_combining(const std::byte* host, std::size_t bytes) {
    watch(host, bytes);
    combining_.push_back({host, bytes});
  }
  /// From here on stores are held; what is there is what the device saw before.
  void record();
  /// The memory that the driver has made, when all of it arrived.
  view last() const;

  /// What the first wrong moment complains of; empty: no permitted order has one. All moments are
  /// tried when there are at most `most_moments`. When there are more: the earliest and the latest
  /// moment of each single store, so that no pair "this is seen, that is not yet" is left out, and
  /// as many random ones.
  std::string explore(const observer& look, const trial& which) const;
  static constexpr unsigned most_moments = 1 << 12;

  const barrier_sites& sites() const { return sites_; }
  std::size_t stores() const { return pieces_.size(); }
  /// Was the last explore() of all moments?
  bool complete() const { return complete_; }

  void dma_store(std::byte* to, const std::byte* from, std::size_t bytes) override;
  void mmio_store(std::byte* to, const std::byte* from, std::size_t bytes) override;
  void barrier(barrier::use which, const char* file, unsigned line) override;

 private:
  /// What is seen whole or not at all.
  struct piece {
    std::byte* to;
    std::vector<std::byte> bytes;
    access_kind kind;
    bool combined;
  };
  struct passed {
    barrier::use which;
    barrier_site where;
    std::size_t ahead;  // pieces before it
  };
  struct extent {
    const std::byte* host;
    std::size_t bytes;
  };
  static constexpr std::size_t most_pieces = 1024;
  using set = std::bitset<most_pieces>;

  void hold(std::byte* to, const std::byte* from, std::size_t bytes, access_kind kind);
  std::vector<set> predecessors(const trial& which) const;
  view moment(const set& seen) const;

  std::vector<extent> watched_, combining_;
  view before_;
  std::vector<piece> pieces_;
  std::vector<passed> barriers_;
  barrier_sites sites_;
  bool recording_ = false;
  mutable bool complete_ = false;
};

// --- loads, while the device writes ----------------------------------------------------------

/// One run of the driver beside a device that writes, in its own order, to memory and registers;
/// each load that these writes can change is satisfied at a moment that the explorer chooses.
class load_run : public access_listener {
 public:
  /// The device writes this next, eight bytes at a time in the order of their addresses.
  void device_writes(std::byte* to, const void* from, std::size_t bytes);
  /// What it writes from here on it writes after it saw a store of the driver to `at`.
  void device_waits_for(const std::byte* at) { gates_.push_back({at, writes_.size(), false}); }
  /// The device begins.
  void start() { running_ = true; }
  /// All that the device had to write has arrived, and is what every load finds.
  void settle();

  void dma_store(std::byte* to, const std::byte* from, std::size_t bytes) override;
  void dma_load(std::byte* to, const std::byte* from, std::size_t bytes) override;
  void mmio_load(std::byte* to, const std::byte* from, std::size_t bytes) override;
  void mmio_store(std::byte* to, const std::byte* from, std::size_t bytes) override;
  void barrier(barrier::use which, const char* file, unsigned line) override;

 private:
  friend class load_explorer;
  struct choice {
    std::size_t taken, of;
  };
  struct write {
    std::byte* to;
    std::vector<std::byte> bytes;
  };
  struct gate {
    const std::byte* at;
    std::size_t position;  // of the first write behind it
    bool passed;
  };
  struct load {
    const std::byte* from;
    std::size_t bytes;
    access_kind kind;
    std::size_t moment;  // how many writes of the device it saw
  };
  struct passed {
    barrier::use which;
    std::size_t ahead;  // loads before it
  };
  /// A store of the driver lies over what the device wrote before it.
  struct own_store {
    const std::byte* to;
    std::size_t bytes, over;
  };

  explicit load_run(const trial& which, std::vector<choice>& choices)
      : trial_(which), choices_(choices) {}
  void load_all(std::byte* to, const std::byte* from, std::size_t bytes, access_kind kind);
  void load_piece(std::byte* to, const std::byte* from, std::size_t bytes, access_kind kind);
  void store(const std::byte* to, std::size_t bytes, access_kind kind);
  bool ordered(std::size_t earlier, access_kind behind) const;
  std::size_t choose(std::size_t of);
  std::size_t unpassed() const;
  bool feasible() const;

  const trial& trial_;
  std::vector<choice>& choices_;
  std::size_t next_choice_ = 0;
  std::vector<write> writes_;
  std::vector<gate> gates_;
  std::vector<load> loads_;
  std::vector<passed> barriers_;
  std::vector<own_store> own_;
  barrier_sites sites_;
  bool running_ = false;
  bool settled_ = false;
  bool impossible_ = false;
};

/// Runs a scenario once for each choice of moments.
class load_explorer {
 public:
  /// One run of the driver, from nothing; what is wrong with its outcome, or empty.
  using scenario = std::function<std::string(load_run&)>;
  std::string explore(const scenario& one, const trial& which);
  const barrier_sites& sites() const { return sites_; }
  unsigned runs() const { return runs_; }
  static constexpr unsigned most_runs = 1 << 20;

 private:
  barrier_sites sites_;
  unsigned runs_ = 0;
};

}  // namespace freehca::testing
