// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "frames/tags.hpp"

#include "frames/frame_view.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

constexpr std::ptrdiff_t tag_at = ethernet_addresses::bytes;

}  // namespace

bool insert_tag(frame& f, const image<vlan_tag>& tag) {
  if (f.bytes.size() < ethernet_addresses::bytes) return false;
  f.bytes.insert(f.bytes.begin() + tag_at, tag.data(), tag.data() + vlan_tag::bytes);
  return true;
}

std::optional<image<vlan_tag>> take_tag(frame& f) {
  const auto view = frame_view::of(f.bytes);
  if (!view || !view->outer.tag) return std::nullopt;
  const auto at = f.bytes.begin() + tag_at;
  f.bytes.erase(at, at + std::ptrdiff_t{vlan_tag::bytes});
  return view->outer.tag;
}

}  // namespace freehca::model
