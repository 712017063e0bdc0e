// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A child of a program with an adapter runs the program's destructors when it ends. The adapter is
// the parent's. Here the child has a copy of the model, which counts what the child did.
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>

#include <gtest/gtest.h>

#include <freehca/blocking/session.hpp>

#include <in_process_host.hpp>

namespace freehca::blocking {
namespace {

int in_child(const std::function<int()>& what) {
  const pid_t child = fork();
  if (child == 0) _exit(what());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

TEST(forked_session, is_left_alone_by_the_child) {
  in_process_host host;
  std::optional<session> s(std::in_place, host);
  ASSERT_TRUE(s->open().ok());
  ASSERT_TRUE(s->wait(s->adapter().bring_up()).ok());
  const auto memory = s->wait(s->adapter().allocate(4096));
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(in_child([&] {
              const in_process::machine& m = host.machine;
              const std::uint64_t reads = m.adapter_reads(), writes = m.adapter_writes();
              const std::uint64_t commands = m.counter("commands"), blocks = m.dma_blocks();
              if (!s->tear_down().is(driver_error::bad_state)) return 2;
              s.reset();
              if (m.adapter_reads() != reads || m.adapter_writes() != writes) return 3;
              if (m.counter("commands") != commands) return 4;
              if (m.dma_blocks() != blocks) return 5;
              return host.machine.configuration().bus_master() ? 0 : 6;
            }),
            0);
  // What the parent has works on, and is taken back.
  EXPECT_TRUE(s->finish(s->adapter().release(memory.value())).ok());
  EXPECT_TRUE(s->tear_down().ok());
  s.reset();
  EXPECT_EQ(host.machine.dma_blocks(), 0u);
}

}  // namespace
}  // namespace freehca::blocking
