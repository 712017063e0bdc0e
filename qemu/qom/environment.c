/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * What the model asks of its surroundings, answered by QEMU. Contracts in
 * freehca/model/environment.hpp.
 */
#include "qemu/osdep.h"
#include "hw/pci/msix.h"
#include "mlx4.h"

static bool may_master(Mlx4State *s)
{
    return mlx4_in_d0(s) && (pci_get_word(mlx4_pci(s)->config + PCI_COMMAND) &
                             PCI_COMMAND_MASTER);
}

/* What is no memory is registers: of this device, which it may not reach, or of
 * another, which may unplug it or change what addresses mean. */
static bool reach(Mlx4State *s, uint64_t address, void *data, size_t bytes,
                  DMADirection direction)
{
    bool writing = direction == DMA_DIRECTION_FROM_DEVICE;
    uint8_t *next = data;

    while (may_master(s)) {
        size_t part = MIN(bytes, MLX4_PAGE_BYTES - address % MLX4_PAGE_BYTES);
        void *memory;

        if (part == 0) {
            return true;
        }
        memory = mlx4_page_at(s, address, writing);
        if (memory && writing) {
            mlx4_write_memory(s, memory, next, part);
        } else if (memory) {
            mlx4_read_memory(s, next, memory, part);
        } else {
            mlx4_unmap_pages(s);
            if (pci_dma_rw(PCI_DEVICE(s), address, next, part, direction,
                           MEMTXATTRS_UNSPECIFIED) != MEMTX_OK) {
                return false;
            }
        }
        address += part;
        next += part;
        bytes -= part;
    }
    return false;
}

static bool dma_read(void *context, uint64_t address, void *to, size_t bytes)
{
    return reach(context, address, to, bytes, DMA_DIRECTION_TO_DEVICE);
}

static bool dma_write(void *context, uint64_t address, const void *from,
                      size_t bytes)
{
    return reach(context, address, (void *)from, bytes,
                 DMA_DIRECTION_FROM_DEVICE);
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
    /* QEMU saves the level of the line itself. */
    if (!s->dying && !s->loading) {
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
