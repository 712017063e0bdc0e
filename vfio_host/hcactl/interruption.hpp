// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/vfio_host/file.hpp>

namespace freehca::hcactl {

/// SIGINT and SIGTERM as something to look at, so that an adapter is never left half way: the
/// signals are blocked while one of these lives.
class interruption {
 public:
  interruption();
  ~interruption();
  interruption(const interruption&) = delete;
  interruption& operator=(const interruption&) = delete;

  /// Once true, true for ever.
  bool requested() const;
  /// Readable when a signal came that requested() has not seen; -1 once it has.
  int descriptor() const { return seen_ ? -1 : signals_.get(); }

 private:
  vfio_host::file signals_;
  mutable bool seen_ = false;
};

}  // namespace freehca::hcactl
