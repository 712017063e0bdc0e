// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "run.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <new>

#include <freehca/hal/text.hpp>
#include <freehca/hca/verbs.hpp>
#include <freehca/in_process/detached.hpp>
#include <freehca/in_process/machine.hpp>
#include <freehca/layouts/hcr.hpp>
#include <freehca/layouts/register_map.hpp>

#include "digest.hpp"
#include "lies.hpp"

namespace freehca::fuzz {
namespace {

[[noreturn]] void found(const char* what, status s = {}) {
  char text[160];
  describe(s, text, sizeof text);
  std::fprintf(stderr, "finding: %s (%s)\n", what, s.ok() ? "-" : text);
  __builtin_trap();
}

struct release {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{16}); }
};
using storage = std::unique_ptr<std::byte[], release>;

storage allocate(std::size_t bytes) {
  return storage(new (std::align_val_t{16}) std::byte[bytes]);
}

using in_process::detached;

// No sequence of the driver may take longer than this on the adapter's clock, whatever the adapter does.
constexpr std::uint64_t patience = clock::seconds(600);

/// Which machine it is, and how far its bring-up has come when the adapter begins to lie.
struct beginning {
  // Of `machine`. Without interrupts none can be lost.
  static constexpr unsigned no_function_reset = 1, no_interrupts = 2, interrupts_lost = 4,
                            one_command = 8, no_manager = 16, connectx2 = 32, machines = 64;
  // Commands that were sent: none; some; all, which is more than there are in a bring-up.
  static constexpr std::array<unsigned, 8> commands{0, 3, 6, 12, 20, 32, 48, 1u << 20};
  static constexpr unsigned all = commands.size() - 1;

  unsigned machine = 0;
  unsigned point = 0;  ///< index in `commands`

  std::uint32_t number() const { return point * machines + machine; }
  static beginning numbered(std::uint32_t n) { return {n % machines, n / machines}; }
};

/// The driver against an adapter that lies as the input says: bring-up, queue pairs made and used by several tasks
/// at the same time, teardown. Afterwards the adapter is honest, and the driver has to be: everything given back,
/// and, unless the adapter was pulled, a bring-up that works.
class driver_run final : public target {
 public:
  explicit driver_run(const beginning& where) : machine_(machine_of(where.machine)) {
    machine_.on_adapter_write = [this](std::uint64_t address, std::size_t bytes) {
      steps_.add(address), steps_.add(bytes);
    };
    open(false);
    if (where.point == 0) return;
    begun_ = true;
    device_.bring_up(up_);
    const unsigned least = beginning::commands[where.point];
    drive([&] { return up_.done() || device_.commands().statistics().posted >= least; },
          "an honest bring-up does not end");
    if (where.point == beginning::all && !up_.outcome().ok())
      found("an honest bring-up fails", up_.outcome());
  }
  ~driver_run() override {
    // A machine that was made and never used.
    if (device_.state() != device_state::down) tear_down();
    device_.close();
  }

  void go(input from) override {
    input_ = from;
    {
      lies adapter(machine_, input_, [this](lies::moment when) {
        (when == lies::moment::between_polls ? cancel_wanted_ : cancel_inside_wanted_) = true;
      });
      if (!begun_) device_.bring_up(up_);
      if (await(up_, "bring-up does not end").ok()) use();
      tear_down();
      removed_ = adapter.removed();
    }
    machine_.adapter().release_held_commands();
    tear_down();
    check_nothing_left();
  }
  void check_thoroughly() override {
    if (!removed_) recover();
  }
  std::uint64_t trace() override {
    digest all = steps_;
    model::counter c{};
    for (std::size_t i = 0; machine_.adapter().counter_at(i, c); ++i) all.add(c.value);
    for (const std::string& complaint : machine_.complaints()) all.add(complaint);
    return all.value();
  }

 private:
  static in_process::machine_options machine_of(unsigned flags) {
    in_process::machine_options m;
    m.function_level_reset = (flags & beginning::no_function_reset) == 0;
    m.interrupts = (flags & beginning::no_interrupts) == 0;
    m.loses_interrupts = (flags & beginning::interrupts_lost) != 0;
    m.model.log_max_commands = (flags & beginning::one_command) != 0 ? 0 : 4;
    m.model.subnet_manager = (flags & beginning::no_manager) == 0;
    m.model.kind = (flags & beginning::connectx2) != 0 ? model::variant::connectx2
                                                       : model::variant::connectx3_pro;
    return m;
  }

  void open(bool take_over) {
    device_setup setup;
    setup.platform = machine_.platform();
    setup.budget = budget_;
    setup.storage = device_storage_.get();
    setup.storage_bytes = device::storage_bytes(budget_);
    setup.port_wait = clock::seconds(1);
    setup.take_over = take_over;
    if (const status s = device_.open(setup); !s.ok()) found("the device cannot be opened", s);
  }

  template <class Done>
  void drive(Done done, const char* what) {
    const bool in_time = machine_.run(
        done,
        [this] {
          if (cancel_wanted_) cancel();
          const unsigned handled = verbs_.is_open() ? verbs_.poll() : device_.poll();
          const std::uint64_t deadline =
              verbs_.is_open() ? verbs_.next_deadline() : device_.next_deadline();
          check_not_spinning(handled, deadline);
          note_step();
          return patiently(deadline);
        },
        patience);
    if (!in_time) found(what);
  }

  void note_step() {
    for (const std::uint64_t number : {machine_.time(), machine_.adapter_reads(),
                                       machine_.adapter_writes(), machine_.messages()})
      steps_.add(number);
  }

  // "At once" is for what has just come (an adapter may interrupt without end), and for what only looking can tell:
  // answers without an interrupt, a command register that is taken. A driver that says it again and again, and has
  // nothing to look for, would keep a processor busy for ever.
  void check_not_spinning(unsigned handled, std::uint64_t deadline) {
    const bool interrupted = machine_.messages() != messages_;
    messages_ = machine_.messages();
    if (handled == 0 && interrupted) wait_in_storm();
    else storm_ = 0;
    if (deadline != 0 || handled != 0 || interrupted) {
      idle_looks_ = 0;
      return;
    }
    const channel& commands = device_.commands();
    const bool looks = commands.queued() > 0 && register_taken();
    idle_looks_ = looks ? 0 : idle_looks_ + 1;
    if (idle_looks_ <= most_idle_looks || commands.in_flight() == 0) {
      if (idle_looks_ > 2 * most_idle_looks) found("the driver spins");
      return;
    }
    // Asked last: what info() tells is gathered from all parts of the device.
    if (!commands.uses_events() || !device_.info().interrupts_work) idle_looks_ = 0;
    else if (idle_looks_ > 2 * most_idle_looks) found("the driver spins");
  }

  // An adapter that interrupts whenever it is armed, and for nothing: for the driver time passes all the same.
  void wait_in_storm() {
    constexpr unsigned interrupts_each = 8, longest = 14;
    machine_.advance(clock::microseconds(1) << std::min(storm_++ / interrupts_each, longest));
  }

  bool register_taken() {
    layouts::image<layouts::hcr> h;
    layouts::store_be(h.data() + (layouts::bar0::hcr_status - layouts::bar0::hcr),
                      static_cast<std::uint32_t>(
                          machine_.adapter().read_registers(layouts::bar0::hcr_status, 4)));
    return h.get<&layouts::hcr::go>();
  }

  // A driver that looks again and again at an adapter that is silent: less and less often, or an input would
  // take seconds.
  std::uint64_t patiently(std::uint64_t deadline) {
    constexpr unsigned looks_each = 8, longest = 14;
    if (deadline != 0) looks_ = 0;
    else
      deadline =
          machine_.time() + (clock::microseconds(1) << std::min(looks_++ / looks_each, longest));
    return deadline;
  }

  // What the user's Ctrl-C would do. Not at once: the driver is in the midst of something.
  void cancel() {
    cancel_wanted_ = cancel_inside_wanted_ = false;
    if (current_ != nullptr) current_->cancel();
    for (operation* each : pending_)
      if (each != nullptr) each->cancel();
  }

  status await(operation& op, const char* what) {
    current_ = &op;
    drive([&] { return op.done(); }, what);
    current_ = nullptr;
    return op.outcome();
  }

  status bring_up() {
    operation up;
    device_.bring_up(up);
    return await(up, "bring-up does not end");
  }

  void tear_down() {
    if (verbs_.is_open() && verbs_.close().ok()) {
    }
    operation down;
    device_.tear_down(down);
    // A teardown may be refused while something else is under way, and be cancelled by nobody.
    drive([&] { return down.done(); }, "teardown does not end");
    if (verbs_.is_open()) {
      if (const status s = verbs_.close(); !s.ok()) found("objects are left after teardown", s);
    }
  }

  void use() {
    if (!verbs_
             .open(device_, budget_, objects_, verbs_storage_.get(),
                   verbs::storage_bytes(budget_, objects_))
             .ok())
      return;
    const result<pd_handle> domain = verbs_.create_protection_domain();
    if (!domain.ok()) return;
    running_ = tasks;
    for (unsigned i = 0; i < tasks; ++i) use_queue_pair(i, domain.value());
    drive([this] { return running_ == 0; }, "an operation on an object does not end");
    static_cast<void>(verbs_.destroy(domain.value()));
  }

  // Waits for an operation that cancel() may end. What follows runs inside its completion.
  auto under_way(unsigned task, operation& op) {
    pending_[task] = &op;
    if (cancel_inside_wanted_) cancel();
    return op.operator co_await();
  }

  detached use_queue_pair(unsigned task, pd_handle domain) {
    create_completion_queue completions;
    completions.start(verbs_, {.entries = 15});
    status s = co_await under_way(task, completions);
    if (s.ok()) {
      create_queue_pair pair;
      pair.start(verbs_, {.pd = domain,
                          .send_cq = completions.queue(),
                          .receive_cq = completions.queue(),
                          .sends = 4,
                          .receives = 4,
                          .inline_bytes = 64});
      s = co_await under_way(task, pair);
      if (s.ok()) {
        const connection_attributes a = loopback(pair.qpn());
        modify_queue_pair m;
        for (const auto to :
             {layouts::qp_state::init, layouts::qp_state::rtr, layouts::qp_state::rts}) {
          m.restart();
          m.start(verbs_, pair.queue(), to, a);
          s = co_await under_way(task, m);
          if (!s.ok()) break;
        }
        if (s.ok()) exchange(pair.queue(), completions.queue());
        query_queue_pair look;
        for (unsigned i = 0; i < 3; ++i) {
          look.restart();
          look.start(verbs_, pair.queue());
          static_cast<void>(co_await under_way(task, look));
        }
        poll(completions.queue());
        destroy_queue_pair d;
        d.start(verbs_, pair.queue());
        static_cast<void>(co_await under_way(task, d));
      }
      destroy_completion_queue d;
      d.start(verbs_, completions.queue());
      static_cast<void>(co_await under_way(task, d));
    }
    pending_[task] = nullptr;
    --running_;
  }

  // Messages without data from a queue pair to itself: what comes back is polled later.
  void exchange(qp_handle pair, cq_handle completions) {
    queues::sq* send = verbs_.send_queue(pair);
    queues::rq* receive = verbs_.receive_queue(pair);
    if (send == nullptr || receive == nullptr) return;
    for (unsigned i = 0; i < 4; ++i) {
      static_cast<void>(receive->post_and_ring({}));
      static_cast<void>(send->post_and_ring({}));
    }
    poll(completions);
  }

  void poll(cq_handle completions) {
    queues::work_completion w[4];
    if (queues::cq* q = verbs_.queue(completions); q != nullptr) static_cast<void>(q->poll(w, 4));
  }

  connection_attributes loopback(std::uint32_t qpn) const {
    connection_attributes a;
    a.remote_write = true;
    a.path_mtu = layouts::ib_mtu::mtu_1024;
    a.remote_qpn = qpn;
    a.address.port = 1;
    a.address.dlid = device_.port(1).lid;
    return a;
  }

  void check_nothing_left() {
    if (device_.state() != device_state::down) found("the device is not down after teardown");
    if (!device_.holdings().none()) found("something is held after teardown");
    if (device_.holdings().in_doubt() != 0) found("something is in doubt after teardown");
  }

  // An honest adapter: nothing that it was made to say before may have been believed for good.
  void recover() {
    status s = bring_up();
    if (s.is(driver_error::busy)) {
      // It was told that somebody else has a semaphore, when the very read had given it the semaphore.
      device_.close();
      open(true);
      s = bring_up();
    }
    if (!s.ok()) found("no bring-up after the lies", s);
    tear_down();
    check_nothing_left();
  }

  static constexpr unsigned tasks = 3;
  input input_{nullptr, 0};
  digest steps_;
  in_process::machine machine_;
  const budget budget_{};
  const verbs_budget objects_{};
  const storage device_storage_ = allocate(device::storage_bytes(budget_)),
                verbs_storage_ = allocate(verbs::storage_bytes(budget_, objects_));
  device device_;
  verbs verbs_;
  operation up_;  // the bring-up that an input begins in, or does first
  bool begun_ = false;
  operation* current_ = nullptr;
  operation* pending_[tasks] = {};
  unsigned running_ = 0;
  unsigned looks_ = 0;                              // in a row
  static constexpr unsigned most_idle_looks = 100;  // more than an input can tell lies
  std::uint64_t messages_ = 0;
  unsigned storm_ = 0;       // interrupts for nothing, in a row
  unsigned idle_looks_ = 0;  // in a row
  bool cancel_wanted_ = false, cancel_inside_wanted_ = false;
  bool removed_ = false;
};

}  // namespace

constexpr std::uint32_t thorough_ones = beginning::machines * beginning::commands.size();

start start_of(input& from) {
  beginning where;
  where.machine = from.byte() % beginning::machines;
  if ((where.machine & beginning::no_interrupts) != 0) where.machine &= ~beginning::interrupts_lost;
  // Most inputs begin on a device that is up: a bring-up takes as long as many of what comes after it.
  constexpr unsigned each = 8;
  constexpr unsigned thorough_from = 0xfe;
  const unsigned what = from.byte();
  where.point = std::min(what / each, beginning::all);
  // The thorough ones are states of their own: what they touch would be restored after every input.
  const bool thorough = what == 0 || what >= thorough_from;
  return {where.number() + (thorough ? thorough_ones : 0), thorough};
}

std::unique_ptr<target> make_target(std::uint32_t state) {
  return std::make_unique<driver_run>(beginning::numbered(state % thorough_ones));
}

}  // namespace freehca::fuzz
