// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/recorder/recorder.hpp>

#include <utility>

#include "listener.hpp"

namespace freehca::recorder {

struct recorder::parts {
  parts(const freehca::platform& inner, recording_options how) : listening(inner, std::move(how)) {}
  listener listening;
};

recorder::recorder(const freehca::platform& inner, recording_options how)
    : parts_(std::make_unique<parts>(inner, std::move(how))) {
  listen(&parts_->listening);
}

recorder::~recorder() {
  listen(nullptr);
}

freehca::platform recorder::platform() {
  return parts_->listening.outside();
}

void recorder::step(const std::string& name) {
  parts_->listening.step(name);
}

std::vector<live_object> recorder::live_objects() const {
  return parts_->listening.live_objects();
}

std::string recorder::text() const {
  return parts_->listening.text();
}

std::size_t recorder::records() const {
  return parts_->listening.records();
}

}  // namespace freehca::recorder
