/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * capture1= and capture2=: the packets, or frames, of a port in a file of
 * libpcap's format.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/bswap.h"
#include "qemu/error-report.h"
#include "qemu/iov.h"
#include "mlx4.h"

#define MAGIC_NANOSECONDS 0xa1b23c4d
#define LINKTYPE_ETHERNET 1         /* from the MACs on, without the FCS */
#define LINKTYPE_INFINIBAND 247     /* from the LRH to the VCRC */
#define LONGEST_PACKET 65535

/* Unbuffered, so that the file is whole whenever QEMU ends. A packet of which
 * only a part found room is taken back. */
bool mlx4_append(Mlx4Capture *capture, const struct iovec *parts,
                 unsigned count)
{
    ssize_t bytes = iov_size(parts, count);
    ssize_t written;

    do {
        written = writev(capture->file, parts, count);
    } while (written < 0 && errno == EINTR);
    if (written == bytes) {
        capture->end += bytes;
        return true;
    }
    if (written > 0) {
        /* A disk that is full tells so by what it leaves. */
        errno = ENOSPC;
        if (ftruncate(capture->file, capture->end) == 0) {
            lseek(capture->file, capture->end, SEEK_SET);
        }
    }
    return false;
}

static bool write_header(Mlx4Capture *capture, bool ethernet)
{
    uint32_t header[] = {
        cpu_to_le32(MAGIC_NANOSECONDS), cpu_to_le32(2 | 4 << 16), 0, 0,
        cpu_to_le32(LONGEST_PACKET),
        cpu_to_le32(ethernet ? LINKTYPE_ETHERNET : LINKTYPE_INFINIBAND),
    };
    struct iovec part = { header, sizeof(header) };

    return mlx4_append(capture, &part, 1);
}

bool mlx4_captures_begin(Mlx4State *s, freehca_model_options *options,
                         Error **errp)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(s->captures); i++) {
        Mlx4Capture *capture = &s->captures[i];

        capture->end = 0;
        if (!capture->path) {
            continue;
        }
        if (i >= s->ports) {
            error_setg(errp, "mlx4: capture%u= needs ports=%u", i + 1, i + 1);
            return false;
        }
        capture->file = qemu_create(capture->path, O_WRONLY | O_TRUNC, 0644,
                                    errp);
        if (capture->file < 0) {
            return false;
        }
        capture->open = true;
        if (!write_header(capture, options->link[i] != 0)) {
            error_setg_errno(errp, errno, "mlx4: capture%u=%s", i + 1,
                             capture->path);
            return false;
        }
        options->capture[i] = true;
    }
    return true;
}

void mlx4_packet_passed(void *context, unsigned port, const void *from,
                        size_t bytes)
{
    Mlx4State *s = context;
    Mlx4Capture *capture = &s->captures[port - 1];
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    uint32_t header[] = {
        cpu_to_le32(now / NANOSECONDS_PER_SECOND),
        cpu_to_le32(now % NANOSECONDS_PER_SECOND),
        cpu_to_le32(bytes), cpu_to_le32(bytes),
    };
    struct iovec parts[] = {
        { header, sizeof(header) }, { (void *)from, bytes },
    };

    if (!capture->open || mlx4_append(capture, parts, ARRAY_SIZE(parts))) {
        return;
    }
    if (s->capture_errors++ == 0) {
        warn_report("mlx4: capture%u=%s: %s; what is missing is only counted",
                    port, capture->path, strerror(errno));
    }
}

void mlx4_captures_end(Mlx4State *s)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(s->captures); i++) {
        if (s->captures[i].open) {
            close(s->captures[i].file);
            s->captures[i].open = false;
        }
    }
}
