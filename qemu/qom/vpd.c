/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * Vital product data: contents as in the captures of CX-2 and CX-3 (4096
 * bytes, one field of read-write area per 256 bytes on the CX-3), and the
 * address and data registers through which a host reads them.
 */
#include "qemu/osdep.h"
#include "mlx4.h"

#define TAG_NAME 0x82
#define TAG_READ_ONLY 0x90
#define TAG_READ_WRITE 0x91
#define TAG_END 0x78
#define TAG_BYTES 3
#define FIELD_BYTES 3
#define PAGE_BYTES 256
/* Free bytes in the one read-write area of a CX-2. */
#define CONNECTX2_FREE_BYTES 109

typedef struct Writer {
    uint8_t *data;
    unsigned used;
} Writer;

static void put(Writer *w, const void *bytes, unsigned count)
{
    memcpy(w->data + w->used, bytes, count);
    w->used += count;
}

static unsigned open_tag(Writer *w, uint8_t tag)
{
    uint8_t head[TAG_BYTES] = { tag };

    put(w, head, sizeof(head));
    return w->used;
}

static void close_tag(Writer *w, unsigned start)
{
    stw_le_p(w->data + start - 2, w->used - start);
}

/* Text fields are padded with blanks to the widths of the captures. */
static void put_field(Writer *w, const char *keyword, const char *text,
                      unsigned width)
{
    uint8_t head[FIELD_BYTES] = { keyword[0], keyword[1], width };
    unsigned length = strlen(text);

    assert(length <= width && width < 256);
    put(w, head, sizeof(head));
    memset(w->data + w->used, ' ', width);
    memcpy(w->data + w->used, text, length);
    w->used += width;
}

static void put_free(Writer *w, unsigned count)
{
    uint8_t head[FIELD_BYTES] = { 'R', 'W', count };

    put(w, head, sizeof(head));
    memset(w->data + w->used, 0, count);
    w->used += count;
}

static void put_checksum(Writer *w)
{
    uint8_t field[FIELD_BYTES + 1] = { 'R', 'V', 1, 0 };
    uint8_t sum = 0;
    unsigned i;

    put(w, field, sizeof(field));
    for (i = 0; i < w->used; i++) {
        sum += w->data[i];
    }
    w->data[w->used - 1] = -sum;
}

void mlx4_vpd_make(Mlx4State *s, uint64_t node_guid)
{
    const Mlx4Identity *identity = s->identity;
    const char *name = identity->product_name[s->ports - 1];
    g_autofree char *serial = NULL;
    Writer w = { .data = s->vpd };
    unsigned start;

    memset(s->vpd, 0, sizeof(s->vpd));
    /* In the form of the captures; no source for the number: chosen. */
    serial = g_strdup_printf("MT1604X%05u", (unsigned)(node_guid % 100000));

    start = open_tag(&w, TAG_NAME);
    put(&w, name, strlen(name));
    close_tag(&w, start);

    start = open_tag(&w, TAG_READ_ONLY);
    put_field(&w, "PN", identity->part_number[s->ports - 1], 21);
    put_field(&w, "EC", identity->engineering_change[s->ports - 1], 2);
    put_field(&w, "SN", serial, 24);
    put_field(&w, "V0", identity->link_text, 16);
    put_checksum(&w);
    close_tag(&w, start);
    /* The lengths of the tags are part of the sum. */
    w.used -= FIELD_BYTES + 1;
    put_checksum(&w);

    start = open_tag(&w, TAG_READ_WRITE);
    s->vpd_writable = w.used;
    put_field(&w, "V1", "N/A", 6);
    put_field(&w, "YA", "N/A", 24);
    if (identity->gen3) {
        put_free(&w, PAGE_BYTES - w.used - FIELD_BYTES);
        while (w.used < MLX4_VPD_BYTES - PAGE_BYTES) {
            put_free(&w, PAGE_BYTES - FIELD_BYTES);
        }
        put_free(&w, PAGE_BYTES - FIELD_BYTES - 1);
    } else {
        put_free(&w, CONNECTX2_FREE_BYTES);
    }
    close_tag(&w, start);
    s->vpd[w.used++] = TAG_END;
    assert(w.used <= MLX4_VPD_BYTES);
}

/* A write of the address starts a transfer: with the flag clear a read, which
 * sets it at the end; with the flag set a write, which clears it. */
void mlx4_vpd_written(Mlx4State *s)
{
    uint8_t *cap = PCI_DEVICE(s)->config + MLX4_CAP_VPD;
    uint16_t command = pci_get_word(cap + PCI_VPD_ADDR);
    uint16_t address = command & PCI_VPD_ADDR_MASK & ~3;
    bool inside = address < MLX4_VPD_BYTES;

    if (command & PCI_VPD_ADDR_F) {
        if (inside && address >= s->vpd_writable &&
            address + 4 < MLX4_VPD_BYTES) {
            memcpy(s->vpd + address, cap + PCI_VPD_DATA, 4);
        }
    } else if (inside) {
        memcpy(cap + PCI_VPD_DATA, s->vpd + address, 4);
    } else {
        pci_set_long(cap + PCI_VPD_DATA, 0);
    }
    pci_set_word(cap + PCI_VPD_ADDR, command ^ PCI_VPD_ADDR_F);
}
