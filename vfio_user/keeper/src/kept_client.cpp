// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/keeper/kept_client.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <iterator>

namespace freehca::keeper {

using namespace vfio_user;

namespace {

/// The kernel's VFIO supports no device with more. The server has checked this already.
constexpr std::uint32_t most_lines = 4096;

descriptor first_of(std::vector<descriptor>& all) {
  return all.empty() ? descriptor() : std::move(all[0]);
}

descriptor copy_of(const descriptor& one) {
  return descriptor(one.open() ? fcntl(one.get(), F_DUPFD_CLOEXEC, 0) : -1);
}

template <class T>
message request(command what, const T& about) {
  message m;
  m.head.command = static_cast<std::uint16_t>(what);
  const auto bytes = bytes_of(about);
  m.body.assign(bytes.begin(), bytes.end());
  return m;
}

}  // namespace

void kept_client::take(message received) {
  if (received.too_many_descriptors) incomplete_ = true;
  switch (static_cast<record>(received.head.command)) {
    case record::client_came:
      forget();
      connection_ = first_of(received.descriptors);
      return;
    case record::doorbell_pages:
      doorbell_pages_ = first_of(received.descriptors);
      return;
    case record::client_gone:
      return forget();
    case record::ready:
    case record::serving:
    case record::shared_memory:
    case record::sockets:
    case record::state:
    case record::end_of_hand_over:
    case record::serve:
    case record::loaded:
    case record::refused:
    case record::handed_over:
      return;
  }
  switch (static_cast<command>(received.head.command)) {
    case command::version:
      agreed_ = true;
      version_ = std::move(received.body);
      return;
    case command::dma_map:
      return take_mapping(received);
    case command::dma_unmap:
      return end_mappings(received);
    case command::device_set_irqs:
      return take_lines(received);
    default:
      return;
  }
}

void kept_client::take_mapping(message& received) {
  const auto what = whole<dma_map>(received.body);
  if (!what || mappings_.contains(what->address)) return;
  mapping made{*what, files_.end()};
  descriptor opened = first_of(received.descriptors);
  struct stat about {};
  if (opened.open() && fstat(opened.get(), &about) == 0) {
    const int mode = fcntl(opened.get(), F_GETFL) & O_ACCMODE;
    const file_key key{{about.st_dev, about.st_ino}, mode};
    if (files_.size() == greatest_files && !files_.contains(key)) {
      incomplete_ = true;
      return;
    }
    made.from = files_.try_emplace(key).first;
    file& from = made.from->second;
    if (!from.open.open()) from.open = std::move(opened);
    ++from.mappings;
  } else {
    ++without_file_;
  }
  mappings_.emplace(what->address, made);
}

void kept_client::end_mapping(const mapping& one) {
  if (one.from == files_.end()) --without_file_;
  else if (--one.from->second.mappings == 0) files_.erase(one.from);
}

void kept_client::end_mappings(const message& received) {
  const auto what = whole<dma_unmap>(received.body);
  if (!what) return;
  const bool all = (what->flags & dma_unmap_all) != 0;
  auto first = all ? mappings_.begin() : mappings_.lower_bound(what->address);
  while (first != mappings_.end() && (all || first->first - what->address < what->size)) {
    end_mapping(first->second);
    first = mappings_.erase(first);
  }
}

void kept_client::take_lines(message& received) {
  const auto what = beginning<irq_set>(received.body);
  if (!what || what->start > most_lines || what->count > most_lines - what->start) return;
  if (what->count == 0) {
    lines_.erase(lines_.lower_bound({what->index, 0}), lines_.lower_bound({what->index + 1, 0}));
    return;
  }
  const bool by_file = (what->flags & irq_set_eventfd) != 0;
  const bool chosen_alone = (what->flags & irq_set_bool) != 0;
  for (std::uint32_t i = 0; i < what->count; ++i) {
    if (chosen_alone && (received.body.size() <= sizeof *what + i ||
                         received.body[sizeof *what + i] == std::byte{0}))
      continue;
    line& one = lines_[{what->index, what->start + i}];
    if (!by_file) {
      if ((what->flags & irq_set_trigger) == 0) one.masked = (what->flags & irq_set_mask) != 0;
      continue;
    }
    descriptor& place = (what->flags & irq_set_unmask) != 0 ? one.unmask : one.trigger;
    // As in the server: a new eventfd for the pin ends its mask.
    if (&place == &one.trigger && what->index == intx_irq) one.masked = false;
    place = i < received.descriptors.size() ? std::move(received.descriptors[i]) : descriptor();
  }
}

void kept_client::tell_again(const std::function<void(message)>& to) const {
  if (agreed_) {
    message hello;
    hello.head.command = static_cast<std::uint16_t>(command::version);
    hello.body = version_;
    to(std::move(hello));
  }
  for (const auto& [address, one] : mappings_) {
    message m = request(command::dma_map, one.what);
    if (one.from != files_.end()) m.descriptors.push_back(copy_of(one.from->second.open));
    to(std::move(m));
  }
  for (const auto& [key, one] : lines_) {
    const auto tell = [&to, &line_of = key](std::uint32_t flags, const descriptor* with) {
      message m = request(command::device_set_irqs,
                          irq_set{sizeof(irq_set), flags, line_of.first, line_of.second, 1});
      if (with != nullptr) m.descriptors.push_back(copy_of(*with));
      to(std::move(m));
    };
    if (one.trigger.open()) tell(irq_set_eventfd | irq_set_trigger, &one.trigger);
    if (one.unmask.open()) tell(irq_set_eventfd | irq_set_unmask, &one.unmask);
    if (one.masked) tell(irq_set_none | irq_set_mask, nullptr);
  }
}

}  // namespace freehca::keeper
