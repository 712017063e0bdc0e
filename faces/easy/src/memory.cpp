// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/easy/adapter.hpp>

namespace freehca::easy {

void allocating::begin_with(adapter& hca, const program_memory& own, rights allowed,
                            bool read_only) {
  if (!startable()) return;
  if (!hca.up()) return refuse(hca.objects(), driver_error::bad_state);
  memory_attributes a;
  a.pd = hca.domain();
  a.access = {.local_write = !read_only,
              .remote_read = has(allowed, rights::remote_read),
              .remote_write = has(allowed, rights::remote_write),
              .remote_atomic = has(allowed, rights::remote_atomic)};
  a.memory = own;
  a.made = &hca.memories_;
  create_object::start(hca.objects(), a);
}

result<memory> allocating::value() const {
  if (!outcome().ok()) return outcome();
  const memory_object* const object = owner().find(made());
  if (object == nullptr) return status(driver_error::stale_handle);
  return memory{.host = object->memory.first,
                .bytes = object->memory.bytes,
                .region = made(),
                .key = object->key,
                .address = object->address};
}

void releasing::start(adapter& hca, const memory& what) {
  const handle<memory_object> of = {what.region.index, what.region.generation};
  if (startable()) start_destruction(hca.objects(), hca.objects().find(of));
}

}  // namespace freehca::easy
