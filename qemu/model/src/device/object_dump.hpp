// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>
#include <string_view>

#include "basis/adapter.hpp"

namespace freehca::model {

struct object_dump {
  bool found = false;
  std::string
      text;  ///< "name: value" for each field of the context that is not zero, or why there is nothing
};

/// What the adapter has in its context memory of one object, decoded by the layout tables. `which`
/// is KIND:NUMBER with the kinds qp, cq, eq, srq and mpt; the number is decimal or, behind 0x,
/// hexadecimal. Of an mpt it is the index, which is the key without its lowest byte.
object_dump dump_object(adapter& a, std::string_view which);

}  // namespace freehca::model
