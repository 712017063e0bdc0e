// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A preloaded object with the files of one device that does not exist.
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include <freehca/ibverbs_files/device_facts.hpp>

namespace {

using namespace freehca::ibverbs_files;

std::atomic<std::uint64_t> calls{0};

const device_facts& facts() {
  thread_local device_facts kept;
  device_facts now;
  now.name = "freehca7";
  now.uverbs_name = "uverbs77";
  now.node_guid = 0x0002c90300f0d0a1;
  now.system_image_guid = 0x0002c90300f0d0a4;
  now.vendor = 0x15b3;
  now.device = 4099;
  now.revision = 1;
  now.firmware_version = "2.42.5700";
  now.board_id = "FRE0000000001";
  now.node_description = "files under test";
  now.port_count = 1;
  port_facts& port = now.ports[0];
  port.state = "4: ACTIVE";
  port.physical_state = "5: LinkUp";
  port.rate = "56 Gb/sec (4X FDR)";
  port.lid = 0x1c;
  port.sm_lid = 2;
  port.capability_mask = 0x02510868;
  gid_facts gid;
  gid.raw = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 3, 0, 0xf0, 0xd0, 0xa2};
  port.gids = {gid, gid_facts{}, gid_facts{}};
  port.gids[1].type = "RoCE v2";
  port.gids[1].network_device = "lo";
  port.gids[2].type.clear();
  port.network_device = "eth7";
  port.mac = {0, 2, 0xc9, 0xf0, 0xd0, 0xa2};
  port.pkeys = {0xffff, 0x8001};
  // Another value each time, and what the source sees of the tree itself.
  errno = 0;
  const int seen = access("/sys/class/infiniband/freehca7/node_type", F_OK);
  port.counters = {{"calls", ++calls},
                   {"seen_by_source", seen == 0 ? 0 : static_cast<std::uint64_t>(errno)}};
  port.hardware_counters = {{"lifespan", 12}};
  kept = now;
  return kept;
}

__attribute__((constructor)) void begin() {
  set_facts_source(facts);
}

}  // namespace
