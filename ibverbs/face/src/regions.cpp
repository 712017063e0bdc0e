// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Protection domains and memory regions.
#include <cstdio>
#include <string>

#include <freehca/texts/names.hpp>

#include "errors.hpp"
#include "objects.hpp"

namespace freehca::ibverbs {

namespace {

constexpr unsigned known_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                  IBV_ACCESS_MW_BIND | IBV_ACCESS_OPTIONAL_RANGE;

/// The limit that a registration has met, for messages. Empty: it has met none.
std::string limit(status s, const host_settings& how) {
  if (!s.is(driver_error::no_resource) && !s.is(driver_error::no_memory)) return {};
  if (s.where() == memory_region::facts.item)
    return ": all " + std::to_string(how.limits.regions) + " regions are in use";
  const auto item = static_cast<budget::item>(s.where());
  const std::string table =
      item == budget::item::mtts ? " of 2^" + std::to_string(how.budget.log_mtts) : "";
  return std::string(": too few free ") + name_of(item) + table;
}

/// Writes the reason of a refusal. Returns an errno.
int explain(status s, const memory_region_attributes& of, engine& here) {
  const bool by_platform = s.is(transport_error::refused) && s.where() != 0;
  const int error = by_platform ? static_cast<int>(s.where()) : errno_of(s);
  const std::string why = by_platform ? here.host().reason(of.memory, of.access.local_write, error)
                                      : limit(s, here.host().settings());
  if (!why.empty())
    std::fprintf(stderr, "freehca: %zu bytes of memory cannot be registered%s\n", of.memory.bytes,
                 why.c_str());
  return error;
}

ibv_mr* register_memory(ibv_pd* pd, void* at, std::size_t bytes, std::uint64_t virtual_address,
                        unsigned access) {
  engine& here = engine_of(pd->context);
  if (here.dead()) return fail(ENODEV);
  if ((access & ~known_access) != 0) return fail(EOPNOTSUPP);
  const memory_region_attributes how{
      .pd = of(pd).handle,
      .virtual_address = virtual_address,
      .access = {.local_write = (access & IBV_ACCESS_LOCAL_WRITE) != 0,
                 .remote_read = (access & IBV_ACCESS_REMOTE_READ) != 0,
                 .remote_write = (access & IBV_ACCESS_REMOTE_WRITE) != 0,
                 .remote_atomic = (access & IBV_ACCESS_REMOTE_ATOMIC) != 0,
                 .bind_windows = (access & IBV_ACCESS_MW_BIND) != 0},
      .relocated = true,
      .memory = {.first = static_cast<std::byte*>(at), .bytes = bytes}};
  const uncancellable stays;
  auto made = std::make_unique<region>();
  const engine::guard held(here.lock);
  create_memory_region create;
  if (const status s = here.outcome_of(create, how); !s.ok()) return fail(explain(s, how, here));
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
  }
  delete &of(mr);
  return 0;
}
