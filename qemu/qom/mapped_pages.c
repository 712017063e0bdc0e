/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * Pages of the guest's memory stay mapped from the first access to them until
 * the model is left: one message takes some fourteen accesses, most of them to
 * the same few pages, and the virtual IOMMU's translation of each costs as much
 * as all else that an access is (docs/performance-model.md).
 *
 * A translation ends when the guest says so, by a register of the IOMMU, and
 * that needs QEMU's big lock, which is held all the while. The device itself
 * could write to that register: after an access to what is no memory nothing
 * stays mapped.
 */
#include "qemu/osdep.h"
#include "qemu/rcu.h"
#include "mlx4.h"

static Mlx4MappedPage *slot_of(Mlx4State *s, uint64_t page, bool writing)
{
    uint64_t number = page / MLX4_PAGE_BYTES;

    return &s->mapped_pages[writing][(number ^ number / MLX4_MAPPED_PAGES) %
                                     MLX4_MAPPED_PAGES];
}

static void unmap(Mlx4State *s, Mlx4MappedPage *mapped, bool writing)
{
    if (writing) {
        /* This also says that the page is dirty, and looks up its region. */
        address_space_unmap(pci_get_address_space(mlx4_pci(s)), mapped->host,
                            MLX4_PAGE_BYTES, writing, MLX4_PAGE_BYTES);
    } else {
        memory_region_unref(mapped->region);
    }
    mapped->host = NULL;
}

/* The region is referenced, as by address_space_map(), whose other half gives
 * the reference back. That function itself would read a whole page of another
 * device's registers where the adapter wants four bytes of them. */
static void *map(Mlx4State *s, uint64_t page, bool writing,
                 MemoryRegion **holder)
{
    hwaddr within, bytes = MLX4_PAGE_BYTES;
    MemoryRegion *region;
    void *host = NULL;

    RCU_READ_LOCK_GUARD();
    region = address_space_translate(pci_get_address_space(mlx4_pci(s)),
                                     page, &within, &bytes, writing,
                                     MEMTXATTRS_UNSPECIFIED);
    if (bytes == MLX4_PAGE_BYTES &&
        mlx4_access_is_direct(region, writing)) {
        memory_region_ref(region);
        *holder = region;
        host = (uint8_t *)memory_region_get_ram_ptr(region) + within;
    }
    return host;
}

void *mlx4_page_at(Mlx4State *s, uint64_t address, bool writing)
{
    uint64_t page = address & ~(uint64_t)(MLX4_PAGE_BYTES - 1);
    Mlx4MappedPage *mapped = slot_of(s, page, writing);

    if (s->depth == 0) {
        return NULL;
    }
    if (!mapped->host || mapped->page != page) {
        MemoryRegion *region = NULL;
        void *host = map(s, page, writing, &region);

        if (!host) {
            return NULL;
        }
        if (mapped->host) {
            /* A write that waits belongs to the page until it is done. */
            if (writing && mlx4_posted_writes_touch(s, mapped->host,
                                                    MLX4_PAGE_BYTES)) {
                mlx4_flush_posted_writes(s);
            }
            unmap(s, mapped, writing);
        } else {
            s->mapped_slots[s->mapped_count++] = mapped;
        }
        mapped->page = page;
        mapped->host = host;
        mapped->region = region;
    }
    return (uint8_t *)mapped->host + (address - page);
}

void mlx4_unmap_pages(Mlx4State *s)
{
    unsigned i;

    mlx4_flush_posted_writes(s);
    for (i = 0; i < s->mapped_count; i++) {
        Mlx4MappedPage *mapped = s->mapped_slots[i];

        unmap(s, mapped, mapped >= s->mapped_pages[true]);
    }
    s->mapped_count = 0;
}
