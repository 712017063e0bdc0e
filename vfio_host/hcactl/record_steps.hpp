// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>
#include <utility>

#include <freehca/blocking/session.hpp>
#include <freehca/firmware_cmds/command_client.hpp>
#include <freehca/firmware_cmds/raw_command.hpp>
#include <freehca/loopback_traffic/traffic.hpp>
#include <freehca/recorder/recorder.hpp>

namespace freehca::hcactl {

/// The result of a recorded session.
struct recorded_session {
  status outcome;
  std::string doing;  ///< name of the failed action
  std::string wrong;  ///< description of wrong data; empty: none
  unsigned port = 0;  ///< port of the traffic; 0: no port is active
};

/// Queries the contexts of all live objects, so that they are in the recording. The event queues
/// are armed before each query. Otherwise the driver would arm one while the adapter reads its
/// context, and a replay would read it before or after that.
inline status read_contexts(blocking::session& driver, const recorder::recorder& listening) {
  command_client user(driver.adapter().hardware().commands());
  std::byte context[mailbox::bytes];
  for (const recorder::live_object& o : listening.live_objects()) {
    raw_command query;
    query.request.opcode = o.query;
    query.request.input_modifier = o.number;
    query.set_output_mailbox(context, sizeof context);
    query.set_deadline(driver.adapter().hardware().platform().now() + clock::seconds(10));
    for (unsigned look = 0; look < 100 && driver.adapter().next_deadline() == 0; ++look)
      driver.adapter().poll();
    user.submit(query);
    FREEHCA_TRY(driver.wait(query));
  }
  return {};
}

/// The steps of `hcactl record` with an open adapter; each has a name in the recording. They are
/// bring-up, loopback traffic by RC and by UD on `port` if it is active (0: the first active port),
/// and teardown. The adapter is down afterwards in every case. `memory` must outlive the session.
inline recorded_session run_recorded(blocking::session& driver,
                                     loopback_traffic::traffic_memory& memory, unsigned port,
                                     unsigned messages, recorder::recorder& listening) {
  recorded_session r;
  const auto note = [&r](status s, const char* what) {
    if (s.ok() || !r.outcome.ok()) return;
    r.outcome = s;
    r.doing = what;
  };
  listening.step("bring-up");
  note(driver.wait(driver.adapter().bring_up()), "bring-up");
  if (r.outcome.ok()) {
    const device_info info = driver.adapter().hardware().info();
    for (unsigned p = 1; p <= info.ports && r.port == 0; ++p)
      if ((port == 0 || p == port) && info.port[p - 1].active()) r.port = p;
  }
  using layouts::qp_service;
  const std::pair<qp_service, const char*> kinds[] = {{qp_service::rc, "RC traffic"},
                                                      {qp_service::ud, "UD traffic"}};
  for (const auto& kind : kinds) {
    const qp_service service = kind.first;
    const char* const name = kind.second;
    if (!r.outcome.ok() || !r.wrong.empty() || r.port == 0) break;
    listening.step(name);
    bool read = false;
    status contexts;
    const auto t = loopback_traffic::run_traffic(
        driver, memory, {.port = r.port, .messages = messages, .service = service},
        [&](const loopback_traffic::tally&) {
          // Once, after the queues were used and before they are destroyed.
          if (read) return;
          read = true;
          listening.step(std::string("contexts in ") + name);
          contexts = read_contexts(driver, listening);
          listening.step(name);
        });
    r.wrong = t.wrong;
    note(t.outcome, name);
    note(contexts, "reading contexts");
  }
  listening.step("teardown");
  note(driver.tear_down(), "teardown");
  return r;
}

}  // namespace freehca::hcactl
