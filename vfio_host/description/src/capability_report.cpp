// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <freehca/description/adapter.hpp>
#include <freehca/layouts/ib_types.hpp>

#include "capability_flags.hpp"

namespace freehca::description {
namespace {

struct figure {
  const char* key;
  const char* text;  // {} is the value
  std::uint64_t value;
};

std::uint64_t two_to(std::uint64_t log) {
  return std::uint64_t{1} << log;
}

unsigned largest_mtu(const capabilities& k) {
  unsigned most = 0;
  for (unsigned n = 0; n < k.ports; ++n) {
    const auto code =
        static_cast<layouts::ib_mtu>(k.raw_port[n].get<&layouts::query_port::ib_mtu>());
    most = std::max(most, layouts::mtu_bytes(code));
  }
  return most;
}

std::vector<figure> limits(const capabilities& k) {
  using l = layouts::query_dev_cap;
  const auto& raw = k.raw;
  const std::uint64_t system_eqs = raw.get<&l::num_sys_eqs>();
  return {
      {"ports", "{} ports", raw.get<&l::num_ports>()},
      {"qps", "{} QPs", two_to(raw.get<&l::log_max_qps>())},
      {"srqs", "{} SRQs", two_to(raw.get<&l::log_max_srqs>())},
      {"cqs", "{} CQs", two_to(raw.get<&l::log_max_cqs>())},
      {"eqs", "{} EQs", system_eqs != 0 ? system_eqs : two_to(raw.get<&l::log_max_eqs>())},
      {"mpts", "{} MPTs", two_to(raw.get<&l::log_max_mpts>())},
      {"mtts", "{} MTTs", two_to(raw.get<&l::log_max_mtts>())},
      {"pds", "{} PDs", two_to(raw.get<&l::log_max_pds>())},
      {"xrc_domains", "{} XRC domains", two_to(raw.get<&l::log_max_xrcds>())},
      {"multicast_groups", "{} multicast groups", two_to(raw.get<&l::log_max_mcgs>())},
      {"qps_per_multicast_group", "{} QPs in each", two_to(raw.get<&l::log_max_qp_mcg>())},
      {"wqes_per_queue", "{} WQEs in a queue", two_to(raw.get<&l::log_max_qp_sz>())},
      {"wqes_per_srq", "{} WQEs in an SRQ", two_to(raw.get<&l::log_max_srq_sz>())},
      {"cqes_per_cq", "{} CQEs in a CQ", two_to(raw.get<&l::log_max_cq_sz>())},
      {"send_sges", "{} SGEs in a send", raw.get<&l::max_sg_sq>()},
      {"receive_sges", "{} SGEs in a receive", raw.get<&l::max_sg_rq>()},
      {"send_wqe_bytes", "{} bytes in a send WQE", raw.get<&l::max_desc_sz_sq>()},
      {"receive_wqe_bytes", "{} bytes in a receive WQE", raw.get<&l::max_desc_sz_rq>()},
      {"message_bytes", "{} bytes in a message", two_to(raw.get<&l::log_max_msg_sz>())},
      {"mtu", "MTU {}", largest_mtu(k)},
      {"reads_as_requester", "{} RDMA reads as requester",
       two_to(raw.get<&l::log_max_ra_req_qp>())},
      {"reads_as_responder", "{} RDMA reads as responder",
       two_to(raw.get<&l::log_max_ra_res_qp>())},
      {"page_bytes", "pages from {} bytes", two_to(raw.get<&l::log_page_sz>())},
      {"context_bytes", "{} bytes of context memory", raw.get<&l::max_icm_sz>()},
      {"blueflame_bytes", "{} bytes of BlueFlame",
       raw.get<&l::bf>() ? two_to(raw.get<&l::log_bf_reg_sz>()) : 0},
      {"cqe_bytes", "CQEs of {} bytes in use", k.cqe_bytes},
      {"eqe_bytes", "EQEs of {} bytes in use", k.eqe_bytes},
  };
}

std::vector<figure> reserved(const capabilities& k) {
  return {
      {"qps", "{} QPs", k.reserved_qps},    {"srqs", "{} SRQs", k.reserved_srqs},
      {"cqs", "{} CQs", k.reserved_cqs},    {"eqs", "{} EQs", k.reserved_eqs},
      {"mpts", "{} MPTs", k.reserved_mpts}, {"mtts", "{} MTTs", k.reserved_mtts},
      {"pds", "{} PDs", k.reserved_pds},    {"uars", "{} UAR pages", k.reserved_uars},
  };
}

nlohmann::json object_of(const std::vector<figure>& figures) {
  nlohmann::json j = nlohmann::json::object();
  for (const figure& f : figures) j[f.key] = f.value;
  return j;
}

std::vector<std::string> words_of(const std::vector<figure>& figures) {
  std::vector<std::string> words;
  words.reserve(figures.size());
  for (const figure& f : figures) words.push_back(fmt::format(fmt::runtime(f.text), f.value));
  return words;
}

// Formats a label in the report's first column and words after it, in lines of a terminal's width.
std::string lines(const char* label, const std::vector<std::string>& words, const char* separator) {
  constexpr std::size_t width = 110;
  std::string all, line = fmt::format("{:<11}", label);
  const std::size_t indent = line.size();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i] + (i + 1 < words.size() ? separator : "");
    if (line.size() > indent && line.size() + 1 + word.size() > width) {
      all += line + "\n";
      line.assign(indent, ' ');
    }
    if (line.size() > indent) line += ' ';
    line += word;
  }
  return all + line + "\n";
}

}  // namespace

nlohmann::json to_json(const capabilities& of) {
  return {{"limits", object_of(limits(of))},
          {"reserved", object_of(reserved(of))},
          {"flags", flag_names(of.raw)}};
}

std::string to_text(const capabilities& of) {
  return lines("limits", words_of(limits(of)), ",") +
         lines("reserved", words_of(reserved(of)), ",") + lines("can do", flag_names(of.raw), "");
}

}  // namespace freehca::description
