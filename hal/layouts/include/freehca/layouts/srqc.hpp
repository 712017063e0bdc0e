// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Shared receive queue context.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

enum class srq_state : std::uint8_t { hardware = 0x0, error = 0x1, software = 0xf };

/// Sources: Linux 6.1 mlx4.h struct mlx4_srq_context and srq.c; iPXE MT25408_PRM.h srq_context and
/// illumos hermon_hw.h for widths.
struct srqc {
  static constexpr std::size_t bytes = 0x30;
  as<srq_state> state          {0x00, 31, 28, "state"};  ///< output only
  bits          log_srq_size   {0x00, 27, 24, "log_srq_size"};
  bits          srqn           {0x00, 23,  0, "srqn"};
  bits          log_srq_stride {0x04, 26, 24, "log_srq_stride"};  ///< in units of 16 bytes
  bits          xrcd           {0x04, 15,  0, "xrcd"};
  /// Of the first WQE in its page, in units of 64 bytes. illumos has it here, the PRM file of iPXE
  /// two bits lower; Linux always leaves it zero.
  bits page_offset     {0x08, 31, 26, "page_offset"};
  bits cqn             {0x08, 23,  0, "cqn"};  ///< for XRC
  bits log_page_size   {0x10, 29, 24, "log_page_size"};  ///< in units of 4 KB
  /// Offset of the first MTT entry from mtt_base.
  addr mtt_base_addr   {0x10, 39,  3, "mtt_base_addr"};
  bits pd              {0x18, 23,  0, "pd"};
  bits limit_watermark {0x1c, 31, 16, "limit_watermark"};  ///< output only; set by ARM_SRQ
  bits wqe_cnt         {0x1c, 15,  0, "wqe_cnt"};  ///< output only
  bits wqe_counter     {0x20, 15,  0, "wqe_counter"};  ///< output only
  addr db_rec_addr     {0x28, 63,  2, "db_rec_addr"};  ///< bus address of the doorbell record
};
static_assert(srqc{}.pd.offset == 0x18 && srqc{}.db_rec_addr.offset == 0x28 && claimed<srqc>().sound);

}  // namespace freehca::layouts
