// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Protection domains and memory regions.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include <freehca/hca/kinds/change_memory_region.hpp>
#include <freehca/hca/kinds/replace_memory_region.hpp>
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

/// The facts about a region that explanations tell.
std::string facts_of(std::uint64_t first, std::size_t bytes, unsigned access) {
  constexpr std::pair<unsigned, const char*> names[]{{IBV_ACCESS_LOCAL_WRITE, "LOCAL_WRITE"},
                                                     {IBV_ACCESS_REMOTE_WRITE, "REMOTE_WRITE"},
                                                     {IBV_ACCESS_REMOTE_READ, "REMOTE_READ"},
                                                     {IBV_ACCESS_REMOTE_ATOMIC, "REMOTE_ATOMIC"},
                                                     {IBV_ACCESS_MW_BIND, "MW_BIND"}};
  char text[64];
  std::snprintf(text, sizeof text, "%zu bytes at 0x%llx, with ", bytes,
                static_cast<unsigned long long>(first));
  std::string rights;
  for (const auto& [flag, name] : names)
    if ((access & flag) != 0) rights += (rights.empty() ? "" : " ") + std::string(name);
  return text + (rights.empty() ? "no access flags" : rights);
}

unsigned flags_of(const memory_access& rights) {
  unsigned flags = 0;
  if (rights.local_write) flags |= IBV_ACCESS_LOCAL_WRITE;
  if (rights.remote_write) flags |= IBV_ACCESS_REMOTE_WRITE;
  if (rights.remote_read) flags |= IBV_ACCESS_REMOTE_READ;
  if (rights.remote_atomic) flags |= IBV_ACCESS_REMOTE_ATOMIC;
  if (rights.bind_windows) flags |= IBV_ACCESS_MW_BIND;
  return flags;
}

/// Writes the reason of a refusal. Returns an errno.
int explain(status s, const memory_region_attributes& of, engine& here) {
  const bool by_platform = s.is(transport_error::refused) && s.where() != 0;
  const int error = by_platform ? static_cast<int>(s.where()) : errno_of(s);
  const std::string why = by_platform ? here.host().reason(of.memory, of.access.local_write, error)
                                      : limit(s, here.host().settings());
  if (explains_failures) {
    if (why.empty()) because(s, here.objects().refused());
    else because(error, "%s", why.c_str() + std::min<std::size_t>(2, why.size()));
    with_subject(error,
                 "memory region of " + facts_of(reinterpret_cast<std::uintptr_t>(of.memory.first),
                                                of.memory.bytes, flags_of(of.access)));
  }
  if (!why.empty())
    std::fprintf(stderr, "freehca: %zu bytes of memory cannot be registered%s\n", of.memory.bytes,
                 why.c_str());
  return error;
}

memory_region_attributes attributes_of(ibv_pd* pd, void* at, std::size_t bytes,
                                       std::uint64_t virtual_address, unsigned access) {
  return {.pd = of(pd).handle,
          .virtual_address = virtual_address,
          .access = {.local_write = (access & IBV_ACCESS_LOCAL_WRITE) != 0,
                     .remote_read = (access & IBV_ACCESS_REMOTE_READ) != 0,
                     .remote_write = (access & IBV_ACCESS_REMOTE_WRITE) != 0,
                     .remote_atomic = (access & IBV_ACCESS_REMOTE_ATOMIC) != 0,
                     .bind_windows = (access & IBV_ACCESS_MW_BIND) != 0},
          .relocated = true,
          .memory = {.first = static_cast<std::byte*>(at), .bytes = bytes}};
}

void note_region(const ibv_mr& made, std::uint64_t first, unsigned access,
                 const program_place& from) {
  if (!explains_failures) return;
  note_made(named_kind::key, made.lkey, from, facts_of(first, made.length, access));
  note_use(named_kind::key, made.lkey, named_kind::domain, made.pd->handle);
}

ibv_mr* register_memory(const verbs_call& call, ibv_pd* pd, void* at, std::size_t bytes,
                        std::uint64_t virtual_address, unsigned access) {
  engine& here = engine_of(pd->context);
  if (here.dead()) return fail(ENODEV);
  if ((access & ~known_access) != 0) return fail(EOPNOTSUPP);
  const memory_region_attributes how = attributes_of(pd, at, bytes, virtual_address, access);
  const uncancellable stays;
  auto made = std::make_unique<region>();
  const engine::guard held(here.lock);
  create_memory_region create;
  if (const status s = here.outcome_of(create, how); !s.ok()) return fail(explain(s, how, here));
  made->handle = create.made();
  const std::uint32_t key = key_of(here.objects(), made->handle);
  made->verbs = {pd->context, pd, at, bytes, key, key, key};
  made->virtual_address = virtual_address;
  made->access = access;
  note_region(made->verbs, virtual_address, access, call.from());
  return &made.release()->verbs;
}

int refuse_registering_again(int error) {
  errno = error;
  return IBV_REREG_MR_ERR_INPUT;
}

/// Changes the rights and the domain of a region under its key. driver_error::unsupported: the
/// region has to be replaced, because the device may only read its memory and is to write it.
status change(engine& here, mr_handle region, const memory_region_attributes& to) {
  change_memory_region operation;
  return here.outcome_of(operation, region, to.pd, to.access);
}

status replace(engine& here, mr_handle region, const memory_region_attributes& to) {
  replace_memory_region operation;
  return here.outcome_of(operation, region, to);
}

}  // namespace
}  // namespace freehca::ibverbs

using namespace freehca;
using namespace freehca::ibverbs;

FREEHCA_EXPORT ibv_pd* ibv_alloc_pd(ibv_context* context) {
  FREEHCA_CALL(call);
  engine& here = engine_of(context);
  if (here.dead()) return fail(ENODEV);
  auto made = std::make_unique<domain>();
  const engine::guard held(here.lock);
  const result<pd_handle> created = here.objects().create<protection_domain>();
  if (!created.ok()) return fail(call.ended(here.errno_of_refusal(created.error())));
  made->handle = created.value();
  made->verbs.context = context;
  made->verbs.handle = here.objects().find(made->handle)->number;
  return &made.release()->verbs;
}

FREEHCA_EXPORT int ibv_dealloc_pd(ibv_pd* pd) {
  FREEHCA_CALL(call);
  engine& here = engine_of(pd->context);
  if (!here.dead()) {
    const engine::guard held(here.lock);
    if (const status s = here.objects().destroy(of(pd).handle); !s.ok())
      return call.ended(because_in_use(here.errno_of_refusal(s), named_kind::domain, pd->handle));
  }
  delete &of(pd);
  return 0;
}

FREEHCA_EXPORT ibv_mr* ibv_reg_mr(ibv_pd* pd, void* at, std::size_t bytes, int access) {
  FREEHCA_CALL(call);
  return call.made(register_memory(call, pd, at, bytes, reinterpret_cast<std::uintptr_t>(at),
                                   static_cast<unsigned>(access)));
}

FREEHCA_EXPORT ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* at, std::size_t bytes,
                                       std::uint64_t virtual_address, int access) {
  FREEHCA_CALL(call);
  return call.made(
      register_memory(call, pd, at, bytes, virtual_address, static_cast<unsigned>(access)));
}

FREEHCA_EXPORT ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* at, std::size_t bytes,
                                        std::uint64_t virtual_address, unsigned access) {
  FREEHCA_CALL(call);
  return call.made(register_memory(call, pd, at, bytes, virtual_address, access));
}

FREEHCA_EXPORT int ibv_dereg_mr(ibv_mr* mr) {
  FREEHCA_CALL(call);
  engine& here = engine_of(mr->context);
  if (!here.dead()) {
    const engine::guard held(here.lock);
    destroy_memory_region destroy;
    if (const int error = here.perform(destroy, of(mr).handle); error != 0)
      return call.ended(because_in_use(error, named_kind::key, mr->lkey));
    note_destroyed(named_kind::key, mr->lkey, call.from());
  }
  delete &of(mr);
  return 0;
}

/// Other memory: the keys are new ones, and the old region stays valid after an error, unless the
/// adapter did not answer (replace_memory_region). Other rights or another domain: the keys stay,
/// and after IBV_REREG_MR_ERR_CMD the region may give no access (change_memory_region), as in Linux
/// 6.1 (hw/mlx4/mr.c mlx4_ib_rereg_user_mr).
FREEHCA_EXPORT int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* at, std::size_t bytes,
                                int access) {
  FREEHCA_CALL(call);
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  const bool has_domain = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
  const bool has_access = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
  // The first three conditions are those of rdma-core libibverbs/verbs.c.
  if ((flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0 || (moves && (bytes == 0 || at == nullptr)) ||
      (access != 0 && !has_access) || (has_domain && pd == nullptr))
    return refuse_registering_again(EINVAL);
  if ((static_cast<unsigned>(access) & ~known_access) != 0)
    return refuse_registering_again(EOPNOTSUPP);
  engine& here = engine_of(mr->context);
  if (here.dead()) return refuse_registering_again(ENODEV);
  region& changed = of(mr);
  ibv_pd* const domain = has_domain ? pd : mr->pd;
  if (!moves) {
    at = mr->addr;
    bytes = mr->length;
  }
  const std::uint64_t virtual_address =
      moves ? reinterpret_cast<std::uintptr_t>(at) : changed.virtual_address;
  const unsigned rights = has_access ? static_cast<unsigned>(access) : changed.access;
  const memory_region_attributes how = attributes_of(domain, at, bytes, virtual_address, rights);
  const uncancellable stays;
  const engine::guard held(here.lock);
  status outcome = moves ? driver_error::unsupported : change(here, changed.handle, how);
  const bool replaces = outcome.is(driver_error::unsupported);
  if (replaces) outcome = replace(here, changed.handle, how);
  const std::uint32_t key = key_of(here.objects(), changed.handle);
  if (!outcome.ok()) {
    errno = call.ended(explain(outcome, how, here));
    const bool unchanged = replaces ? key == mr->lkey : outcome.is(driver_error::bad_argument);
    return unchanged ? IBV_REREG_MR_ERR_INPUT : IBV_REREG_MR_ERR_CMD;
  }
  changed.verbs = {mr->context, domain, at, bytes, key, key, key};
  changed.virtual_address = virtual_address;
  changed.access = rights;
  note_region(*mr, virtual_address, rights, call.from());
  return 0;
}
