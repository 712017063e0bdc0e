// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Sends whose headers software made, on an InfiniBand link: the gathered bytes are the packet from
// its LRH to the word where the ICRC goes.
#include <algorithm>
#include <array>

#include "link/infiniband_codec.hpp"
#include "link/wire_form.hpp"

namespace freehca::model {

using namespace layouts;

std::size_t infiniband_codec::prepared_bytes_max() const {
  return lrh::bytes + grh::bytes + bth::bytes + deth::bytes + immdt::bytes + 4096 + icrc_bytes;
}

bool infiniband_codec::breaks_rule(const prepared_send& by, const image<lrh>& local) const {
  const auto number = [](std::uint64_t value) { return static_cast<unsigned>(value); };
  const unsigned rlid = number(by.control.get<&wqe_ctrl_mlx::rlid>()),
                 dlid = number(local.get<&lrh::dlid>());
  if (rlid != dlid && rules_.refuses(rule::mlx_rlid, "QP 0x%06x send %u: rlid 0x%x, LRH 0x%x",
                                     by.qpn, unsigned{by.index}, rlid, dlid))
    return true;
  const unsigned sl = number(by.control.get<&wqe_ctrl_mlx::sl>()),
                 level = number(local.get<&lrh::service_level>());
  if (sl != level && rules_.refuses(rule::mlx_sl, "QP 0x%06x send %u: sl %u, LRH %u", by.qpn,
                                    unsigned{by.index}, sl, level))
    return true;
  constexpr unsigned management_lane = 15;
  const bool lane_15 = by.control.get<&wqe_ctrl_mlx::vl15>();
  const unsigned lane = number(local.get<&lrh::virtual_lane>());
  return (lane_15 != by.management || (lane == management_lane) != by.management) &&
         rules_.refuses(rule::mlx_vl15, "QP 0x%06x send %u of QP%u: vl15 %u, LRH lane %u", by.qpn,
                        unsigned{by.index}, by.management ? 0u : 1u, unsigned{lane_15}, lane);
}

prepared_verdict infiniband_codec::finish(const prepared_send& by, outgoing_packet& out) const {
  auto& bytes = out.p.bytes;
  const std::size_t gathered = bytes.size();
  if (gathered < lrh::bytes + bth::bytes + icrc_bytes) {
    bytes.resize(gathered - std::min<std::size_t>(gathered, icrc_bytes));
    return prepared_verdict::no_packet;
  }
  std::array<std::byte, icrc_bytes> last;
  std::copy_n(bytes.end() - icrc_bytes, icrc_bytes, last.begin());
  bytes.resize(gathered - icrc_bytes);

  auto local = image<lrh>::from_bytes(bytes.data());
  if (breaks_rule(by, local)) return prepared_verdict::refused;
  // Without `slr` the LRH holds path bits only, and hardware adds the port's LID (Linux
  // hw/mlx4/qp.c build_mlx_header).
  if (!by.control.get<&wqe_ctrl_mlx::slr>())
    local.set<&lrh::slid>(own_.source_lid(by.port, static_cast<unsigned>(local.get<&lrh::slid>())));
  std::copy_n(local.data(), lrh::bytes, bytes.begin());
  // Padding that the headers announce and the list leaves out.
  const auto announced = static_cast<std::size_t>(local.get<&lrh::packet_length>() * 4);
  if (announced > gathered && announced - gathered < 4) bytes.resize(announced - icrc_bytes);
  const auto v = unwrap(by.port, out.p);
  if (!v) return prepared_verdict::no_packet;
  out.extended = static_cast<std::size_t>(v->rest - bytes.data());
  out.base = out.extended - bth::bytes;
  return by.control.get<&wqe_ctrl_mlx::icrc>() && !is_icrc_of(out.p, last.data())
             ? prepared_verdict::wrong_icrc
             : prepared_verdict::good;
}

}  // namespace freehca::model
