// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "connecting.hpp"

#include <vector>

#include <freehca/in_process/detached.hpp>

#include "rig.hpp"

namespace freehca::bench {
namespace {

using in_process::detached;

class measurement {
 public:
  explicit measurement(const connecting_options& how)
      : how_(how), rig_(machine_of(how), how.queue_pairs), queues_(how.queue_pairs) {}

  connecting_result run() {
    connecting_result r;
    r.outcome = rig_.open();
    if (r.outcome.ok()) {
      const std::uint64_t began = rig_.machine.time(), issued = rig_.adapter.info().commands_issued;
      r.outcome = each_of_them(&measurement::connect);
      r.nanoseconds = rig_.machine.time() - began;
      r.commands = rig_.adapter.info().commands_issued - issued;
    }
    const status closed = close();
    if (r.outcome.ok()) r.outcome = closed;
    return r;
  }

 private:
  static in_process::machine_options machine_of(const connecting_options& how) {
    in_process::machine_options m;
    m.model.log_max_commands = how.log_max_commands;
    m.model.faults.command_latency_ns = how.latency_ns;
    m.model.faults.commands_side_by_side = how.side_by_side;
    m.post_ns = how.post_ns;
    return m;
  }
  // Runs `work` for every queue pair, so many at a time, and waits for the end.
  status each_of_them(detached (measurement::*work)()) {
    next_ = 0;
    running_ = how_.at_a_time;
    failure_ = {};
    for (unsigned i = 0; i < how_.at_a_time; ++i) (this->*work)();
    FREEHCA_TRY(rig_.drive([this] { return running_ == 0; }));
    return failure_;
  }

  detached connect() {
    while (failure_.ok() && next_ < how_.queue_pairs) {
      const std::size_t mine = next_++;
      create_queue_pair created;
      created.start(rig_.objects, {.pd = rig_.domain,
                                   .send_cq = rig_.completions,
                                   .receive_cq = rig_.completions,
                                   .sends = 1,
                                   .receives = 1});
      status s = co_await created;
      queues_[mine] = created.queue();
      const connection_attributes a = loopback(created.qpn());
      for (const auto to :
           {layouts::qp_state::init, layouts::qp_state::rtr, layouts::qp_state::rts}) {
        if (!s.ok()) break;
        modify_queue_pair m;
        m.start(rig_.objects, queues_[mine], to, a);
        s = co_await m;
      }
      note(s);
    }
    --running_;
  }

  detached destroy() {
    while (next_ < how_.queue_pairs) {
      const qp_handle mine = queues_[next_++];
      if (!mine) continue;
      destroy_queue_pair d;
      d.start(rig_.objects, mine);
      note(co_await d);
    }
    --running_;
  }

  // Each is its own peer: RTR and RTS need no other.
  connection_attributes loopback(std::uint32_t qpn) const {
    connection_attributes a;
    a.remote_write = true;
    a.path_mtu = rig_.adapter.port(1).active_mtu;
    a.remote_qpn = qpn;
    a.address.port = 1;
    a.address.dlid = rig_.adapter.port(1).lid;
    return a;
  }

  status close() {
    const status first = each_of_them(&measurement::destroy);
    const status closed = rig_.close();
    return first.ok() ? closed : first;
  }

  void note(status s) {
    if (failure_.ok()) failure_ = s;
  }

  connecting_options how_;
  rig rig_;
  std::vector<qp_handle> queues_;
  std::size_t next_ = 0;
  unsigned running_ = 0;
  status failure_;
};

}  // namespace

connecting_result connect_queue_pairs(const connecting_options& how) {
  return measurement(how).run();
}

}  // namespace freehca::bench
