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
    Mlx4State *s = container_of(notifier, Mlx4State, at_exit);

    mlx4_recording_end(s);
}

bool mlx4_recording_begin(Mlx4State *s, freehca_model_options *options,
                          Error **errp)
{
    s->recording.end = 0;
    if (!s->recording.path) {
        if (s->record_label) {
            error_setg(errp, "mlx4: x-record-label= needs x-record=");
            return false;
        }
        return true;
    }
    s->recording.file = qemu_create(s->recording.path, O_WRONLY | O_TRUNC,
                                    0644, errp);
    if (s->recording.file < 0) {
        error_prepend(errp, "mlx4: x-record=%s: ", s->recording.path);
        return false;
    }
    s->recording.open = true;
    s->at_exit.notify = on_exit_of_qemu;
    qemu_add_exit_notifier(&s->at_exit);
    options->record = true;
    options->record_label = s->record_label;
    return true;
}

bool mlx4_record(void *context, const char *from, size_t bytes)
{
    Mlx4State *s = context;
    struct iovec part = { (void *)from, bytes };

    if (!s->recording.open) {
        return false;
    }
    if (mlx4_append(&s->recording, &part, 1)) {
        return true;
    }
    s->recording_error = errno;
    if (s->recording.end == 0) {
        return false;               /* the header: no device comes of it */
    }
    warn_report("mlx4: x-record=%s: %s; the recording ends here, the guest "
                "goes on", s->recording.path, strerror(errno));
    return false;
}

bool mlx4_recording_began(Mlx4State *s, Error **errp)
{
    if (s->recording.open && s->recording.end == 0) {
        error_setg_errno(errp, s->recording_error, "mlx4: x-record=%s",
                         s->recording.path);
        return false;
    }
    return true;
}

void mlx4_recording_end(Mlx4State *s)
{
    if (!s->recording.open) {
        return;
    }
    if (s->model) {
        freehca_model_end_recording(s->model);
    }
    qemu_remove_exit_notifier(&s->at_exit);
    close(s->recording.file);
    s->recording.open = false;
}
