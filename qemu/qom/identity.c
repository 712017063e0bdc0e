/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * What each variant says of itself in the header of configuration space.
 * Sources: captures of real cards (docs/hardware-pci.md).
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "mlx4.h"

static const Mlx4Identity identities[MLX4_VARIANTS] = {
    [MLX4_CONNECTX3_PRO] = {
        .name = "connectx3-pro",
        .device_id = 0x1007,
        /* No capture of a VPI card shows the number: borrowed from 1003. */
        .subsystem_id = { 0x0051, 0x0050 },
        .class_code = 0x028000,
        .revision = 0x00,
        .gen3 = true,
        .max_payload = 2,
        /* No source: chosen after the CX-3's texts and the order codes. */
        .product_name = { "CX353A - ConnectX-3 Pro QSFP",
                          "CX354A - ConnectX-3 Pro QSFP" },
        .part_number = { "MCX353A-FCCT", "MCX354A-FCCT" },
        .engineering_change = { "A3", "A3" },
        .link_text = "PCIe Gen3 x8",
    },
    [MLX4_CONNECTX3] = {
        .name = "connectx3",
        .device_id = 0x1003,
        .subsystem_id = { 0x0051, 0x0050 },
        .class_code = 0x028000,
        .revision = 0x00,
        .gen3 = true,
        .max_payload = 2,
        .product_name = { "CX353A - ConnectX-3 QSFP",
                          "CX354A - ConnectX-3 QSFP" },
        .part_number = { "MCX353A-FCBT", "MCX354A-FCBT" },
        .engineering_change = { "A3", "AC" },
        .link_text = "PCIe Gen3 x8",
    },
    [MLX4_CONNECTX2] = {
        .name = "connectx2",
        .device_id = 0x673c,
        .subsystem_id = { 0x0022, 0x0021 },
        .class_code = 0x0c0600,
        .revision = 0xb0,
        .gen3 = false,
        .max_payload = 1,
        /* The part number of the card with two ports: no source, chosen. */
        .product_name = { "KESTREL QDR", "KESTREL QDR" },
        .part_number = { "MHQH19B-XTR", "MHQH29B-XTR" },
        .engineering_change = { "A1", "A1" },
        .link_text = "PCIe Gen2 x8",
    },
};

const Mlx4Identity *mlx4_identity_by_name(const char *name, Error **errp)
{
    int i;

    for (i = 0; i < MLX4_VARIANTS; i++) {
        if (!name || !strcmp(name, identities[i].name)) {
            return &identities[i];
        }
    }
    error_setg(errp, "mlx4: variant=%s: connectx3-pro, connectx3 or connectx2",
               name);
    return NULL;
}

Mlx4Variant mlx4_identity_variant(const Mlx4Identity *identity)
{
    return identity - identities;
}

void mlx4_identity_write(Mlx4State *s)
{
    const Mlx4Identity *identity = s->identity;
    uint8_t *config = PCI_DEVICE(s)->config;

    pci_config_set_vendor_id(config, MLX4_VENDOR_ID);
    pci_config_set_device_id(config, s->device_id ? s->device_id
                                                  : identity->device_id);
    pci_config_set_revision(config, identity->revision);
    pci_config_set_class(config, s->class_code >> 8);
    pci_config_set_prog_interface(config, s->class_code & 0xff);
    pci_set_word(config + PCI_SUBSYSTEM_VENDOR_ID, MLX4_VENDOR_ID);
    pci_set_word(config + PCI_SUBSYSTEM_ID,
                 identity->subsystem_id[s->ports - 1]);
    pci_config_set_interrupt_pin(config, 1);
}
