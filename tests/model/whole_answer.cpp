// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "whole_answer.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include <gtest/gtest.h>

#include <freehca/layouts/diag_rprt.hpp>
#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/pma.hpp>
#include <freehca/layouts/smp.hpp>

#include "queues/explanations.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

/// They count what tests do all the time, or how the model goes about it; "eqes", "cqes" and
/// "complaints" are looked at one by one.
constexpr std::string_view unsteady[] = {
    "commands",   "command_",         "turns", "work_units", "doorbells",
    "interrupts", "host_memory_kept", "eqes",  "cqes",       "complaints"};
/// Of PortCounters: what packets that are right count too.
constexpr std::string_view traffic[] = {"port_select", "counter_select", "counter_select2",
                                        "xmit_data",   "rcv_data",       "xmit_packets",
                                        "rcv_packets"};
constexpr unsigned ports = 2;

bool is_steady(std::string_view name) {
  if (name == "eqes_dropped") return true;
  return std::none_of(std::begin(unsteady), std::end(unsteady),
                      [&](std::string_view u) { return name.starts_with(u); });
}
bool is_traffic(std::string_view name) {
  return name.find("_packets_sent") != name.npos || name.find("_packets_received") != name.npos ||
         name.find("_packets_looped_back") != name.npos || name.starts_with("rc_") ||
         name == "completion_events" || name == "send_requests_held";
}

image<smp> asked(test_driver& driver, unsigned port, const image<smp>& what) {
  std::memset(driver.host.at(driver.input), 0, 4096);
  driver.host.store(driver.input, what);
  EXPECT_EQ(driver.command(opcode::mad_ifc, driver.input, port, 3, driver.output).status,
            command_status::ok);
  return driver.host.load<smp>(driver.output);
}

image<port_counters> counters_of(test_driver& driver, unsigned port) {
  image<pma_mad> m;
  m.set<&pma_mad::base_version>(1)
      .set<&pma_mad::mgmt_class>(mad_class::performance)
      .set<&pma_mad::class_version>(1)
      .set<&pma_mad::method>(mad_method::get)
      .set<&pma_mad::attribute_id>(static_cast<unsigned>(pma_attribute::port_counters));
  set_attribute<&pma_mad::data>(m, image<port_counters>{}.set<&port_counters::port_select>(port));
  const auto answer = asked(driver, port, image<smp>::from_bytes(m.data()));
  return attribute<&pma_mad::data, port_counters>(image<pma_mad>::from_bytes(answer.data()));
}

image<port_info> info_of(test_driver& driver, unsigned port) {
  image<smp> m;
  m.set<&smp::base_version>(1)
      .set<&smp::mgmt_class>(mad_class::subnet_lid_routed)
      .set<&smp::class_version>(1)
      .set<&smp::method>(mad_method::get)
      .set<&smp::attribute_id>(static_cast<unsigned>(smp_attribute::port_info))
      .set<&smp::attribute_modifier>(port);
  return attribute<&smp::data, port_info>(asked(driver, port, m));
}

/// The counter of DIAG_RPRT for error completions of that syndrome.
std::string diagnosed(const completed& c) {
  const char* name = nullptr;
  switch (c.error->syndrome) {
    case cqe_syndrome::local_length:
      name = "num_lle";
      break;
    case cqe_syndrome::local_qp_op:
      name = "num_lqpoe";
      break;
    case cqe_syndrome::local_protection:
      name = "num_lpe";
      break;
    case cqe_syndrome::wr_flush:
      name = "num_wrfe";
      break;
    case cqe_syndrome::mw_bind:
      name = "num_mwbe";
      break;
    case cqe_syndrome::bad_response:
      name = "num_bre";
      break;
    case cqe_syndrome::remote_invalid_request:
      name = "num_rire";
      break;
    case cqe_syndrome::remote_access:
      name = "num_rae";
      break;
    case cqe_syndrome::remote_op:
      name = "num_roe";
      break;
    case cqe_syndrome::transport_retry_exceeded:
      name = "num_tree";
      break;
    case cqe_syndrome::rnr_retry_exceeded:
      name = "num_rree";
      break;
    default:
      return {};
  }
  return std::string("DIAG_RPRT ") + (c.send ? "sq_" : "rq_") + name;
}

std::string words_for(const completed& c) {
  const char* const who = c.send ? "" : "of a receive ";
  if (!c.error) return c.send ? "the request completes" : "a receive completes";
  char text[120];
  std::snprintf(text, sizeof text, "completion %s\"%s\", vendor byte 0x%02x", who,
                name_of(c.error->syndrome), unsigned{c.error->vendor});
  return text;
}

std::string words_for(event_type t) {
  switch (t) {
    case event_type::communication_established:
      return {};  // the first packet of a connection brings it, wrong or right
    case event_type::srq_last_wqe:
      return "event \"last entry of the shared receive queue\"";
    default:
      return std::string("event \"") + name_of(t) + "\"";
  }
}

}  // namespace

bool completed::operator==(const completed& o) const {
  return qpn == o.qpn && send == o.send && error.has_value() == o.error.has_value() &&
         (!error || (error->syndrome == o.error->syndrome && error->vendor == o.error->vendor));
}

void PrintTo(const completed& c, std::ostream* to) {
  *to << "QP " << c.qpn << ": " << words_for(c);
}

onlooker::onlooker(test_driver& driver, test_driver::queue& eq, test_driver::queue& cq)
    : driver_(driver), eq_(eq), cq_(cq) {
  look();
}

void onlooker::add_counters(counts& to) const {
  counter c;
  for (std::size_t i = 0; driver_.hca.counter_at(i, c); ++i)
    if (is_steady(c.name)) to[c.name] = c.value;
}

void onlooker::add_reports(counts& to) {
  for (unsigned port = 1; port <= ports; ++port) {
    const std::string number = std::to_string(port) + " ";
    counters_of(driver_, port).dump([&](const bits& b, std::uint64_t value) {
      if (std::find(std::begin(traffic), std::end(traffic), b.name) == std::end(traffic))
        to["PortCounters" + number + b.name] = value;
    });
    const auto info = info_of(driver_, port);
    to["PortInfo" + number + "mkey_violations"] = info.get<&port_info::mkey_violations>();
    to["PortInfo" + number + "pkey_violations"] = info.get<&port_info::pkey_violations>();
    to["PortInfo" + number + "qkey_violations"] = info.get<&port_info::qkey_violations>();
  }
  image<diag_rprt> report;
  const auto modifier = static_cast<unsigned>(diag_rprt_modifier::query_transport_ci_errors);
  EXPECT_EQ(driver_.query(opcode::diag_rprt, report, 0, modifier).status, command_status::ok);
  report.dump(
      [&](const bits& b, std::uint64_t value) { to[std::string("DIAG_RPRT ") + b.name] = value; });
}

whole_answer onlooker::look() {
  driver_.host.run();
  whole_answer a;
  for (const remark& r : driver_.host.remarks) {
    if (r.kind == remark_kind::complaint) a.complaints.emplace_back(r.rule);
    if (r.kind == remark_kind::work_error || r.kind == remark_kind::packet_dropped ||
        r.kind == remark_kind::complaint)
      a.explained.push_back(r.text);
  }
  counts now;
  add_counters(now);
  image<cqe> e;
  while (driver_.next_completion(cq_, e)) {
    completed c{static_cast<std::uint32_t>(e.get<&cqe::qpn>()), e.get<&cqe::is_send>() != 0, {}};
    const auto wrong = image<cqe_error>::from_bytes(e.data());
    if (wrong.get<&cqe_error::opcode>() == cqe_opcode::error)
      c.error = failure{wrong.get<&cqe_error::syndrome>(),
                        static_cast<std::uint8_t>(wrong.get<&cqe_error::vendor_syndrome>())};
    a.completions.push_back(c);
  }
  driver_.tell_consumer(cq_);
  image<eqe> event;
  while (driver_.next_event(eq_, event)) a.events.push_back(event.get<&eqe::event_type>());
  driver_.ring_eq(eq_, true);
  add_reports(now);
  for (const auto& [name, value] : now)
    if (value != before_[name]) a.counted[name] = static_cast<std::int64_t>(value - before_[name]);
  // The commands that looked have left no more than the one difference behind.
  before_ = now;
  add_counters(before_);
  driver_.host.remarks.clear();
  return a;
}

void expect(const wanted_answer& wanted, const whole_answer& came, const std::string& more) {
  EXPECT_EQ(came.completions, wanted.completions);
  EXPECT_EQ(came.events, wanted.events);
  EXPECT_EQ(came.complaints, wanted.complaints);
  auto counted = wanted.counted;
  for (const completed& c : wanted.completions)
    if (c.error)
      if (const std::string name = diagnosed(c); !name.empty()) ++counted[name];
  EXPECT_EQ(came.counted, counted);
  const std::string field = wanted.says == nullptr ? "" : wanted.says;
  const auto says =
      std::find_if(came.explained.begin(), came.explained.end(),
                   [&](const std::string& text) { return text.find(field) != std::string::npos; });
  if (wanted.says == nullptr) EXPECT_EQ(came.explained, std::vector<std::string>{});
  else
    EXPECT_NE(says, came.explained.end())
        << field << " in " << testing::PrintToString(came.explained);

  std::string answer;
  const auto add = [&answer](const std::string& words) {
    if (!words.empty()) answer.append(answer.empty() ? "" : "; ").append(words);
  };
  unsigned flushed = 0;
  for (const completed& c : came.completions)
    if (c.error && c.error->syndrome == cqe_syndrome::wr_flush) ++flushed;
    else add(words_for(c));
  add(more);
  if (flushed != 0)
    add(std::to_string(flushed) + (flushed == 1 ? " request" : " requests") + " flushed");
  for (const event_type t : came.events) add(words_for(t));
  std::string counters;
  for (const auto& [name, value] : came.counted)
    if (!is_traffic(name) && !name.starts_with("DIAG_RPRT "))
      counters.append(counters.empty() ? "counted: " : ", ").append(name);
  add(counters);
  for (const std::string& rule : came.complaints) add("complaint: " + rule);
  testing::Test::RecordProperty("answer", answer.empty() ? "nothing" : answer);
  testing::Test::RecordProperty("says", says == came.explained.end() ? "" : *says);
}

}  // namespace freehca::model::test
