// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// freehca_bench_rings_many one|turns QUEUE_PAIRS ROUNDS: posts writes and polls them, one at a
// time, while QUEUE_PAIRS queue pairs share a completion queue: on one of them alone, or on each in
// turn, ROUNDS requests for each that takes part. Valgrind counts the instructions of the functions
// "counted_...".
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include <freehca/layouts/cqe.hpp>
#include <freehca/layouts/wqe.hpp>

#include <freehca/queues/cq.hpp>
#include <freehca/queues/directory.hpp>

using namespace freehca;
using namespace freehca::queues;

namespace {

constexpr unsigned log_completions = 10;
constexpr sq_shape shape = sq_shape_for(16, 1, 0).value();  // of each send queue
constexpr std::uint32_t first_qpn = 0x40;

int wrong(const char* what) {
  std::fprintf(stderr, "rings: %s\n", what);
  return EXIT_FAILURE;
}

std::byte* pages(std::size_t bytes) {
  void* const memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (memory == nullptr) std::abort();
  return static_cast<std::byte*>(std::memset(memory, 0, bytes));
}

/// The queue pairs and their completion queue; memory stands in for the adapter's registers.
struct crowd {
  explicit crowd(std::uint32_t count)
      : pairs(count),
        requests(std::size_t{count} << shape.log_entries),
        found(count),
        sends(pages(count * shape.bytes())),
        completions(pages(std::size_t{32} << log_completions)),
        registers(pages(4096)),
        record(pages(64)) {}

  bool open() {
    directory.open(found.data(), static_cast<std::uint32_t>(found.size()));
    for (std::uint32_t i = 0; i < pairs.size(); ++i) {
      qp_rings& pair = pairs[i];
      pair.qpn = first_qpn + i;
      if (!directory.add(pair).ok() ||
          !pair.send
               .open({.ring = {sends + i * shape.bytes(), 0, shape.bytes()},
                      .shape = shape,
                      .slots = &requests[std::size_t{i} << shape.log_entries],
                      .uar = {registers, 4096},
                      .qpn = pair.qpn,
                      .most_gather = 1,
                      .most_message_bytes = std::uint64_t{1} << 30,
                      .opcodes = opcodes_of_a_connection(true)})
               .ok())
        return false;
      pair.send.accept(true);
    }
    return polled
        .open({.ring = {completions, 0, std::size_t{32} << log_completions},
               .log_entries = log_completions,
               .record = {record, 0, 8},
               .uar = {registers, 4096},
               .cqn = 3,
               .queue_pairs = &directory})
        .ok();
  }

  /// The request that queue pair `which` posted last completes, if it is the device's.
  bool complete(std::uint32_t which) {
    using layouts::cqe;
    using layouts::wqe_ctrl;
    const std::uint32_t n = pairs[which].send.posted() - 1;
    const auto wqe = layouts::image<wqe_ctrl>::from_bytes(
        sends + which * shape.bytes() + (std::size_t{n % shape.entries()} << shape.log_stride));
    if (wqe.get<&wqe_ctrl::owner>() != ((n >> shape.log_entries & 1) != 0)) return false;
    layouts::image<cqe> e;
    e.set<&cqe::qpn>(pairs[which].qpn)
        .set<&cqe::wqe_index>(n & 0xffff)
        .set<&cqe::is_send>(true)
        .set<&cqe::opcode>(static_cast<std::uint8_t>(wqe.get<&wqe_ctrl::opcode>()))
        .set<&cqe::owner>((produced >> log_completions & 1) != 0);
    std::memcpy(completions + std::size_t{produced % (1u << log_completions)} * 32, e.data(),
                cqe::bytes);
    ++produced;
    return true;
  }

  std::vector<qp_rings> pairs;
  std::vector<posted_request> requests;
  std::vector<qp_rings*> found;
  qp_directory directory;
  cq polled;
  std::byte *sends, *completions, *registers, *record;
  std::uint32_t produced = 0;
};

}  // namespace

[[gnu::noinline]] status counted_post(sq& queue, const rdma_write& r) {
  return queue.post_and_ring(r);
}
[[gnu::noinline]] unsigned counted_poll(cq& queue, work_completion& to) {
  return queue.poll(&to, 1);
}

int main(int count, char** words) {
  const std::string_view which = count > 1 ? words[1] : "";
  const auto number = [&](int n) {
    return count > n ? static_cast<std::uint32_t>(std::strtoul(words[n], nullptr, 10)) : 0;
  };
  const std::uint32_t all = number(2), rounds = number(3);
  if ((which != "one" && which != "turns") || all == 0 || (all & (all - 1)) != 0 ||
      all > 1u << 16 || rounds == 0)
    return wrong("one|turns QUEUE_PAIRS ROUNDS: a power of two of them, at most 65536");
  crowd of(all);
  if (!of.open()) return wrong("a queue does not open");
  const std::uint32_t taking_part = which == "one" ? 1 : all;
  std::uint64_t id = 0;
  for (std::uint32_t n = 0; n < rounds; ++n)
    for (std::uint32_t i = 0; i < taking_part; ++i) {
      // In the middle of the others, where there are any.
      const std::uint32_t at = which == "one" ? all / 2 : i;
      const rdma_write r{.wr_id = ++id, .remote = {0x1000, 0x77}, .data = {0x2000, 64, 0x55}};
      asm volatile("" : : "r"(&r) : "memory");
      if (!counted_post(of.pairs[at].send, r).ok()) return wrong("a post was refused");
      if (!of.complete(at)) return wrong("a request was not posted");
      work_completion done;
      if (counted_poll(of.polled, done) != 1 || !done.ok() || done.wr_id != id ||
          done.queue != &of.pairs[at] || done.qpn() != of.pairs[at].qpn)
        return wrong("a wrong completion");
    }
  return of.polled.dropped() == 0 ? EXIT_SUCCESS : wrong("entries were dropped");
}
