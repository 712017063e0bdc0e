/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * The life of the device: creation, reset, end.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/module.h"
#include "mlx4.h"

static void on_timer(void *opaque)
{
    mlx4_run_timer(opaque);
}

static void mlx4_exit(PCIDevice *pci)
{
    Mlx4State *s = MLX4(pci);

    mlx4_saved_state_end(s);
    mlx4_guid_release(s);
    mlx4_links_pull(s);
    mlx4_unmap_pages(s);
    s->dying = true;
    s->deadline = UINT64_MAX;
    mlx4_capabilities_remove(s);
    timer_free(s->timer);
    s->timer = NULL;
    mlx4_links_end(s);
    mlx4_captures_end(s);
    mlx4_recording_end(s);
    mlx4_model_end(s);
}

static void mlx4_realize(PCIDevice *pci, Error **errp)
{
    Mlx4State *s = MLX4(pci);
    freehca_model_environment environment = mlx4_environment;
    freehca_model_options options;
    char why[512];

    s->dying = false;
    if (!mlx4_options_from_properties(s, &options, errp) ||
        !mlx4_links_check(s, &options, errp) ||
        !mlx4_guid_claim(s, options.node_guid, errp)) {
        return;
    }
    if (!mlx4_captures_begin(s, &options, errp) ||
        !mlx4_recording_begin(s, &options, errp)) {
        mlx4_captures_end(s);
        mlx4_guid_release(s);
        return;
    }
    mlx4_identity_write(s);
    mlx4_registers_init(s);
    s->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, on_timer, s);
    s->timer_at = INT64_MAX;
    if (!mlx4_capabilities_add(s, options.node_guid, errp)) {
        mlx4_exit(pci);
        return;
    }
    mlx4_vpd_make(s, options.node_guid);

    environment.context = s;
    s->model = freehca_model_create(&environment, &options, why, sizeof(why));
    if (!s->model) {
        error_setg(errp, "mlx4: %s", why);
        mlx4_exit(pci);
        return;
    }
    if (!mlx4_recording_began(s, errp) || !mlx4_faults_begin(s, errp) ||
        !mlx4_cables_begin(s, errp)) {
        mlx4_exit(pci);
        return;
    }
    if (!mlx4_update_migration_blocker(s, errp)) {
        mlx4_exit(pci);
        return;
    }
    mlx4_links_begin(s);
    mlx4_counters_add(s);
    mlx4_saved_state_begin(s);
}

/* Of the machine, the bus, the function, or (from inside the model) of the
 * model's own reset register. */
static void MLX4_RESET_PHASE(mlx4_reset, object)
{
    Mlx4State *s = MLX4(object);

    mlx4_configuration_reset(s);
    if (s->depth > 0) {
        s->reset_pending = true;
    } else if (s->model && mlx4_enter(s)) {
        freehca_model_reset(s->model);
        mlx4_leave(s);
    }
}

static void mlx4_instance_init(Object *object)
{
    MLX4(object)->commands_side_by_side = true;
    MLX4(object)->deadline = UINT64_MAX;
    mlx4_ethernet_init(MLX4(object));
}

static void mlx4_instance_finalize(Object *object)
{
    g_free(MLX4(object)->rules_off);
    g_free(MLX4(object)->dumped);
    g_free(MLX4(object)->command_fault);
    g_free(MLX4(object)->event_fault);
    g_free(MLX4(object)->link_fault[0]);
    g_free(MLX4(object)->link_fault[1]);
}

static void mlx4_class_init(ObjectClass *klass, MLX4_CONST_10_1 void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);

    dc->desc = "mlx4-class RDMA adapter (ConnectX-2, ConnectX-3, "
               "ConnectX-3 Pro)";
    dc->vmsd = &mlx4_vmstate;
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    RESETTABLE_CLASS(klass)->phases.hold = mlx4_reset;
    pc->realize = mlx4_realize;
    pc->exit = mlx4_exit;
    pc->config_read = mlx4_configuration_read;
    pc->config_write = mlx4_configuration_write;
    /* The rest of the identity goes by the variant: identity.c. */
    pc->vendor_id = MLX4_VENDOR_ID;
    mlx4_options_add_class_properties(dc);
    mlx4_faults_add_class_properties(klass);
    mlx4_cables_add_class_properties(klass);
    mlx4_counters_add_class_properties(klass);
    mlx4_remarks_add_class_properties(klass);
    mlx4_saved_state_add_class_properties(klass);
}

static const TypeInfo mlx4_type = {
    .name = TYPE_MLX4,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(Mlx4State),
    .instance_init = mlx4_instance_init,
    .instance_finalize = mlx4_instance_finalize,
    .class_init = mlx4_class_init,
    .interfaces = (MLX4_CONST_10_1 InterfaceInfo[]) {
        { INTERFACE_PCIE_DEVICE },
        { }
    },
};

static void mlx4_register_types(void)
{
    type_register_static(&mlx4_type);
}

type_init(mlx4_register_types)
