// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Memory that goes away while it is registered. Mappings are large, and their first bytes are used:
// a later mapping of the process takes the last ones.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "face.hpp"

namespace programs {

namespace {

enum class removal { unmapped, truncated, unreadable };

/// A registered mapping whose memory can be taken away.
class mapping {
 public:
  mapping(opened_device& device, removal how) : how_(how) {
    file_ = memfd_create("mapping", MFD_CLOEXEC);
    require(file_ >= 0 && ftruncate(file_, bytes) == 0, "memfd_create");
    at_ = static_cast<unsigned char*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
    require(at_ != MAP_FAILED, "mmap");
    std::memset(at_, 7, 1 << 16);
    region = ibv_reg_mr(device.pd, at_, bytes,
                        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    require(region != nullptr, "ibv_reg_mr");
  }
  ~mapping() {
    expect_equal(ibv_dereg_mr(region), 0, "ibv_dereg_mr of memory that is gone");
    if (how_ != removal::unmapped) munmap(at_, bytes);
    close(file_);
  }
  void remove() {
    if (how_ == removal::unmapped) require(munmap(at_, bytes) == 0, "munmap");
    if (how_ == removal::truncated) require(ftruncate(file_, 0) == 0, "ftruncate");
    if (how_ == removal::unreadable) require(mprotect(at_, bytes, PROT_NONE) == 0, "mprotect");
  }
  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(at_); }
  ibv_mr* region;
  static constexpr std::size_t bytes = 64 << 20;

 private:
  removal how_;
  int file_;
  unsigned char* at_;
};

void local_side(std::uint64_t seed, removal how) {
  opened_device device;
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_SEND}) {
    loop pairs(device, seed);
    mapping memory(device, how);
    pairs.list = {memory.address() + 100, 3000, memory.region->lkey};
    ibv_send_wr request = pairs.write_request(1);
    request.opcode = opcode;
    memory.remove();
    require(pairs.a.post(request) == 0, "ibv_post_send");
    expect_equal(pairs.a.sent("a request").status, IBV_WC_LOC_PROT_ERR, "status of a request");
    expect_equal(pairs.a.state(), IBV_QPS_ERR, "state of the requester");
    expect_equal(pairs.b.state(), IBV_QPS_RTS, "state of the target");
    pairs.to.expect_bytes("memory of the target");
    loop(device, seed).write("a write afterwards");
  }
}

/// The target sleeps, so that its helper thread meets the fault.
void remote_side(std::uint64_t seed, removal how) {
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND})
    run_pair(
        [&](line& other) {
          opened_device device;
          endpoint pair(device, {});
          mapping memory(device, how);
          pair.connect(other);
          const ibv_sge to{memory.address(), memory.bytes, memory.region->lkey};
          require(pair.post_receive(1, to) == 0, "ibv_post_recv");
          memory.remove();
          other.send(to);
          other.meet();
          const bool send = opcode == IBV_WR_SEND;
          expect_equal(pair.received("a receive").status,
                       send ? IBV_WC_LOC_PROT_ERR : IBV_WC_WR_FLUSH_ERR, "status of the receive");
          expect_equal(pair.state(), IBV_QPS_ERR, "state of the target");
          if (!send)
            expect_equal(next_event(device.context, "at the target"), IBV_EVENT_QP_ACCESS_ERR,
                         "event of the target");
          loop(device, seed).write("a write of the target afterwards");
        },
        [&](line& other) {
          opened_device device;
          endpoint pair(device, {});
          buffer memory(seed, 3000);
          ibv_mr* const region = memory.register_part(device.pd, 0, 3000, IBV_ACCESS_LOCAL_WRITE);
          pair.connect(other);
          const auto target = other.receive<ibv_sge>();
          ibv_sge list{memory.at(0), 3000, region->lkey};
          ibv_send_wr request{};
          request.sg_list = &list;
          request.num_sge = 1;
          request.opcode = opcode;
          request.send_flags = IBV_SEND_SIGNALED;
          request.wr.rdma = {target.addr, target.lkey};
          require(pair.post(request) == 0, "ibv_post_send");
          expect_equal(pair.sent("a request").status,
                       opcode == IBV_WR_SEND ? IBV_WC_REM_OP_ERR : IBV_WC_REM_ACCESS_ERR,
                       "status of a request");
          memory.expect_bytes("memory of the requester");
          other.meet();
          pair.destroy();
        });
}

template <void (*Side)(std::uint64_t, removal), removal How>
void run(std::uint64_t seed) {
  Side(seed, How);
}

}  // namespace

std::vector<test> memory_tests() {
  return {{"unmapped_here", run<local_side, removal::unmapped>},
          {"truncated_here", run<local_side, removal::truncated>},
          {"unreadable_here", run<local_side, removal::unreadable>},
          {"unmapped_there", run<remote_side, removal::unmapped>},
          {"truncated_there", run<remote_side, removal::truncated>},
          {"unreadable_there", run<remote_side, removal::unreadable>}};
}

}  // namespace programs
