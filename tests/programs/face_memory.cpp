// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Memory that goes away while it is registered, memory that cannot be registered, and regions of 4
// GiB and more. Mappings that go away are large, and their first bytes are used: a later mapping of
// the process takes the last ones.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

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

/// Whether registered pages stay with the device when the program unmaps them.
bool pins_memory() {
  const char* const device = std::getenv("FREEHCA_DEVICE");
  return device != nullptr && std::strncmp(device, "vfio:", 5) == 0;
}

/// Transfers from and to memory that the program has unmapped. Pinned pages keep their data, so
/// that both end well. The program no longer sees what is written there.
void unmapped_memory_is_an_error_unless_it_is_pinned(std::uint64_t seed) {
  opened_device device;
  for (const bool is_source : {true, false}) {
    loop pairs(device, seed);
    mapping memory(device, removal::unmapped);
    memory.remove();
    ibv_send_wr request = pairs.write_request(1);
    if (is_source) pairs.list = {memory.address() + 100, 3000, memory.region->lkey};
    else request.wr.rdma = {memory.address() + 100, memory.region->rkey};
    require(pairs.a.post(request) == 0, "ibv_post_send");
    const ibv_wc_status end = pairs.a.sent("a request").status;
    if (!pins_memory()) {
      expect_equal(end, is_source ? IBV_WC_LOC_PROT_ERR : IBV_WC_REM_ACCESS_ERR, "status");
    } else {
      expect_equal(end, IBV_WC_SUCCESS, "status of a request with pinned memory");
      if (is_source) std::memset(pairs.to.expected.data(), 7, 3000);
    }
    pairs.to.expect_bytes("memory of the target");
    loop(device, seed).write("a write afterwards");
  }
}

/// Takes what the process writes to standard error.
class captured_errors {
 public:
  captured_errors() : file_(memfd_create("errors", MFD_CLOEXEC)), before_(dup(STDERR_FILENO)) {
    require(file_ >= 0 && before_ >= 0 && dup2(file_, STDERR_FILENO) >= 0, "dup2");
  }
  std::string end() {
    dup2(before_, STDERR_FILENO);
    close(before_);
    std::string text(4096, '\0');
    const ssize_t bytes = pread(file_, text.data(), text.size(), 0);
    close(file_);
    text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
    return text;
  }

 private:
  int file_, before_;
};

/// The registration is refused with this errno and with a message that has these words.
void expect_refusal(opened_device& device, void* at, std::size_t bytes, std::uint64_t address,
                    unsigned access, int error, const std::string& words) {
  captured_errors captured;
  errno = 0;
  const ibv_mr* const made =
      (ibv_reg_mr_iova)(device.pd, at, bytes, address, static_cast<int>(access));
  const int found = errno;
  const std::string text = captured.end();
  expect(made == nullptr, "a region that cannot be: " + words);
  expect_equal(found, error, "errno: " + words);
  expect(text.find("freehca: " + std::to_string(bytes) + " bytes of memory cannot be registered") !=
                 text.npos &&
             text.find(words) != text.npos,
         "a message with '" + words + "', not '" + text + "'");
}

constexpr std::size_t page = 4096;

unsigned char* map_pages(std::size_t count, int rights, int flags = MAP_PRIVATE | MAP_ANONYMOUS,
                         int file = -1) {
  void* const at = mmap(nullptr, count * page, rights, flags, file, 0);
  require(at != MAP_FAILED, "mmap");
  return static_cast<unsigned char*>(at);
}

void memory_without_rights_is_refused(std::uint64_t seed) {
  opened_device device;
  const auto refused = [&](unsigned char* at, unsigned access, const char* words) {
    expect_refusal(device, at, 2 * page, reinterpret_cast<std::uintptr_t>(at), access, EFAULT,
                   words);
  };
  unsigned char* const closed = map_pages(2, PROT_NONE);
  unsigned char* const holed = map_pages(3, PROT_READ | PROT_WRITE);
  unsigned char* const partly = map_pages(3, PROT_READ | PROT_WRITE);
  require(munmap(holed + page, page) == 0, "munmap");
  require(mprotect(partly + page, page, PROT_READ) == 0, "mprotect");
  // Memory of the kernel, and the first page, which nobody has.
  const auto foreign = [](std::uintptr_t at) { return reinterpret_cast<unsigned char*>(at); };
  for (unsigned char* const at : {closed, holed, foreign(std::uintptr_t{1} << 63), foreign(page)})
    for (const unsigned access : {0u, unsigned{IBV_ACCESS_LOCAL_WRITE}})
      refused(at, access, "a page of it is not there, or the process may not read it");
  // A file of somebody else, which the process may only read.
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  unsigned char* const of_file = map_pages(2, PROT_READ, MAP_SHARED, file);
  unsigned char* const read_only = map_pages(2, PROT_READ);
  for (unsigned char* const at : {of_file, read_only, partly})
    refused(at, IBV_ACCESS_LOCAL_WRITE, "the process may not write a page of it");
  loop(device, seed).write("a write afterwards");
  close(file);
}

/// Read-only memory may be sent, and nothing is written to it.
void read_only_memory_is_only_read(std::uint64_t seed) {
  opened_device device;
  loop pairs(device, seed);
  unsigned char* const memory = map_pages(2, PROT_READ | PROT_WRITE);
  std::memcpy(memory, pairs.from.bytes.data(), loop::bytes);
  require(mprotect(memory, 2 * page, PROT_READ) == 0, "mprotect");
  ibv_mr* const region = ibv_reg_mr(device.pd, memory, loop::bytes, IBV_ACCESS_REMOTE_READ);
  require(region != nullptr, "ibv_reg_mr");
  const ibv_sge own = pairs.list;
  pairs.list = {reinterpret_cast<std::uintptr_t>(memory), loop::bytes, region->lkey};
  pairs.write("a write from read-only memory");
  pairs.list = own;
  ibv_send_wr request = pairs.write_request(1);
  request.wr.rdma = {reinterpret_cast<std::uintptr_t>(memory), region->rkey};
  require(pairs.a.post(request) == 0, "ibv_post_send");
  expect_equal(pairs.a.sent("a write").status, IBV_WC_REM_ACCESS_ERR, "status of a write to it");
  expect_equal(std::memcmp(memory, pairs.from.bytes.data(), loop::bytes), 0, "its bytes");
  expect_equal(ibv_dereg_mr(region), 0, "ibv_dereg_mr");
}

/// ibv_reg_mr_iova(): data entries use other addresses, which may begin at 0.
void regions_have_addresses_of_their_own(std::uint64_t seed) {
  opened_device device;
  loop pairs(device, seed);
  unsigned char* const memory = map_pages(2, PROT_READ | PROT_WRITE);
  constexpr unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  for (const std::uint64_t base : {std::uint64_t{0}, std::uint64_t{1} << 40}) {
    std::memset(memory, 0, 2 * page);
    ibv_mr* const region =
        (ibv_reg_mr_iova)(device.pd, memory + 8, loop::bytes, base + 8, static_cast<int>(access));
    require(region != nullptr, "ibv_reg_mr_iova");
    expect(region->addr == memory + 8, "the address of the region");
    ibv_send_wr request = pairs.write_request(1);
    request.wr.rdma = {base + 8, region->rkey};
    require(pairs.a.post(request) == 0, "ibv_post_send");
    expect_equal(pairs.a.sent("a write").status, IBV_WC_SUCCESS, "status of a write");
    expect_equal(std::memcmp(memory + 8, pairs.from.bytes.data(), loop::bytes), 0, "its bytes");
    expect_equal(ibv_dereg_mr(region), 0, "ibv_dereg_mr");
  }
  errno = 0;
  expect((ibv_reg_mr_iova)(device.pd, memory, page, 8, static_cast<int>(access)) == nullptr,
         "a region whose addresses differ within a page");
  expect_equal(errno, EINVAL, "errno");
}

void regions_may_have_4_gib_and_more(std::uint64_t seed) {
  constexpr std::size_t far = std::size_t{4} << 30;
  opened_device device;
  loop pairs(device, seed);
  unsigned char* const memory = map_pages(far / page + 2, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  constexpr unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  ibv_mr* const region = (ibv_reg_mr)(device.pd, memory, far + 2 * page, static_cast<int>(access));
  require(region != nullptr, "ibv_reg_mr");
  ibv_send_wr request = pairs.write_request(1);
  request.wr.rdma = {address + far + 1, region->rkey};
  require(pairs.a.post(request) == 0, "ibv_post_send");
  expect_equal(pairs.a.sent("a write").status, IBV_WC_SUCCESS, "status of a write behind 4 GiB");
  expect_equal(std::memcmp(memory + far + 1, pairs.from.bytes.data(), loop::bytes), 0, "its bytes");
  expect_equal(memory[1], 0, "a byte that was not written");
  expect_equal(ibv_dereg_mr(region), 0, "ibv_dereg_mr");
  // Addresses that differ in bit 12 need an entry for each 4 KiB. 2^62 bytes are too many for any.
  const std::string limit = "too few free memory translation entries of 2^20";
  expect_refusal(device, memory, far + page, address ^ page, access, ENOMEM, limit);
  expect_refusal(device, memory, std::size_t{1} << 62, address, access, ENOMEM, limit);
  munmap(memory, far + 2 * page);
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
          {"unreadable_there", run<remote_side, removal::unreadable>},
          {"unmapped_memory_is_an_error_unless_it_is_pinned",
           unmapped_memory_is_an_error_unless_it_is_pinned},
          {"memory_without_rights_is_refused", memory_without_rights_is_refused},
          {"read_only_memory_is_only_read", read_only_memory_is_only_read},
          {"regions_have_addresses_of_their_own", regions_have_addresses_of_their_own},
          {"regions_may_have_4_gib_and_more", regions_may_have_4_gib_and_more}};
}

}  // namespace programs
