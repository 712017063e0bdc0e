// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "run.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <optional>

#include <freehca/hca/device_managed_steering.hpp>
#include <freehca/hca/every_kind.hpp>
#include <freehca/in_process/detached.hpp>
#include <freehca/in_process/machine.hpp>

#include "digest.hpp"
#include "driver_beginning.hpp"
#include "every_object.hpp"
#include "finding.hpp"
#include "idle_watch.hpp"
#include "lies.hpp"
#include "reach.hpp"
#include "traffic.hpp"

namespace freehca::fuzz {
namespace {

struct release {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{16}); }
};
using storage = std::unique_ptr<std::byte[], release>;

storage allocate(std::size_t bytes) {
  return storage(new (std::align_val_t{16}) std::byte[bytes]);
}

using in_process::detached;

// No sequence of the driver may take longer than this on the adapter's clock, whatever the adapter
// does.
constexpr std::uint64_t patience = clock::seconds(600);

/// What a task makes and uses.
struct connection {
  create_memory_region source, target;
  create_completion_queue completions;
  create_shared_receive_queue shared;
  create_queue_pair pair;
  bool made = false;
};

/// The driver against an adapter that lies as the input says: bring-up; regions, completion queues
/// and queue pairs made and used by several tasks at the same time; teardown. Afterwards the
/// adapter is honest, and the driver has to be: everything given back, and, unless the adapter was
/// pulled, a bring-up and messages that work.
class driver_run final : public target {
 public:
  explicit driver_run(const beginning& where)
      : where_(where),
        machine_(machine_of(beginning::machines[where.machine])),
        messages_(std::make_unique<traffic>(machine_.memory())),
        watch_(machine_, device_) {
    machine_.on_adapter_write = [this](std::uint64_t address, std::size_t bytes) {
      steps_.add(address), steps_.add(bytes);
    };
    open(false);
    if (has(beginning::ethernet)) {
      monitor_.emplace(every_object::sinks());
      if (const status s = monitor_->start(device_); !s.ok()) found("no monitor", s);
    }
    if (where.point == 0) return;
    device_.bring_up(up_);
    const unsigned least = where.point < beginning::up ? beginning::commands[where.point] : ~0u;
    drive([&] { return up_.done() || device_.commands().statistics().posted >= least; },
          "an honest bring-up does not end");
    if (where.point < beginning::up) return;
    if (!up_.outcome().ok()) found("an honest bring-up fails", up_.outcome());
    if (where.point == beginning::connected) connect_all_of_honest();
    if (where.point == beginning::every_object) make_every_object();
  }
  ~driver_run() override {
    // A machine that was made and never used.
    if (device_.state() != device_state::down) tear_down();
    monitor_.reset();
    device_.close();
  }

  void go(input from) override {
    traffic::plan what;
    if (where_.point >= beginning::up) {
      what.kinds = from.byte();
      what.lengths = from.byte();
      const unsigned how = from.byte();
      orderly_ = how % 2 == 0;
      shares_ = (how & 0x20) != 0;
      what.receives_alone = how % 16 == 3;
    }
    if (where_.point == beginning::every_object) operations_ = from.take(3 * (from.byte() % 32u));
    input_ = from;
    lies adapter(
        machine_, input_,
        [this](lies::moment when) {
          (when == lies::moment::between_polls ? cancel_wanted_ : cancel_inside_wanted_) = true;
        },
        [this](std::uint64_t address) {
          return messages_->holds(address) || (every_ && every_->holds(address));
        });
    adapter_ = &adapter;
    if (where_.point == 0) device_.bring_up(up_);
    if (!where_.goes_on) cut_short(adapter);
    const bool is_up = await(up_, "bring-up does not end").ok();
    // Lies that a bring-up believed show later.
    if (is_up && where_.goes_on) use(what);
    tear_down();
    removed_ = adapter.removed();
    adapter.stop();
    cancel_wanted_ = cancel_inside_wanted_ = false;
    machine_.adapter().release_held_commands();
    tear_down();
    check_nothing_left();
    // An entry that names a later request than it should retires those before it, too, and tells of
    // one.
    if (!adapter.changed_structures()) {
      if (messages_->unended() != 0) found("a request never ends");
      if (where_.point >= beginning::up) messages_->check_memory();
      if (every_) every_->check_memory();
    }
    adapter_ = nullptr;
  }
  void check_thoroughly() override {
    if (!removed_) recover();
  }
  std::uint64_t trace() override {
    digest all = steps_;
    model::counter c{};
    for (std::size_t i = 0; machine_.adapter().counter_at(i, c); ++i) all.add(c.value);
    for (const std::string& complaint : machine_.complaints()) all.add(complaint);
    messages_->note(all);
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
    m.takes_fills = false;
    m.model.judges = reach::recorder();
    if ((flags & beginning::ethernet) != 0) {
      m.model.link[1] = model::link_layer::ethernet;
      m.model.vpi[1] = m.model.cable[1] = true;
      m.model.with.add(model::capability::recoverable_errors);
    }
    return m;
  }

  bool has(unsigned flag) const { return (beginning::machines[where_.machine] & flag) != 0; }

  static budget budget_of(const beginning& where) {
    budget b;
    if ((beginning::machines[where.machine] & beginning::by_rules) != 0) b.log_mcg_entry_bytes = 10;
    return b;
  }

  void open(bool take_over) {
    device_setup setup;
    setup.platform = machine_.platform();
    setup.budget = budget_;
    setup.storage = device_storage_.get();
    setup.storage_bytes = device::storage_bytes(budget_);
    setup.port_wait = clock::seconds(1);
    setup.take_over = take_over;
    if (has(beginning::by_rules)) steer_by_rules(setup);
    if (const status s = device_.open(setup); !s.ok()) found("the device cannot be opened", s);
  }

  template <class Done>
  void drive(Done done, const char* what, std::uint64_t longest = patience) {
    const bool in_time = machine_.run(
        done,
        [this] {
          if (cancel_wanted_) cancel();
          const bool objects = verbs_.is_open();
          const unsigned handled = objects ? verbs_.poll() : device_.poll();
          const std::uint64_t deadline = objects ? verbs_.next_deadline() : device_.next_deadline();
          const std::uint64_t until = watch_.polled(handled, deadline);
          note_step();
          return until;
        },
        longest);
    if (!in_time && longest == patience) found(what);
  }

  void note_step() {
    for (const std::uint64_t number : {machine_.time(), machine_.adapter_reads(),
                                       machine_.adapter_writes(), machine_.messages()})
      steps_.add(number);
  }

  // What the user's Ctrl-C would do. Not at once: the driver is in the midst of something.
  void cancel() {
    cancel_wanted_ = cancel_inside_wanted_ = false;
    if (current_ != nullptr) current_->cancel();
    for (operation* each : pending_)
      if (each != nullptr) each->cancel();
  }

  // A bring-up is cancelled some commands behind the last lie: what comes then, an honest bring-up
  // does too.
  void cut_short(const lies& adapter) {
    constexpr unsigned some = 3;
    std::uint64_t until = 0;
    drive(
        [&] {
          const std::uint64_t posted = device_.commands().statistics().posted;
          if (until == 0 && adapter.used_up()) until = posted + some;
          return up_.done() || (until != 0 && posted >= until);
        },
        "bring-up does not end");
    up_.cancel();
  }

  /// `polls`: how often the driver looks before the operation is left to itself.
  status await(operation& op, const char* what, unsigned polls = ~0u) {
    current_ = &op;
    drive([&] { return op.done() || polls-- == 0; }, what);
    current_ = nullptr;
    return op.done() ? op.outcome() : status(driver_error::cancelled);
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

  // ---- Objects

  bool open_verbs() {
    verbs_events events;
    events.context = this;
    events.request_ended = [](void* self, qp_handle, void*, const queues::work_completion& how,
                              status) noexcept {
      auto& run = *static_cast<driver_run*>(self);
      if (every_object::owns(how.wr_id)) run.every_->take(how);
      else run.messages_->take(how, run.data_is_true());
    };
    if (!verbs_
             .open(device_, objects_, verbs_storage_.get(), verbs::storage_bytes(budget_, objects_),
                   events)
             .ok())
      return false;
    const result<pd_handle> domain = verbs_.create<protection_domain>();
    if (domain.ok()) domain_ = domain.value();
    return domain.ok();
  }

  template <class Task>
  void run_tasks(Task task) {
    running_ = traffic::pairs;
    for (unsigned i = 0; i < traffic::pairs; ++i) (this->*task)(i);
    drive([this] { return running_ == 0; }, "an operation on an object does not end");
  }

  /// False: not all are connected, as where the port has no address.
  bool connect_all() {
    for (auto& c : connections_) c.emplace();
    run_tasks(&driver_run::connect);
    return std::all_of(connections_.begin(), connections_.end(),
                       [](const auto& c) { return c->made; });
  }
  void connect_all_of_honest() {
    if (!open_verbs() || (!connect_all() && device_.port(1).active()))
      found("an honest adapter gives no connected queue pairs");
  }

  void make_every_object() {
    if (!open_verbs()) found("an honest adapter gives no objects");
    every_.emplace(every_object::surroundings{
        machine_, device_, verbs_,
        [this](operation& op, bool drops) {
          return await(op, "an operation on an object does not end", drops ? 2 : ~0u);
        },
        [this](std::uint64_t time) { drive([] { return false; }, "", time); }});
    every_->make(domain_);
  }

  void use(const traffic::plan& what) {
    if (every_) {
      while (!operations_.empty()) every_->perform(operations_);
      return;
    }
    if (where_.point != beginning::connected) {
      if (!open_verbs()) return;
      connect_all();
    }
    plan_ = what;
    use_connections();
  }
  void use_connections() {
    run_tasks(&driver_run::exchange);
    // Time for what was sent; longer only where something is lost, and nobody waits for that here.
    constexpr std::uint64_t long_enough = clock::milliseconds(20);
    drive(
        [this] {
          poll();
          return messages_->outstanding() == 0;
        },
        "", long_enough);
    check_all_arrived();
    // Else all of it is left to the teardown.
    if (!orderly_) return;
    run_tasks(&driver_run::disconnect);
    static_cast<void>(verbs_.destroy(domain_));
  }

  // Waits for an operation that cancel() may end. What follows runs inside its completion.
  auto under_way(unsigned task, operation& op) {
    pending_[task] = &op;
    if (cancel_inside_wanted_) cancel();
    return op.operator co_await();
  }
  void task_ends(unsigned task) {
    pending_[task] = nullptr;
    --running_;
  }

  detached connect(unsigned task) {
    connection& c = *connections_[task];
    const page_list from = messages_->source(task), to = messages_->target(task);
    c.source.start(verbs_, {.pd = domain_,
                            .pages = from,
                            .virtual_address = traffic::source_address(task),
                            .access = {.remote_read = true}});
    status s = co_await under_way(task, c.source);
    c.target.start(verbs_, {.pd = domain_,
                            .pages = to,
                            .virtual_address = traffic::target_address(task),
                            .access = {.local_write = true, .remote_write = true}});
    if (const status t = co_await under_way(task, c.target); s.ok()) s = t;
    c.completions.start(verbs_, {.entries = 15});
    if (const status t = co_await under_way(task, c.completions); s.ok()) s = t;
    if (shares_) {
      c.shared.start(verbs_, {.pd = domain_, .receives = traffic::messages});
      if (const status t = co_await under_way(task, c.shared); s.ok()) s = t;
    }
    if (c.completions.outcome().ok()) {
      c.pair.start(verbs_, {.pd = domain_,
                            .send_cq = c.completions.made(),
                            .receive_cq = c.completions.made(),
                            .sends = traffic::messages,
                            .receives = c.shared.made() ? 0 : traffic::messages,
                            .shared = c.shared.made(),
                            .inline_bytes = traffic::most_inline});
      if (const status t = co_await under_way(task, c.pair); s.ok()) s = t;
    }
    if (s.ok()) {
      const connection_attributes a = loopback(qpn_of(verbs_, c.pair.made()));
      modify_queue_pair m;
      for (const auto state :
           {layouts::qp_state::init, layouts::qp_state::rtr, layouts::qp_state::rts}) {
        m.restart();
        m.start(verbs_, c.pair.made(), state, a);
        s = co_await under_way(task, m);
        if (!s.ok()) break;
      }
    }
    c.made = s.ok();
    task_ends(task);
  }

  detached exchange(unsigned task) {
    connection& c = *connections_[task];
    if (c.made) {
      if (queue_pair* const pair = verbs_.find(c.pair.made()); pair != nullptr)
        messages_->post(
            task, {key_of(verbs_, c.source.made()), key_of(verbs_, c.target.made()), pair->number},
            plan_, pair->rings);
      poll();
      query_queue_pair look;
      look.start(verbs_, c.pair.made());
      static_cast<void>(co_await under_way(task, look));
    }
    task_ends(task);
  }

  detached disconnect(unsigned task) {
    connection& c = *connections_[task];
    if (c.pair.done() && c.pair.outcome().ok()) {
      // Its completions that nobody has polled are dropped.
      messages_->leaves(task);
      destroy_queue_pair d;
      d.start(verbs_, c.pair.made());
      static_cast<void>(co_await under_way(task, d));
    }
    if (c.shared.made()) {
      destroy_shared_receive_queue d;
      d.start(verbs_, c.shared.made());
      static_cast<void>(co_await under_way(task, d));
    }
    if (c.completions.outcome().ok()) {
      destroy_completion_queue d;
      d.start(verbs_, c.completions.made());
      static_cast<void>(co_await under_way(task, d));
    }
    for (create_memory_region* r : {&c.source, &c.target}) {
      if (!r->outcome().ok()) continue;
      destroy_memory_region d;
      d.start(verbs_, r->made());
      static_cast<void>(co_await under_way(task, d));
    }
    task_ends(task);
  }

  void poll() {
    for (const auto& c : connections_) {
      if (!c->made) continue;
      if (completion_queue* const q = verbs_.find(c->completions.made()); q != nullptr)
        messages_->poll(q->rings, data_is_true());
    }
  }

  bool data_is_true() const { return adapter_ == nullptr || !adapter_->changed_writes(); }

  // With an adapter that was honest until now.
  void check_all_arrived() {
    if (plan_.receives_alone || (adapter_ != nullptr && adapter_->told() != 0)) return;
    if (!device_.port(1).active()) return;
    for (const auto& c : connections_)
      if (!c->made) found("an honest adapter gives no connected queue pairs");
    if (messages_->outstanding() != 0 || messages_->ended() != messages_->well())
      found("messages of an honest adapter do not arrive");
  }

  connection_attributes loopback(std::uint32_t qpn) const {
    connection_attributes a;
    a.remote_read = a.remote_write = true;
    a.path_mtu = layouts::ib_mtu::mtu_1024;
    a.remote_qpn = qpn;
    a.address = infiniband_path{.port = 1, .dlid = device_.port(1).lid};
    return a;
  }

  // ---- What must hold

  void check_nothing_left() {
    if (device_.state() != device_state::down) found("the device is not down after teardown");
    if (!device_.holdings().none()) found("something is held after teardown");
    if (device_.holdings().in_doubt() != 0) found("something is in doubt after teardown");
  }

  // An honest adapter: nothing that it was made to say before may have been believed for good.
  void recover() {
    status s = bring_up();
    if (s.is(driver_error::busy)) {
      // It was told that somebody else has a semaphore, when the very read had given it the
      // semaphore.
      monitor_.reset();
      device_.close();
      open(true);
      s = bring_up();
    }
    if (!s.ok()) found("no bring-up after the lies", s);
    every_.reset();
    messages_ = std::make_unique<traffic>(machine_.memory());
    connect_all_of_honest();
    plan_ = {};
    use_connections();
    tear_down();
    messages_->check_memory();
    check_nothing_left();
  }

  const beginning where_;
  input input_{nullptr, 0}, operations_{nullptr, 0};
  digest steps_;
  in_process::machine machine_;
  std::unique_ptr<traffic> messages_;
  const budget budget_ = budget_of(where_);
  const verbs_budget objects_ = every_kind();
  const storage device_storage_ = allocate(device::storage_bytes(budget_)),
                verbs_storage_ = allocate(verbs::storage_bytes(budget_, objects_));
  device device_;
  std::optional<adapter_monitor> monitor_;
  verbs verbs_;
  idle_watch watch_;
  operation up_;  // the bring-up that an input begins in, or does first
  pd_handle domain_{};
  std::array<std::optional<connection>, traffic::pairs> connections_;
  std::optional<every_object> every_;
  traffic::plan plan_;
  bool orderly_ = true;
  bool shares_ = false;            // each queue pair takes its receives from a shared receive queue
  const lies* adapter_ = nullptr;  // while it lies
  operation* current_ = nullptr;
  operation* pending_[traffic::pairs] = {};
  unsigned running_ = 0;
  bool cancel_wanted_ = false, cancel_inside_wanted_ = false;
  bool removed_ = false;
};

}  // namespace

std::unique_ptr<target> make_target(std::uint32_t state) {
  return std::make_unique<driver_run>(beginning::numbered(state));
}

}  // namespace freehca::fuzz
