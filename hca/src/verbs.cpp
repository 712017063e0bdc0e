// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/verbs.hpp>

#include <freehca/hal/storage.hpp>

#include <freehca/layouts/mtt.hpp>

namespace freehca {

namespace {

class divider {
 public:
  explicit divider(std::byte* from) : at_(from) {}
  std::byte* take(std::size_t bytes) {
    std::byte* const part = at_;
    at_ += detail::up_to_16(bytes);
    return part;
  }

 private:
  std::byte* at_;
};

/// Numbers in a block of context memory that is in doubt, or that the device would not give back,
/// are passed over.
template <context_group group>
number_filter usable_in(const context_tables& tables) {
  return {[](const void* of, std::uint32_t first, std::uint32_t count) {
            return static_cast<const context_tables*>(of)->first_usable(group, first, count);
          },
          &tables};
}

status out_of(verbs_budget::item what) {
  return {driver_error::no_resource, static_cast<unsigned>(what)};
}

}  // namespace

status verbs::open(device& on, const budget& d, const verbs_budget& b, std::byte* storage,
                   std::size_t bytes, const verbs_events& events) {
  if (is_open() || !on.up()) return driver_error::bad_state;
  if (storage == nullptr || reinterpret_cast<std::uintptr_t>(storage) % 16 != 0 ||
      bytes < storage_bytes(d, b))
    return status(driver_error::no_memory, static_cast<unsigned>(verbs_budget::item::storage));
  divider parts(storage);
  domains_.open(parts.take(b.protection_domains * sizeof(protection_domain)), b.protection_domains);
  regions_.open(parts.take(b.memory_regions * sizeof(memory_region)), b.memory_regions);
  completion_queues_.open(parts.take(b.completion_queues * sizeof(completion_queue)),
                          b.completion_queues);
  queue_pairs_.open(parts.take(b.queue_pairs * sizeof(queue_pair)), b.queue_pairs);

  const std::uint32_t qps = 1u << d.log_qps, cqs = 1u << d.log_cqs;
  directory_.open(storage_for<queues::qp_rings*>(parts.take(qps * sizeof(void*))), qps);
  cq_by_number_ = storage_for<completion_queue*>(parts.take(cqs * sizeof(void*)));
  cq_mask_ = cqs - 1;
  for (std::uint32_t i = 0; i < cqs; ++i) cq_by_number_[i] = nullptr;

  // The arena divides any block by its addresses; the device never hears of these.
  const std::size_t requests =
      std::size_t{b.requests} * sizeof(queues::posted_request) + detail::request_unit;
  std::byte* const block = parts.take(requests);
  const std::size_t skip =
      (detail::request_unit - reinterpret_cast<std::uintptr_t>(block) % detail::request_unit) %
      detail::request_unit;
  const std::size_t usable = requests - skip;
  std::byte* const bits = parts.take(dma_arena::storage_bytes_for(usable, detail::request_unit));
  if (const status s = requests_.open(
          {block + skip, reinterpret_cast<std::uintptr_t>(block + skip), usable},
          detail::request_unit, bits, dma_arena::storage_bytes_for(usable, detail::request_unit),
          static_cast<unsigned>(verbs_budget::item::requests));
      !s.ok()) {
    close_slabs();
    return s;
  }
  device_ = &on;
  events_ = events;
  failure_ = {};
  connect_events();
  return {};
}

void verbs::close_slabs() {
  domains_.close();
  regions_.close();
  completion_queues_.close();
  queue_pairs_.close();
}

verbs::~verbs() {
  // Events of objects that are left find nobody.
  if (!close().ok()) disconnect_events();
}

status verbs::close() {
  if (!is_open()) return {};
  if (operations_ != 0 || !holdings().none()) return driver_error::busy;
  close_slabs();
  requests_.close();
  disconnect_events();
  device_ = nullptr;
  return {};
}

unsigned verbs::poll() {
  if (!is_open()) return 0;
  // Ahead of the device, which would post what is overdue.
  deadlines_.expire(limited_, device_->platform().now());
  unsigned done = device_->poll();
  for (unsigned i = 0; i < device_->completion_contexts(); ++i)
    done += device_->completion_context(i).poll();
  list<operation> now;
  while (operation* op = ended_.pop_front()) now.push_back(*op);
  while (operation* op = now.pop_front()) {
    ++done;
    auto& refused = static_cast<object_operation&>(*op);
    refused.finish(refused.outcome_so_far_);
  }
  reap();
  return done;
}

std::uint64_t verbs::next_deadline() const {
  if (!is_open()) return operation::no_deadline;
  const bool reaper_free = reaper_.where() == operation::phase::idle || reaper_.done();
  if (!ended_.empty() || (!unwanted_.empty() && reaper_free)) return 0;
  for (unsigned i = 0; i < device_->completion_contexts(); ++i)
    if (device_->completion_context(i).due()) return 0;
  const std::uint64_t next = device_->next_deadline();
  return limited_.empty() ? next : clock::earlier(next, deadlines_.next());
}

void verbs::want_back(object_record& object) {
  object.state = object_record::phase::unwanted;
  if (!object.linked()) unwanted_.push_back(object);
}

void verbs::reap() {
  if (reaper_.where() != operation::phase::idle && !reaper_.done()) return;
  object_record* const object = unwanted_.pop_front();
  if (object == nullptr) return;
  reaper_.restart();
  reaper_.start_destruction(*this, *object, nullptr);
  // A refusal leaves an object that nobody owns: it waits for the reset.
  reaper_.outcome_so_far_ = driver_error::cancelled;
}

verbs_holdings verbs::holdings() const {
  verbs_holdings h;
  if (!is_open()) return h;
  h.protection_domains = domains_.out();
  h.memory_regions = regions_.out();
  h.completion_queues = completion_queues_.out();
  h.queue_pairs = queue_pairs_.out();
  h.request_bytes = requests_.bytes_out();
  const auto doubtful = [&h](const auto& objects) {
    for (std::uint32_t i = 0; i < objects.count(); ++i)
      if (objects.at(i).in_doubt()) ++h.in_doubt;
  };
  doubtful(regions_);
  doubtful(completion_queues_);
  doubtful(queue_pairs_);
  return h;
}

result<pd_handle> verbs::create_protection_domain() {
  if (!is_open()) return status(driver_error::bad_state);
  protection_domain* const domain = domains_.take();
  if (domain == nullptr) return out_of(verbs_budget::item::protection_domains);
  const result<std::uint32_t> number = device_->numbers().pds.allocate();
  if (!number.ok()) {
    domains_.give_back(*domain);
    return number.error();
  }
  domain->number = number.value();
  domain->users = 0;
  return domains_.handle_of(*domain);
}

status verbs::destroy(pd_handle h) {
  protection_domain* const domain = domains_.find(h);
  if (domain == nullptr) return driver_error::stale_handle;
  if (domain->users != 0) return driver_error::busy;
  device_->numbers().pds.free(domain->number);
  domain->number = protection_domain::none;
  domains_.give_back(*domain);
  return {};
}

status verbs::check_usable(const object_record* object, use what) {
  if (object == nullptr) return driver_error::stale_handle;
  if (object->state != object_record::phase::live || object->under_change)
    return driver_error::busy;
  if (what == use::destroy && object->users != 0) return driver_error::busy;
  return {};
}

status verbs::take_number(object_record& object, context_group group) {
  number_spaces& n = device_->numbers();
  const context_tables& tables = device_->contexts();
  const bool qp = group == context_group::qp, cq = group == context_group::cq;
  number_allocator& from = qp ? n.qps : cq ? n.cqs : n.mpts;
  const number_filter usable = qp   ? usable_in<context_group::qp>(tables)
                               : cq ? usable_in<context_group::cq>(tables)
                                    : usable_in<context_group::mpt>(tables);
  const result<std::uint32_t> number = from.allocate(1, 1, &usable);
  if (!number.ok()) return number.error();
  object.owner = this;
  object.group = group;
  object.number = number.value();
  return {};
}

status verbs::take_translations(object_record& object, std::size_t pages) {
  if (pages > ~std::uint32_t{0}) return driver_error::bad_argument;
  const auto count = static_cast<std::uint32_t>(pages);
  const number_filter usable = usable_in<context_group::mtt>(device_->contexts());
  const result<std::uint32_t> first = device_->numbers().mtts.allocate(count, 1, &usable);
  if (!first.ok()) return first.error();
  object.translations = first.value();
  object.translation_count = count;
  object.mapping_at_risk.set_amount(count);
  object.buffer_at_risk.set_amount(count);
  return {};
}

void verbs::write_translations(const object_record& object, const page_list& pages) {
  // The device lets the driver of the physical function write these in context memory itself
  // (Linux 6.1 mr.c mlx4_write_mtt_chunk).
  const std::size_t entry_bytes =
      std::size_t{1} << device_->contexts().layout().table(context_table::mtt).log_entry_bytes;
  dma_region room;
  for (std::uint32_t i = 0; i < object.translation_count; ++i) {
    if (room.bytes < entry_bytes)
      room = device_->contexts().memory(context_table::mtt, object.translations + i);
    layouts::image<layouts::mtt> entry;
    entry.set<&layouts::mtt::ptag>(pages.page(i)).set<&layouts::mtt::present>(true);
    dma::store_be64(room.host, layouts::load_be<std::uint64_t>(entry.data()));
    room = room.part(entry_bytes, room.bytes - entry_bytes);
  }
}

void verbs::strip(object_record& object) {
  if (object.linked()) object.unlink();
  switch (object.group) {
    case context_group::qp:
      strip(static_cast<queue_pair&>(object));
      break;
    case context_group::cq:
      strip(static_cast<completion_queue&>(object));
      break;
    default:
      strip(static_cast<memory_region&>(object));
      break;
  }
  number_spaces& n = device_->numbers();
  if (object.translation_count != 0) n.mtts.free(object.translations, object.translation_count);
  if (object.ring.bytes != 0) device_->arena().free(object.ring);
  if (object.record.bytes != 0) device_->doorbells().free(object.record);
  object.translations = object_record::none;
  object.translation_count = 0;
  object.ring = object.record = {};
  object.number = object_record::none;
}

void verbs::release(object_record& object) {
  strip(object);
  object.exists = object.forgotten = object.under_change = false;
  object.state = object_record::phase::free;
  switch (object.group) {
    case context_group::qp:
      queue_pairs_.give_back(static_cast<queue_pair&>(object));
      break;
    case context_group::cq:
      completion_queues_.give_back(static_cast<completion_queue&>(object));
      break;
    default:
      regions_.give_back(static_cast<memory_region&>(object));
      break;
  }
}

}  // namespace freehca
