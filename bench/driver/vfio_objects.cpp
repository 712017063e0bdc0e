// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <array>
#include <string>

#include <freehca/firmware_cmds/object_contexts.hpp>
#include <freehca/hca/kinds/change_memory_region.hpp>
#include <freehca/hca/kinds/replace_memory_region.hpp>
#include <freehca/loopback_traffic/scattered_memory.hpp>

#include "vfio_program.hpp"

namespace freehca::bench {
namespace {

constexpr unsigned at_a_time = 8;  // calls of the smaller of two rounds
constexpr std::uint32_t small = 16;

class object_rows : public vfio_program {
 public:
  object_rows(const vfio_program& in, const idler& idle) : vfio_program(in), idle_(idle) {}

  void measure() {
    service("UC", layouts::qp_service::uc);
    service("UD", layouts::qp_service::ud);
    kind<shared_receive_queue>("shared receive queue", {.pd = domain_, .receives = small});
    kind<memory_window>("memory window", {.pd = domain_});
    address_handle_attributes way{.pd = domain_};
    way.address = infiniband_path{.dlid = rig_.adapter.port(1).lid};
    kind<address_handle>("address handle", way);
    extended_connections();
    completion_queues();
    regions();
    groups();
    queries();
  }

 private:
  template <class Make, class End>
  request_cost measured(Make make, End end) {
    return for_each_call(idle_, at_a_time, make, end);
  }
  template <class Call>
  void tell_call(const char* row, Call call) {
    tell(row, measured(call, [](unsigned) {}).post);
  }

  template <class Kind>
  void kind(const std::string& what, const typename Kind::attributes& a) {
    std::array<handle<Kind>, 2 * 2 * at_a_time> made;
    const request_cost c = measured([&](unsigned i) { made[i] = make<Kind>(a); },
                                    [&](unsigned i) { destroy(made[i]); });
    tell(("create: " + what).c_str(), c.post);
    tell(("destroy: " + what).c_str(), c.poll);
  }

  void service(const std::string& name, layouts::qp_service of) {
    auto a = of_size(small);
    a.service = of;
    kind<queue_pair>(name + " queue pair", a);
  }

  void extended_connections() {
    kind<xrc_domain>("XRC domain", {});
    const xrcd_handle shared = make<xrc_domain>();
    const xrc_cq_handle done = make<xrc_completion_queue>({.entries = 2 * small});
    kind<xrc_queue_pair>("XRC initiator", {.pd = domain_, .cq = sent_, .sends = small});
    kind<xrc_queue_pair>("XRC target", {.domain = shared, .pd = domain_, .cq = sent_});
    kind<xrc_receive_queue>("XRC receive queue",
                            {.pd = domain_, .domain = shared, .cq = done, .receives = small});
    destroy(done);
    destroy(shared);
  }

  // A program that resizes a queue makes its new ring, and destroys the previous one.
  void completion_queues() {
    const auto resizable = make<resizable_completion_queue>({.entries = 2 * ring - 1});
    resize_completion_queue resize;
    tell_call("resize a completion queue", [&](unsigned i) {
      const auto next =
          make<completion_ring>({.entries = i % 2 == 0 ? 4 * ring - 1 : 2 * ring - 1});
      perform(resize, resizable, next);
      destroy(next);
    });
    moderate_completion_queue moderate;
    tell_call("moderate a completion queue", [&](unsigned i) {
      perform(moderate, cq_handle(resizable), std::uint16_t(1 + i % 2), std::uint16_t{1});
    });
    destroy(resizable);
  }

  void regions() {
    loopback_traffic::scattered_memory memory;
    need(memory.allocate(rig_.adapter.platform(), 4096, 1), "memory");
    const mr_handle region = make<memory_region>(
        {.pd = domain_, .pages = memory.pages(), .access = {.local_write = true}});
    change_memory_region change;
    tell_call("change a region's rights", [&](unsigned i) {
      perform(change, region, pd_handle{},
              memory_access{.local_write = true, .remote_write = i % 2 == 0});
    });
    replace_memory_region replace;
    tell_call("replace a region's memory", [&](unsigned) {
      perform(replace, region,
              memory_region_attributes{
                  .pd = domain_, .pages = memory.pages(), .access = {.local_write = true}});
    });
    destroy(region);
  }

  void groups() {
    auto a = of_size(small);
    a.service = layouts::qp_service::ud;
    const qp_handle q = connected(make<queue_pair>(a));
    const multicast_table_handle table = make<multicast_table>();
    std::array<membership_handle, 2 * 2 * at_a_time> members;
    join_group join;
    leave_group leave;
    const request_cost c = measured(
        [&](unsigned i) {
          group_attributes to{.table = table, .pair = q};
          to.group.raw[0] = 0xff;
          to.group.raw[1] = 0x12;
          to.group.raw[15] = static_cast<std::uint8_t>(i);
          perform(join, to);
          members[i] = join.made();
        },
        [&](unsigned i) { perform(leave, members[i]); });
    tell("join a multicast group", c.post);
    tell("leave a multicast group", c.poll);
    destroy(table);
    destroy(q);
  }

  void queries() {
    const srq_handle shared = make<shared_receive_queue>({.pd = domain_, .receives = small});
    const qp_handle q = connected(make<queue_pair>(of_size(small)));
    query_queue_pair query;
    tell_call("query a queue pair", [&](unsigned) {
      perform(query, q);
      if (report_of(objects(), query).state != layouts::qp_state::rts) fail("a state");
    });
    // No operation queries a shared receive queue. A program sends the command.
    firmware_command<commands::query_srq> ask{objects().find(shared)->number};
    tell_call("query a shared receive queue", [&](unsigned) {
      ask.restart();
      rig_.adapter.commands().submit(ask);
      need(rig_.await(ask), "QUERY_SRQ");
    });
    arm_shared_receive_queue arm;
    tell_call("arm a shared receive queue",
              [&](unsigned) { perform(arm, shared, std::uint32_t{0}); });
    destroy(q);
    destroy(shared);
  }

  const idler& idle_;
};

}  // namespace

void measure_objects(const vfio_program& in, const idler& idle) {
  object_rows(in, idle).measure();
}

}  // namespace freehca::bench
