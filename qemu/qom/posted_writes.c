/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * Small writes to the guest's memory wait until the model is left, as posted
 * writes of a card wait in its bridge. They go out in their order, and before
 * an interrupt. What is read of them meanwhile is theirs: places are compared
 * in the host's memory, since the guest can give one page two addresses.
 *
 * A processor that polls for a message answers as soon as it sees it, by a
 * doorbell, and would find QEMU's big lock taken by the processor whose
 * doorbell sent the message: the acknowledgement and the completion are still
 * to be made. To sleep and to be woken costs ten times more than that work
 * (`./dev bench rdma_write`).
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "mlx4.h"

bool mlx4_post_write(Mlx4State *s, uint64_t address, const void *from,
                     size_t bytes)
{
    Mlx4PostedWrite *posted;
    dma_addr_t mapped = bytes;
    void *to;

    if (s->depth == 0 || bytes > sizeof(posted->data)) {
        return false;
    }
    if (s->posted_count == ARRAY_SIZE(s->posted)) {
        mlx4_flush_posted_writes(s);
    }
    to = pci_dma_map(PCI_DEVICE(s), address, &mapped,
                     DMA_DIRECTION_FROM_DEVICE);
    if (!to) {
        return false;
    }
    if (mapped != bytes) {
        pci_dma_unmap(PCI_DEVICE(s), to, mapped, DMA_DIRECTION_FROM_DEVICE, 0);
        return false;
    }
    posted = &s->posted[s->posted_count++];
    posted->to = to;
    posted->bytes = bytes;
    memcpy(posted->data, from, bytes);
    return true;
}

static bool overlaps(const Mlx4PostedWrite *posted, const void *from,
                     size_t bytes)
{
    uintptr_t first = (uintptr_t)from, other = (uintptr_t)posted->to;

    return first < other + posted->bytes && other < first + bytes;
}

bool mlx4_read_beside_posted_writes(Mlx4State *s, uint64_t address, void *to,
                                    size_t bytes)
{
    dma_addr_t mapped = bytes;
    bool wanted = false;
    void *from;
    unsigned i;

    if (s->posted_count == 0) {
        return false;
    }
    from = pci_dma_map(PCI_DEVICE(s), address, &mapped,
                       DMA_DIRECTION_TO_DEVICE);
    for (i = 0; from && mapped == bytes && i < s->posted_count; i++) {
        wanted |= overlaps(&s->posted[i], from, bytes);
    }
    if (wanted || !from || mapped != bytes) {
        mlx4_flush_posted_writes(s);
    }
    if (from && mapped == bytes) {
        memcpy(to, from, bytes);
    }
    if (from) {
        pci_dma_unmap(PCI_DEVICE(s), from, mapped, DMA_DIRECTION_TO_DEVICE,
                      mapped);
    }
    return from && mapped == bytes;
}

/* Ownership words and doorbell records are polled by the guest while they are
 * written: four and eight aligned bytes go out as one store. */
static void store(const Mlx4PostedWrite *posted)
{
    uintptr_t to = (uintptr_t)posted->to;

    smp_wmb();
    if (posted->bytes == 4 && to % 4 == 0) {
        qatomic_set((uint32_t *)posted->to, ldl_he_p(posted->data));
    } else if (posted->bytes == 8 && to % 8 == 0) {
        qatomic_set((uint64_t *)posted->to, ldq_he_p(posted->data));
    } else {
        memcpy(posted->to, posted->data, posted->bytes);
    }
}

/* A write may be for the adapter's own registers, which it may not reach, or
 * for those that unplug it: so nobody enters the model meanwhile, and it goes
 * when all is written. */
void mlx4_flush_posted_writes(Mlx4State *s)
{
    unsigned count = s->posted_count, i;

    if (count == 0) {
        return;
    }
    s->posted_count = 0;
    s->depth++;
    for (i = 0; i < count; i++) {
        Mlx4PostedWrite *posted = &s->posted[i];

        store(posted);
        pci_dma_unmap(PCI_DEVICE(s), posted->to, posted->bytes,
                      DMA_DIRECTION_FROM_DEVICE, posted->bytes);
    }
    s->depth--;
    if (s->dying) {
        mlx4_model_end(s);
    }
}
