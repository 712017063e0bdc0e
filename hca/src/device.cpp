// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The device object: open(), poll(), failure, health, ports, info() and holdings().
#include <freehca/hca/device.hpp>

#include <atomic>

#include <freehca/hca/device_watch.hpp>
#include <freehca/layouts/register_map.hpp>

namespace freehca {

namespace {
// The maximum time that an event stays unseen if no interrupt reports it. No source: chosen.
constexpr std::uint64_t event_poll_interval = clock::milliseconds(1);

constexpr status lacks(budget::item i) {
  return status(driver_error::no_memory, static_cast<unsigned>(i));
}

}  // namespace

status device::open(const device_setup& setup) {
  if (state_ != device_state::closed) return driver_error::bad_state;
  if (setup.platform.operations == nullptr) return driver_error::bad_argument;
  const platform_operations known = known_part_of(*setup.platform.operations);
  if (known.map_bar == nullptr || known.read_configuration == nullptr ||
      known.write_configuration == nullptr || known.allocate_dma == nullptr ||
      known.free_dma == nullptr || known.now == nullptr || setup.health_interval == 0 ||
      !device_plan::sound(setup.budget) || setup.storage == nullptr ||
      reinterpret_cast<std::uintptr_t>(setup.storage) % 16 != 0)
    return driver_error::bad_argument;
  if (setup.budget.completion_event_queues != 0 &&
      setup.budget.log_cqs > device_plan::most_log_eq_entries)
    return status(driver_error::bad_argument, static_cast<unsigned>(budget::item::cqs));
  if (setup.storage_bytes < storage_bytes(setup.budget)) return lacks(budget::item::storage);
  operations_ = known;
  function_.open(setup.platform, operations_);
  setup_ = setup;
  setup_.platform.operations = &operations_;
  FREEHCA_TRY(known.map_bar(setup.platform.context, 0, &bar0_));
  FREEHCA_TRY(known.map_bar(setup.platform.context, 2, &bar2_));
  if (bar0_.bytes < layouts::bar0::size) return transport_error::bad_reply;
  FREEHCA_TRY(control_.open(setup_.budget, setup_.platform, setup_.storage));
  state_ = device_state::down;
  sequence_.failure = {};
  info_ = {};
  ports_.begin(0);
  control_.reactor.mail.open(setup.wake, setup.wake_context);
  control_.reactor.entry = setup.entry;
  return {};
}

std::uint32_t device::next_generation() {
  // Different threads may open devices at the same time.
  static std::atomic<std::uint32_t> drawn{0};
  constexpr std::uint32_t step = 0x9e3779b1;  // 2^32 divided by the golden ratio
  return drawn.fetch_add(step, std::memory_order_relaxed) + step;
}

void device::set_sinks(const event_sinks& to) {
  sinks_ = to;
  events_[0].set_sinks(to);
  for (unsigned i = 0; i < budget::most_completion_event_queues; ++i)
    if (!has_owner(i)) completion_context(i).set_sinks(to);
}

void device::connect_events(event_context& e) {
  // All asynchronous events go to the first queue, even if an event owner has the object.
  if (&e != &events_[0]) return;
  e.device_ = this;
  e.asynchronous_ = [](device& d, const layouts::image<layouts::eqe>& event) noexcept {
    return d.take_event(event);
  };
}

void device::on_interrupt(unsigned vector) noexcept {
  const unsigned step = queue_step(vector);
  for (unsigned queue = vector; queue <= setup_.budget.completion_event_queues; queue += step)
    events_[queue].notify();
}

// If there are at least two vectors, event queue 0 has vector 0, and the other event queues share
// the other vectors in turn. The event queues of one vector are therefore `vectors` - 1 apart.
unsigned device::queue_step(unsigned vector) const {
  const unsigned vectors = vectors_.load(std::memory_order_relaxed);
  return vectors < 2 ? 1 : vector == 0 ? budget::most_completion_event_queues + 1 : vectors - 1;
}

unsigned device::vector_of(unsigned queue) const {
  const unsigned vectors = vectors_.load(std::memory_order_relaxed);
  return queue == 0 || vectors < 2 ? 0 : 1 + (queue - 1) % (vectors - 1);
}

bool device::is_shared(unsigned vector) const {
  return vector + queue_step(vector) <= setup_.budget.completion_event_queues;
}

void device::on_notify(void* self, unsigned vector) noexcept {
  static_cast<device*>(self)->on_interrupt(vector);
}

/// Clears the level before the notes, as Linux 6.1 eq.c mlx4_interrupt does. A later event asserts
/// the line again. This write may also take away the assertion of an event that the owner of its
/// queue does not see yet. Because of the note, the owner arms the queue once more, and the device
/// interrupts at once for an event that came before (queues::eq::arm()).
void device::on_line_notify(void* self, unsigned) noexcept {
  device& d = *static_cast<device*>(self);
  std::byte* const clear = d.clear_interrupt_.load(std::memory_order_relaxed);
  const unsigned pin = d.interrupt_pin_.load(std::memory_order_relaxed);
  // Linux 6.1 eq.c mlx4_init_eq_table: the bit of a pin below 32 is in the second word.
  if (clear != nullptr)
    mmio::write_32({clear, layouts::clear_interrupt_size}, pin < 32 ? 4 : 0,
                   std::uint32_t{1} << (pin & 31));
  d.on_interrupt(0);
}

void device::mark_as_lost() {
  fail(transport_error::gone);
}

void device::fail(status why) {
  if (state_ == device_state::closed || state_ == device_state::down ||
      state_ == device_state::failed)
    return;
  if (control_.commands.is_open() && control_.commands.failure().ok())
    control_.commands.fail_all(why);
  if (sequence_.way() == device_sequence::course::none) state_ = device_state::failed;
  owners_.fail(why);
  if (sinks_.device_failed != nullptr) sinks_.device_failed(sinks_.context, why);
}

/// A full event queue has lost events. The driver cannot know which completion queues, commands or
/// objects they named. Linux only writes a warning (6.1 eq.c mlx4_eq_int), but a program of this
/// driver would wait for ever, so the device fails. After a memory error or a fatal warning, Linux
/// and illumos continue with a line in the log, and so does this driver.
bool device::take_event(const layouts::image<layouts::eqe>& event) {
  using layouts::event_type;
  const event_type type = event.get<&layouts::eqe::event_type>();
  if (watch_ != nullptr && watch_->event(*watch_, event)) return true;
  switch (type) {
    case event_type::port_change:
    case event_type::port_management_change:
      ports_.changed(layouts::eqe_port_event::port_of(event));
      return true;
    case event_type::ecc_detect:
    case event_type::fatal_warning:
      setup_.platform.log(
          {type == event_type::ecc_detect ? log_topic::memory_error : log_topic::too_hot,
           severity::warning});
      return true;
    case event_type::local_catastrophic_error:
    case event_type::eq_overflow:
      fail(type == event_type::eq_overflow ? transport_error::events_lost : transport_error::gone);
      return true;
    default:
      return owners_.relay(control_.numbers, event);
  }
}

void device::check_health(std::uint64_t now) {
  if (!watches_health()) return;
  if (!control_.commands.failure().ok()) return fail(control_.commands.failure());
  if (health_.failed(now, setup_.health_interval)) fail(transport_error::gone);
}

void device::refresh_ports(std::uint64_t now) {
  if (ports_.next_change() > now) return;
  const unsigned port = ports_.take_changed(now);
  if (port != 0) {
    if (watch_ != nullptr) watch_->port_read(*watch_, port);
    else if (sinks_.port != nullptr) sinks_.port(sinks_.context, port);
  }
  if (state_ == device_state::up) ports_.read_next_changed(control_.commands, now);
}

unsigned device::poll() {
  // An operation that was started on a closed device must end too.
  if (state_ == device_state::closed) return control_.commands.poll();
  unsigned handled = control_.reactor.mail.take();
  // The clock is read once, because reading it costs more than a poll that finds nothing. It is
  // read before the events, so that an answer that came before its deadline is among them.
  const std::uint64_t now = setup_.platform.now();
  if (events_[0].is_open()) handled += events_[0].poll();
  // Expire deadlines after the events: if the answer to a command is among the events, the command
  // is not overdue.
  control_.reactor.expire(now);
  handled += control_.commands.poll(now);
  if (state_ == device_state::closed) return handled;  // a callback has closed the device
  handled += control_.contexts.poll(now);
  check_health(now);
  refresh_ports(now);
  if (state_ == device_state::in_doubt) wait_for_late_answers();
  if (sequence_.way() != device_sequence::course::none) run_sequence();
  return handled + control_.reactor.deliver();
}

std::uint64_t device::next_deadline() const {
  // This includes the next deadline of the reactor.
  std::uint64_t next = control_.commands.next_deadline();
  if (state_ == device_state::closed) return next;
  next = clock::earlier(next, sequence_.next_look());
  if (!control_.contexts.idle() && control_.commands.idle()) next = 0;
  if (control_.contexts.is_open()) next = clock::earlier(next, control_.contexts.next_work());
  if (events_[0].is_open()) {
    if (events_[0].due()) next = 0;
    if (!info_.interrupts_work)
      next = clock::earlier(next, control_.commands.in_flight() > 0 ? 0 : next_look_at_events());
  }
  if (watches_health()) next = clock::earlier(next, health_.next_look());
  return state_ == device_state::up ? clock::earlier(next, ports_.next_change()) : next;
}

std::uint64_t device::next_look_at_events() const {
  // Without interrupts, only polling the ring finds events.
  return info_.interrupts_work ? clock::never
                               : clock::after(setup_.platform.now(), event_poll_interval);
}

std::uint64_t device::next_look_at_events(const event_context& of) const {
  // The interrupt of a shared vector may wake only the control owner's thread.
  return of.shares_vector() ? clock::after(setup_.platform.now(), event_poll_interval)
                            : next_look_at_events();
}

device_info device::info() const {
  device_info i = info_;
  for (unsigned n = 1; n <= most_ports; ++n) i.port[n - 1] = ports_.attributes(n);
  i.commands_issued += control_.commands.statistics().posted;
  i.lent_firmware = firmware_.lent ? firmware_.memory.bytes : 0;
  i.lent_auxiliary = auxiliary_.lent ? auxiliary_.memory.bytes : 0;
  for (unsigned t = 0; t < context_tables_count; ++t)
    i.lent_context[t] = control_.contexts.bytes_lent(static_cast<context_table>(t));
  return i;
}

device_holdings device::holdings() const {
  if (state_ == device_state::closed) return {};
  device_holdings h = control_.holdings();
  h.pages += (firmware_.memory.bytes + auxiliary_.memory.bytes) / dma_arena::page;
  h.mappings += (firmware_.lent ? 1u : 0u) + (auxiliary_.lent ? 1u : 0u);
  return h;
}

void device::lent_area::settled(lease&, const settlement& end, void* of) noexcept {
  auto& area = *static_cast<lent_area*>(of);
  if (end.by_reset) return;
  // If the answer comes right after a cancel(), the step that sent the command sees it only after
  // this call.
  if (end.answer.ok()) area.lent_before = area.lent;
  else area.lent = area.lent_before;
}

}  // namespace freehca
