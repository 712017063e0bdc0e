/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * savevm, loadvm and migration. The adapter's state is one stream of bytes,
 * which the model writes and judges (docs/decisions/saved-state.md). Beside it
 * stand the state of QEMU's PCI function, and the properties that can change
 * while the machine runs.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/error-report.h"
#include "hw/pci/msix.h"
#include "migration/qemu-file-types.h"
#include "migration/vmstate.h"
#include "mlx4.h"

/* Bytes are taken as they come, so a wrong length costs no memory. */
#define PIECE_BYTES (64 * 1024)
#define TEXT_BYTES_AT_MOST 4096

typedef struct Output {
    QEMUFile *file;
    bool too_long;
} Output;

static void put_stream(void *context, const void *stream, size_t bytes)
{
    Output *output = context;

    output->too_long = bytes > UINT32_MAX;
    if (!output->too_long) {
        qemu_put_be32(output->file, bytes);
        qemu_put_buffer(output->file, stream, bytes);
    }
}

static int put_model(QEMUFile *file, void *field, size_t size,
                     const VMStateField *description, JSONWriter *json)
{
    Mlx4State *s = field;
    Output output = { .file = file };
    char why[256];

    /* The blocker stops a migration earlier, with the same words. */
    if (freehca_model_obstacle_to_saving(s->model, why, sizeof(why))) {
        error_report("mlx4: the state cannot be saved: %s", why);
        return -EBUSY;
    }
    freehca_model_save(s->model, put_stream, &output);
    if (output.too_long) {
        error_report("mlx4: the state has more than 4 GiB");
        return -EFBIG;
    }
    return 0;
}

static bool get_bytes(QEMUFile *file, GByteArray *to, size_t bytes)
{
    while (bytes > 0) {
        size_t piece = MIN(bytes, PIECE_BYTES), before = to->len;

        g_byte_array_set_size(to, before + piece);
        if (qemu_get_buffer(file, to->data + before, piece) != piece) {
            return false;
        }
        bytes -= piece;
    }
    return true;
}

static int get_model(QEMUFile *file, void *field, size_t size,
                     const VMStateField *description)
{
    Mlx4State *s = field;
    g_autoptr(GByteArray) stream = g_byte_array_new();
    char why[512] = "";
    bool taken;

    if (!get_bytes(file, stream, qemu_get_be32(file))) {
        error_report("mlx4: the saved state is cut off");
        return -EINVAL;
    }
    /* The clock of a machine that goes back to a snapshot goes back too. */
    timer_del(s->timer);
    s->timer_at = INT64_MAX;
    if (!mlx4_enter(s)) {
        error_report("mlx4: the saved state cannot be loaded now: the adapter "
                     "is at work");
        return -EBUSY;
    }
    s->loading = true;
    taken = freehca_model_load(s->model, stream->data, stream->len, why,
                               sizeof(why));
    s->loading = false;
    mlx4_leave(s);
    if (!taken) {
        error_report("mlx4: the saved state is refused: %s", why);
        return -EINVAL;
    }
    return 0;
}

static const VMStateInfo model_info = {
    .name = "freehca model",
    .get = get_model,
    .put = put_model,
};

/* A property's text. NULL and the empty text are the same to all of them. */
static int put_text(QEMUFile *file, void *field, size_t size,
                    const VMStateField *description, JSONWriter *json)
{
    const char *text = *(char **)field ?: "";
    size_t bytes = strlen(text);

    if (bytes > TEXT_BYTES_AT_MOST) {
        error_report("mlx4: the text of %s has more than %d bytes",
                     description->name, TEXT_BYTES_AT_MOST);
        return -EFBIG;
    }
    qemu_put_be32(file, bytes);
    qemu_put_buffer(file, (const uint8_t *)text, bytes);
    return 0;
}

static int get_text(QEMUFile *file, void *field, size_t size,
                    const VMStateField *description)
{
    g_autoptr(GByteArray) text = g_byte_array_new();
    uint32_t bytes = qemu_get_be32(file);

    if (bytes > TEXT_BYTES_AT_MOST || !get_bytes(file, text, bytes)) {
        error_report("mlx4: the text of %s is cut off, or has more than %d "
                     "bytes", description->name, TEXT_BYTES_AT_MOST);
        return -EINVAL;
    }
    g_free(*(char **)field);
    *(char **)field = g_strndup((const char *)text->data, text->len);
    return 0;
}

static const VMStateInfo text_info = {
    .name = "freehca text",
    .get = get_text,
    .put = put_text,
};

static int put_frames(QEMUFile *file, void *field, size_t size,
                      const VMStateField *description, JSONWriter *json)
{
    mlx4_link_save_frames(field, file);
    return 0;
}

static int get_frames(QEMUFile *file, void *field, size_t size,
                      const VMStateField *description)
{
    return mlx4_link_load_frames(field, file) ? 0 : -EINVAL;
}

static const VMStateInfo frames_info = {
    .name = "freehca frames",
    .get = get_frames,
    .put = put_frames,
};

static bool has_msix(void *opaque, int version)
{
    return msix_present(PCI_DEVICE(opaque));
}

static int before_save(void *opaque)
{
    Mlx4State *s = opaque;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(s->links); i++) {
        s->cable_in[i] = mlx4_link_is_plugged(&s->links[i]);
    }
    return 0;
}

/* The host decides which cables are plugged in. Those of the saved machine may
 * have been others. */
static int after_load(void *opaque, int version)
{
    Mlx4State *s = opaque;
    unsigned i;

    mlx4_faults_loaded(s);
    for (i = 0; i < ARRAY_SIZE(s->links); i++) {
        mlx4_link_loaded(&s->links[i], s->cable_in[i]);
    }
    return 0;
}

/* The model comes first: it names an option that differs, where QEMU's check
 * of configuration space names an offset. */
const VMStateDescription mlx4_vmstate = {
    .name = TYPE_MLX4,
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = before_save,
    .post_load = after_load,
    .fields = (const VMStateField[]) {
        {
            .name = "model",
            .info = &model_info,
            .size = sizeof(Mlx4State),
            .flags = VMS_SINGLE,
            .offset = 0,
        },
        VMSTATE_PCI_DEVICE(parent_obj, Mlx4State),
        VMSTATE_MSIX_TEST(parent_obj, Mlx4State, has_msix),
        VMSTATE_UINT8_ARRAY(vpd, Mlx4State, MLX4_VPD_BYTES),
        VMSTATE_BOOL(removed, Mlx4State),
        VMSTATE_BOOL_ARRAY(cable_in, Mlx4State, 2),
        VMSTATE_BOOL_ARRAY(cable_pulled, Mlx4State, 2),
        VMSTATE_ARRAY(links, Mlx4State, 2, 0, frames_info, Mlx4Link),
        VMSTATE_BOOL(strict, Mlx4State),
        VMSTATE_SINGLE(rules_off, Mlx4State, 0, text_info, char *),
        VMSTATE_ARRAY(link_fault, Mlx4State, 2, 0, text_info, char *),
        VMSTATE_UINT64(command_acceptance, Mlx4State),
        VMSTATE_UINT64(command_latency, Mlx4State),
        VMSTATE_BOOL(commands_side_by_side, Mlx4State),
        VMSTATE_UINT64(work_latency, Mlx4State),
        VMSTATE_UINT64(reset_latency, Mlx4State),
        VMSTATE_UINT64(time_seed, Mlx4State),
        VMSTATE_END_OF_LIST()
    },
};

static void remove_blocker(Mlx4State *s)
{
    if (s->migration_blocker) {
        mlx4_del_blocker(&s->migration_blocker);
    }
}

bool mlx4_update_migration_blocker(Mlx4State *s, Error **errp)
{
    char why[256];

    if (!s->model ||
        !freehca_model_obstacle_to_saving(s->model, why, sizeof(why))) {
        remove_blocker(s);
        return true;
    }
    if (s->migration_blocker) {
        return true;
    }
    error_setg(&s->migration_blocker, "mlx4: the state cannot be saved: %s",
               why);
    return mlx4_add_blocker(&s->migration_blocker, errp);
}

static void on_run_state(void *opaque, bool running, RunState state)
{
    Mlx4State *s = opaque;

    if (running) {
        mlx4_links_run(s);
        mlx4_arm_timer(s);
    }
}

void mlx4_saved_state_begin(Mlx4State *s)
{
    s->run_state_handler = qemu_add_vm_change_state_handler(on_run_state, s);
}

void mlx4_saved_state_end(Mlx4State *s)
{
    if (s->run_state_handler) {
        qemu_del_vm_change_state_handler(s->run_state_handler);
        s->run_state_handler = NULL;
    }
    remove_blocker(s);
}

static void get_digest(Object *object, Visitor *visitor, const char *name,
                       void *opaque, Error **errp)
{
    Mlx4State *s = MLX4(object);
    uint64_t digest = 0;

    if (s->model && mlx4_enter(s)) {
        digest = freehca_model_state_digest(s->model);
        mlx4_leave(s);
    }
    visit_type_uint64(visitor, name, &digest, errp);
}

void mlx4_saved_state_add_class_properties(ObjectClass *klass)
{
    object_class_property_add(klass, "state-digest", "uint64", get_digest, NULL,
                              NULL, NULL);
    object_class_property_set_description(klass, "state-digest",
        "a number over the adapter's state, the same after a move");
}
