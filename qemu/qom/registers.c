/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * The two BARs. The bus is little-endian and the device's registers are
 * big-endian; QEMU swaps, and the model sees values in host order.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "mlx4.h"

/* A guest may point the device's own DMA at its registers, or at the window
 * of its configuration space: the model is then inside a call already. */
bool mlx4_enter(Mlx4State *s)
{
    if (s->depth > 0 || !s->model) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "mlx4: the device reached its own registers: refused\n");
        return false;
    }
    s->depth++;
    object_ref(OBJECT(s));
    return true;
}

/* The model may be entered no more, and is destroyed as soon as nobody is
 * inside: its own DMA may be what unplugged it, by way of a slot's registers. */
void mlx4_model_end(Mlx4State *s)
{
    if (s->depth == 0 && s->model) {
        freehca_model_destroy(s->model);
        s->model = NULL;
    }
}

void mlx4_leave(Mlx4State *s)
{
    if (s->depth == 1 && s->reset_pending) {
        s->reset_pending = false;
        if (!s->dying) {
            freehca_model_reset(s->model);
        }
    }
    if (!s->in_turns) {
        mlx4_unmap_pages(s);
    }
    s->depth--;
    if (s->dying) {
        mlx4_model_end(s);
    } else if (s->depth == 0) {
        mlx4_links_flush(s);
        mlx4_arm_timer(s);
    }
    object_unref(OBJECT(s));
}

static uint64_t all_ones(unsigned bytes)
{
    return bytes == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * bytes)) - 1;
}

static uint64_t read_bar(Mlx4State *s,
                         uint64_t (*read)(freehca_model *, uint64_t, unsigned),
                         hwaddr offset, unsigned bytes)
{
    uint64_t value = all_ones(bytes);

    if (mlx4_in_d0(s) && mlx4_enter(s)) {
        value = read(s->model, offset, bytes);
        mlx4_finish_access(s);
    }
    return value;
}

static void write_bar(Mlx4State *s, void (*write)(freehca_model *, uint64_t,
                                                  uint64_t, unsigned),
                      hwaddr offset, uint64_t value, unsigned bytes)
{
    if (mlx4_in_d0(s) && mlx4_enter(s)) {
        write(s->model, offset, value, bytes);
        mlx4_finish_access(s);
    }
}

static uint64_t read_registers(void *opaque, hwaddr offset, unsigned bytes)
{
    return read_bar(opaque, freehca_model_read_registers, offset, bytes);
}

static void write_registers(void *opaque, hwaddr offset, uint64_t value,
                            unsigned bytes)
{
    write_bar(opaque, freehca_model_write_registers, offset, value, bytes);
}

static uint64_t read_uar(void *opaque, hwaddr offset, unsigned bytes)
{
    return read_bar(opaque, freehca_model_read_uar, offset, bytes);
}

static void write_uar(void *opaque, hwaddr offset, uint64_t value,
                      unsigned bytes)
{
    write_bar(opaque, freehca_model_write_uar, offset, value, bytes);
}

/* The model wants to see (and complain of) odd sizes, so all are passed on. */
static const MemoryRegionOps register_ops = {
    .read = read_registers,
    .write = write_registers,
    .endianness = DEVICE_BIG_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8 },
    .impl = { .min_access_size = 1, .max_access_size = 8 },
};

static const MemoryRegionOps uar_ops = {
    .read = read_uar,
    .write = write_uar,
    .endianness = DEVICE_BIG_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8 },
    .impl = { .min_access_size = 1, .max_access_size = 8 },
};

void mlx4_registers_init(Mlx4State *s)
{
    PCIDevice *pci = PCI_DEVICE(s);

    memory_region_init_io(&s->registers, OBJECT(s), &register_ops, s,
                          "mlx4-registers", MLX4_REGISTER_BAR_BYTES);
    pci_register_bar(pci, MLX4_REGISTER_BAR, PCI_BASE_ADDRESS_MEM_TYPE_64,
                     &s->registers);
    memory_region_init_io(&s->uar, OBJECT(s), &uar_ops, s, "mlx4-uar",
                          s->uar_bar_bytes);
    pci_register_bar(pci, MLX4_UAR_BAR, PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &s->uar);
}
