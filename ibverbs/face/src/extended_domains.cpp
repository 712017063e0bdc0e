// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Domains of extended reliable connections (XRC). Opens with descriptors of the same file share a
// domain (Linux 6.1 core/uverbs_cmd.c ib_uverbs_open_xrcd).
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "errors.hpp"
#include "objects.hpp"

namespace freehca::ibverbs {

namespace {

/// The domains that opens can share. With the engine's lock.
std::vector<shared_domain*>& domains_of_files() {
  static auto& all = *new std::vector<shared_domain*>;  // never destroyed
  return all;
}

void destroy(engine& here, shared_domain& domain) {
  if (domain.cq) {
    destroy_completion_queue gone;
    static_cast<void>(here.perform(gone, domain.cq));
  }
  if (domain.pd) static_cast<void>(here.objects().destroy(domain.pd));
  if (domain.handle) static_cast<void>(here.objects().destroy(domain.handle));
}

/// Returns 0, or an errno.
int create(engine& here, shared_domain& domain) {
  const auto number = here.objects().create<xrc_domain>();
  if (!number.ok()) return errno_of(number.error());
  domain.handle = number.value();
  const auto pd = here.objects().create<protection_domain>();
  if (!pd.ok()) return errno_of(pd.error());
  domain.pd = pd.value();
  create_extended_completion_queue cq;
  // No callback of the queue finds an object of the program.
  static completions nobody{};
  const extended_completion_queue_attributes attributes{{.entries = 1, .cookie = &nobody}};
  if (const int error = here.perform(cq, attributes); error != 0) return error;
  domain.cq = cq.made();
  return 0;
}

}  // namespace

ibv_xrcd* open_extended_domain(ibv_context* context, ibv_xrcd_init_attr* how) {
  constexpr std::uint32_t needed = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  if (how->comp_mask >= IBV_XRCD_INIT_ATTR_RESERVED) return fail(ENOSYS);
  if ((how->comp_mask & needed) != needed) return fail(EINVAL);
  engine& here = engine_of(context);
  if (here.dead()) return fail(ENODEV);
  struct stat file {};
  const bool has_file = how->fd != -1;
  if (has_file && fstat(how->fd, &file) != 0) return fail(EBADF);
  auto made = std::make_unique<extended_domain>();
  made->verbs.context = context;
  const engine::guard held(here.lock);
  std::vector<shared_domain*>& all = domains_of_files();
  const auto found = std::find_if(all.begin(), all.end(), [&](const shared_domain* d) {
    return has_file && d->made_by == &here && d->file_device == file.st_dev &&
           d->file_number == file.st_ino;
  });
  if (found != all.end()) {
    if ((how->oflags & O_EXCL) != 0) return fail(EINVAL);
    made->of = *found;
  } else {
    if (has_file && (how->oflags & O_CREAT) == 0) return fail(EAGAIN);
    auto domain = std::make_unique<shared_domain>();
    if (const int error = create(here, *domain); error != 0) {
      destroy(here, *domain);
      return fail(error);
    }
    domain->made_by = &here;
    domain->has_file = has_file;
    domain->file_device = file.st_dev;
    domain->file_number = file.st_ino;
    if (has_file) all.push_back(domain.get());
    made->of = domain.release();
  }
  ++made->of->opens;
  return &made.release()->verbs;
}

int close_extended_domain(ibv_xrcd* xrcd) {
  extended_domain& closed = of(xrcd);
  engine& here = engine_of(xrcd->context);
  if (here.dead()) {
    delete &closed;
    return 0;
  }
  const engine::guard held(here.lock);
  if (closed.users != 0) return EBUSY;
  shared_domain* const domain = closed.of;
  if (--domain->opens == 0) {
    destroy(here, *domain);
    std::erase(domains_of_files(), domain);
    delete domain;
  }
  delete &closed;
  return 0;
}

}  // namespace freehca::ibverbs
