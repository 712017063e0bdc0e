// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A recording of our driver on the model, in one process: bring-up, two connected queue pairs, one
// RDMA write, teardown.
#pragma once

#include <memory>
#include <sstream>
#include <string>

#include <freehca/recording/recording.hpp>
#include <freehca/work_requests/send_request.hpp>

#include "rc_pair.hpp"

namespace freehca::testing {

inline constexpr std::size_t written_bytes = 3000;

/// What the driver was asked for, to be found again in the recording.
struct asked {
  std::uint32_t qpn[2], rkey, lkey;
  std::uint64_t source, target;
  std::uint16_t lid;
  layouts::ib_mtu mtu;
};

/// Runs the session with `options`, and returns what it was about.
inline asked run_session(const rig_options& options) {
  asked told{};
  verbs_rig rig(options);
  rc_pair pair(rig);
  constexpr memory_access all{.local_write = true, .remote_read = true, .remote_write = true};
  registered_buffer source(rig, pair.domain, 8192, 100, all),
      target(rig, pair.domain, 8192, 60, all);
  pair.connect();
  for (std::size_t i = 0; i < written_bytes; ++i) *source.at(i) = static_cast<std::byte>(i);
  const queues::data_entry list = source.entry(0, written_bytes);
  EXPECT_TRUE(
      work_requests::post_and_ring(pair.send(0), {.wr_id = 1,
                                                  .list = &list,
                                                  .entries = 1,
                                                  .opcode = work_requests::send_opcode::rdma_write,
                                                  .rkey = target.key,
                                                  .remote_address = target.address()})
          .ok());
  EXPECT_TRUE(pair.next(0).ok());
  for (unsigned i = 0; i < 2; ++i) told.qpn[i] = qpn_of(rig.objects, pair.queue[i]);
  told.rkey = target.key;
  told.lkey = source.key;
  told.source = source.address();
  told.target = target.address();
  told.lid = rig.adapter.port(1).lid;
  told.mtu = rig.adapter.port(1).active_mtu;
  return told;
}

/// A machine with these options is recorded, and `text` becomes the recording. It must outlive the
/// machine.
inline void record_into(in_process::machine_options& how, std::string& text) {
  how.model.record = true;
  how.record = [&text](const char* from, std::size_t bytes) {
    text.append(from, bytes);
    return true;
  };
}

struct session {
  asked told{};
  std::string text;
};

inline session record_session(model::variant kind = model::variant::connectx3_pro) {
  session s;
  rig_options how = exact();
  how.machine.model.kind = kind;
  how.machine.model.record_label = "our driver, in process";
  record_into(how.machine, s.text);
  s.told = run_session(how);
  return s;
}

/// The session of the default variant, recorded once.
inline const session& the_session() {
  static const session s = record_session();
  return s;
}

inline recording::recording read(const std::string& text) {
  std::istringstream from(text);
  return recording::load(from, "test");
}

}  // namespace freehca::testing
