/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * x-record=: what passes between adapter and guest in a file; docs/recording.md
 * has its format.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "mlx4.h"

/* The devices of a machine are not finalized when QEMU ends. */
static void on_exit_of_qemu(Notifier *notifier, void *data)
{
    mlx4_recording_end(container_of(notifier, Mlx4State, recording_at_exit));
}

bool mlx4_recording_begin(Mlx4State *s, freehca_model_options *options,
                          Error **errp)
{
    int file;

    s->recording.loss_reported = false;
    if (!s->recording.path) {
        if (s->record_label) {
            error_setg(errp, "mlx4: x-record-label= needs x-record=");
            return false;
        }
        return true;
    }
    file = qemu_create(s->recording.path, O_WRONLY | O_TRUNC, 0644, errp);
    if (file < 0) {
        error_prepend(errp, "mlx4: x-record=%s: ", s->recording.path);
        return false;
    }
    /* A recording with a gap cannot be replayed behind it. */
    s->recording.writer = mlx4_writer_new(file, true, errp);
    if (!s->recording.writer) {
        return false;
    }
    s->recording_at_exit.notify = on_exit_of_qemu;
    qemu_add_exit_notifier(&s->recording_at_exit);
    options->record = true;
    options->record_label = s->record_label;
    return true;
}

static void report_end(Mlx4State *s, int error)
{
    if (!s->recording.loss_reported) {
        s->recording.loss_reported = true;
        warn_report("mlx4: x-record=%s: %s; the recording ends here, the guest "
                    "goes on", s->recording.path, strerror(error));
    }
}

bool mlx4_record(void *context, const char *from, size_t bytes)
{
    Mlx4State *s = context;
    struct iovec part = { (void *)from, bytes };
    int error;

    if (!s->recording.writer) {
        return false;
    }
    if (mlx4_writer_add(s->recording.writer, &part, 1)) {
        return true;
    }
    /* While the model is made it is the header: no device comes of it. */
    if (s->model) {
        mlx4_writer_lost(s->recording.writer, &error);
        report_end(s, error);
    }
    return false;
}

bool mlx4_recording_began(Mlx4State *s, Error **errp)
{
    int error;

    if (s->recording.writer &&
        mlx4_writer_lost(s->recording.writer, &error) != 0) {
        error_setg_errno(errp, error, "mlx4: x-record=%s", s->recording.path);
        s->recording.loss_reported = true;
        return false;
    }
    return true;
}

void mlx4_recording_end(Mlx4State *s)
{
    int error;

    if (!s->recording.writer) {
        return;
    }
    if (s->model) {
        freehca_model_end_recording(s->model);
    }
    qemu_remove_exit_notifier(&s->recording_at_exit);
    if (mlx4_writer_end(s->recording.writer, &error) != 0) {
        report_end(s, error);
    }
    s->recording.writer = NULL;
}
