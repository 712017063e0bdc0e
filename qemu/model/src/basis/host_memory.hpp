// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/model/environment.hpp>

#include "basis/dma_subject.hpp"
#include "basis/work_account.hpp"

namespace freehca::model {

/// The host's memory as the adapter sees it: DMA through the environment, refused while the host
/// has bus mastering off. Each access is charged to the account.
class host_memory {
 public:
  host_memory(environment& surroundings, work_account& account)
      : environment_(surroundings), account_(account) {}
  bool read(std::uint64_t address, void* to, std::size_t bytes) {
    account_.charge_access(bytes);
    return environment_.bus_master() && environment_.dma_read(address, to, bytes);
  }
  bool write(std::uint64_t address, const void* from, std::size_t bytes) {
    account_.charge_access(bytes);
    return environment_.bus_master() && environment_.dma_write(address, from, bytes);
  }

  /// What the DMA of the moment is about: the innermost `about` that lives. Of no effect on the
  /// DMA.
  const dma_subject& subject() const { return subject_; }
  class about {
   public:
    about(host_memory& memory, const dma_subject& what) : memory_(memory), outer_(memory.subject_) {
      memory_.subject_ = what;
    }
    ~about() { memory_.subject_ = outer_; }
    about(const about&) = delete;
    about& operator=(const about&) = delete;

   private:
    host_memory& memory_;
    dma_subject outer_;
  };

 private:
  environment& environment_;
  dma_subject subject_;
  work_account& account_;
};

}  // namespace freehca::model
