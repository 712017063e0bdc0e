// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Functions of libibverbs that take one of our objects and that the driver cannot do yet, or that
// the hardware has not. Each has to be defined: the real library's would take our object for one of
// its own. Those of releases behind 44 have no declaration in its headers; they take and return
// registers, so that a function without parameters refuses for them.
#include "errors.hpp"
#include "objects.hpp"

namespace freehca::ibverbs {

namespace {

int refused(const char* name) {
  const int error = refuse(name);
  errno = error;
  return error;
}
void* no_object(const char* name) {
  refused(name);
  return nullptr;
}

}  // namespace
}  // namespace freehca::ibverbs

using namespace freehca::ibverbs;

FREEHCA_EXPORT ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int,
                                         int) {
  return static_cast<ibv_mr*>(no_object("ibv_reg_dmabuf_mr"));
}
FREEHCA_EXPORT int ibv_query_ece(ibv_qp*, ibv_ece* to) {
  *to = {};
  return refused("ibv_query_ece");
}
FREEHCA_EXPORT int ibv_set_ece(ibv_qp*, ibv_ece*) {
  return refused("ibv_set_ece");
}
FREEHCA_EXPORT ibv_context* ibv_import_device(int) {
  return static_cast<ibv_context*>(no_object("ibv_import_device"));
}
FREEHCA_EXPORT ibv_mr* ibv_import_mr(ibv_pd*, std::uint32_t) {
  return static_cast<ibv_mr*>(no_object("ibv_import_mr"));
}
FREEHCA_EXPORT void ibv_unimport_mr(ibv_mr*) {
  refused("ibv_unimport_mr");
}
FREEHCA_EXPORT ibv_pd* ibv_import_pd(ibv_context*, std::uint32_t) {
  return static_cast<ibv_pd*>(no_object("ibv_import_pd"));
}
FREEHCA_EXPORT void ibv_unimport_pd(ibv_pd*) {
  refused("ibv_unimport_pd");
}
FREEHCA_EXPORT ibv_dm* ibv_import_dm(ibv_context*, std::uint32_t) {
  return static_cast<ibv_dm*>(no_object("ibv_import_dm"));
}
FREEHCA_EXPORT void ibv_unimport_dm(ibv_dm*) {
  refused("ibv_unimport_dm");
}

// IBVERBS_1.15 to 1.18 (rdma-core 65, libibverbs/libibverbs.map.in).
FREEHCA_EXPORT void* ibv_alloc_dmah() {
  return no_object("ibv_alloc_dmah");
}
FREEHCA_EXPORT void* ibv_reg_mr_ex() {
  return no_object("ibv_reg_mr_ex");
}
FREEHCA_EXPORT void* ibv_alloc_buf() {
  return no_object("ibv_alloc_buf");
}
FREEHCA_EXPORT void* ibv_reg_buf_mr() {
  return no_object("ibv_reg_buf_mr");
}
FREEHCA_EXPORT void* ibv_create_comp_cntr() {
  return no_object("ibv_create_comp_cntr");
}
FREEHCA_EXPORT int ibv_dealloc_dmah() {
  return refused("ibv_dealloc_dmah");
}
FREEHCA_EXPORT int ibv_query_port_speed() {
  return refused("ibv_query_port_speed");
}
FREEHCA_EXPORT void ibv_free_buf() {
  refused("ibv_free_buf");
}
FREEHCA_EXPORT int _ibv_query_comp_cntr_caps() {
  return refused("ibv_query_comp_cntr_caps");
}
FREEHCA_EXPORT int ibv_destroy_comp_cntr() {
  return refused("ibv_destroy_comp_cntr");
}
FREEHCA_EXPORT int ibv_set_comp_cntr() {
  return refused("ibv_set_comp_cntr");
}
FREEHCA_EXPORT int ibv_set_err_comp_cntr() {
  return refused("ibv_set_err_comp_cntr");
}
FREEHCA_EXPORT int ibv_inc_comp_cntr() {
  return refused("ibv_inc_comp_cntr");
}
FREEHCA_EXPORT int ibv_inc_err_comp_cntr() {
  return refused("ibv_inc_err_comp_cntr");
}
FREEHCA_EXPORT int ibv_read_comp_cntr() {
  return refused("ibv_read_comp_cntr");
}
FREEHCA_EXPORT int ibv_read_err_comp_cntr() {
  return refused("ibv_read_err_comp_cntr");
}
FREEHCA_EXPORT int ibv_qp_attach_comp_cntr() {
  return refused("ibv_qp_attach_comp_cntr");
}
// These return a descriptor.
FREEHCA_EXPORT int ibv_dm_export_dmabuf_fd() {
  refused("ibv_dm_export_dmabuf_fd");
  return -1;
}
FREEHCA_EXPORT int ibv_export_buf_dmabuf_fd() {
  refused("ibv_export_buf_dmabuf_fd");
  return -1;
}
