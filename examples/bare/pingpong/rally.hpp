// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hca/device.hpp>
#include <freehca/hca/kinds/address_handle.hpp>
#include <freehca/hca/kinds/completion_queue.hpp>
#include <freehca/hca/kinds/memory_region.hpp>
#include <freehca/hca/kinds/protection_domain.hpp>
#include <freehca/hca/kinds/queue_pair.hpp>
#include <freehca/hca/objects/verbs.hpp>

namespace freehca::bare {

/// Two queue pairs of one port that send messages to and fro. Each message is verified where it
/// arrives, and so is the byte behind it.
class rally {
 public:
  /// What it makes at a time.
  static constexpr verbs_budget objects = [] {
    verbs_budget b = verbs_budget{}
                         .with<protection_domain>(1)
                         .with<memory_region>(2)
                         .with<address_handle>(1)
                         .with<completion_queue>(2)
                         .with<queue_pair>(2);
    b.requests = 256;
    return b;
  }();

  rally(device& hca, verbs& in, unsigned port) : hca_(hca), verbs_(in), port_(port) {}
  rally(const rally&) = delete;
  rally& operator=(const rally&) = delete;

  /// All of it: a line for each size. Not ok: doing() has what it was at, and what it has made is
  /// there.
  status play();
  const char* doing() const { return doing_; }
  /// What was not as it should be; null: nothing.
  const char* wrong() const { return wrong_; }

 private:
  static constexpr std::size_t side_bytes = std::size_t{128} << 10;
  static constexpr std::uint32_t datagram_key = 0x1ee7;

  struct side {
    dma_region memory;  // what is sent in the first half, what comes in the second
    mr_handle region;
    std::uint32_t key = 0;
    cq_handle completions;
    qp_handle pair;
  };

  bool datagrams() const { return service_ == layouts::qp_service::ud; }
  status open();
  status open_side(side& s);
  status connect(unsigned i);
  status close();
  status play_service(layouts::qp_service service, std::size_t largest);
  status play_size(std::size_t bytes);
  status hit(side& from, side& to, std::size_t bytes);
  status post(side& from, const side& to, std::size_t bytes);
  status await(const side& at);
  status complain(const char* what);
  template <class K>
  status make(const typename K::attributes& a, handle<K>& to);
  template <class K>
  status destroy(handle<K> h);

  device& hca_;
  verbs& verbs_;
  unsigned port_;
  layouts::qp_service service_ = layouts::qp_service::rc;
  pd_handle domain_;
  ah_handle way_;  // of datagrams: to the port itself
  side sides_[2];
  queues::work_completion came_;
  std::uint64_t number_ = 0;  // of the message
  const char* doing_ = "";
  const char* wrong_ = nullptr;
};

}  // namespace freehca::bare
