/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * What the model asks of its surroundings, answered by QEMU. Contracts in
 * freehca/model/environment.hpp.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "hw/pci/msix.h"
#include "mlx4.h"

static bool may_master(Mlx4State *s)
{
    return mlx4_in_d0(s) && (pci_get_word(PCI_DEVICE(s)->config + PCI_COMMAND) &
                             PCI_COMMAND_MASTER);
}

static bool dma_read(void *context, uint64_t address, void *to, size_t bytes)
{
    Mlx4State *s = context;

    return may_master(s) &&
        (mlx4_read_beside_posted_writes(s, address, to, bytes) ||
         pci_dma_read(PCI_DEVICE(s), address, to, bytes) == MEMTX_OK);
}

/* Ownership words and doorbell records are polled by the guest while they are
 * written: four and eight aligned bytes go out as one store. */
static bool dma_write(void *context, uint64_t address, const void *from,
                      size_t bytes)
{
    Mlx4State *s = context;
    PCIDevice *pci = PCI_DEVICE(s);
    MemTxResult result = MEMTX_OK;

    if (!may_master(s)) {
        return false;
    }
    if (mlx4_post_write(s, address, from, bytes)) {
        return true;
    }
    mlx4_flush_posted_writes(s);
    if (bytes == 4 && address % 4 == 0) {
        smp_mb();
        address_space_stl_le(pci_get_address_space(pci), address,
                             ldl_le_p(from), MEMTXATTRS_UNSPECIFIED, &result);
    } else if (bytes == 8 && address % 8 == 0) {
        smp_mb();
        address_space_stq_le(pci_get_address_space(pci), address,
                             ldq_le_p(from), MEMTXATTRS_UNSPECIFIED, &result);
    } else {
        result = pci_dma_write(pci, address, from, bytes);
    }
    return result == MEMTX_OK;
}

static bool bus_master(void *context)
{
    return may_master(context);
}

static bool is_msix_enabled(void *context)
{
    Mlx4State *s = context;

    return !s->dying && msix_enabled(PCI_DEVICE(s));
}

static void msix(void *context, unsigned vector)
{
    Mlx4State *s = context;
    PCIDevice *pci = PCI_DEVICE(s);

    mlx4_flush_posted_writes(s);
    if (may_master(s) && msix_enabled(pci) && vector < MLX4_MSIX_VECTORS) {
        msix_notify(pci, vector);
    }
}

static void intx(void *context, bool asserted)
{
    Mlx4State *s = context;

    mlx4_flush_posted_writes(s);
    if (!s->dying) {
        pci_set_irq(PCI_DEVICE(s), asserted && !msix_enabled(PCI_DEVICE(s)));
    }
}

static uint64_t now(void *context)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static void arm_timer(void *context, uint64_t deadline)
{
    Mlx4State *s = context;

    s->deadline = s->dying ? UINT64_MAX : deadline;
    mlx4_arm_timer(s);
}

/* The software reset came through the model, which has reset itself: the
 * reset handler sees that it runs, and leaves it alone. */
static void wipe_configuration_space(void *context)
{
    Mlx4State *s = context;
    bool pending = s->reset_pending;

    if (s->dying) {
        return;
    }
    pci_device_reset(PCI_DEVICE(s));
    s->reset_pending = pending;
}

const freehca_model_environment mlx4_environment = {
    .dma_read = dma_read,
    .dma_write = dma_write,
    .bus_master = bus_master,
    .msix_enabled = is_msix_enabled,
    .msix = msix,
    .intx = intx,
    .now = now,
    .arm_timer = arm_timer,
    .wipe_configuration_space = wipe_configuration_space,
    .listens = mlx4_listens,
    .tell = mlx4_tell,
    .link_send = mlx4_link_send,
    .packet_passed = mlx4_packet_passed,
    .record = mlx4_record,
};
