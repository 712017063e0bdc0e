// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Six writers run concurrently in one thread. Each is a task, so its code reads from top to bottom.
// Usage: many_tasks 0000:03:00.0
#include <cstdio>
#include <cstring>
#include <vector>

#include <freehca/blocking/session.hpp>

using namespace freehca;

/// Connects two queue pairs and writes through them `times` times. Returns the number of bytes.
easy::task<std::uint64_t> write(easy::frames&, easy::adapter& hca, unsigned times, int pattern) {
  constexpr std::size_t bytes = 4096;
  const easy::memory from = co_await hca.allocate(bytes);
  const easy::memory to = co_await hca.allocate(bytes, easy::rights::remote_write);
  const easy::connection a = co_await hca.open_rc();
  const easy::connection b = co_await hca.open_rc();
  co_await hca.connect(a, b.self);
  co_await hca.connect(b, a.self);
  std::memset(from.host, pattern, bytes);
  for (unsigned n = 0; n < times; ++n) {
    std::memset(to.host, 0, bytes);
    const status posted =
        a.post(queues::rdma_write{.wr_id = n, .remote = to.remote(), .data = from.part(0, bytes)});
    if (!posted.ok()) co_return posted;
    // The deadline of this operation ends the wait if no completion arrives.
    const std::uint64_t now = hca.hardware().platform().now();
    const queues::work_completion w = co_await hca.next(a).until(now + clock::seconds(5));
    if (!w.ok() || w.wr_id != n || std::memcmp(from.host, to.host, bytes) != 0)
      co_return status(transport_error::bad_reply);
  }
  co_await hca.close(a);
  co_await hca.close(b);
  co_await hca.release(from);
  co_await hca.release(to);
  co_return bytes* times;
}

int main(int argc, char** argv) {
  alignas(16) static std::byte memory[256 * 1024];
  easy::frames frames(memory);
  blocking::session session(argc > 1 ? argv[1] : "");
  if (!session.trouble().empty()) return std::fprintf(stderr, "%s\n", session.trouble().c_str()), 1;
  if (const status up = session.wait(session.adapter().bring_up()); !up.ok())
    return std::fprintf(stderr, "bring-up: %s\n", blocking::words(up).c_str()), 1;

  std::vector<easy::task<std::uint64_t>> writers;
  for (int n = 1; n <= 6; ++n) writers.push_back(write(frames, session.adapter(), 100, n));
  bool good = true;
  for (auto& w : writers) {
    const result<std::uint64_t> bytes = session.wait(w);
    if (bytes.ok()) std::printf("%llu bytes\n", static_cast<unsigned long long>(bytes.value()));
    else std::fprintf(stderr, "%s\n", blocking::words(bytes.error()).c_str());
    good &= bytes.ok();
  }
  const status down = session.wait(session.adapter().tear_down());
  return good && down.ok() ? 0 : 1;
}
