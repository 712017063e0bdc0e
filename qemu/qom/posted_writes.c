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

/* Ownership words and doorbell records are polled by the guest while they are
 * written: four and eight aligned bytes go out as one store. */
static void store(void *to, const void *from, size_t bytes)
{
    smp_mb();
    if (bytes == 4 && (uintptr_t)to % 4 == 0) {
        qatomic_set((uint32_t *)to, ldl_he_p(from));
    } else if (bytes == 8 && (uintptr_t)to % 8 == 0) {
        qatomic_set((uint64_t *)to, ldq_he_p(from));
    } else {
        memcpy(to, from, bytes);
    }
}

void mlx4_write_memory(Mlx4State *s, void *to, const void *from, size_t bytes)
{
    Mlx4PostedWrite *posted;

    if (bytes > sizeof(posted->data)) {
        mlx4_flush_posted_writes(s);
        store(to, from, bytes);
        return;
    }
    if (s->posted_count == ARRAY_SIZE(s->posted)) {
        mlx4_flush_posted_writes(s);
    }
    posted = &s->posted[s->posted_count++];
    posted->to = to;
    posted->bytes = bytes;
    memcpy(posted->data, from, bytes);
}

bool mlx4_posted_writes_touch(Mlx4State *s, const void *from, size_t bytes)
{
    unsigned i;

    for (i = 0; i < s->posted_count; i++) {
        uintptr_t first = (uintptr_t)from, other = (uintptr_t)s->posted[i].to;

        if (first < other + s->posted[i].bytes && other < first + bytes) {
            return true;
        }
    }
    return false;
}

/* What waits is laid over what memory holds: to send it out for the sake of a
 * read would show the guest the payload before its completion is made, the
 * more often the more of the contexts in its memory are read again. */
static void lay_over(const Mlx4PostedWrite *posted, uint8_t *to,
                     const void *from, size_t bytes)
{
    uintptr_t first = (uintptr_t)from, other = (uintptr_t)posted->to;
    uintptr_t begin = MAX(first, other);
    uintptr_t end = MIN(first + bytes, other + posted->bytes);

    if (begin < end) {
        memcpy(to + (begin - first), posted->data + (begin - other),
               end - begin);
    }
}

void mlx4_read_memory(Mlx4State *s, void *to, const void *from, size_t bytes)
{
    unsigned i;

    smp_mb();
    memcpy(to, from, bytes);
    for (i = 0; i < s->posted_count; i++) {
        lay_over(&s->posted[i], to, from, bytes);
    }
}

void mlx4_flush_posted_writes(Mlx4State *s)
{
    unsigned i;

    for (i = 0; i < s->posted_count; i++) {
        store(s->posted[i].to, s->posted[i].data, s->posted[i].bytes);
    }
    s->posted_count = 0;
}
