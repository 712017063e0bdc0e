/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * What changed in QEMU's own interfaces between 7.2 (Debian 12) and 10.0
 * (Debian 13) and after; the rest of the glue names neither version.
 */
#ifndef FREEHCA_QOM_COMPAT_H
#define FREEHCA_QOM_COMPAT_H

#define MLX4_QEMU_AT_LEAST(major, minor) \
    (QEMU_VERSION_MAJOR > (major) || \
     (QEMU_VERSION_MAJOR == (major) && QEMU_VERSION_MINOR >= (minor)))

/* 8.0: the state of a PCI device has a header of its own. */
#if MLX4_QEMU_AT_LEAST(8, 0)
#include "hw/pci/pci_device.h"
#else
#include "hw/pci/pci.h"
#endif
#include "hw/qdev-properties.h"
#include "migration/blocker.h"
#include "qapi/error.h"

/* Where qtest_enabled() is. */
#if MLX4_QEMU_AT_LEAST(10, 0)
#include "system/qtest.h"
#else
#include "sysemu/qtest.h"
#endif

/* Where qemu_add_exit_notifier() is. */
#if MLX4_QEMU_AT_LEAST(10, 0)
#include "system/system.h"
#else
#include "sysemu/sysemu.h"
#endif

/* Where qemu_add_vm_change_state_handler() is. */
#if MLX4_QEMU_AT_LEAST(10, 0)
#include "system/runstate.h"
#else
#include "sysemu/runstate.h"
#endif

/* Where icount_enabled() is. */
#if MLX4_QEMU_AT_LEAST(10, 1)
#include "exec/icount.h"
#elif MLX4_QEMU_AT_LEAST(10, 0)
#include "system/cpu-timers.h"
#else
#include "sysemu/cpu-timers.h"
#endif

/* 10.0: lists of properties are constant and counted, not terminated. */
#if MLX4_QEMU_AT_LEAST(10, 0)
#define MLX4_PROPERTIES static const Property
#define MLX4_PROPERTIES_END
#else
#define MLX4_PROPERTIES static Property
#define MLX4_PROPERTIES_END DEFINE_PROP_END_OF_LIST(),
#endif

/* 10.1: what types are registered with is constant. */
#if MLX4_QEMU_AT_LEAST(10, 1)
#define MLX4_CONST_10_1 const
#else
#define MLX4_CONST_10_1
#endif

/* 10.0: some attributes of an access are none that memory can be reached
 * with. */
static inline bool mlx4_access_is_direct(MemoryRegion *region, bool writing)
{
#if MLX4_QEMU_AT_LEAST(10, 0)
    return memory_access_is_direct(region, writing, MEMTXATTRS_UNSPECIFIED);
#else
    return memory_access_is_direct(region, writing);
#endif
}

/* 9.1: a phase of a reset is told which reset it is. */
#if MLX4_QEMU_AT_LEAST(9, 1)
#define MLX4_RESET_PHASE(name, object) name(Object *object, ResetType type)
#else
#define MLX4_RESET_PHASE(name, object) name(Object *object)
#endif

/* 8.2: a blocker's owner is QEMU. */
static inline bool mlx4_add_blocker(Error **reason, Error **errp)
{
#if MLX4_QEMU_AT_LEAST(8, 2)
    return migrate_add_blocker(reason, errp) == 0;
#else
    if (migrate_add_blocker(*reason, errp) == 0) {
        return true;
    }
    error_free(*reason);
    *reason = NULL;
    return false;
#endif
}

static inline void mlx4_del_blocker(Error **reason)
{
#if MLX4_QEMU_AT_LEAST(8, 2)
    migrate_del_blocker(reason);
#else
    migrate_del_blocker(*reason);
    error_free(*reason);
    *reason = NULL;
#endif
}

#endif
