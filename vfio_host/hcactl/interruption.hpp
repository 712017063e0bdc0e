// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/vfio_host/file.hpp>

namespace freehca::hcactl {

/// Blocks SIGINT and SIGTERM during its lifetime and reports them by a function, so that a signal
/// never interrupts the work on an adapter half way.
class interruption {
 public:
  interruption();
  ~interruption();
  interruption(const interruption&) = delete;
  interruption& operator=(const interruption&) = delete;

  /// Whether a signal has arrived. Stays true.
  bool requested() const;
  /// Readable if a signal arrived that requested() has not returned yet; -1 after requested() was
  /// true.
  int descriptor() const { return seen_ ? -1 : signals_.get(); }

 private:
  vfio_host::file signals_;
  mutable bool seen_ = false;
};

}  // namespace freehca::hcactl
