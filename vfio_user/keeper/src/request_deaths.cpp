// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/keeper/request_deaths.hpp>

#include <algorithm>

namespace freehca::keeper {

using vfio_user::header;

// The process that died may have written any value there, so the length is checked.
std::span<const std::byte> request_deaths::body_of(const shared_state& state) {
  const auto& landed = state.request.body;
  const std::size_t bytes = std::clamp<std::size_t>(state.request.head.bytes, sizeof(header),
                                                    sizeof(header) + landed.size());
  return std::span<const std::byte>(landed).first(bytes - sizeof(header));
}

bool request_deaths::is_refused_one(const shared_state& state) const {
  const auto body = body_of(state);
  return refused_ && state.request.head.command == refused_command_ &&
         std::equal(body.begin(), body.end(), refused_body_.begin(),
                    refused_body_.begin() + static_cast<std::ptrdiff_t>(refused_bytes_));
}

// If the process that died had completed any request, it had also completed the one that was in
// hand when it began. The request in hand now is then another one.
request_deaths::verdict request_deaths::end(const shared_state& state) {
  if (!state.request.holds_message()) {
    deaths_ = 0;
    return verdict::innocent;
  }
  deaths_ = state.requests_done == done_at_begin_ ? deaths_ + 1 : 1;
  command_ = state.request.head.command;
  if (is_refused_one(state) || deaths_ > most_deaths) return verdict::hang_up;
  if (deaths_ < most_deaths) return verdict::innocent;
  const auto body = body_of(state);
  refused_ = true;
  refused_command_ = command_;
  refused_bytes_ = body.size();
  std::copy(body.begin(), body.end(), refused_body_.begin());
  return verdict::refuse;
}

}  // namespace freehca::keeper
