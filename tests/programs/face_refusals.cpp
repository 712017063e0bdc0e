// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Functions of newer releases, which a program that was built for one of them calls.
#include <dlfcn.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "face.hpp"

namespace programs {

namespace {

/// The function that a program finds under this name, whatever its parameters are.
template <class result>
result call(const std::string& name) {
  void* const found = dlsym(RTLD_DEFAULT, name.c_str());
  require(found != nullptr, name + " is defined");
  errno = 0;
  return reinterpret_cast<result (*)(void*, void*, void*, void*)>(found)(nullptr, nullptr, nullptr,
                                                                         nullptr);
}

void functions_of_newer_releases_are_refused(std::uint64_t) {
  for (const char* name : {"ibv_alloc_dmah", "ibv_reg_mr_ex", "ibv_alloc_buf", "ibv_reg_buf_mr",
                           "ibv_create_comp_cntr"}) {
    expect(call<void*>(name) == nullptr, std::string("no object of ") + name);
    expect_equal(errno, EOPNOTSUPP, std::string("errno of ") + name);
  }
  for (const char* name : {"ibv_dealloc_dmah", "ibv_query_port_speed", "_ibv_query_comp_cntr_caps",
                           "ibv_destroy_comp_cntr", "ibv_set_comp_cntr", "ibv_set_err_comp_cntr",
                           "ibv_inc_comp_cntr", "ibv_inc_err_comp_cntr", "ibv_read_comp_cntr",
                           "ibv_read_err_comp_cntr", "ibv_qp_attach_comp_cntr"})
    expect_equal(call<int>(name), EOPNOTSUPP, name);
  // An error number would look like a descriptor.
  for (const char* name : {"ibv_dm_export_dmabuf_fd", "ibv_export_buf_dmabuf_fd"}) {
    expect_equal(call<int>(name), -1, name);
    expect_equal(errno, EOPNOTSUPP, std::string("errno of ") + name);
  }
}

}  // namespace

std::vector<test> refusal_tests() {
  return {
      {"functions_of_newer_releases_are_refused", functions_of_newer_releases_are_refused},
  };
}

}  // namespace programs
