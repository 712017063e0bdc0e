// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/recording/structures.hpp>

#include <algorithm>
#include <cstring>
#include <sstream>

#include <freehca/layouts/access_reg.hpp>
#include <freehca/layouts/config_dev.hpp>
#include <freehca/layouts/congestion_control.hpp>
#include <freehca/layouts/cqc.hpp>
#include <freehca/layouts/cqe.hpp>
#include <freehca/layouts/doorbell.hpp>
#include <freehca/layouts/eqc.hpp>
#include <freehca/layouts/eqe.hpp>
#include <freehca/layouts/hcr.hpp>
#include <freehca/layouts/init_hca.hpp>
#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/mad_ifc.hpp>
#include <freehca/layouts/mailboxes.hpp>
#include <freehca/layouts/map.hpp>
#include <freehca/layouts/mcg.hpp>
#include <freehca/layouts/mod_stat_cfg.hpp>
#include <freehca/layouts/mpt.hpp>
#include <freehca/layouts/mtt.hpp>
#include <freehca/layouts/query_adapter.hpp>
#include <freehca/layouts/query_dev_cap.hpp>
#include <freehca/layouts/query_func_cap.hpp>
#include <freehca/layouts/query_fw.hpp>
#include <freehca/layouts/query_port.hpp>
#include <freehca/layouts/set_node.hpp>
#include <freehca/layouts/set_port.hpp>
#include <freehca/layouts/srqc.hpp>
#include <freehca/layouts/wqe.hpp>

namespace freehca::recording {

using namespace layouts;

namespace {

template <class T>
structure of(const char* name) {
  return {name, T::bytes, table<T>.row, rows<T>::count};
}
template <class T>
placed at(std::size_t offset, const char* name) {
  return {of<T>(name), offset};
}

/// `count` structures T, one behind the other.
template <class T>
std::vector<placed> sequence(std::size_t offset, std::uint64_t count, const char* name) {
  std::vector<placed> all;
  const std::size_t most = (mailbox_bytes - offset) / T::bytes;
  for (std::size_t i = 0; i < std::min<std::uint64_t>(count, most); ++i)
    all.push_back(at<T>(offset + i * T::bytes, name));
  return all;
}

std::vector<placed> with(std::vector<placed> first, const std::vector<placed>& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

/// A table whose fields a union of the mailbox decides: qp_mailbox names its context by a byte
/// string, which is here told field by field.
struct opt_param_mask_word {
  static constexpr std::size_t bytes = 4;
  bits opt_param_mask{0x00, 31, 0, "opt_param_mask"};
};
static_assert(qp_mailbox{}.opt_param_mask.offset == opt_param_mask_word{}.opt_param_mask.offset);
constexpr std::size_t qpc_offset = qp_mailbox{}.context.offset;

/// The masks of update_qp_mailbox; the context has a table of its own.
struct update_qp_masks {
  static constexpr std::size_t bytes = 0x18;
  bits qp_mask{0x00, 63, 0, "qp_mask"};
  bits primary_path_mask{0x08, 63, 0, "primary_path_mask"};
  bits alternate_path_mask{0x10, 63, 0, "alternate_path_mask"};
};

std::vector<placed> qp_command() {
  return {at<opt_param_mask_word>(0, "qp_mailbox"), at<qpc>(qpc_offset, "qpc")};
}

std::vector<placed> set_port_input(const record& c) {
  if (c.opcode_modifier != static_cast<std::uint8_t>(set_port_modifier::ethernet))
    return {at<set_port_ib>(0, "set_port_ib")};
  switch (static_cast<set_port_selector>(c.input_modifier >> 8 & 0xff)) {
    case set_port_selector::general:
      return {at<set_port_general>(0, "set_port_general")};
    case set_port_selector::rqp_calc:
      return {at<set_port_rqp_calc>(0, "set_port_rqp_calc")};
    case set_port_selector::prio2tc:
      return {at<set_port_prio2tc>(0, "set_port_prio2tc")};
    case set_port_selector::scheduler:
      return sequence<set_port_scheduler_entry>(0, set_port_traffic_classes,
                                                "set_port_scheduler_entry");
    default:
      return {};
  }
}

/// What stands in a mailbox of the command, the input or the output: QUERY and HW2SW commands put
/// out the table that the command which makes the object takes in.
std::vector<placed> contents_of(const record& c, bool output) {
  switch (c.opcode) {
    case opcode::query_fw:
      return {at<query_fw>(0, "query_fw")};
    case opcode::query_dev_cap:
      return {at<query_dev_cap>(0, "query_dev_cap")};
    case opcode::query_adapter:
      return {at<query_adapter>(0, "query_adapter")};
    case opcode::query_func:
      return {at<query_func>(0, "query_func")};
    case opcode::query_port:
      return {at<query_port>(0, "query_port")};
    case opcode::map_fa:
    case opcode::map_icm:
    case opcode::map_icm_aux:
      return sequence<map_entry>(0, c.input_modifier, "map_entry");
    case opcode::init_hca:
    case opcode::query_hca:
      return {at<init_hca>(0, "init_hca")};
    case opcode::set_node:
      return {at<set_node>(0, "set_node")};
    case opcode::set_port:
      return set_port_input(c);
    case opcode::sw2hw_mpt:
    case opcode::query_mpt:
    case opcode::hw2sw_mpt:
      return {at<mpt>(0, "mpt")};
    case opcode::write_mtt:
      return with({at<write_mtt_header>(0, "write_mtt_header")},
                  sequence<mtt>(write_mtt_header::bytes, c.input_modifier, "mtt"));
    case opcode::sw2hw_eq:
    case opcode::query_eq:
    case opcode::hw2sw_eq:
      return {at<eqc>(0, "eqc")};
    case opcode::sw2hw_cq:
    case opcode::modify_cq:
    case opcode::query_cq:
    case opcode::hw2sw_cq:
      return {at<cqc>(0, "cqc")};
    case opcode::sw2hw_srq:
    case opcode::query_srq:
    case opcode::hw2sw_srq:
      return {at<srqc>(0, "srqc")};
    case opcode::rst2init_qp:
    case opcode::init2init_qp:
    case opcode::init2rtr_qp:
    case opcode::rtr2rts_qp:
    case opcode::rts2rts_qp:
    case opcode::sqerr2rts_qp:
    case opcode::sqd2sqd_qp:
    case opcode::sqd2rts_qp:
    case opcode::query_qp:
    case opcode::to_rst_qp:
      return qp_command();
    case opcode::read_mcg:
    case opcode::write_mcg:
      return with({at<mcg_header>(0, "mcg_header")},
                  sequence<mcg_member>(mcg_header::bytes, 8, "mcg_member"));
    case opcode::mad_ifc: {
      std::vector<placed> all{at<mad>(0, "mad")};
      const auto extended = static_cast<unsigned>(mad_ifc_modifier::extended_info);
      if (!output && (c.opcode_modifier & extended) != 0)
        all.push_back(at<mad_ifc_extended_info>(mad_ifc_extended_info_offset, "mad_ifc_extended"));
      return all;
    }
    case opcode::mad_demux:
      return {at<mad_demux>(0, "mad_demux")};
    case opcode::access_reg:
      return {at<access_reg>(0, "access_reg"), at<ptys>(access_reg::bytes, "ptys")};
    case opcode::config_dev:
      return {at<config_dev>(0, "config_dev")};
    case opcode::virt_port_map:
      return {at<virt_port_map>(0, "virt_port_map")};
    case opcode::congestion_ctrl:
      if (c.opcode_modifier == static_cast<unsigned>(congestion_ctrl_modifier::get_statistics))
        return {at<reaction_point_statistics>(0, "reaction_point_statistics")};
      return {at<reaction_point_parameters>(0, "reaction_point_parameters")};
    case opcode::update_qp:
      return {at<update_qp_masks>(0, "update_qp_mailbox"),
              at<qpc>(update_qp_mailbox{}.context.offset, "qpc")};
    case opcode::mod_stat_cfg:
      return {at<mod_stat_cfg>(0, "mod_stat_cfg")};
    default:
      return {};
  }
}

std::vector<placed> event_entry(const std::byte* from) {
  switch (image<eqe>::from_bytes(from).get<&eqe::event_type>()) {
    case event_type::completion:
      return {at<eqe_completion>(0, "eqe_completion")};
    case event_type::command_completion:
      return {at<eqe_command>(0, "eqe_command")};
    case event_type::port_change:
      return {at<eqe_port_change>(0, "eqe_port_change")};
    case event_type::port_management_change:
      return {at<eqe_port_info_change>(0, "eqe_port_management")};
    case event_type::cq_error:
      return {at<eqe_cq_error>(0, "eqe_cq_error")};
    case event_type::srq_limit:
    case event_type::srq_catastrophic_error:
      return {at<eqe_srq>(0, "eqe_srq")};
    case event_type::path_migrated:
    case event_type::communication_established:
    case event_type::sq_drained:
    case event_type::srq_last_wqe:
    case event_type::wq_catastrophic_error:
    case event_type::wq_invalid_request_error:
    case event_type::wq_access_violation:
      return {at<eqe_qp>(0, "eqe_qp")};
    default:
      return {at<eqe>(0, "eqe")};
  }
}

std::vector<placed> completion_entry(const std::byte* from) {
  const auto e = image<cqe>::from_bytes(from);
  if (e.get<&cqe::opcode>() == static_cast<std::uint64_t>(cqe_opcode::error))
    return {at<cqe_error>(0, "cqe_error")};
  return {at<cqe>(0, "cqe")};
}

/// Gather entries and inline segments from `position` to the end; the bytes of an inline segment
/// are data.
void add_data(std::vector<placed>& to, const std::vector<std::byte>& wqe, std::size_t position) {
  while (position + wqe_data::bytes <= wqe.size()) {
    const auto head = image<wqe_inline>::from_bytes(wqe.data() + position);
    if (!head.get<&wqe_inline::inline_data>()) {
      to.push_back(at<wqe_data>(position, "wqe_data"));
      position += wqe_data::bytes;
      continue;
    }
    to.push_back(at<wqe_inline>(position, "wqe_inline"));
    position += wqe_inline::bytes + head.get<&wqe_inline::byte_count>();
    position = (position + wqe_unit - 1) / wqe_unit * wqe_unit;
  }
}

std::vector<placed> send_entry(const std::vector<std::byte>& wqe, qp_service service) {
  if (wqe.size() < wqe_ctrl::bytes) return {};
  const auto control = image<wqe_ctrl>::from_bytes(wqe.data());
  std::vector<placed> all;
  std::size_t position = 0;
  const auto take = [&](const placed& p) {
    if (position + p.what.bytes > wqe.size()) return;
    all.push_back({p.what, position});
    position += p.what.bytes;
  };
  if (service == qp_service::mlx) {
    take(at<wqe_ctrl_mlx>(0, "wqe_ctrl_mlx"));
    add_data(all, wqe, position);
    return all;
  }
  take(at<wqe_ctrl>(0, "wqe_ctrl"));
  const wqe_opcode opcode = control.get<&wqe_ctrl::opcode>();
  if (service == qp_service::ud) {
    if (opcode != wqe_opcode::nop) take(at<wqe_datagram>(0, "wqe_datagram"));
    add_data(all, wqe, position);
    return all;
  }
  switch (opcode) {
    case wqe_opcode::fast_register:
      take(at<wqe_fast_register>(0, "wqe_fast_register"));
      return all;
    case wqe_opcode::local_invalidate:
      take(at<wqe_local_invalidate>(0, "wqe_local_invalidate"));
      return all;
    case wqe_opcode::bind_mw:
      take(at<wqe_bind>(0, "wqe_bind"));
      return all;
    case wqe_opcode::atomic_cs:
    case wqe_opcode::atomic_fa:
      take(at<wqe_remote_address>(0, "wqe_remote_address"));
      take(at<wqe_atomic>(0, "wqe_atomic"));
      break;
    case wqe_opcode::masked_atomic_cs:
    case wqe_opcode::masked_atomic_fa:
      take(at<wqe_remote_address>(0, "wqe_remote_address"));
      take(opcode == wqe_opcode::masked_atomic_cs ? at<wqe_masked_atomic>(0, "wqe_masked_atomic")
                                                  : at<wqe_atomic>(0, "wqe_atomic"));
      break;
    case wqe_opcode::rdma_write:
    case wqe_opcode::rdma_write_imm:
    case wqe_opcode::rdma_read:
      take(at<wqe_remote_address>(0, "wqe_remote_address"));
      break;
    default:
      break;
  }
  add_data(all, wqe, position);
  return all;
}

std::uint64_t word_of(const bits& row, const std::byte* from) {
  return row.size() == 8 ? load_be<std::uint64_t>(from + row.offset)
                         : load_be<std::uint32_t>(from + row.offset);
}

}  // namespace

std::vector<placed> mailbox_of(const record& command, bool output) {
  const mailboxes has = mailboxes_of(command.opcode, command.opcode_modifier);
  if (!(output ? has.output : has.input)) return {};
  return contents_of(command, output);
}

std::vector<placed> entry_of(const std::string& what, const std::vector<std::byte>& bytes,
                             qp_service service) {
  if (what == "eqe" && bytes.size() == eqe::bytes) return event_entry(bytes.data());
  if (what == "cqe" && bytes.size() == cqe::bytes) return completion_entry(bytes.data());
  if (what == "send_wqe") return send_entry(bytes, service);
  std::vector<placed> all;
  if (what == "receive_wqe") add_data(all, bytes, 0);
  if (what == "srq_wqe" && bytes.size() >= wqe_srq_next::bytes) {
    all.push_back(at<wqe_srq_next>(0, "wqe_srq_next"));
    add_data(all, bytes, wqe_srq_next::bytes);
  }
  if (what == "cq_record" && bytes.size() == cq_doorbell_record::bytes)
    all.push_back(at<cq_doorbell_record>(0, "cq_doorbell_record"));
  if ((what == "receive_record" || what == "srq_record") &&
      bytes.size() == rq_doorbell_record::bytes)
    all.push_back(at<rq_doorbell_record>(0, "rq_doorbell_record"));
  return all;
}

std::vector<field> decode(const structure& s, const std::byte* from) {
  std::vector<field> all;
  for (std::size_t i = 0; i < s.count; ++i) {
    const bits& row = s.rows[i];
    field f{&row, std::string(s.name) + "." + row.name, 0, {}};
    if (row.is_raw()) f.bytes.assign(from + row.offset, from + row.offset + row.lo);
    else f.value = word_of(row, from) >> row.lo & row.mask();
    all.push_back(std::move(f));
  }
  return all;
}

void encode(const std::vector<field>& fields, std::byte* to) {
  for (const field& f : fields) {
    const bits& row = *f.row;
    std::byte* p = to + row.offset;
    if (row.is_raw()) {
      std::memcpy(p, f.bytes.data(), f.bytes.size());
      continue;
    }
    const std::uint64_t word = (word_of(row, to) & ~(row.mask() << row.lo)) | f.value << row.lo;
    if (row.size() == 8) store_be(p, word);
    else store_be(p, static_cast<std::uint32_t>(word));
  }
}

std::size_t first_reserved(const structure& s, const std::byte* from) {
  std::vector<std::byte> rest(from, from + s.bytes);
  std::vector<field> none = decode(s, from);
  for (field& f : none) {
    f.value = 0;
    std::fill(f.bytes.begin(), f.bytes.end(), std::byte{0});
  }
  encode(none, rest.data());
  const auto found =
      std::find_if(rest.begin(), rest.end(), [](std::byte b) { return b != std::byte{0}; });
  return static_cast<std::size_t>(found - rest.begin());
}

std::string words_of(const field& f) {
  std::ostringstream text;
  text << f.name << " = ";
  if (!f.row->is_raw()) {
    text << "0x" << std::hex << f.value;
    return text.str();
  }
  for (const std::byte b : f.bytes) {
    constexpr const char* digits = "0123456789abcdef";
    text << digits[std::to_integer<unsigned>(b) >> 4] << digits[std::to_integer<unsigned>(b) & 15];
  }
  return text.str();
}

}  // namespace freehca::recording
