/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * What the model tells of its own doings: as trace events, as the property
 * "explanations", and complaints also as warnings. How strictly it judges.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-builtin-visit.h"
#include "qapi/util.h"
#include "qemu/error-report.h"
#include "qemu/log.h"
#include "trace/trace-hw_freehca.h"
#include "mlx4.h"

/* After so many the lines stop; the model's counter goes on. */
#define COMPLAINTS_SHOWN 32

bool mlx4_listens(void *context, unsigned kind)
{
    switch (kind) {
    case FREEHCA_REMARK_COMMAND:
        return trace_event_get_state_backends(TRACE_MLX4_COMMAND);
    case FREEHCA_REMARK_WORK_ERROR:
        return trace_event_get_state_backends(TRACE_MLX4_WORK_ERROR);
    case FREEHCA_REMARK_PACKET_DROPPED:
        return trace_event_get_state_backends(TRACE_MLX4_PACKET_DROPPED);
    case FREEHCA_REMARK_EVENT:
        return trace_event_get_state_backends(TRACE_MLX4_EVENT);
    case FREEHCA_REMARK_DOORBELL:
        return trace_event_get_state_backends(TRACE_MLX4_DOORBELL);
    default:
        return true;
    }
}

static void complain(Mlx4State *s, const char *id, const char *text)
{
    qemu_log_mask(LOG_GUEST_ERROR, "%s: %s\n", id, text);
    if (s->complaints_shown < COMPLAINTS_SHOWN) {
        warn_report("%s: %s", id, text);
        if (++s->complaints_shown == COMPLAINTS_SHOWN) {
            warn_report("%s: further complaints are only counted", id);
        }
    }
}

void mlx4_tell(void *context, unsigned kind, const char *rule,
               const char *text)
{
    Mlx4State *s = context;
    const char *id = DEVICE(s)->id ? DEVICE(s)->id : TYPE_MLX4;

    switch (kind) {
    case FREEHCA_REMARK_COMMAND:
        trace_mlx4_command(id, text);
        break;
    case FREEHCA_REMARK_REFUSED:
        trace_mlx4_refused(id, text);
        break;
    case FREEHCA_REMARK_WORK_ERROR:
        trace_mlx4_work_error(id, text);
        break;
    case FREEHCA_REMARK_PACKET_DROPPED:
        trace_mlx4_packet_dropped(id, text);
        break;
    case FREEHCA_REMARK_EVENT:
        trace_mlx4_event(id, text);
        break;
    case FREEHCA_REMARK_DOORBELL:
        trace_mlx4_doorbell(id, text);
        break;
    case FREEHCA_REMARK_COMPLAINT:
        trace_mlx4_complaint(id, text);
        complain(s, id, text);
        break;
    }
}

static void append(void *context, uint64_t number, uint64_t time,
                   const char *kind, const char *rule, const char *text)
{
    strList ***tail = context;

    QAPI_LIST_APPEND(*tail, g_strdup_printf("%" PRIu64 " %" PRIu64 ".%09"
                                            PRIu64 " %s: %s", number,
                                            time / 1000000000,
                                            time % 1000000000, kind, text));
}

static void get_explanations(Object *object, Visitor *visitor,
                             const char *name, void *opaque, Error **errp)
{
    Mlx4State *s = MLX4(object);
    strList *lines = NULL, **tail = &lines;

    if (s->model) {
        freehca_model_remarks(s->model, append, &tail);
    }
    visit_type_strList(visitor, name, &lines, errp);
    qapi_free_strList(lines);
}

/* Read: the object that was written last, decoded as it is now. */
static char *get_dump(Object *object, Error **errp)
{
    Mlx4State *s = MLX4(object);
    char text[16384];
    bool found;

    if (!s->dumped || !s->model) {
        error_setg(errp, "mlx4: write KIND:NUMBER to dump first, as in qp:0x41,"
                   " while the machine runs");
        return NULL;
    }
    if (!mlx4_enter(s)) {
        error_setg(errp, "mlx4: the device is busy or gone: dump again");
        return NULL;
    }
    found = freehca_model_dump(s->model, s->dumped, text, sizeof(text));
    mlx4_leave(s);
    if (!found) {
        error_setg(errp, "mlx4: dump: %s", text);
        return NULL;
    }
    return g_strdup(text);
}

static void set_dump(Object *object, const char *text, Error **errp)
{
    Mlx4State *s = MLX4(object);

    g_free(s->dumped);
    s->dumped = g_strdup(text);
}

static bool get_strict(Object *object, Error **errp)
{
    return MLX4(object)->strict;
}

static void set_strict(Object *object, bool value, Error **errp)
{
    Mlx4State *s = MLX4(object);

    s->strict = value;
    if (s->model) {
        freehca_model_set_strict(s->model, value);
    }
}

static char *get_rules_off(Object *object, Error **errp)
{
    return g_strdup(MLX4(object)->rules_off ?: "");
}

static void set_rules_off(Object *object, const char *text, Error **errp)
{
    Mlx4State *s = MLX4(object);
    char why[4096];

    if (s->model &&
        !freehca_model_set_rules_off(s->model, text, why, sizeof(why))) {
        error_setg(errp, "mlx4: x-rules-off: %s", why);
        return;
    }
    g_free(s->rules_off);
    s->rules_off = g_strdup(text);
}

void mlx4_remarks_add_class_properties(ObjectClass *klass)
{
    object_class_property_add(klass, "explanations", "strList",
                              get_explanations, NULL, NULL, NULL);
    object_class_property_set_description(klass, "explanations",
        "the last hundred commands that were refused and complaints: number, "
        "seconds, kind and text");
    object_class_property_add_str(klass, "dump", get_dump, set_dump);
    object_class_property_set_description(klass, "dump",
        "write KIND:NUMBER (kinds: qp cq eq srq mpt), as in qp:0x41; read: "
        "the fields of its context that are not zero");
    object_class_property_add_bool(klass, "strict", get_strict, set_strict);
    object_class_property_set_description(klass, "strict",
        "on: refuses opcode modifiers and mailboxes, too, of which no source "
        "says that cards refuse them");
    object_class_property_add_str(klass, "x-rules-off", get_rules_off,
                                  set_rules_off);
    object_class_property_set_description(klass, "x-rules-off",
        "rules that the guest's driver is not held to, with commas between "
        "them; for tests");
}
