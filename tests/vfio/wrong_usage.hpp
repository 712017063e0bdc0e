// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Arguments that hcactl refuses in both of its forms, and what it says of them: the argument, its
// value, and what it may be.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "run_program.hpp"

namespace freehca::testing {

struct wrong_usage {
  std::string arguments;
  std::vector<std::string> said;
};

/// `adapter`: how the form names one, ahead of or behind the command.
inline std::vector<wrong_usage> wrong_usage_of_both(const std::string& adapter) {
  std::vector<wrong_usage> all = {
      {"frobnicate" + adapter, {"'frobnicate' is no command", "info, up, ping"}},
      {"ping" + adapter + " --frob", {"--frob", "ping has the options", "--port", "--messages"}},
      {"ping" + adapter + " --frob=7", {"--frob=7", "--messages"}},
      {"up" + adapter + " --port 1", {"--port", "up has the options", "--tables"}},
      {"ping" + adapter + " --port", {"--port", "[1 - 2]"}},
      {"ping" + adapter + " --port 1 --port 2", {"--port", "2"}},
  };
  for (const char* const port : {"0", "3", "999", "-1", "x", "1.5", "''", "0x10", "4294967297"})
    all.push_back({"ping" + adapter + " --port " + port,
                   {"--port", std::string(port) == "''" ? "" : port, "1 to 2"}});
  for (const char* const count :
       {"0", "-5", "1000001", "99999999999999999999", "4294967296", "1e3", "abc", "5x"})
    all.push_back(
        {"ping" + adapter + " --messages " + count, {"--messages", count, "1 to 1000000"}});
  return all;
}

inline void expect_refusal(const wrong_usage& w, const answer& a) {
  EXPECT_GT(a.code, 100) << w.arguments;
  for (const std::string& part : w.said)
    EXPECT_NE(a.text.find(part), std::string::npos)
        << w.arguments << ": no '" << part << "' in: " << a.text;
}

}  // namespace freehca::testing
