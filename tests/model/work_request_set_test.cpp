// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The work requests as a whole, as docs/model.md tells it.
#include <map>
#include <string>

#include "basis/capabilities.hpp"
#include "model_page.hpp"
#include "transport_fixture.hpp"

namespace freehca::model::test {

namespace {

constexpr unsigned opcodes = 0x20;

struct service_name {
  qp_service what;
  std::string_view name;
};
constexpr service_name services[] = {{qp_service::rc, "RC"},
                                     {qp_service::xrc, "XRC"},
                                     {qp_service::uc, "UC"},
                                     {qp_service::ud, "UD"},
                                     {qp_service::mlx, "MLX"}};

class work_request_set : public transport_fixture {
 protected:
  bool offered(qp_service service) const {
    const options& how = hca->how();
    return (service != qp_service::uc || offers(how, capability::unreliable_connection)) &&
           (service != qp_service::xrc || offers(how, capability::extended_reliable_connection));
  }
  /// Opcode to the services that have it, as the page says.
  static std::map<std::uint16_t, std::string> services_on_the_page() {
    std::map<std::uint16_t, std::string> rows;
    for (const auto& cells : rows_on_the_page("Work requests")) {
      const bool refused = cells[3].starts_with("refused: local QP operation error");
      EXPECT_EQ(refused, cells[2] == "none") << cells[0];
      EXPECT_TRUE(rows.emplace(code_in(cells[1]), cells[2]).second) << cells[0];
      EXPECT_EQ(cells[0], layouts::name_of(static_cast<wqe_opcode>(code_in(cells[1]))));
    }
    return rows;
  }
  static bool has(const std::string& cell, std::string_view name) {
    return (" " + cell + ",").find(" " + std::string(name) + ",") != std::string::npos;
  }
};

}  // namespace

TEST_F(work_request_set, stands_on_the_page_whole) {
  const auto rows = services_on_the_page();
  const std::string none = layouts::name_of(static_cast<wqe_opcode>(0x02));
  for (unsigned o = 0; o < opcodes; ++o) {
    const std::string name = layouts::name_of(static_cast<wqe_opcode>(o));
    EXPECT_EQ(rows.contains(static_cast<std::uint16_t>(o)), name != none) << name;
  }
}

TEST_F(work_request_set, what_a_service_does_not_have_is_an_operation_error) {
  const auto rows = services_on_the_page();
  std::uint32_t number = 0x100;
  for (const service_name& service : services) {
    if (!offered(service.what)) continue;
    for (unsigned o = 0; o < opcodes; ++o) {
      const auto row = rows.find(static_cast<std::uint16_t>(o));
      if (row != rows.end() && has(row->second, service.name)) continue;
      SCOPED_TRACE(std::string(service.name) + ", opcode " + std::to_string(o));
      test_qp qp = make_qp(number++, service.what);
      auto first = first_context(qp), ready = ready_context(qp, qp.number);
      if (service.what == qp_service::xrc)
        for (auto* c : {&first, &ready}) c->set<&layouts::qpc::log_rq_size>(0xf);
      ASSERT_EQ(modify(layouts::opcode::rst2init_qp, qp.number, first),
                layouts::command_status::ok);
      ASSERT_EQ(modify(layouts::opcode::init2rtr_qp, qp.number, ready),
                layouts::command_status::ok);
      ASSERT_EQ(modify(layouts::opcode::rtr2rts_qp, qp.number, ready), layouts::command_status::ok);
      send(qp, transfer(static_cast<wqe_opcode>(o), 8, region_start, region_start + 64));
      expect_error(qp, true, cqe_syndrome::local_qp_op, 0x6f);
    }
  }
}

}  // namespace freehca::model::test
