/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * Faults on request, as properties that can be set while the machine runs,
 * which plain device properties cannot.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "hw/pci/msix.h"
#include "mlx4.h"

static void times_changed(Mlx4State *s)
{
    if (s->model) {
        freehca_model_set_command_times(s->model, s->command_acceptance,
                                        s->command_latency,
                                        s->commands_side_by_side);
        freehca_model_set_work_times(s->model, s->work_latency,
                                     s->reset_latency, s->time_seed);
    }
}

/* A time, or the seed of all of them: opaque is the member's offset. */
static uint64_t *time_of(Object *object, void *opaque)
{
    return (uint64_t *)((char *)MLX4(object) + GPOINTER_TO_SIZE(opaque));
}

static void get_time(Object *object, Visitor *visitor, const char *name,
                     void *opaque, Error **errp)
{
    visit_type_uint64(visitor, name, time_of(object, opaque), errp);
}

static void set_time(Object *object, Visitor *visitor, const char *name,
                     void *opaque, Error **errp)
{
    if (visit_type_uint64(visitor, name, time_of(object, opaque), errp)) {
        times_changed(MLX4(object));
    }
}

static bool get_side_by_side(Object *object, Error **errp)
{
    return MLX4(object)->commands_side_by_side;
}

static void set_side_by_side(Object *object, bool value, Error **errp)
{
    Mlx4State *s = MLX4(object);

    s->commands_side_by_side = value;
    times_changed(s);
}

static bool give_command_fault(Mlx4State *s, const char *text, Error **errp)
{
    char why[256];

    if (!freehca_model_set_command_fault(s->model, text, why, sizeof(why))) {
        error_setg(errp, "mlx4: x-fault-command=%s: COMMAND:FATE or "
                   "COMMAND:FATE:N, where %s", text, why);
        return false;
    }
    return true;
}

static bool give_event_fault(Mlx4State *s, const char *text, Error **errp)
{
    char why[256];

    if (!freehca_model_set_event_fault(s->model, text, why, sizeof(why))) {
        error_setg(errp, "mlx4: x-fault-event=%s: EVENT:FATE or EVENT:FATE:N, "
                   "where %s", text, why);
        return false;
    }
    return true;
}

static bool give_link_fault(Mlx4State *s, unsigned port, const char *text,
                            Error **errp)
{
    char why[256];

    if (!freehca_model_set_link_fault(s->model, port, text, why,
                                      sizeof(why))) {
        error_setg(errp, "mlx4: x-fault-link%u=%s: KIND:RATE or "
                   "KIND:RATE:KIND:RATE and so on, where %s", port, text, why);
        return false;
    }
    return true;
}

bool mlx4_faults_begin(Mlx4State *s, Error **errp)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(s->link_fault); i++) {
        if (s->link_fault[i] &&
            !give_link_fault(s, i + 1, s->link_fault[i], errp)) {
            return false;
        }
    }
    return (!s->command_fault || give_command_fault(s, s->command_fault, errp))
        && (!s->event_fault || give_event_fault(s, s->event_fault, errp));
}

/* Faults that count what they see cannot be saved. If QEMU allows no blocker of
 * migration, there is no fault either. */
static bool give_fault(Mlx4State *s,
                       bool (*give)(Mlx4State *, const char *, Error **),
                       const char *text, Error **errp)
{
    if (!give(s, text, errp)) {
        return false;
    }
    if (!mlx4_update_migration_blocker(s, errp)) {
        give(s, "", NULL);
        return false;
    }
    return true;
}

static char *get_command_fault(Object *object, Error **errp)
{
    return g_strdup(MLX4(object)->command_fault ?: "");
}

static void set_command_fault(Object *object, const char *text, Error **errp)
{
    Mlx4State *s = MLX4(object);

    if (!s->model || give_fault(s, give_command_fault, text, errp)) {
        g_free(s->command_fault);
        s->command_fault = g_strdup(text);
    }
}

static char *get_event_fault(Object *object, Error **errp)
{
    return g_strdup(MLX4(object)->event_fault ?: "");
}

static void set_event_fault(Object *object, const char *text, Error **errp)
{
    Mlx4State *s = MLX4(object);

    if (!s->model || give_fault(s, give_event_fault, text, errp)) {
        g_free(s->event_fault);
        s->event_fault = g_strdup(text);
    }
}

/* The opaque pointer is the link's number from 0. */
static void get_link_fault(Object *object, Visitor *visitor, const char *name,
                           void *opaque, Error **errp)
{
    char *text = MLX4(object)->link_fault[GPOINTER_TO_UINT(opaque)];
    char *shown = text ? text : (char *)"";

    visit_type_str(visitor, name, &shown, errp);
}

static void set_link_fault(Object *object, Visitor *visitor, const char *name,
                           void *opaque, Error **errp)
{
    Mlx4State *s = MLX4(object);
    unsigned link = GPOINTER_TO_UINT(opaque);
    g_autofree char *text = NULL;

    if (visit_type_str(visitor, name, &text, errp) &&
        (!s->model || give_link_fault(s, link + 1, text, errp))) {
        g_free(s->link_fault[link]);
        s->link_fault[link] = g_steal_pointer(&text);
    }
}

static void get_held_commands(Object *object, Visitor *visitor,
                              const char *name, void *opaque, Error **errp)
{
    Mlx4State *s = MLX4(object);
    uint64_t held = s->model ? freehca_model_held_commands(s->model) : 0;

    visit_type_uint64(visitor, name, &held, errp);
}

static void set_held_commands(Object *object, Visitor *visitor,
                              const char *name, void *opaque, Error **errp)
{
    Mlx4State *s = MLX4(object);
    uint64_t held;

    if (!visit_type_uint64(visitor, name, &held, errp)) {
        return;
    }
    if (held != 0 || !s->model) {
        error_setg(errp, "mlx4: x-fault-held-commands can only be set to 0, "
                   "while the machine runs: the commands that are held are "
                   "run and answered then");
    } else if (mlx4_enter(s)) {
        freehca_model_answer_held_commands(s->model);
        mlx4_leave(s);
    }
}

static bool get_catastrophic(Object *object, Error **errp)
{
    Mlx4State *s = MLX4(object);

    return s->model && freehca_model_failed(s->model);
}

static void set_catastrophic(Object *object, bool value, Error **errp)
{
    Mlx4State *s = MLX4(object);

    if (!value || !s->model) {
        error_setg(errp, "mlx4: x-fault-catastrophic can only be switched on, "
                   "while the machine runs; a reset of the device ends it");
    } else if (mlx4_enter(s)) {
        freehca_model_fail(s->model);
        mlx4_leave(s);
    }
}

/* Reads as empty, because an event has no duration. Empty text raises no event. */
static char *get_raise(Object *object, Error **errp)
{
    return g_strdup("");
}

static void set_raise(Object *object, const char *text, Error **errp)
{
    Mlx4State *s = MLX4(object);
    char why[256];
    bool raised;

    if (!text[0]) {
        return;
    }
    if (!s->model) {
        error_setg(errp, "mlx4: x-fault-raise can only be set while the "
                   "machine runs");
    } else if (mlx4_enter(s)) {
        raised = freehca_model_raise_event(s->model, text, why, sizeof(why));
        mlx4_leave(s);
        if (!raised) {
            error_setg(errp, "mlx4: x-fault-raise=%s: EVENT, EVENT:SUBTYPE or "
                       "EVENT:SUBTYPE:PORT, where %s", text, why);
        }
    }
}

static bool get_removed(Object *object, Error **errp)
{
    return MLX4(object)->removed;
}

/* Where QEMU answers itself: the registers of MSI-X, before the BAR that they
 * stand in, and the expansion ROM. */
static void set_answers_of_qemu_enabled(PCIDevice *pci, bool enabled)
{
    if (msix_present(pci)) {
        memory_region_set_enabled(&pci->msix_table_mmio, enabled);
        memory_region_set_enabled(&pci->msix_pba_mmio, enabled);
    }
    if (pci->has_rom) {
        memory_region_set_enabled(&pci->rom, enabled);
    }
}

void mlx4_faults_loaded(Mlx4State *s)
{
    set_answers_of_qemu_enabled(PCI_DEVICE(s), !s->removed);
}

static void set_removed(Object *object, bool value, Error **errp)
{
    Mlx4State *s = MLX4(object);

    if (!s->model) {
        error_setg(errp, "mlx4: x-fault-removed can only be set while the "
                   "machine runs");
    } else if (!value && s->removed) {
        s->removed = false;
        set_answers_of_qemu_enabled(PCI_DEVICE(s), true);
        pci_device_reset(PCI_DEVICE(s));
    } else if (value && mlx4_enter(s)) {
        /* Its BARs stay where they are: nobody answers there, which reads as
         * all ones. */
        freehca_model_reset(s->model);
        mlx4_leave(s);
        s->removed = true;
        set_answers_of_qemu_enabled(PCI_DEVICE(s), false);
    }
}

void mlx4_faults_add_class_properties(ObjectClass *klass)
{
    unsigned i;

    object_class_property_add(klass, "x-fault-command-acceptance", "uint64",
                              get_time, set_time, NULL,
                              GSIZE_TO_POINTER(offsetof(Mlx4State,
                                                        command_acceptance)));
    object_class_property_set_description(klass, "x-fault-command-acceptance",
        "nanoseconds from GO's being set to the command's acceptance");
    object_class_property_add(klass, "x-fault-command-latency", "uint64",
                              get_time, set_time, NULL,
                              GSIZE_TO_POINTER(offsetof(Mlx4State,
                                                        command_latency)));
    object_class_property_set_description(klass, "x-fault-command-latency",
        "nanoseconds from a command's acceptance to its completion");
    object_class_property_add(klass, "x-fault-work-latency", "uint64",
                              get_time, set_time, NULL,
                              GSIZE_TO_POINTER(offsetof(Mlx4State,
                                                        work_latency)));
    object_class_property_set_description(klass, "x-fault-work-latency",
        "nanoseconds from a send doorbell to the look at its queue");
    object_class_property_add(klass, "x-fault-reset-latency", "uint64",
                              get_time, set_time, NULL,
                              GSIZE_TO_POINTER(offsetof(Mlx4State,
                                                        reset_latency)));
    object_class_property_set_description(klass, "x-fault-reset-latency",
        "nanoseconds for which a software reset leaves nobody there");
    object_class_property_add(klass, "x-fault-time-seed", "uint64",
                              get_time, set_time, NULL,
                              GSIZE_TO_POINTER(offsetof(Mlx4State,
                                                        time_seed)));
    object_class_property_set_description(klass, "x-fault-time-seed",
        "not 0: the times of x-fault properties are the most, each is drawn");
    object_class_property_add_bool(klass, "x-fault-commands-side-by-side",
                                   get_side_by_side, set_side_by_side);
    object_class_property_set_description(klass,
        "x-fault-commands-side-by-side",
        "off: latencies of commands add up, one after the other");
    object_class_property_add_str(klass, "x-fault-command", get_command_fault,
                                  set_command_fault);
    object_class_property_set_description(klass, "x-fault-command",
        "what becomes of firmware commands: COMMAND:FATE or COMMAND:FATE:N, "
        "as in MAP_FA:0x01 or any:silent:3");
    object_class_property_add_str(klass, "x-fault-event", get_event_fault,
                                  set_event_fault);
    object_class_property_set_description(klass, "x-fault-event",
        "what becomes of events: EVENT:FATE or EVENT:FATE:N, as in "
        "completion:lost or any:twice:3");
    for (i = 0; i < 2; i++) {
        g_autofree char *name = g_strdup_printf("x-fault-link%u", i + 1);

        object_class_property_add(klass, name, "string", get_link_fault,
                                  set_link_fault, NULL, GUINT_TO_POINTER(i));
        object_class_property_set_description(klass, name,
            "what the cable does to packets that the port sends, in a million: "
            "KIND:RATE..., as in loss:1000:reordering:500:seed:7");
    }
    object_class_property_add(klass, "x-fault-held-commands", "uint64",
                              get_held_commands, set_held_commands, NULL, NULL);
    object_class_property_set_description(klass, "x-fault-held-commands",
        "commands that x-fault-command keeps silent; 0 runs and answers them");
    object_class_property_add_bool(klass, "x-fault-removed", get_removed,
                                   set_removed);
    object_class_property_set_description(klass, "x-fault-removed",
        "on: as if pulled out without a word; off: plugged in again");
    object_class_property_add_str(klass, "x-fault-raise", get_raise, set_raise);
    object_class_property_set_description(klass, "x-fault-raise",
        "raises an event, only while the machine runs: EVENT[:SUBTYPE[:PORT]], "
        "as in fatal_warning or client_reregister");
    object_class_property_add_bool(klass, "x-fault-catastrophic",
                                   get_catastrophic, set_catastrophic);
    object_class_property_set_description(klass, "x-fault-catastrophic",
        "on: the adapter has an internal error, until it is reset");
}
