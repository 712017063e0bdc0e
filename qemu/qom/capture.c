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
#include "mlx4.h"

#define MAGIC_NANOSECONDS 0xa1b23c4d
#define LINKTYPE_ETHERNET 1         /* from the MACs on, without the FCS */
#define LINKTYPE_INFINIBAND 247     /* from the LRH to the VCRC */
#define LONGEST_PACKET 65535

static void report_loss(Mlx4State *s, unsigned port, int error)
{
    if (s->captures[0].loss_reported || s->captures[1].loss_reported) {
        return;
    }
    s->captures[port - 1].loss_reported = true;
    warn_report("mlx4: capture%u=%s: %s; what is missing is only counted",
                port, s->captures[port - 1].path,
                error == ENOBUFS ? "the file is written more slowly than "
                                   "packets come"
                                 : strerror(error));
}

static bool write_header(Mlx4File *capture, bool ethernet, int *error)
{
    uint32_t header[] = {
        cpu_to_le32(MAGIC_NANOSECONDS), cpu_to_le32(2 | 4 << 16), 0, 0,
        cpu_to_le32(LONGEST_PACKET),
        cpu_to_le32(ethernet ? LINKTYPE_ETHERNET : LINKTYPE_INFINIBAND),
    };
    struct iovec part = { header, sizeof(header) };

    mlx4_writer_add(capture->writer, &part, 1);
    return mlx4_writer_lost(capture->writer, error) == 0;
}

/* The devices of a machine are not finalized when QEMU ends. */
static void on_exit_of_qemu(Notifier *notifier, void *data)
{
    mlx4_captures_end(container_of(notifier, Mlx4State, captures_at_exit));
}

bool mlx4_captures_begin(Mlx4State *s, freehca_model_options *options,
                         Error **errp)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(s->captures); i++) {
        Mlx4File *capture = &s->captures[i];
        int file, error;

        capture->loss_reported = false;
        if (!capture->path) {
            continue;
        }
        if (i >= s->ports) {
            error_setg(errp, "mlx4: capture%u= needs ports=%u", i + 1, i + 1);
            return false;
        }
        file = qemu_create(capture->path, O_WRONLY | O_TRUNC, 0644, errp);
        if (file < 0) {
            return false;
        }
        capture->writer = mlx4_writer_new(file, false, errp);
        if (!capture->writer) {
            return false;
        }
        if (!s->captures_at_exit.notify) {
            s->captures_at_exit.notify = on_exit_of_qemu;
            qemu_add_exit_notifier(&s->captures_at_exit);
        }
        if (!write_header(capture, options->link[i] != 0, &error)) {
            error_setg_errno(errp, error, "mlx4: capture%u=%s", i + 1,
                             capture->path);
            capture->loss_reported = true;
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
    Mlx4File *capture = &s->captures[port - 1];
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    uint32_t header[] = {
        cpu_to_le32(now / NANOSECONDS_PER_SECOND),
        cpu_to_le32(now % NANOSECONDS_PER_SECOND),
        cpu_to_le32(bytes), cpu_to_le32(bytes),
    };
    struct iovec parts[] = {
        { header, sizeof(header) }, { (void *)from, bytes },
    };
    int error;

    if (capture->writer &&
        !mlx4_writer_add(capture->writer, parts, ARRAY_SIZE(parts)) &&
        !capture->loss_reported) {
        mlx4_writer_lost(capture->writer, &error);
        report_loss(s, port, error);
    }
}

uint64_t mlx4_capture_errors(Mlx4State *s)
{
    uint64_t lost = 0;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(s->captures); i++) {
        if (s->captures[i].writer) {
            lost += mlx4_writer_lost(s->captures[i].writer, NULL);
        }
    }
    /* Whoever asks finds the recording written as far, too. */
    if (s->recording.writer) {
        mlx4_writer_lost(s->recording.writer, NULL);
    }
    return lost;
}

void mlx4_captures_end(Mlx4State *s)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(s->captures); i++) {
        Mlx4File *capture = &s->captures[i];
        int error;

        if (capture->writer) {
            if (mlx4_writer_end(capture->writer, &error) != 0) {
                report_loss(s, i + 1, error);
            }
            capture->writer = NULL;
        }
    }
    if (s->captures_at_exit.notify) {
        qemu_remove_exit_notifier(&s->captures_at_exit);
        s->captures_at_exit.notify = NULL;
    }
}
