// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The capabilities of configuration space: values as in captures of real cards
// (docs/hardware-pci.md).
#include <linux/pci_regs.h>

#include "configuration_space.hpp"

namespace freehca::device_server {
namespace {

constexpr std::uint32_t lanes = 8, express_port = 8;
constexpr std::uint32_t vendor_specific_bytes = 0x18;

}  // namespace

void configuration_space::capability(unsigned at, std::uint8_t id, unsigned next) {
  set(at, id, 1);
  set(at + 1, next, 1);
}

void configuration_space::extended_capability(unsigned at, std::uint16_t id, unsigned version,
                                              unsigned next) {
  set(at, id | version << 16 | next << 20, 4);
}

void configuration_space::make_capabilities(const configuration_options& how) {
  const identity& card = *how.card;
  capability(power_management_at, PCI_CAP_ID_PM, vpd_at);
  set(power_management_at + PCI_PM_PMC, 3, 2);
  set(power_management_at + PCI_PM_CTRL, card.gen3 ? PCI_PM_CTRL_NO_SOFT_RESET : 0, 2);
  may_write(power_management_at + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK, 2);

  capability(vpd_at, PCI_CAP_ID_VPD, how.msix ? msix_at : express_at);
  may_write(vpd_at + PCI_VPD_ADDR, 0xffff, 2);
  may_write(vpd_at + PCI_VPD_DATA, 0xffffffff, 4);
  may_write(gateway_address_at, 0xffffffff, 4);
  may_write(gateway_data_at, 0xffffffff, 4);

  if (how.msix) {
    capability(msix_at, PCI_CAP_ID_MSIX, express_at);
    set(msix_at + PCI_MSIX_FLAGS, msix_vectors - 1, 2);
    may_write(msix_at + PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL, 2);
    set(msix_at + PCI_MSIX_TABLE, msix_table_at, 4);
    set(msix_at + PCI_MSIX_PBA, msix_pending_at, 4);
  }

  capability(express_at, PCI_CAP_ID_EXP, card.gen3 ? vendor_specific_at : 0);
  make_express(how);
  if (card.gen3) {
    // The length is from captures. No capture shows the contents.
    capability(vendor_specific_at, PCI_CAP_ID_VNDR, 0);
    set(vendor_specific_at + PCI_CAP_FLAGS, vendor_specific_bytes, 1);
  }

  extended_capability(ari_at, PCI_EXT_CAP_ID_ARI, 1, serial_number_at);
  extended_capability(serial_number_at, PCI_EXT_CAP_ID_DSN, 1, card.gen3 ? error_reporting_at : 0);
  set(serial_number_at + 4, static_cast<std::uint32_t>(how.node_guid), 4);
  set(serial_number_at + 8, static_cast<std::uint32_t>(how.node_guid >> 32), 4);
  if (card.gen3) {
    extended_capability(error_reporting_at, PCI_EXT_CAP_ID_ERR, 2, secondary_express_at);
    make_error_reporting();
    extended_capability(secondary_express_at, PCI_EXT_CAP_ID_SECPCI, 1, 0);
  }
}

void configuration_space::make_express(const configuration_options& how) {
  const identity& card = *how.card;
  constexpr unsigned at = express_at;
  set(at + PCI_EXP_FLAGS, 2, 2);  // version 2, an endpoint
  // L0s latency below 64 ns (0), L1 unlimited (7).
  set(at + PCI_EXP_DEVCAP,
      PCI_EXP_DEVCAP_RBER | card.max_payload | 7u << 9 |
          (how.function_level_reset ? PCI_EXP_DEVCAP_FLR : 0),
      4);
  // Relaxed ordering and no-snoop off in every capture; 512-byte reads.
  set(at + PCI_EXP_DEVCTL, 2u << 12, 2);
  may_write(at + PCI_EXP_DEVCTL,
            PCI_EXP_DEVCTL_CERE | PCI_EXP_DEVCTL_NFERE | PCI_EXP_DEVCTL_FERE | PCI_EXP_DEVCTL_URRE |
                PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_PAYLOAD | PCI_EXP_DEVCTL_NOSNOOP_EN |
                PCI_EXP_DEVCTL_READRQ,
            2);
  clears(at + PCI_EXP_DEVSTA,
         PCI_EXP_DEVSTA_CED | PCI_EXP_DEVSTA_NFED | PCI_EXP_DEVSTA_FED | PCI_EXP_DEVSTA_URD, 2);
  set(at + PCI_EXP_DEVCAP2, 0xf | PCI_EXP_DEVCAP2_COMP_TMOUT_DIS, 4);
  may_write(at + PCI_EXP_DEVCTL2, 0x1f, 2);
  make_link(card);
}

void configuration_space::make_link(const identity& card) {
  constexpr unsigned at = express_at;
  const std::uint32_t speed = card.gen3 ? PCI_EXP_LNKCAP_SLS_8_0GB : PCI_EXP_LNKCAP_SLS_5_0GB;
  // ASPM L0s; both exit latencies unlimited (7); ASPMOptComp on the later cards.
  set(at + PCI_EXP_LNKCAP,
      speed | lanes << 4 | PCI_EXP_LNKCAP_ASPM_L0S | PCI_EXP_LNKCAP_L0SEL | PCI_EXP_LNKCAP_L1EL |
          express_port << 24 | (card.gen3 ? 1u << 22 : 0),
      4);
  may_write(at + PCI_EXP_LNKCTL,
            PCI_EXP_LNKCTL_ASPMC | PCI_EXP_LNKCTL_RCB | PCI_EXP_LNKCTL_CCC | PCI_EXP_LNKCTL_ES |
                PCI_EXP_LNKCTL_HAWD,
            2);
  set(at + PCI_EXP_LNKSTA, speed | lanes << 4 | (card.gen3 ? PCI_EXP_LNKSTA_SLC : 0), 2);
  set(at + PCI_EXP_LNKCAP2,
      card.gen3 ? PCI_EXP_LNKCAP2_SLS_2_5GB | PCI_EXP_LNKCAP2_SLS_5_0GB | PCI_EXP_LNKCAP2_SLS_8_0GB
                : 0,
      4);
  set(at + PCI_EXP_LNKCTL2, speed, 2);
  may_write(at + PCI_EXP_LNKCTL2, PCI_EXP_LNKCTL2_TLS, 2);
  // All phases of the equalisation done.
  set(at + PCI_EXP_LNKSTA2, card.gen3 ? 0x1e : 0, 2);
}

void configuration_space::make_error_reporting() {
  constexpr unsigned at = error_reporting_at;
  constexpr std::uint32_t uncorrectable =
      PCI_ERR_UNC_DLP | PCI_ERR_UNC_POISON_TLP | PCI_ERR_UNC_FCP | PCI_ERR_UNC_COMP_TIME |
      PCI_ERR_UNC_COMP_ABORT | PCI_ERR_UNC_UNX_COMP | PCI_ERR_UNC_RX_OVER | PCI_ERR_UNC_MALF_TLP |
      PCI_ERR_UNC_ECRC | PCI_ERR_UNC_UNSUP;
  constexpr std::uint32_t correctable = PCI_ERR_COR_RCVR | PCI_ERR_COR_BAD_TLP |
                                        PCI_ERR_COR_BAD_DLLP | PCI_ERR_COR_REP_ROLL |
                                        PCI_ERR_COR_REP_TIMER | PCI_ERR_COR_ADV_NFAT;
  clears(at + PCI_ERR_UNCOR_STATUS, uncorrectable, 4);
  may_write(at + PCI_ERR_UNCOR_MASK, uncorrectable, 4);
  set(at + PCI_ERR_UNCOR_SEVER,
      PCI_ERR_UNC_DLP | PCI_ERR_UNC_FCP | PCI_ERR_UNC_RX_OVER | PCI_ERR_UNC_MALF_TLP, 4);
  may_write(at + PCI_ERR_UNCOR_SEVER, uncorrectable, 4);
  clears(at + PCI_ERR_COR_STATUS, correctable, 4);
  set(at + PCI_ERR_COR_MASK, PCI_ERR_COR_ADV_NFAT, 4);
  may_write(at + PCI_ERR_COR_MASK, correctable, 4);
  set(at + PCI_ERR_CAP, PCI_ERR_CAP_ECRC_GENC | PCI_ERR_CAP_ECRC_CHKC, 4);
  may_write(at + PCI_ERR_CAP, PCI_ERR_CAP_ECRC_GENE | PCI_ERR_CAP_ECRC_CHKE, 4);
}

}  // namespace freehca::device_server
