/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * The cables of ports without a netdev, which lead to the built-in subnet
 * manager: properties, so that QMP can pull them and plug them in again.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "mlx4.h"

static bool get_cable(Mlx4State *s, unsigned port)
{
    return !s->cable_pulled[port - 1];
}

static void set_cable(Mlx4State *s, unsigned port, bool plugged, Error **errp)
{
    if (s->links[port - 1].conf.peers.ncs[0]) {
        error_setg(errp, "mlx4: cable%u: port %u has a netdev: use set_link on "
                   "the netdev or the port", port, port);
        return;
    }
    if (s->model && port > s->ports) {
        error_setg(errp, "mlx4: cable%u: the adapter has %u port", port,
                   s->ports);
        return;
    }
    if (s->cable_pulled[port - 1] == !plugged) {
        return;
    }
    s->cable_pulled[port - 1] = !plugged;
    if (s->model && mlx4_enter(s)) {
        freehca_model_plug_cable(s->model, port, plugged);
        mlx4_leave(s);
    }
}

static bool get_cable1(Object *object, Error **errp)
{
    return get_cable(MLX4(object), 1);
}

static bool get_cable2(Object *object, Error **errp)
{
    return get_cable(MLX4(object), 2);
}

static void set_cable1(Object *object, bool plugged, Error **errp)
{
    set_cable(MLX4(object), 1, plugged, errp);
}

static void set_cable2(Object *object, bool plugged, Error **errp)
{
    set_cable(MLX4(object), 2, plugged, errp);
}

/* Those that were pulled before there was a model, of which -device says
 * netdev after cable too. */
bool mlx4_cables_begin(Mlx4State *s, Error **errp)
{
    unsigned port;

    for (port = 1; port <= ARRAY_SIZE(s->cable_pulled); port++) {
        if (!s->cable_pulled[port - 1]) {
            continue;
        }
        if (port > s->ports) {
            error_setg(errp, "mlx4: cable%u= needs ports=%u", port, port);
            return false;
        }
        if (s->links[port - 1].conf.peers.ncs[0]) {
            error_setg(errp, "mlx4: cable%u=off: port %u has a netdev: use "
                       "set_link on the netdev or the port", port, port);
            return false;
        }
        if (mlx4_enter(s)) {
            freehca_model_plug_cable(s->model, port, false);
            mlx4_leave(s);
        }
    }
    return true;
}

void mlx4_cables_add_class_properties(ObjectClass *klass)
{
    object_class_property_add_bool(klass, "cable1", get_cable1, set_cable1);
    object_class_property_add_bool(klass, "cable2", get_cable2, set_cable2);
    object_class_property_set_description(klass, "cable1",
        "off: the cable of port 1, which has no netdev, is pulled");
    object_class_property_set_description(klass, "cable2",
        "the same for port 2");
}
