/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * Configuration space where it does something: function-level reset, power
 * states, VPD, and the gateway to the registers that firmware tools use.
 */
#include "qemu/osdep.h"
#include "hw/pci/msix.h"
#include "mlx4.h"

#define DEVCTL (MLX4_CAP_EXPRESS + PCI_EXP_DEVCTL)
#define LNKCTL (MLX4_CAP_EXPRESS + PCI_EXP_LNKCTL)
#define PMCSR (MLX4_CAP_PM + PCI_PM_CTRL)
#define D3HOT 3

bool mlx4_is_there(Mlx4State *s)
{
    return !s->removed && !(s->model && freehca_model_in_reset(s->model));
}

bool mlx4_in_d0(Mlx4State *s)
{
    return !s->dying && !s->removed && !(pci_get_word(mlx4_pci(s)->config + PMCSR) &
                                           PCI_PM_CTRL_STATE_MASK);
}

/* The gateway at 0x58 and 0x5c reaches the registers of BAR0 by their offset,
 * with memory space off too (mstflint; Linux leaves these two alone when it
 * saves configuration space around a reset). */
static uint32_t gateway_address(Mlx4State *s)
{
    return pci_get_long(PCI_DEVICE(s)->config + MLX4_GATEWAY_ADDRESS);
}

/* Where QEMU itself answers in BAR0: the table and the pending bits of MSI-X. */
static MemoryRegion *msix_part(PCIDevice *pci, uint32_t address, hwaddr *at)
{
    MemoryRegion *const parts[] = { &pci->msix_table_mmio,
                                    &pci->msix_pba_mmio };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(parts); i++) {
        if (address >= parts[i]->addr && address - parts[i]->addr <
            memory_region_size(parts[i])) {
            *at = address - parts[i]->addr;
            return parts[i];
        }
    }
    return NULL;
}

/* The words of registers are big-endian, those of MSI-X little-endian: the same
 * bytes, of which the gateway makes a word in one way. */
static uint32_t gateway_read(Mlx4State *s, uint32_t address)
{
    hwaddr at;
    MemoryRegion *part = msix_part(PCI_DEVICE(s), address, &at);
    uint64_t value = 0xffffffff;

    if (part) {
        memory_region_dispatch_read(part, at, &value, MO_32 | MO_LE,
                                    MEMTXATTRS_UNSPECIFIED);
        return bswap32(value);
    }
    if (mlx4_enter(s)) {
        value = freehca_model_read_registers(s->model, address, 4);
        mlx4_leave(s);
    }
    return value;
}

static void gateway_write(Mlx4State *s, uint32_t address, uint32_t value)
{
    hwaddr at;
    MemoryRegion *part = msix_part(PCI_DEVICE(s), address, &at);

    if (part) {
        memory_region_dispatch_write(part, at, bswap32(value), MO_32 | MO_LE,
                                     MEMTXATTRS_UNSPECIFIED);
    } else if (mlx4_enter(s)) {
        freehca_model_write_registers(s->model, address, value, 4);
        mlx4_leave(s);
    }
}

static bool gateway_reaches(Mlx4State *s)
{
    uint32_t address = gateway_address(s);

    return address < MLX4_REGISTER_BAR_BYTES && address % 4 == 0;
}

uint32_t mlx4_configuration_read(PCIDevice *pci, uint32_t address, int bytes)
{
    Mlx4State *s = MLX4(pci);

    if (!mlx4_is_there(s)) {
        return 0xffffffff;
    }
    if (address == MLX4_GATEWAY_DATA && bytes == 4) {
        return gateway_reaches(s) ? gateway_read(s, gateway_address(s))
                                  : 0xffffffff;
    }
    return pci_default_read_config(pci, address, bytes);
}

static void power_state_written(Mlx4State *s, uint16_t before)
{
    PCIDevice *pci = PCI_DEVICE(s);
    uint16_t after = pci_get_word(pci->config + PMCSR) & PCI_PM_CTRL_STATE_MASK;

    before &= PCI_PM_CTRL_STATE_MASK;
    if (after != 0 && after != D3HOT) {
        /* D1 and D2 are not there: such a write changes nothing. */
        pci_word_test_and_clear_mask(pci->config + PMCSR,
                                     PCI_PM_CTRL_STATE_MASK);
        pci_word_test_and_set_mask(pci->config + PMCSR, before);
    } else if (before == D3HOT && after == 0 &&
               !(pci_get_word(pci->config + PMCSR) &
                 PCI_PM_CTRL_NO_SOFT_RESET)) {
        pci_device_reset(pci);
    }
}

void mlx4_configuration_write(PCIDevice *pci, uint32_t address, uint32_t value,
                              int bytes)
{
    Mlx4State *s = MLX4(pci);
    uint16_t power = pci_get_word(pci->config + PMCSR);

    if (!mlx4_is_there(s)) {
        return;
    }
    pci_default_write_config(pci, address, value, bytes);
    if (ranges_overlap(address, bytes, MLX4_CAP_VPD + PCI_VPD_ADDR, 2)) {
        mlx4_vpd_written(s);
    }
    if (address == MLX4_GATEWAY_DATA && bytes == 4 && gateway_reaches(s)) {
        /* Nothing else reacts to this register, and the write may have
         * unplugged the function. */
        gateway_write(s, gateway_address(s), value);
        return;
    }
    if (ranges_overlap(address, bytes, PMCSR, 2)) {
        power_state_written(s, power);
    }
    /* Last: the device is gone through a reset when this returns. */
    if (ranges_overlap(address, bytes, DEVCTL, 2)) {
        pcie_cap_flr_write_config(pci, address, value, bytes);
    }
}

void mlx4_configuration_reset(Mlx4State *s)
{
    PCIDevice *pci = PCI_DEVICE(s);
    uint8_t *config = pci->config;
    uint16_t devctl = pci_get_word(config + DEVCTL);
    uint16_t lnkctl = pci_get_word(config + LNKCTL);

    /* The header and MSI-X are returned by QEMU's PCI core. */
    memcpy(config + MLX4_CAP_PM, s->power_on + MLX4_CAP_PM,
           MLX4_CAP_MSIX - MLX4_CAP_PM);
    memcpy(config + MLX4_CAP_MSIX + MSIX_CAP_LENGTH,
           s->power_on + MLX4_CAP_MSIX + MSIX_CAP_LENGTH,
           sizeof(s->power_on) - MLX4_CAP_MSIX - MSIX_CAP_LENGTH);
    if (devctl & PCI_EXP_DEVCTL_BCR_FLR) {
        /* What a function-level reset leaves alone (PCIe 3.0, 6.6.2). */
        pci_word_test_and_clear_mask(config + DEVCTL, PCI_EXP_DEVCTL_PAYLOAD);
        pci_word_test_and_set_mask(config + DEVCTL,
                                   devctl & PCI_EXP_DEVCTL_PAYLOAD);
        pci_set_word(config + LNKCTL, lnkctl);
    }
}
