// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What a small program without an operating system calls: brings the adapter up, makes a reliable
// connection, writes to the peer, and takes everything back. It is linked to be measured
// (bench/size/size.py), and never run: its platform refuses everything.
#include <new>

#include <freehca/hca/device.hpp>
#include <freehca/hca/kinds/completion_queue.hpp>
#include <freehca/hca/kinds/memory_region.hpp>
#include <freehca/hca/kinds/protection_domain.hpp>
#include <freehca/hca/kinds/queue_pair.hpp>
#include <freehca/hca/objects/verbs.hpp>

namespace {

using namespace freehca;

constexpr verbs_budget kinds = verbs_budget{}
                                   .with<protection_domain>(1)
                                   .with<memory_region>(1)
                                   .with<completion_queue>(1)
                                   .with<queue_pair>(1);
constexpr budget size{};

constexpr platform_operations port = {
    .map_bar = [](void*, unsigned, mmio_region*) -> status { return driver_error::unsupported; },
    .read_configuration = [](void*, unsigned, std::uint32_t*) -> status {
      return driver_error::unsupported;
    },
    .write_configuration = [](void*, unsigned, std::uint32_t) -> status {
      return driver_error::unsupported;
    },
    .allocate_dma = [](void*, std::size_t, std::size_t, dma_region*) -> status {
      return driver_error::unsupported;
    },
    .free_dma = [](void*, const dma_region&) {},
    .now = [](void*) -> std::uint64_t { return 0; },
};

alignas(16) std::byte device_storage[device::storage_bytes(size)];
alignas(16) std::byte verbs_storage[verbs::storage_bytes(size, kinds)];

// Made by _start(): nobody else would call constructors.
struct driver {
  device adapter;
  verbs objects;
};
alignas(driver) std::byte driver_storage[sizeof(driver)];
driver* it;

status await(operation& op) {
  while (!op.done())
    if (it->objects.is_open()) it->objects.poll();
    else it->adapter.poll();
  return op.outcome();
}

template <class K>
status make(const typename K::attributes& a, handle<K>& to) {
  create_object<K> c;
  c.start(it->objects, a);
  FREEHCA_TRY(await(c));
  to = c.made();
  return {};
}

template <class K>
status destroy(handle<K> h) {
  destroy_object<K> d;
  d.start(it->objects, h);
  return await(d);
}

status connect(qp_handle q, std::uint32_t remote_qpn, std::uint16_t dlid) {
  connection_attributes a;
  a.remote_write = true;
  a.remote_qpn = remote_qpn;
  a.address = infiniband_path{.dlid = dlid};
  for (const auto to : {layouts::qp_state::init, layouts::qp_state::rtr, layouts::qp_state::rts}) {
    modify_queue_pair m;
    m.start(it->objects, q, to, a);
    FREEHCA_TRY(await(m));
  }
  return {};
}

status exchange(const dma_region& memory, std::uint32_t peer, std::uint16_t lid,
                const queues::remote_memory& there) {
  const auto domain = it->objects.create<protection_domain>();
  if (!domain.ok()) return domain.error();
  mr_handle region;
  cq_handle completions;
  qp_handle pair;
  FREEHCA_TRY(make<memory_region>({.pd = domain.value(),
                                   .pages = page_list(memory, 12),
                                   .access = {.local_write = true, .remote_write = true}},
                                  region));
  FREEHCA_TRY(make<completion_queue>({.entries = 16}, completions));
  FREEHCA_TRY(make<queue_pair>({.pd = domain.value(),
                                .send_cq = completions,
                                .receive_cq = completions,
                                .sends = 8,
                                .receives = 8},
                               pair));
  FREEHCA_TRY(connect(pair, peer, lid));
  const std::uint32_t key = key_of(it->objects, region);
  queues::qp_rings& rings = it->objects.find(pair)->rings;
  const queues::data_entry data{0, 64, key};
  FREEHCA_TRY(rings.receive.post_and_ring({.list = &data, .entries = 1}));
  FREEHCA_TRY(rings.send.post_and_ring(queues::rdma_write{.remote = there, .data = data}));
  FREEHCA_TRY(rings.send.post_and_ring(queues::send{.data = data}));
  queues::work_completion done;
  while (it->objects.find(completions)->rings.poll(&done, 1) == 0) it->objects.poll();
  FREEHCA_TRY(destroy(pair));
  FREEHCA_TRY(destroy(completions));
  FREEHCA_TRY(destroy(region));
  return it->objects.destroy(domain.value());
}

status run(const dma_region& memory, std::uint32_t peer, std::uint16_t lid,
           const queues::remote_memory& there) {
  device_setup setup;
  setup.platform = {&port, nullptr};
  setup.budget = size;
  setup.storage = device_storage;
  setup.storage_bytes = sizeof device_storage;
  FREEHCA_TRY(it->adapter.open(setup));
  operation up, down;
  it->adapter.bring_up(up);
  FREEHCA_TRY(await(up));
  FREEHCA_TRY(it->objects.open(it->adapter, kinds, verbs_storage, sizeof verbs_storage));
  const status outcome = exchange(memory, peer, lid, there);
  static_cast<void>(it->objects.close());
  it->adapter.tear_down(down);
  FREEHCA_TRY(await(down));
  it->adapter.close();
  return outcome;
}

}  // namespace

// What the core asks of its surroundings besides the platform.
extern "C" {
void* memcpy(void* to, const void* from, std::size_t bytes) {
  auto* const t = static_cast<char*>(to);
  const auto* const f = static_cast<const char*>(from);
  for (std::size_t i = 0; i < bytes; ++i) t[i] = f[i];
  return to;
}
void* memmove(void* to, const void* from, std::size_t bytes) {
  if (to < from) return memcpy(to, from, bytes);
  while (bytes-- != 0) static_cast<char*>(to)[bytes] = static_cast<const char*>(from)[bytes];
  return to;
}
void* memset(void* to, int value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) static_cast<char*>(to)[i] = static_cast<char>(value);
  return to;
}
int memcmp(const void* a, const void* b, std::size_t bytes) {
  const auto* const l = static_cast<const unsigned char*>(a);
  const auto* const r = static_cast<const unsigned char*>(b);
  for (std::size_t i = 0; i < bytes; ++i)
    if (l[i] != r[i]) return l[i] < r[i] ? -1 : 1;
  return 0;
}

// Written by whoever starts it.
extern dma_region memory_of_program;
extern std::uint32_t peer_of_program;
extern std::uint16_t lid_of_program;
extern queues::remote_memory there_of_program;
dma_region memory_of_program;
std::uint32_t peer_of_program;
std::uint16_t lid_of_program;
queues::remote_memory there_of_program;

[[noreturn]] void _start() {
  it = new (static_cast<void*>(driver_storage)) driver;
  for (;;)
    static_cast<void>(run(memory_of_program, peer_of_program, lid_of_program, there_of_program));
}
}
