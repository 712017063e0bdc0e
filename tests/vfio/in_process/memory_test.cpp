// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A driver that is to be larger than the machine can make it.
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include <gtest/gtest.h>
#include <work.hpp>

#include "session_rig.hpp"

// The address sanitizer would end the process where the system's allocator gives nothing.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}

namespace freehca::hcactl {
namespace {

using blocking::in_process_host;
using blocking::session;
using vfio_host::trouble;

/// While it lives, the process gets so many bytes of address space and no more.
class memory_limit {
 public:
  explicit memory_limit(rlim_t more) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    EXPECT_GT(pages, 0u);
    EXPECT_EQ(getrlimit(RLIMIT_AS, &before_), 0);
    rlimit now = before_;
    now.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + more;
    EXPECT_EQ(setrlimit(RLIMIT_AS, &now), 0);
  }
  ~memory_limit() { EXPECT_EQ(setrlimit(RLIMIT_AS, &before_), 0); }
  memory_limit(const memory_limit&) = delete;
  memory_limit& operator=(const memory_limit&) = delete;

 private:
  rlimit before_{};
};

TEST(memory, that_the_system_does_not_give_is_an_error_with_a_document) {
  easy::sizes how = usual_size();
  how.budget.log_qps = 24;
  how.budget.log_mtts = 31;
  constexpr rlim_t given = rlim_t{512} << 20;
  ASSERT_GT(easy::adapter::storage_bytes(how), 2 * given);
  in_process_host host;
  loopback_traffic::traffic_memory traffic;
  const memory_limit few(given);
  session s(host, how);
  status seen;
  workplace at{.driver = s,
               .memory = traffic,
               .address = "0000:03:00.0",
               .json = true,
               .wanted_back = {},
               .verdict = {}};
  at.verdict = [&seen](status outcome, const char* doing) {
    seen = outcome;
    return vfio_host::failure{trouble::system, doing};
  };
  ::testing::internal::CaptureStdout();
  const int code = run(at, false, with_adapter(report_adapter));
  const auto j = nlohmann::json::parse(::testing::internal::GetCapturedStdout(), nullptr, false);
  EXPECT_EQ(code, static_cast<int>(trouble::system));
  EXPECT_EQ(j.value("code", 0), static_cast<int>(trouble::system));
  EXPECT_EQ(j.value("error", ""), "opening");
  EXPECT_TRUE(seen.is(driver_error::no_memory));
  EXPECT_EQ(seen.where(), static_cast<unsigned>(budget::item::storage));
}

}  // namespace
}  // namespace freehca::hcactl
