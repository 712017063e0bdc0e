/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * Files that grow while the guest runs (captures, recordings). The device adds
 * records under QEMU's big lock; a thread without that lock writes them. What
 * waits for the thread has a bound, and a record that is in no file is counted.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/iov.h"
#include "qemu/units.h"
#include "mlx4.h"

/* That wait to be written. */
#define BYTES_AT_MOST (4 * MiB)
/* Whoever waits for the thread gives up when it has written nothing for so
 * long: a pipe whose reader has stopped must not stop QEMU. */
#define PATIENCE_US (5 * G_TIME_SPAN_SECOND)

typedef struct Record {
    QSIMPLEQ_ENTRY(Record) next;
    size_t bytes;
    uint8_t data[];
} Record;

struct Mlx4Writer {
    int file;
    bool gapless;
    GThread *thread;
    GMutex lock;                    /* of all that follows */
    GCond changed;
    QSIMPLEQ_HEAD(, Record) records;
    size_t held;                    /* bytes of records that are not done */
    uint64_t done;                  /* records: written, or lost */
    uint64_t lost;
    int error;                      /* errno of the first that was lost */
    bool ends;
    bool abandoned;                 /* the thread frees it */
    off_t end;                      /* of the last whole record in the file */
};

/* A record of which only a part found room is taken back. Returns an errno. */
static int write_record(Mlx4Writer *writer, const Record *record)
{
    ssize_t written;

    do {
        written = write(writer->file, record->data, record->bytes);
    } while (written < 0 && errno == EINTR);
    if (written == (ssize_t)record->bytes) {
        writer->end += written;
        return 0;
    }
    if (written < 0) {
        return errno;
    }
    /* A disk that is full tells so by what it leaves. */
    if (ftruncate(writer->file, writer->end) == 0) {
        lseek(writer->file, writer->end, SEEK_SET);
    }
    return ENOSPC;
}

static void count_loss(Mlx4Writer *writer, int error)
{
    writer->lost++;
    if (!writer->error) {
        writer->error = error;
    }
}

static void free_writer(Mlx4Writer *writer)
{
    close(writer->file);
    g_mutex_clear(&writer->lock);
    g_cond_clear(&writer->changed);
    g_free(writer);
}

static void *write_records(void *opaque)
{
    Mlx4Writer *writer = opaque;
    bool abandoned;

    g_mutex_lock(&writer->lock);
    while (!writer->ends || !QSIMPLEQ_EMPTY(&writer->records)) {
        Record *record = QSIMPLEQ_FIRST(&writer->records);
        int error;

        if (!record) {
            g_cond_wait(&writer->changed, &writer->lock);
            continue;
        }
        QSIMPLEQ_REMOVE_HEAD(&writer->records, next);
        error = writer->gapless ? writer->error : 0;
        if (!error) {
            g_mutex_unlock(&writer->lock);
            error = write_record(writer, record);
            g_mutex_lock(&writer->lock);
        }
        if (error) {
            count_loss(writer, error);
        }
        writer->held -= record->bytes;
        writer->done++;
        g_free(record);
        g_cond_broadcast(&writer->changed);
    }
    abandoned = writer->abandoned;
    g_mutex_unlock(&writer->lock);
    if (abandoned) {
        free_writer(writer);
    }
    return NULL;
}

Mlx4Writer *mlx4_writer_new(int file, bool gapless, Error **errp)
{
    Mlx4Writer *writer = g_new0(Mlx4Writer, 1);
    g_autoptr(GError) why = NULL;
    sigset_t all, before;

    writer->file = file;
    writer->gapless = gapless;
    g_mutex_init(&writer->lock);
    g_cond_init(&writer->changed);
    QSIMPLEQ_INIT(&writer->records);
    /* Signals are for QEMU's own threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    writer->thread = g_thread_try_new("mlx4-writer", write_records, writer,
                                      &why);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!writer->thread) {
        error_setg(errp, "mlx4: no thread that writes a file: %s",
                   why->message);
        free_writer(writer);
        return NULL;
    }
    return writer;
}

bool mlx4_writer_add(Mlx4Writer *writer, const struct iovec *parts,
                     unsigned count)
{
    size_t bytes = iov_size(parts, count);
    Record *record = g_malloc(sizeof(*record) + bytes);
    uint8_t *to = record->data;
    bool well;
    unsigned i;

    record->bytes = bytes;
    for (i = 0; i < count; i++) {
        memcpy(to, parts[i].iov_base, parts[i].iov_len);
        to += parts[i].iov_len;
    }
    g_mutex_lock(&writer->lock);
    while (writer->gapless && !writer->error && writer->held > 0 &&
           writer->held + bytes > BYTES_AT_MOST) {
        g_cond_wait(&writer->changed, &writer->lock);
    }
    if (writer->held > 0 && writer->held + bytes > BYTES_AT_MOST) {
        count_loss(writer, ENOBUFS);
        g_free(record);
    } else {
        writer->held += bytes;
        QSIMPLEQ_INSERT_TAIL(&writer->records, record, next);
        g_cond_broadcast(&writer->changed);
    }
    well = !writer->error;
    g_mutex_unlock(&writer->lock);
    return well;
}

/* With the lock. False: the thread makes no progress. */
static bool wait_until_done(Mlx4Writer *writer)
{
    while (writer->held > 0) {
        uint64_t done = writer->done;
        gint64 until = g_get_monotonic_time() + PATIENCE_US;

        while (writer->done == done) {
            if (!g_cond_wait_until(&writer->changed, &writer->lock, until)) {
                return writer->held == 0;
            }
        }
    }
    return true;
}

uint64_t mlx4_writer_lost(Mlx4Writer *writer, int *error)
{
    uint64_t lost;

    g_mutex_lock(&writer->lock);
    wait_until_done(writer);
    lost = writer->lost;
    if (error) {
        *error = writer->error;
    }
    g_mutex_unlock(&writer->lock);
    return lost;
}

uint64_t mlx4_writer_end(Mlx4Writer *writer, int *error)
{
    uint64_t lost;

    g_mutex_lock(&writer->lock);
    writer->abandoned = !wait_until_done(writer);
    while (!QSIMPLEQ_EMPTY(&writer->records)) {
        Record *record = QSIMPLEQ_FIRST(&writer->records);

        QSIMPLEQ_REMOVE_HEAD(&writer->records, next);
        count_loss(writer, ETIMEDOUT);
        g_free(record);
    }
    writer->ends = true;
    g_cond_broadcast(&writer->changed);
    lost = writer->lost;
    *error = writer->error;
    if (writer->abandoned) {
        GThread *thread = writer->thread;

        g_mutex_unlock(&writer->lock);
        g_thread_unref(thread);
        return lost;
    }
    g_mutex_unlock(&writer->lock);
    g_thread_join(writer->thread);
    free_writer(writer);
    return lost;
}
