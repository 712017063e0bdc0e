// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/wires/frame_wire.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

namespace freehca::wires {

bool frame_wire::hand_over(handed_wire& to) const {
  to.connection = frames_.copy();
  if (!waiting_.empty()) to.waiting.push_back(waiting_);
  return to.connection.open() == frames_.open();
}

// The network may have ended, and the tap device may be gone. Then there is no descriptor.
bool frame_wire::take_over(handed_wire& from, const std::string& options, std::string& why) {
  if (from.waiting.size() > 1) {
    why = fmt::format("{}: it was handed over in no state of frames", options);
    return false;
  }
  frames_ = std::move(from.connection);
  if (!from.waiting.empty()) waiting_ = std::move(from.waiting[0]);
  return true;
}

std::unique_ptr<wire> frame_wire::adopt_tap(const std::string& options, handed_wire& from,
                                            std::string& why) {
  auto made = std::make_unique<frame_wire>(wires::descriptor());
  if (!made->take_over(from, options, why)) return nullptr;
  return made;
}

namespace {

/// A network whose process is a child of an earlier process.
class adopted_user_wire final : public frame_wire {
 public:
  adopted_user_wire() : frame_wire(wires::descriptor()) {}

 private:
  ssize_t write_frame(const std::byte* from, std::size_t bytes) override {
    return ::send(descriptor(), from, bytes, MSG_NOSIGNAL);
  }
};

}  // namespace

std::unique_ptr<wire> frame_wire::adopt_user(const std::string& options, handed_wire& from,
                                             std::string& why) {
  std::unique_ptr<frame_wire> made = std::make_unique<adopted_user_wire>();
  if (!made->take_over(from, options, why)) return nullptr;
  return made;
}

short frame_wire::events(bool reading) const {
  return static_cast<short>((reading ? POLLIN : 0) | (waiting_.empty() ? 0 : POLLOUT));
}

ssize_t frame_wire::write_frame(const std::byte* from, std::size_t bytes) {
  return ::write(frames_.get(), from, bytes);
}

// Returns false if there is no room now.
bool frame_wire::put(const std::byte* from, std::size_t bytes) {
  ssize_t sent;
  do sent = write_frame(from, bytes);
  while (sent < 0 && errno == EINTR);
  return sent >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS);
}

bool frame_wire::send(const std::byte* from, std::size_t bytes) {
  if (!frames_.open() || bytes == 0) return true;
  if (!waiting_.empty()) return false;
  if (!put(from, bytes)) waiting_.assign(from, from + bytes);
  return true;
}

void frame_wire::work(short events, std::uint64_t, wire_reader& to) {
  if ((events & POLLOUT) != 0 && !waiting_.empty() && put(waiting_.data(), waiting_.size()))
    waiting_.clear();
  if ((events & (POLLIN | POLLHUP | POLLERR)) == 0) return;
  for (unsigned i = 0; i < most_at_once && to.may_receive(); ++i) {
    const ssize_t got = ::read(frames_.get(), arrived_.data(), arrived_.size());
    // A tap device that is down returns EIO. It may go up again.
    if (got < 0 && errno != ECONNRESET && errno != EBADFD) return;
    if (got <= 0) {
      to.complain("what the cable led to has ended: its frames are lost from now on");
      waiting_.clear();
      close();
      return;
    }
    to.receive(arrived_.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace freehca::wires
