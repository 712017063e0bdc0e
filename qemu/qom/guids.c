/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * Which GUIDs a card has that was given none, and that no two cards of one
 * machine have the same.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/uuid.h"
#include "mlx4.h"

/* A card takes four GUIDs from its node's on (captures). Defaults lie 16 apart,
 * in the 24 bits that a MAC has in common with the GUID. */
#define CARD_GUIDS 4
#define DEFAULT_STEP 16
#define DEFAULT_BITS 24

static QLIST_HEAD(, Mlx4State) cards = QLIST_HEAD_INITIALIZER(cards);

static char *name_of(Mlx4State *s)
{
    DeviceState *device = DEVICE(s);

    return device->id ? g_strdup(device->id) : qdev_get_dev_path(device);
}

/* The same machine has the same GUIDs again, also where it is moved to, and two
 * machines have different ones, as far as 20 bits go. */
static uint64_t guid_of_machine(Mlx4State *s, uint64_t first)
{
    uint64_t mask = (UINT64_C(1) << DEFAULT_BITS) - DEFAULT_STEP;
    g_autoptr(GChecksum) hash = g_checksum_new(G_CHECKSUM_SHA256);
    g_autofree char *name = name_of(s);
    uint8_t digest[32];
    gsize bytes = sizeof(digest);

    g_checksum_update(hash, qemu_uuid.data, sizeof(qemu_uuid.data));
    g_checksum_update(hash, (const guchar *)name, strlen(name));
    g_checksum_get_digest(hash, digest, &bytes);
    return (first & ~((UINT64_C(1) << DEFAULT_BITS) - 1)) |
           (ldl_be_p(digest) & mask);
}

uint64_t mlx4_guid_default(Mlx4State *s, uint64_t first)
{
    static unsigned realized;

    return qemu_uuid_set ? guid_of_machine(s, first)
                         : first + DEFAULT_STEP * realized++;
}

bool mlx4_guid_claim(Mlx4State *s, uint64_t node_guid, Error **errp)
{
    Mlx4State *other;

    QLIST_FOREACH(other, &cards, next_card) {
        uint64_t distance = node_guid > other->node_guid
                                ? node_guid - other->node_guid
                                : other->node_guid - node_guid;

        if (distance < CARD_GUIDS) {
            g_autofree char *name = name_of(other);

            error_setg(errp, "mlx4: guid=0x%016" PRIx64 ": '%s' has "
                       "0x%016" PRIx64 " and the three that follow; give this "
                       "card four others", node_guid, name, other->node_guid);
            return false;
        }
    }
    s->node_guid = node_guid;
    QLIST_INSERT_HEAD(&cards, s, next_card);
    return true;
}

void mlx4_guid_release(Mlx4State *s)
{
    if (s->node_guid) {
        QLIST_REMOVE(s, next_card);
        s->node_guid = 0;
    }
}
