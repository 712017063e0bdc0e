// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/loopback_traffic/traffic.hpp>

#include <array>

#include <fmt/format.h>

#include <freehca/texts/names.hpp>

#include "loopback.hpp"

namespace freehca::loopback_traffic {
namespace {

using queues::grh_bytes;
using queues::work_completion;
using work_requests::send_opcode;

constexpr std::size_t largest = std::size_t{1} << 20;
constexpr unsigned window = 4;  // messages under way
constexpr std::size_t slot_bytes = largest + 2 * message::guard + scattered_memory::page;

// Messages of one kind and size, as many at a time as there are slots.
class exchange {
 public:
  exchange(loopback& pair, transfer kind, std::size_t bytes)
      : pair_(pair), kind_(kind), bytes_(bytes) {}

  /// Moves `count` messages, numbered from `first` on. Empty: all well.
  std::string run(std::uint64_t first, unsigned count, status& outcome) {
    unsigned started = 0, ended = 0;
    while (ended < count) {
      if (pair_.interrupted()) {
        outcome = driver_error::cancelled;
        return {};
      }
      while (started < count && started - ended < window) {
        outcome = start(first + started, started % window);
        if (!outcome.ok()) return {};
        ++started;
      }
      std::string wrong = finish(first + ended, ended % window, outcome);
      if (!outcome.ok() || !wrong.empty()) return wrong;
      ++ended;
    }
    return {};
  }

 private:
  // Starts at a different alignment each time.
  message place(std::uint64_t number, unsigned slot) const {
    return {number, slot * slot_bytes + message::guard + number * 7 % 64, bytes_};
  }

  // Side 0 asks; it is the sender of sends and writes and the receiver of reads.
  status start(std::uint64_t number, unsigned slot) {
    const message m = place(number, slot);
    const bool reads = kind_ == transfer::rdma_read;
    m.write(pair_.memory(reads ? 1 : 0));
    m.write_guards(pair_.memory(reads ? 0 : 1));
    if (has_receive()) {
      const queues::data_entry into[] = {
          pair_.entry(1, (slot + 1) * slot_bytes - grh_bytes, pair_.datagrams() ? grh_bytes : 0),
          pair_.entry(1, m.offset, kind_ == transfer::send ? bytes_ : 0)};
      FREEHCA_TRY(pair_.receive({.wr_id = number, .list = into, .entries = 2}));
    }
    const queues::data_entry local = pair_.entry(0, m.offset, bytes_);
    work_requests::send_request request;
    request.wr_id = number;
    request.list = &local;
    request.entries = 1;
    request.opcode = opcode();
    request.rkey = pair_.key(1);
    request.remote_address = m.offset;
    return pair_.send(request);
  }
  send_opcode opcode() const {
    switch (kind_) {
      case transfer::send:
        return send_opcode::send;
      case transfer::rdma_write:
        return send_opcode::rdma_write;
      case transfer::rdma_write_with_immediate:
        return send_opcode::rdma_write_with_immediate;
      default:
        return send_opcode::rdma_read;
    }
  }
  /// Does the other side learn of it by a receive?
  bool has_receive() const {
    return kind_ == transfer::send || kind_ == transfer::rdma_write_with_immediate;
  }

  std::string finish(std::uint64_t number, unsigned slot, status& outcome) {
    work_completion w;
    outcome = pair_.next(0, w);
    if (!outcome.ok()) return {};
    const bool tells_length = kind_ == transfer::rdma_read && !pair_.counts();
    if (std::string wrong = judge(w, number, tells_length, bytes_); !wrong.empty()) return wrong;
    if (has_receive()) {
      outcome = pair_.next(1, w);
      if (!outcome.ok()) return {};
      const std::size_t all = bytes_ + (pair_.datagrams() ? grh_bytes : 0);
      if (std::string wrong = judge(w, number, true, all); !wrong.empty()) return wrong;
    }
    const std::string wrong =
        place(number, slot).check(pair_.memory(kind_ == transfer::rdma_read ? 0 : 1));
    return wrong.empty() ? wrong
                         : fmt::format("{} of {} bytes, message {}: {}", name_of(kind_), bytes_,
                                       number, wrong);
  }

  std::string judge(const work_completion& w, std::uint64_t number, bool has_length,
                    std::size_t length) const {
    if (!w.ok())
      return fmt::format("{} of {} bytes, message {}: {} (syndrome {:#x}, vendor {:#x})",
                         name_of(kind_), bytes_, number, queues::name_of(w.status), w.syndrome,
                         w.vendor_syndrome);
    if (w.wr_id != number)
      return fmt::format("{} of {} bytes: completion of {} instead of {}", name_of(kind_), bytes_,
                         w.wr_id, number);
    if (has_length && w.byte_count != length)
      return fmt::format("{} of {} bytes, message {}: {} bytes reported", name_of(kind_), bytes_,
                         number, w.byte_count);
    return {};
  }

  loopback& pair_;
  transfer kind_;
  std::size_t bytes_;
};

void add_packets(packet_counts& to, transfer kind, std::uint64_t messages, std::size_t bytes,
                 unsigned mtu) {
  const std::uint64_t each = bytes == 0 ? 1 : (bytes + mtu - 1) / mtu;
  switch (kind) {
    case transfer::send:
      to.sends += messages * each;
      break;
    case transfer::rdma_write:
    case transfer::rdma_write_with_immediate:
      to.writes += messages * each;
      break;
    case transfer::rdma_read:
      to.read_requests += messages;
      to.read_responses += messages * each;
      break;
  }
}

std::vector<transfer> kinds_of(layouts::qp_service service) {
  switch (service) {
    case layouts::qp_service::uc:
      // Without an acknowledgement only the receiver can say that a write has arrived.
      return {transfer::send, transfer::rdma_write_with_immediate};
    case layouts::qp_service::ud:
      return {transfer::send};
    default:
      return {transfer::send, transfer::rdma_write, transfer::rdma_read};
  }
}

std::vector<std::size_t> sizes_of(layouts::qp_service service, std::size_t mtu) {
  std::vector<std::size_t> sizes = {0, 1, 63, 64, 65, mtu - 1, mtu};
  if (service != layouts::qp_service::ud)
    for (const std::size_t more : {mtu + 1, std::size_t{1} << 16, largest}) sizes.push_back(more);
  return sizes;
}

}  // namespace

const char* name_of(transfer t) {
  switch (t) {
    case transfer::send:
      return "send";
    case transfer::rdma_write:
      return "RDMA write";
    case transfer::rdma_write_with_immediate:
      return "RDMA write with immediate";
    case transfer::rdma_read:
      return "RDMA read";
  }
  return "unknown";
}

std::size_t traffic_bytes() {
  return loopback::sides * scattered_memory::whole_pages(window * slot_bytes);
}

traffic_result run_traffic(blocking::session& driver, traffic_memory& memory,
                           const traffic_options& options,
                           const std::function<void(const tally&)>& progress) {
  traffic_result r;
  loopback pair(driver, memory, options);
  r.outcome = pair.open(window * slot_bytes, window);
  r.mtu = pair.mtu();
  std::uint64_t number = 0;
  for (const transfer kind : kinds_of(options.service)) {
    for (const std::size_t bytes : sizes_of(options.service, r.mtu)) {
      if (!r.ok()) break;
      r.wrong = exchange(pair, kind, bytes).run(number, options.messages, r.outcome);
      if (!r.ok()) break;
      number += options.messages;
      r.tallies.push_back({kind, bytes, options.messages});
      r.bytes += std::uint64_t{options.messages} * bytes;
      add_packets(r.expected, kind, options.messages, bytes, r.mtu);
      if (progress) progress(r.tallies.back());
    }
  }
  const status closed = pair.close();
  if (r.outcome.ok()) r.outcome = closed;
  return r;
}

}  // namespace freehca::loopback_traffic
