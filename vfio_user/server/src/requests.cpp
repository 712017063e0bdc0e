// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The requests of the client.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "session.hpp"

namespace freehca::device_server {

using namespace vfio_user;

namespace {

class file_copies {
 public:
  explicit file_copies(std::span<const descriptor> of) {
    for (const descriptor& one : of) {
      files_.emplace_back(fcntl(one.get(), F_DUPFD_CLOEXEC, 0));
      numbers_.push_back(files_.back().get());
    }
  }
  std::span<const int> numbers() const { return numbers_; }

 private:
  std::vector<descriptor> files_;
  std::vector<int> numbers_;
};

}  // namespace

int session::handle_version(const message& request) {
  if (agreed_ || !request.descriptors.empty()) return EINVAL;
  terms asked;
  const int why = read_terms(request.body, asked);
  // With another version, later requests would not be understood, so the client is disconnected.
  if (why == ENOTSUP) lost_ = true;
  if (why != 0) return why;
  terms said;
  said.minor = std::min(asked.minor, minor_version);
  said.max_msg_fds = greatest_descriptors;
  said.max_dma_maps = memory_->greatest_count();
  said.pgsizes = client_memory::page;
  said.write_multiple = true;
  const std::vector<std::byte> reply = write_terms(said);
  client_ = asked;
  agreed_ = true;
  keeper_->tell(request, function_->configuration());
  return succeed(request, reply);
}

int session::handle_dma_map(message& request) {
  const auto what = whole<dma_map>(request.body);
  if (!what) return EINVAL;
  if (const int why = memory_->map(*what, request.descriptors); why != 0) return why;
  const int file = request.descriptors.empty() ? -1 : request.descriptors[0].get();
  keeper_->tell(request, function_->configuration(), std::span(&file, file >= 0 ? 1 : 0));
  return succeed(request);
}

int session::handle_dma_unmap(const message& request) {
  const auto what = whole<dma_unmap>(request.body);
  if (!what || !request.descriptors.empty()) return EINVAL;
  if (what->argsz < sizeof *what) return EINVAL;
  if (what->flags == dma_unmap_all) {
    if (what->address != 0 || what->size != 0) return EINVAL;
    memory_->clear();
  } else if ((what->flags & dma_unmap_dirty_bitmap) != 0) {
    return ENOTSUP;
  } else if (what->flags != 0) {
    return EINVAL;
  } else if (const int why = memory_->unmap(what->address, what->size); why != 0) {
    return why;
  }
  keeper_->tell(request, function_->configuration());
  return succeed(request, bytes_of(*what));
}

int session::handle_device_info(const message& request) {
  const auto asked = whole<device_info>(request.body);
  if (!asked || asked->argsz < sizeof *asked || !request.descriptors.empty()) return EINVAL;
  const device_info info{sizeof info, device_can_reset | device_is_pci, pci_regions, pci_irqs};
  return succeed(request, bytes_of(info));
}

int session::handle_region_info(const message& request) {
  const auto asked = whole<region_info>(request.body);
  if (!asked || asked->argsz < sizeof *asked || !request.descriptors.empty()) return EINVAL;
  if (asked->index >= pci_regions) return EINVAL;
  region_info info{};
  info.argsz = sizeof info;
  info.index = asked->index;
  info.size = function_->region_bytes(asked->index);
  info.flags = info.size == 0 ? 0 : region_readable | region_writeable;
  if (asked->index == bar2_region && function_->doorbells().begun())
    return answer_mappable(request, *asked, info);
  return succeed(request, bytes_of(info));
}

// QEMU's client sends this request twice. The first request has room only for the structure; the
// reply gives the whole size in argsz. The client checks cap_offset in the first reply too (its
// hw/vfio-user/device.c). The first reply needs no file.
int session::answer_mappable(const message& request, const region_info& asked, region_info info) {
  const auto areas = doorbell_pages::mappable(info.size);
  const struct {
    sparse_mappable head;
    doorbell_pages::areas areas;
  } which{{sparse_mappable_id, sparse_mappable_version, 0, areas.size(), 0}, areas};
  info.argsz = sizeof info + sizeof which;
  info.cap_offset = sizeof info;
  info.flags |= region_mappable | region_has_capabilities;
  if (asked.argsz < info.argsz) return succeed(request, bytes_of(info));
  const int file = function_->doorbells().file();
  return succeed(request, bytes_of(info), bytes_of(which), {&file, 1});
}

int session::handle_irq_info(const message& request) {
  const auto asked = whole<irq_info>(request.body);
  if (!asked || asked->argsz < sizeof *asked || !request.descriptors.empty()) return EINVAL;
  irq_info info = *asked;
  return function_->signals().describe(info) ? succeed(request, bytes_of(info)) : EINVAL;
}

int session::handle_set_irqs(message& request) {
  const auto what = beginning<irq_set>(request.body);
  if (!what || what->argsz < sizeof *what) return EINVAL;
  const body selection = body(request.body).subspan(sizeof *what);
  const file_copies copies(keeper_->there() ? std::span<const descriptor>(request.descriptors)
                                            : std::span<const descriptor>());
  const int why = function_->signals().set(*what, selection, std::move(request.descriptors));
  if (why != 0) return why;
  keeper_->tell(request, function_->configuration(), copies.numbers());
  return succeed(request);
}

int session::check_access(const region_access& access) const {
  const std::uint64_t size =
      access.region < pci_regions ? function_->region_bytes(access.region) : 0;
  if (access.count > greatest_data) return EINVAL;
  return access.offset > size || access.count > size - access.offset ? EINVAL : 0;
}

int session::handle_region_read(const message& request) {
  const auto access = whole<region_access>(request.body);
  if (!access || !request.descriptors.empty()) return EINVAL;
  if (const int why = check_access(*access); why != 0) return why;
  std::vector<std::byte> data(access->count);
  function_->read_region(access->region, access->offset, data);
  return succeed(request, bytes_of(*access), data);
}

int session::handle_region_write(const message& request) {
  const auto access = beginning<region_access>(request.body);
  if (!access || !request.descriptors.empty()) return EINVAL;
  const body data = body(request.body).subspan(sizeof *access);
  if (data.size() != access->count) return EINVAL;
  if (const int why = check_access(*access); why != 0) return why;
  function_->write_region(access->region, access->offset, data);
  return succeed(request, bytes_of(*access));
}

// All writes are checked before the first one is done.
int session::handle_region_write_multi(const message& request) {
  const auto several = beginning<several_writes>(request.body);
  if (!several || !request.descriptors.empty()) return EINVAL;
  body rest = body(request.body).subspan(sizeof *several);
  if (several->count > greatest_several_writes || rest.size() != several->count * sizeof(one_write))
    return EINVAL;
  std::vector<one_write> writes;
  for (; !rest.empty(); rest = rest.subspan(sizeof(one_write))) {
    writes.push_back(*beginning<one_write>(rest));
    const region_access& where = writes.back().where;
    if (where.count > one_write::greatest) return EINVAL;
    if (const int why = check_access(where); why != 0) return why;
  }
  for (const one_write& one : writes)
    function_->write_region(one.where.region, one.where.offset,
                            std::span(one.data).first(one.where.count));
  return succeed(request, bytes_of(*several));
}

int session::handle_reset(const message& request) {
  if (!request.body.empty() || !request.descriptors.empty()) return EINVAL;
  function_->reset(true);
  return succeed(request);
}

}  // namespace freehca::device_server
