// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <freehca/ibverbs_files/device_facts.hpp>

namespace freehca::ibverbs_files {

enum class kind { folder, file, link, device };

/// One entry of the tree.
struct node {
  kind what = kind::folder;
  std::string text = {};  ///< a file's content; a link's target
};

/// Absolute paths without links, "." and "..", with their nodes. Each parent is in the tree too, up
/// to "/": those folders may exist on the system, with entries of its own.
using tree = std::map<std::string, node, std::less<>>;

/// The tree of a device. Throws std::bad_alloc.
tree tree_of(const device_facts& facts);

/// The number of a device file below /dev/infiniband, as Linux gives it to uverbs0.
inline constexpr unsigned device_major = 231;
inline constexpr unsigned device_minor = 192;

}  // namespace freehca::ibverbs_files
