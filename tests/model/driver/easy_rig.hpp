// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstring>
#include <functional>
#include <vector>

#include <freehca/easy/easy.hpp>

#include "verbs_rig.hpp"

namespace freehca::testing {

/// A machine with a modelled adapter and the program's view of it, not yet brought up.
class easy_rig {
 public:
  explicit easy_rig(const easy::sizes& how = exact_sizes(),
                    const in_process::machine_options& machine_how = {},
                    const verbs_events& events = {})
      : machine(machine_how), storage_(easy::adapter::storage_bytes(how)) {
    EXPECT_TRUE(hca.open({.platform = machine.platform(),
                          .size = how,
                          .storage = storage_.at(),
                          .storage_bytes = storage_.bytes(),
                          .events = events})
                    .ok());
  }
  ~easy_rig() {
    machine.adapter().judge_commands({});
    auto down = hca.tear_down();
    EXPECT_TRUE(await(down).ok());
    EXPECT_TRUE(hca.hardware().holdings().none());
    EXPECT_EQ(hca.places_taken(), 0u);
  }
  static easy::sizes exact_sizes() {
    easy::sizes s;
    s.budget = without_spares();
    return s;
  }

  bool run(const std::function<bool()>& done, std::uint64_t limit_ns = 100'000'000'000) {
    return machine.run(
        done,
        [this] {
          hca.poll();
          return hca.next_deadline();
        },
        limit_ns);
  }
  void settle() {
    run([] { return false; }, clock::milliseconds(100));
  }
  status await(operation& op) {
    EXPECT_TRUE(run([&] { return op.done(); })) << "no completion";
    return op.done() ? op.outcome() : status(transport_error::timeout);
  }
  /// What an operation brings that has to succeed.
  template <class Operation>
  auto get(Operation&& op) {
    const status s = await(op);
    EXPECT_TRUE(s.ok()) << words(s);
    return op.value().value();
  }
  void must(operation&& op) {
    const status s = await(op);
    EXPECT_TRUE(s.ok()) << words(s);
  }
  void bring_up() { must(hca.bring_up()); }

  /// All that is counted, so that two moments can be compared.
  std::vector<std::uint64_t> counts() {
    const device_holdings d = hca.hardware().holdings();
    const verbs_holdings v = hca.objects().holdings();
    return {d.pages,      d.mappings, d.slots,    d.numbers,       d.doorbells,
            d.in_doubt(), v.objects,  v.in_doubt, v.request_bytes, hca.places_taken()};
  }

  in_process::machine machine;

 private:
  storage storage_;

 public:
  easy::adapter hca;
};

}  // namespace freehca::testing
