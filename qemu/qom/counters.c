/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * The model's counters as properties: "counters" is all of them as one
 * object, "counter-NAME" is one.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "mlx4.h"

static void get_all(Object *object, Visitor *visitor, const char *name,
                    void *opaque, Error **errp)
{
    Mlx4State *s = MLX4(object);
    const char *counter;
    uint64_t value;
    unsigned i;

    if (!visit_start_struct(visitor, name, NULL, 0, errp)) {
        return;
    }
    for (i = 0; s->model &&
         freehca_model_counter(s->model, i, &counter, &value); i++) {
        if (!visit_type_uint64(visitor, counter, &value, errp)) {
            break;
        }
    }
    visit_end_struct(visitor, NULL);
}

static void get_one(Object *object, Visitor *visitor, const char *name,
                    void *opaque, Error **errp)
{
    Mlx4State *s = MLX4(object);
    const char *counter;
    uint64_t value = 0;

    if (!s->model || !freehca_model_counter(s->model,
                                            GPOINTER_TO_UINT(opaque), &counter,
                                            &value)) {
        error_setg(errp, "mlx4: the device is gone");
        return;
    }
    visit_type_uint64(visitor, name, &value, errp);
}

void mlx4_counters_add(Mlx4State *s)
{
    const char *counter;
    uint64_t value;
    unsigned i;

    for (i = 0; freehca_model_counter(s->model, i, &counter, &value); i++) {
        g_autofree char *name = g_strdup_printf("counter-%s", counter);

        object_property_add(OBJECT(s), name, "uint64", get_one, NULL, NULL,
                            GUINT_TO_POINTER(i));
    }
}

static void get_capture_errors(Object *object, Visitor *visitor,
                               const char *name, void *opaque, Error **errp)
{
    uint64_t errors = mlx4_capture_errors(MLX4(object));

    visit_type_uint64(visitor, name, &errors, errp);
}

void mlx4_counters_add_class_properties(ObjectClass *klass)
{
    object_class_property_add(klass, "capture-errors", "uint64",
                              get_capture_errors, NULL, NULL, NULL);
    object_class_property_set_description(klass, "capture-errors",
        "packets that capture1 and capture2 could not write");
    object_class_property_add(klass, "counters", "struct", get_all, NULL, NULL,
                              NULL);
}
