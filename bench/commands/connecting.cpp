// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "connecting.hpp"

#include <vector>

#include <freehca/in_process/detached.hpp>

namespace freehca::bench {
namespace {

using in_process::detached;

class measurement {
 public:
  measurement(const driven& by, const connecting_options& how)
      : by_(by), how_(how), queues_(how.queue_pairs) {}

  connecting_result run() {
    connecting_result r;
    const std::uint64_t began = by_.now(), issued = by_.adapter.info().commands_issued;
    r.outcome = each_of_them(&measurement::connect);
    r.nanoseconds = by_.now() - began;
    r.commands = by_.adapter.info().commands_issued - issued;
    if (r.outcome.ok()) how_.connected();
    const status destroyed = each_of_them(&measurement::destroy);
    if (r.outcome.ok()) r.outcome = destroyed;
    return r;
  }

 private:
  // Runs `work` for every queue pair, so many at a time, and waits for the end.
  status each_of_them(detached (measurement::*work)()) {
    next_ = 0;
    running_ = how_.at_a_time;
    failure_ = {};
    for (unsigned i = 0; i < how_.at_a_time; ++i) (this->*work)();
    FREEHCA_TRY(by_.until([this] { return running_ == 0; }));
    return failure_;
  }

  detached connect() {
    while (failure_.ok() && next_ < how_.queue_pairs) {
      const std::size_t mine = next_++;
      create_queue_pair created;
      created.start(by_.objects, {.pd = by_.domain,
                                  .send_cq = by_.completions,
                                  .receive_cq = by_.completions,
                                  .sends = 1,
                                  .receives = 1});
      status s = co_await created;
      queues_[mine] = created.made();
      const connection_attributes a = loopback(qpn_of(by_.objects, created.made()));
      for (const auto to :
           {layouts::qp_state::init, layouts::qp_state::rtr, layouts::qp_state::rts}) {
        if (!s.ok()) break;
        modify_queue_pair m;
        m.start(by_.objects, queues_[mine], to, a);
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
      d.start(by_.objects, mine);
      note(co_await d);
    }
    --running_;
  }

  // Each is its own peer: RTR and RTS need no other.
  connection_attributes loopback(std::uint32_t qpn) const {
    connection_attributes a;
    a.remote_write = true;
    a.path_mtu = by_.adapter.port(1).active_mtu;
    a.remote_qpn = qpn;
    a.address = infiniband_path{.port = 1, .dlid = by_.adapter.port(1).lid};
    return a;
  }

  void note(status s) {
    if (failure_.ok()) failure_ = s;
  }

  driven by_;
  connecting_options how_;
  std::vector<qp_handle> queues_;
  std::size_t next_ = 0;
  unsigned running_ = 0;
  status failure_;
};

}  // namespace

connecting_result connect_queue_pairs(const driven& by, const connecting_options& how) {
  return measurement(by, how).run();
}

}  // namespace freehca::bench
