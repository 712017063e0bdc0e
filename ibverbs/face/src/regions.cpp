// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Protection domains and memory regions.
#include <freehca/hal/page_list.hpp>

#include "errors.hpp"
#include "objects.hpp"

namespace freehca::ibverbs {

namespace {

constexpr unsigned smallest_page = 12, largest_page = 30;
/// A region of more pages gets larger ones. Each page is an entry of a translation table.
constexpr std::size_t few_pages = 512;

constexpr unsigned known_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                  IBV_ACCESS_OPTIONAL_RANGE;

/// The size of the pages in which the device sees the memory. Address and virtual address have the
/// same offset in their pages.
unsigned page_size_for(std::uint64_t address, std::uint64_t virtual_address, std::size_t bytes) {
  unsigned log = smallest_page;
  while (log < largest_page && (bytes >> log) > few_pages &&
         ((address ^ virtual_address) & ((std::uint64_t{2} << log) - 1)) == 0)
    ++log;
  return log;
}

ibv_mr* register_memory(ibv_pd* pd, void* at, std::size_t bytes, std::uint64_t virtual_address,
                        unsigned access) {
  engine& here = engine_of(pd->context);
  if (here.dead()) return fail(ENODEV);
  if ((access & ~known_access) != 0) return fail(EOPNOTSUPP);
  const bool remote_change = (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0;
  if (remote_change && (access & IBV_ACCESS_LOCAL_WRITE) == 0) return fail(EINVAL);
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (bytes == 0 || bytes > ~address) return fail(EINVAL);
  const unsigned log_most_pages = here.host().settings().budget.log_mtts;
  if (bytes >> largest_page >> log_most_pages != 0) return fail(ENOMEM);
  const uncancellable stays;
  auto made = std::make_unique<region>();
  const engine::guard held(here.lock);
  if (const int error = here.host().map(at, bytes, made->memory); error != 0) return fail(error);
  const auto give_up = [&](int error) {
    here.host().unmap(made->memory);
    return fail(error);
  };
  const std::uint64_t seen_at = made->memory.device_address;
  const unsigned page = page_size_for(seen_at, virtual_address, bytes);
  if (bytes >> page >> log_most_pages != 0) return give_up(ENOMEM);
  memory_region_attributes how;
  how.pd = of(pd).handle;
  // Pages around the ends belong to it as well. The device checks the length in bytes.
  how.pages = page_list(dma_region{static_cast<std::byte*>(at), seen_at, bytes}, page);
  how.virtual_address = virtual_address;
  how.access = {.local_write = (access & IBV_ACCESS_LOCAL_WRITE) != 0,
                .remote_read = (access & IBV_ACCESS_REMOTE_READ) != 0,
                .remote_write = (access & IBV_ACCESS_REMOTE_WRITE) != 0,
                .remote_atomic = (access & IBV_ACCESS_REMOTE_ATOMIC) != 0};
  create_memory_region create;
  if (const int error = here.perform(create, how); error != 0) return give_up(error);
  made->handle = create.made();
  const std::uint32_t key = key_of(here.objects(), made->handle);
  made->verbs = {pd->context, pd, at, bytes, key, key, key};
  return &made.release()->verbs;
}

}  // namespace
}  // namespace freehca::ibverbs

using namespace freehca;
using namespace freehca::ibverbs;

FREEHCA_EXPORT ibv_pd* ibv_alloc_pd(ibv_context* context) {
  engine& here = engine_of(context);
  if (here.dead()) return fail(ENODEV);
  auto made = std::make_unique<domain>();
  const engine::guard held(here.lock);
  const result<pd_handle> created = here.objects().create<protection_domain>();
  if (!created.ok()) return fail(errno_of(created.error()));
  made->handle = created.value();
  made->verbs.context = context;
  return &made.release()->verbs;
}

FREEHCA_EXPORT int ibv_dealloc_pd(ibv_pd* pd) {
  engine& here = engine_of(pd->context);
  if (!here.dead()) {
    const engine::guard held(here.lock);
    if (const status s = here.objects().destroy(of(pd).handle); !s.ok()) return errno_of(s);
  }
  delete &of(pd);
  return 0;
}

FREEHCA_EXPORT ibv_mr* ibv_reg_mr(ibv_pd* pd, void* at, std::size_t bytes, int access) {
  return register_memory(pd, at, bytes, reinterpret_cast<std::uintptr_t>(at),
                         static_cast<unsigned>(access));
}

FREEHCA_EXPORT ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* at, std::size_t bytes,
                                       std::uint64_t virtual_address, int access) {
  return register_memory(pd, at, bytes, virtual_address, static_cast<unsigned>(access));
}

FREEHCA_EXPORT ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* at, std::size_t bytes,
                                        std::uint64_t virtual_address, unsigned access) {
  return register_memory(pd, at, bytes, virtual_address, access);
}

FREEHCA_EXPORT int ibv_dereg_mr(ibv_mr* mr) {
  engine& here = engine_of(mr->context);
  if (!here.dead()) {
    const engine::guard held(here.lock);
    destroy_memory_region destroy;
    if (const int error = here.perform(destroy, of(mr).handle); error != 0) return error;
    here.host().unmap(of(mr).memory);
  }
  delete &of(mr);
  return 0;
}
