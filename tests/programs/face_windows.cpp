// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Memory windows, and regions that are registered again.
#include <cerrno>
#include <cstring>

#include "face.hpp"

namespace programs {

namespace {

constexpr unsigned remote_write = IBV_ACCESS_REMOTE_WRITE;

/// The memory to which the pair writes, once more as a region that permits windows.
struct bindable {
  bindable(opened_device& device, loop& of)
      : region(of.to.register_part(device.pd, 0, loop::bytes,
                                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)),
        pairs(of) {
    require(region != nullptr, "ibv_reg_mr");
  }
  ibv_mw_bind_info whole() const {
    return {region, reinterpret_cast<std::uintptr_t>(region->addr), loop::bytes, remote_write};
  }
  ibv_wc_status write(std::uint32_t key) const {
    ibv_send_wr request = pairs.write_request(1);
    request.wr.rdma = {reinterpret_cast<std::uintptr_t>(region->addr), key};
    require(pairs.a.post(request) == 0, "ibv_post_send");
    return pairs.a.sent("a write").status;
  }
  ibv_mr* region;
  loop& pairs;
};

void windows_of_type_1_are_bound_and_unbound(std::uint64_t seed) {
  opened_device device;
  loop pairs(device, seed);
  const bindable to(device, pairs);
  ibv_mw* const window = ibv_alloc_mw(device.pd, IBV_MW_TYPE_1);
  require(window != nullptr, "ibv_alloc_mw");
  ibv_mw_bind how{5, IBV_SEND_SIGNALED, to.whole()};
  const auto bind = [&](const char* what) {
    const std::uint32_t before = window->rkey;
    require(ibv_bind_mw(pairs.b.qp, window, &how) == 0, what);
    const ibv_wc done = pairs.b.sent(what);
    expect_equal(done.status, IBV_WC_SUCCESS, what);
    expect_equal(done.opcode, IBV_WC_BIND_MW, what);
    expect(done.wr_id == 5, what);
    expect_equal(window->rkey, ibv_inc_rkey(before), "the key of the window");
  };
  bind("a binding");
  expect_equal(to.write(window->rkey), IBV_WC_SUCCESS, "status of a write");
  expect_equal(ibv_dereg_mr(to.region), EBUSY, "ibv_dereg_mr of a bound region");
  bind("another binding");
  expect_equal(to.write(window->rkey), IBV_WC_SUCCESS, "status of another write");
  how.bind_info.mw_access_flags |= IBV_ACCESS_ZERO_BASED;
  const std::uint32_t key = window->rkey;
  expect_equal(ibv_bind_mw(pairs.b.qp, window, &how), EINVAL, "a binding from address 0 on");
  expect_equal(window->rkey, key, "the key of the window");
  how.bind_info = {nullptr, 0, 0, 0};
  bind("a binding of no bytes");
  expect_equal(to.write(window->rkey), IBV_WC_REM_ACCESS_ERR, "status of a write without binding");
  expect_equal(ibv_dealloc_mw(window), 0, "ibv_dealloc_mw");
  errno = 0;
  expect(ibv_alloc_mw(device.pd, static_cast<ibv_mw_type>(3)) == nullptr, "a window of type 3");
  expect_equal(errno, EINVAL, "errno of a window of type 3");
}

void windows_of_type_2_are_invalidated(std::uint64_t seed) {
  opened_device device;
  loop pairs(device, seed);
  const bindable to(device, pairs);
  ibv_mw* const window = ibv_alloc_mw(device.pd, IBV_MW_TYPE_2);
  require(window != nullptr, "ibv_alloc_mw");
  ibv_send_wr request{};
  request.opcode = IBV_WR_BIND_MW;
  request.send_flags = IBV_SEND_SIGNALED;
  request.bind_mw = {window, ibv_inc_rkey(window->rkey), to.whole()};
  require(pairs.b.post(request) == 0, "ibv_post_send of a binding");
  expect_equal(pairs.b.sent("a binding").status, IBV_WC_SUCCESS, "status of a binding");
  const std::uint32_t key = request.bind_mw.rkey;
  expect_equal(to.write(key), IBV_WC_SUCCESS, "status of a write");
  ibv_send_wr end{};
  end.opcode = IBV_WR_LOCAL_INV;
  end.send_flags = IBV_SEND_SIGNALED;
  end.invalidate_rkey = key;
  require(pairs.b.post(end) == 0, "ibv_post_send of an invalidation");
  const ibv_wc done = pairs.b.sent("an invalidation");
  expect_equal(done.status, IBV_WC_SUCCESS, "status of an invalidation");
  expect_equal(done.opcode, IBV_WC_LOCAL_INV, "opcode of an invalidation");
  request.bind_mw.bind_info.length = 0;
  expect_equal(pairs.b.post(request), EINVAL, "a binding of type 2 of no bytes");
  request.bind_mw.mw = nullptr;
  expect_equal(pairs.b.post(request), EINVAL, "a binding without a window");
  expect_equal(to.write(key), IBV_WC_REM_ACCESS_ERR, "status of a write after the invalidation");
  expect_equal(ibv_dealloc_mw(window), 0, "ibv_dealloc_mw");
}

void regions_are_registered_again(std::uint64_t seed) {
  opened_device device;
  loop pairs(device, seed);
  buffer first(seed + 1, loop::bytes), second(seed + 2, loop::bytes);
  ibv_mr* const region = first.register_part(device.pd, 0, loop::bytes, IBV_ACCESS_LOCAL_WRITE);
  require(region != nullptr, "ibv_reg_mr");
  const auto refused = [&](int flags, void* at, std::size_t bytes, int access, int error) {
    errno = 0;
    expect_equal(ibv_rereg_mr(region, flags, nullptr, at, bytes, access), IBV_REREG_MR_ERR_INPUT,
                 "ibv_rereg_mr");
    expect_equal(errno, error, "errno of ibv_rereg_mr");
  };
  refused(8, nullptr, 0, 0, EINVAL);
  refused(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, 8, 0, EINVAL);
  refused(IBV_REREG_MR_CHANGE_TRANSLATION, first.bytes.data(), 0, 0, EINVAL);
  refused(IBV_REREG_MR_CHANGE_PD, nullptr, 0, 0, EINVAL);
  refused(0, nullptr, 0, IBV_ACCESS_LOCAL_WRITE, EINVAL);
  refused(IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, remote_write, EINVAL);
  refused(IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, IBV_ACCESS_ON_DEMAND, EOPNOTSUPP);

  const auto write = [&] {
    ibv_send_wr request = pairs.write_request(1);
    request.wr.rdma = {reinterpret_cast<std::uintptr_t>(region->addr), region->rkey};
    require(pairs.a.post(request) == 0, "ibv_post_send");
    return pairs.a.sent("a write").status;
  };
  const int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  const std::uint32_t key = region->rkey;
  require(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, rights) == 0,
          "ibv_rereg_mr of the rights");
  expect_equal(region->rkey, key, "the key of a region with other rights");
  expect_equal(write(), IBV_WC_SUCCESS, "status of a write");
  require(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, second.bytes.data(),
                       loop::bytes, 0) == 0,
          "ibv_rereg_mr of the memory");
  expect(region->addr == second.bytes.data(), "the address of the region");
  expect_equal(write(), IBV_WC_SUCCESS, "status of a write to other memory");
  expect_equal(std::memcmp(second.bytes.data(), pairs.from.bytes.data(), loop::bytes), 0,
               "its bytes");
  expect(region->rkey != key, "the key of a region with other memory");
  const std::uint32_t second_key = region->rkey;
  ibv_pd* const other = ibv_alloc_pd(device.context);
  require(other != nullptr, "ibv_alloc_pd");
  require(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_PD, other, nullptr, 0, 0) == 0,
          "ibv_rereg_mr of the domain");
  expect(region->pd == other, "the domain of the region");
  expect_equal(write(), IBV_WC_REM_ACCESS_ERR, "status of a write in another domain");
  require(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_PD, device.pd, nullptr, 0, 0) == 0,
          "ibv_rereg_mr of the domain");
  expect_equal(ibv_dealloc_pd(other), 0, "ibv_dealloc_pd");
  expect_equal(region->rkey, second_key, "the key of a region with another domain");
}

}  // namespace

std::vector<test> window_tests() {
  return {{"windows_of_type_1_are_bound_and_unbound", windows_of_type_1_are_bound_and_unbound},
          {"windows_of_type_2_are_invalidated", windows_of_type_2_are_invalidated},
          {"regions_are_registered_again", regions_are_registered_again}};
}

}  // namespace programs
