// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <vector>

#include <freehca/layouts/sa.hpp>

#include "basis/scheduler.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// The services that hosts have registered with subnet administration (IBTA vol. 1, 15.2.5.14),
/// until their leases end.
class service_registry {
 public:
  using record = layouts::image<layouts::service_record>;
  explicit service_registry(scheduler& work) : work_(work) {}

  layouts::sa_status add(const record& r);
  layouts::sa_status remove(const record& r);
  std::vector<record> query(const record& wanted, std::uint64_t components);
  void clear() { services_.clear(); }

 private:
  static constexpr std::size_t services_at_most = 256;
  struct service {
    record about;
    std::uint64_t ends;  ///< on the scheduler's clock; `never`

    using saved = saving::fields<&service::about, &service::ends>;
  };
  void drop_ended();
  scheduler& work_;
  std::vector<service> services_;

 public:
  using saved = saving::fields<&service_registry::services_>;
  const char* broken_invariant() const {
    return services_.size() <= services_at_most ? nullptr : "there are too many services";
  }
};

}  // namespace freehca::model
