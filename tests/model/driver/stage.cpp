// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "stage.hpp"

namespace freehca::testing {

using fate = model::command_verdict::fate;
using layouts::opcode;
using layouts::qp_state;

namespace {

rig_options how_of(bool interrupts, bool function_level_reset) {
  rig_options how = exact();
  // Small, so that what is left can be taken by somebody else in no time.
  how.budget.log_mtts = 14;
  how.budget.queue_bytes = std::size_t{1} << 20;
  how.interrupts = interrupts;
  how.machine.function_level_reset = function_level_reset;
  return how;
}

}  // namespace

stage::stage(bool interrupts, bool function_level_reset)
    : rig(how_of(interrupts, function_level_reset)),
      pages_(rig.machine.memory().allocate_scattered(3)) {
  EXPECT_TRUE(rig.objects.close().ok());
  down();
}

stage::~stage() {
  down();
  rig.machine.memory().release(pages_);
}

void stage::down(status expected) {
  fail_none();
  if (rig.adapter.state() != device_state::down) {
    operation op;
    rig.adapter.tear_down(op);
    const status s = end_of(op);
    EXPECT_TRUE(s.who() == expected.who() && s.code() == expected.code()) << words(s);
  }
  EXPECT_TRUE(rig.adapter.holdings().none());
  EXPECT_EQ(rig.adapter.holdings().in_doubt(), 0u);
  EXPECT_TRUE(rig.objects.holdings().none());
  EXPECT_TRUE(rig.objects.close().ok());
  domain_ = {}, region_ = {}, completion_ = {}, shared_ = {}, queue_ = {};
}

void stage::up() {
  if (rig.adapter.up() && rig.objects.is_open()) return clear();
  down();
  must(bring_up());
  EXPECT_TRUE(rig.reopen().ok());
  run_for(clock::milliseconds(1));  // what the device asks by itself
}

void stage::clear() {
  if (!rig.adapter.port_open(2)) must(open_port());
  if (queue_) must(destroy_queue());
  if (shared_) must(destroy_shared());
  if (completion_) must(destroy_completion());
  if (region_) must(destroy_region());
  if (domain_) {
    EXPECT_TRUE(rig.objects.destroy(domain_).ok());
  }
  domain_ = {};
}

status stage::end_of(operation& op) {
  unsigned ends = 0;
  op.then([](operation&, void* n) noexcept { ++*static_cast<unsigned*>(n); }, &ends);
  EXPECT_TRUE(rig.run([&] { return ends > 0; })) << "it does not end";
  const status s = op.outcome();
  run_for(clock::microseconds(10));
  EXPECT_EQ(ends, 1u);
  if (s.ok() && keep_) keep_();
  keep_ = {};
  return s;
}

void stage::must(const started& op) {
  const status s = end_of(*op);
  EXPECT_TRUE(s.ok()) << words(s);
}

void stage::run_for(std::uint64_t nanoseconds) {
  rig.run([] { return false; }, nanoseconds);
}

void stage::fail_command(unsigned n, model::command_verdict verdict, bool counts_datagrams) {
  struck = opcode{};
  rig.machine.adapter().judge_commands(
      [this, n, verdict, counts_datagrams, seen = 0u](
          opcode code, std::uint32_t) mutable -> model::command_verdict {
        if ((code == opcode::mad_ifc && !counts_datagrams) || ++seen != n) return {};
        struck = code;
        return verdict;
      });
}

void stage::fail_none() {
  rig.machine.adapter().judge_commands({});
}

void stage::make_domain() {
  const result<pd_handle> made = rig.objects.create<protection_domain>();
  ASSERT_TRUE(made.ok());
  domain_ = made.value();
}

void stage::make_region() {
  make_domain();
  must(create_region());
}

void stage::make_completion() {
  must(create_completion());
}

void stage::make_shared() {
  make_domain();
  must(create_shared());
}

void stage::make_queue(qp_state in, layouts::qp_service service) {
  if (!domain_) make_domain();
  make_completion();
  must(create_queue(service));
  if (in == qp_state::reset) return;
  for (const qp_state to : {qp_state::init, qp_state::rtr, qp_state::rts}) {
    must(move_queue(to));
    if (to == in) return;
  }
  must(move_queue(in));
}

namespace {
void be_impatient(device& with) {
  for (const patience p : {patience::probe, patience::ordinary, patience::lengthy})
    with.commands().set_limit(p, clock::milliseconds(20));
}
}  // namespace

stage::started stage::bring_up() {
  auto op = std::make_shared<operation>();
  rig.adapter.bring_up(*op);
  be_impatient(rig.adapter);
  return op;
}

stage::started stage::recover() {
  auto op = std::make_shared<operation>();
  rig.adapter.recover(*op);
  be_impatient(rig.adapter);
  return op;
}

stage::started stage::close_port() {
  auto op = std::make_shared<port_operation>();
  op->close(rig.adapter, 2);
  return op;
}

stage::started stage::open_port() {
  auto op = std::make_shared<port_operation>();
  op->open(rig.adapter, 2);
  return op;
}

stage::started stage::tear_down() {
  auto op = std::make_shared<operation>();
  rig.adapter.tear_down(*op);
  return op;
}

stage::started stage::create_region() {
  auto op = std::make_shared<create_memory_region>();
  op->start(rig.objects, {.pd = domain_,
                          .pages = page_list(pages_.addresses.data(), 12, 8, 9000),
                          .virtual_address = 8});
  keep_ = [this, made = op.get()] { region_ = made->made(); };
  return op;
}

stage::started stage::destroy_region() {
  auto op = std::make_shared<destroy_memory_region>();
  op->start(rig.objects, region_);
  keep_ = [this] { region_ = {}; };
  return op;
}

stage::started stage::create_completion() {
  auto op = std::make_shared<create_completion_queue>();
  op->start(rig.objects, {.entries = 100});
  keep_ = [this, made = op.get()] { completion_ = made->made(); };
  return op;
}

stage::started stage::destroy_completion() {
  auto op = std::make_shared<destroy_completion_queue>();
  op->start(rig.objects, completion_);
  keep_ = [this] { completion_ = {}; };
  return op;
}

stage::started stage::create_shared() {
  auto op = std::make_shared<create_shared_receive_queue>();
  op->start(rig.objects, {.pd = domain_, .receives = 7});
  keep_ = [this, made = op.get()] { shared_ = made->made(); };
  return op;
}

stage::started stage::arm_shared() {
  auto op = std::make_shared<arm_shared_receive_queue>();
  op->start(rig.objects, shared_, 3);
  return op;
}

stage::started stage::destroy_shared() {
  auto op = std::make_shared<destroy_shared_receive_queue>();
  op->start(rig.objects, shared_);
  keep_ = [this] { shared_ = {}; };
  return op;
}

stage::started stage::create_queue(layouts::qp_service service) {
  auto op = std::make_shared<create_queue_pair>();
  op->start(rig.objects, {.pd = domain_,
                          .send_cq = completion_,
                          .receive_cq = completion_,
                          .service = service,
                          .sends = 4,
                          .receives = shared_ ? 0u : 4u,
                          .shared = shared_});
  keep_ = [this, made = op.get()] { queue_ = made->made(); };
  return op;
}

stage::started stage::move_queue(qp_state to) {
  auto op = std::make_shared<modify_queue_pair>();
  connection_attributes a;
  a.remote_qpn = qpn_of(rig.objects, queue_);
  a.address = infiniband_path{.dlid = rig.adapter.port(1).lid};
  op->start(rig.objects, queue_, to, a);
  return op;
}

stage::started stage::read_queue() {
  auto op = std::make_shared<query_queue_pair>();
  op->start(rig.objects, queue_);
  return op;
}

stage::started stage::destroy_queue() {
  auto op = std::make_shared<destroy_queue_pair>();
  op->start(rig.objects, queue_);
  keep_ = [this] { queue_ = {}; };
  return op;
}

void stage::forget_stale() {
  if (qpn_of(rig.objects, queue_) == 0) queue_ = {};
  if (rig.objects.find(completion_) == nullptr) completion_ = {};
  if (rig.objects.find(shared_) == nullptr) shared_ = {};
  if (key_of(rig.objects, region_) == 0) region_ = {};
}

const std::vector<command_sequence>& all_sequences() {
  static const std::vector<command_sequence> all = [] {
    const auto nothing = [](stage&) {};
    std::vector<command_sequence> s;
    s.push_back({"bring-up", true, true, [](stage& on) { on.down(); },
                 [](stage& on) { return on.bring_up(); }});
    s.push_back({"teardown", true, true,
                 [](stage& on) {
                   on.up();
                   EXPECT_TRUE(on.rig.objects.close().ok());
                 },
                 [](stage& on) { return on.tear_down(); }});
    s.push_back({.name = "recovery",
                 .of_the_device = true,
                 .prepare =
                     [](stage& on) {
                       on.up();
                       EXPECT_TRUE(on.rig.objects.close().ok());
                     },
                 .start = [](stage& on) { return on.recover(); }});
    s.push_back({.name = "close port",
                 .names_an_object = false,
                 .prepare = nothing,
                 .start = [](stage& on) { return on.close_port(); }});
    s.push_back({.name = "open port",
                 .names_an_object = false,
                 .prepare = [](stage& on) { on.must(on.close_port()); },
                 .start = [](stage& on) { return on.open_port(); }});
    s.push_back({"create region", false, true, [](stage& on) { on.make_domain(); },
                 [](stage& on) { return on.create_region(); }});
    s.push_back({"destroy region", false, true, [](stage& on) { on.make_region(); },
                 [](stage& on) { return on.destroy_region(); }});
    s.push_back({"create completion queue", false, true, nothing,
                 [](stage& on) { return on.create_completion(); }});
    s.push_back({"destroy completion queue", false, true, [](stage& on) { on.make_completion(); },
                 [](stage& on) { return on.destroy_completion(); }});
    s.push_back({"create shared receive queue", false, true, [](stage& on) { on.make_domain(); },
                 [](stage& on) { return on.create_shared(); }});
    s.push_back({"arm shared receive queue", false, true, [](stage& on) { on.make_shared(); },
                 [](stage& on) { return on.arm_shared(); }});
    s.push_back({"destroy shared receive queue", false, true, [](stage& on) { on.make_shared(); },
                 [](stage& on) { return on.destroy_shared(); }});
    for (const auto& [service, name] :
         {std::pair{layouts::qp_service::uc, "UC"}, std::pair{layouts::qp_service::ud, "UD"}})
      for (const auto& [from, to] :
           {std::pair{qp_state::reset, qp_state::init}, std::pair{qp_state::init, qp_state::rtr},
            std::pair{qp_state::rtr, qp_state::rts}, std::pair{qp_state::rts, qp_state::error}})
        s.push_back({std::string(name) + " queue pair with shared receives to state " +
                         std::to_string(static_cast<unsigned>(to)),
                     false, true,
                     [service = service, from = from](stage& on) {
                       on.make_shared();
                       on.make_queue(from, service);
                     },
                     [to = to](stage& on) { return on.move_queue(to); }});
    s.push_back({"create queue pair", false, true,
                 [](stage& on) {
                   on.make_domain();
                   on.make_completion();
                 },
                 [](stage& on) { return on.create_queue(); }});
    constexpr struct {
      qp_state state;
      const char* name;
    } states[] = {{qp_state::reset, "RESET"},
                  {qp_state::init, "INIT"},
                  {qp_state::rtr, "RTR"},
                  {qp_state::rts, "RTS"},
                  {qp_state::error, "ERROR"}};
    for (const auto& in : states) {
      const auto there = [in](stage& on) { on.make_queue(in.state); };
      s.push_back({std::string("destroy queue pair in ") + in.name, false, true, there,
                   [](stage& on) { return on.destroy_queue(); }});
      if (in.state != qp_state::reset)
        s.push_back({std::string("query queue pair in ") + in.name, false, true, there,
                     [](stage& on) { return on.read_queue(); }});
      for (const auto& to : states) {
        const bool leads_out = to.state == qp_state::reset || to.state == qp_state::error;
        const bool onwards = &to == &in + 1 && to.state != qp_state::error;
        if (!onwards && (!leads_out || in.state == qp_state::reset)) continue;
        s.push_back({std::string("queue pair from ") + in.name + " to " + to.name, false, true,
                     there, [to](stage& on) { return on.move_queue(to.state); }});
      }
    }
    return s;
  }();
  return all;
}

}  // namespace freehca::testing
