/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * The capability chain of a real card: places, order and contents from
 * captures (docs/hardware-pci.md); what a capture shows as left
 * by a system is set to the value that the specification gives for reset.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "hw/pci/msix.h"
#include "mlx4.h"

#define MSIX_TABLE_OFFSET 0x7c000
#define MSIX_PBA_OFFSET 0x7d000
#define VENDOR_BYTES 0x18
#define ARI_BYTES 8
#define EXPRESS_PORT 8
#define LANES 8

/* AER reaches to the header log: the next capability stands where TLP prefix
 * logs would, so the card has none. */
#define AER_BYTES (MLX4_EXT_SECONDARY - MLX4_EXT_AER)
/* Header, LnkCtl3, lane errors, equalisation control of 2 bytes per lane. */
#define SECONDARY_BYTES (12 + 2 * LANES)

static bool add_power_management(PCIDevice *pci, bool keeps_state, Error **errp)
{
    int at = pci_add_capability(pci, PCI_CAP_ID_PM, MLX4_CAP_PM, PCI_PM_SIZEOF,
                                errp);

    if (at < 0) {
        return false;
    }
    pci_set_word(pci->config + at + PCI_PM_PMC, 3);
    pci_set_word(pci->config + at + PCI_PM_CTRL,
                 keeps_state ? PCI_PM_CTRL_NO_SOFT_RESET : 0);
    pci_set_word(pci->wmask + at + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK);
    return true;
}

static bool add_vpd(PCIDevice *pci, Error **errp)
{
    int at = pci_add_capability(pci, PCI_CAP_ID_VPD, MLX4_CAP_VPD,
                                PCI_CAP_VPD_SIZEOF, errp);

    if (at < 0) {
        return false;
    }
    pci_set_word(pci->wmask + at + PCI_VPD_ADDR, 0xffff);
    pci_set_long(pci->wmask + at + PCI_VPD_DATA, 0xffffffff);
    return true;
}

static bool add_vendor_specific(PCIDevice *pci, Error **errp)
{
    /* Length from captures; no capture shows the contents. */
    int at = pci_add_capability(pci, PCI_CAP_ID_VNDR, MLX4_CAP_VENDOR,
                                VENDOR_BYTES, errp);

    if (at < 0) {
        return false;
    }
    pci->config[at + PCI_CAP_FLAGS] = VENDOR_BYTES;
    return true;
}

static bool add_express(Mlx4State *s, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(s);
    uint32_t speed = s->identity->gen3 ? PCI_EXP_LNKCAP_SLS_8_0GB
                                       : PCI_EXP_LNKCAP_SLS_5_0GB;
    uint8_t *config, *wmask, *w1cmask;

    /* An endpoint also on the root bus: the register says what the card is,
     * not where it sits. */
    if (pcie_cap_init(pci, MLX4_CAP_EXPRESS, PCI_EXP_TYPE_ENDPOINT,
                      EXPRESS_PORT, errp) < 0) {
        return false;
    }
    config = pci->config + MLX4_CAP_EXPRESS;
    wmask = pci->wmask + MLX4_CAP_EXPRESS;
    w1cmask = pci->w1cmask + MLX4_CAP_EXPRESS;

    /* L0s latency below 64 ns (0), L1 unlimited (7). */
    pci_set_long(config + PCI_EXP_DEVCAP, PCI_EXP_DEVCAP_RBER |
                 s->identity->max_payload | (7u << 9));
    /* Relaxed ordering and no-snoop off in every capture; 512-byte reads. */
    pci_set_word(config + PCI_EXP_DEVCTL, 2u << 12);
    pci_set_word(wmask + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_CERE |
                 PCI_EXP_DEVCTL_NFERE | PCI_EXP_DEVCTL_FERE |
                 PCI_EXP_DEVCTL_URRE | PCI_EXP_DEVCTL_RELAX_EN |
                 PCI_EXP_DEVCTL_PAYLOAD | PCI_EXP_DEVCTL_NOSNOOP_EN |
                 PCI_EXP_DEVCTL_READRQ);
    pci_set_word(w1cmask + PCI_EXP_DEVSTA, PCI_EXP_DEVSTA_CED |
                 PCI_EXP_DEVSTA_NFED | PCI_EXP_DEVSTA_FED | PCI_EXP_DEVSTA_URD);
    if (s->function_level_reset) {
        pcie_cap_flr_init(pci);
    }

    /* Both exit latencies unlimited (7). */
    pci_set_long(config + PCI_EXP_LNKCAP, speed | (LANES << 4) |
                 PCI_EXP_LNKCAP_ASPM_L0S | PCI_EXP_LNKCAP_L0SEL |
                 PCI_EXP_LNKCAP_L1EL | ((uint32_t)EXPRESS_PORT << 24) |
                 (s->identity->gen3 ? 1u << 22 /* ASPMOptComp */ : 0));
    pci_set_word(wmask + PCI_EXP_LNKCTL, PCI_EXP_LNKCTL_ASPMC |
                 PCI_EXP_LNKCTL_RCB | PCI_EXP_LNKCTL_CCC | PCI_EXP_LNKCTL_ES |
                 PCI_EXP_LNKCTL_HAWD);
    pci_set_word(config + PCI_EXP_LNKSTA, speed | (LANES << 4) |
                 (s->identity->gen3 ? PCI_EXP_LNKSTA_SLC : 0));

    pci_set_long(config + PCI_EXP_DEVCAP2, 0xf | PCI_EXP_DEVCAP2_COMP_TMOUT_DIS);
    pci_set_word(wmask + PCI_EXP_DEVCTL2, 0x1f);
    pci_set_long(config + PCI_EXP_LNKCAP2, s->identity->gen3 ?
                 PCI_EXP_LNKCAP2_SLS_2_5GB | PCI_EXP_LNKCAP2_SLS_5_0GB |
                 PCI_EXP_LNKCAP2_SLS_8_0GB : 0);
    pci_set_word(config + PCI_EXP_LNKCTL2, speed);
    pci_set_word(wmask + PCI_EXP_LNKCTL2, PCI_EXP_LNKCTL2_TLS);
    /* All phases of the equalisation done. */
    pci_set_word(config + PCI_EXP_LNKSTA2, s->identity->gen3 ? 0x1e : 0);
    return true;
}

static void add_error_reporting(PCIDevice *pci)
{
    uint8_t *config = pci->config + MLX4_EXT_AER;
    uint8_t *wmask = pci->wmask + MLX4_EXT_AER;
    uint8_t *w1cmask = pci->w1cmask + MLX4_EXT_AER;
    const uint32_t uncorrectable = PCI_ERR_UNC_DLP | PCI_ERR_UNC_POISON_TLP |
        PCI_ERR_UNC_FCP | PCI_ERR_UNC_COMP_TIME | PCI_ERR_UNC_COMP_ABORT |
        PCI_ERR_UNC_UNX_COMP | PCI_ERR_UNC_RX_OVER | PCI_ERR_UNC_MALF_TLP |
        PCI_ERR_UNC_ECRC | PCI_ERR_UNC_UNSUP;
    const uint32_t correctable = PCI_ERR_COR_RCVR | PCI_ERR_COR_BAD_TLP |
        PCI_ERR_COR_BAD_DLLP | PCI_ERR_COR_REP_ROLL | PCI_ERR_COR_REP_TIMER |
        PCI_ERR_COR_ADV_NONFATAL;

    /* QEMU's own AER (pcie_aer_init) would write prefix logs over the next
     * capability. */
    pcie_add_capability(pci, PCI_EXT_CAP_ID_ERR, 2, MLX4_EXT_AER, AER_BYTES);
    pci_set_long(w1cmask + PCI_ERR_UNCOR_STATUS, uncorrectable);
    pci_set_long(wmask + PCI_ERR_UNCOR_MASK, uncorrectable);
    pci_set_long(config + PCI_ERR_UNCOR_SEVER, PCI_ERR_UNC_DLP |
                 PCI_ERR_UNC_FCP | PCI_ERR_UNC_RX_OVER | PCI_ERR_UNC_MALF_TLP);
    pci_set_long(wmask + PCI_ERR_UNCOR_SEVER, uncorrectable);
    pci_set_long(w1cmask + PCI_ERR_COR_STATUS, correctable);
    pci_set_long(config + PCI_ERR_COR_MASK, PCI_ERR_COR_ADV_NONFATAL);
    pci_set_long(wmask + PCI_ERR_COR_MASK, correctable);
    pci_set_long(config + PCI_ERR_CAP, PCI_ERR_CAP_ECRC_GENC |
                 PCI_ERR_CAP_ECRC_CHKC);
    pci_set_long(wmask + PCI_ERR_CAP, PCI_ERR_CAP_ECRC_GENE |
                 PCI_ERR_CAP_ECRC_CHKE);
}

/* On a machine where nothing takes messages (QEMU 7.2: sbsa-ref) there is
 * no such capability, as there is none of other devices of QEMU. */
static bool add_msix(Mlx4State *s, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(s);
    Error *why = NULL;
    int i, result;

    if (!s->msix) {
        return true;
    }
    result = msix_init(pci, MLX4_MSIX_VECTORS, &s->registers,
                       MLX4_REGISTER_BAR, MSIX_TABLE_OFFSET, &s->registers,
                       MLX4_REGISTER_BAR, MSIX_PBA_OFFSET, MLX4_CAP_MSIX,
                       &why);
    if (result == -ENOTSUP) {
        error_free(why);
        return true;
    }
    if (result < 0) {
        error_propagate(errp, why);
        return false;
    }
    for (i = 0; i < MLX4_MSIX_VECTORS; i++) {
        msix_vector_use(pci, i);
    }
    return true;
}

bool mlx4_capabilities_add(Mlx4State *s, uint64_t node_guid, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(s);

    /* Each is put before the ones that are there: the last stands first. */
    if (s->identity->gen3 && !add_vendor_specific(pci, errp)) {
        return false;
    }
    if (!add_express(s, errp)) {
        return false;
    }
    if (!add_msix(s, errp)) {
        return false;
    }
    if (!add_vpd(pci, errp) ||
        !add_power_management(pci, s->identity->gen3, errp)) {
        return false;
    }
    pci_set_long(pci->wmask + MLX4_GATEWAY_ADDRESS, 0xffffffff);
    pci_set_long(pci->wmask + MLX4_GATEWAY_DATA, 0xffffffff);

    pcie_add_capability(pci, PCI_EXT_CAP_ID_ARI, 1, MLX4_EXT_ARI, ARI_BYTES);
    pcie_dev_ser_num_init(pci, MLX4_EXT_SERIAL, node_guid);
    if (s->identity->gen3) {
        add_error_reporting(pci);
        pcie_add_capability(pci, PCI_EXT_CAP_ID_SECPCI, 1, MLX4_EXT_SECONDARY,
                            SECONDARY_BYTES);
    }
    memcpy(s->power_on, pci->config, sizeof(s->power_on));
    return true;
}

void mlx4_capabilities_remove(Mlx4State *s)
{
    PCIDevice *pci = PCI_DEVICE(s);

    if (msix_present(pci)) {
        msix_uninit(pci, &s->registers, &s->registers);
    }
}
