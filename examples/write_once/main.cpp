// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Writes 64 bytes through an adapter that is bound to vfio-pci.
// Usage: write_once 0000:03:00.0
#include <cstdio>
#include <cstring>

#include <freehca/blocking/session.hpp>

using namespace freehca;

status write_once(blocking::session& session) {
  easy::adapter& hca = session.adapter();
  FREEHCA_TRY(session.wait(hca.bring_up()));
  FREEHCA_GET(const easy::memory from, session.wait(hca.allocate(4096)));
  FREEHCA_GET(const easy::memory to, session.wait(hca.allocate(4096, easy::rights::remote_write)));
  FREEHCA_GET(const easy::connection a, session.wait(hca.open_rc()));
  FREEHCA_GET(const easy::connection b, session.wait(hca.open_rc()));
  FREEHCA_TRY(session.wait(hca.connect(a, b.self)));
  FREEHCA_TRY(session.wait(hca.connect(b, a.self)));
  std::memset(from.host, 0x5a, 64);
  FREEHCA_TRY(a.post(queues::rdma_write{.remote = to.remote(), .data = from.part(0, 64)}));
  FREEHCA_GET(const auto written, session.wait(hca.next(a)));
  if (!written.ok() || std::memcmp(from.host, to.host, 64) != 0) return transport_error::bad_reply;
  return session.wait(hca.tear_down());
}

int main(int argc, char** argv) {
  blocking::session session(argc > 1 ? argv[1] : "");
  if (!session.trouble().empty()) return std::fprintf(stderr, "%s\n", session.trouble().c_str()), 1;
  const status outcome = write_once(session);
  std::printf("64 bytes: %s\n", blocking::words(outcome).c_str());
  return outcome.ok() ? 0 : 1;
}
