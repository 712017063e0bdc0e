/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * What an Ethernet port is to QEMU beyond a cable: a network card with an
 * address, a filter that can be asked for, and a place in the boot order.
 */
#include "qemu/osdep.h"
#include "net/net.h"
#include "mlx4.h"

static MACAddr address_of(uint64_t mac)
{
    MACAddr address;
    unsigned i;

    for (i = 0; i < sizeof(address.a); i++) {
        address.a[i] = mac >> 8 * (sizeof(address.a) - 1 - i);
    }
    return address;
}

void mlx4_ethernet_address(Mlx4Link *link, uint64_t mac)
{
    link->conf.macaddr = address_of(mac);
}

static char *address_text(uint64_t mac)
{
    return qemu_mac_strdup_printf(address_of(mac).a);
}

static void add_address(void *context, uint64_t mac)
{
    RxFilterInfo *info = context;
    bool multicast = mac >> 40 & 1;

    if (multicast) {
        QAPI_LIST_PREPEND(info->multicast_table, address_text(mac));
    } else {
        QAPI_LIST_PREPEND(info->unicast_table, address_text(mac));
    }
}

static void add_vlan(void *context, uint16_t vlan)
{
    RxFilterInfo *info = context;

    QAPI_LIST_PREPEND(info->vlan_table, vlan);
}

/* A port that the driver has not opened lets nothing in. */
RxFilterInfo *mlx4_ethernet_rx_filter(NetClientState *nc)
{
    Mlx4Link *link = qemu_get_nic_opaque(nc);
    Mlx4State *s = link->owner;
    RxFilterInfo *info = g_new0(RxFilterInfo, 1);
    freehca_model_receive_filter filter = {
        .context = info, .add_address = add_address, .add_vlan = add_vlan,
    };
    bool open = false;

    /* It reads memory that the guest has lent, which may be this device's own
     * registers: as any other call it is made from inside. */
    if (mlx4_enter(s)) {
        open = freehca_model_receives(s->model, link->port, &filter);
        mlx4_leave(s);
    }
    info->name = g_strdup(nc->name);
    info->promiscuous = open && filter.promiscuous;
    info->broadcast_allowed = open && filter.broadcast;
    info->unicast = open ? RX_STATE_NORMAL : RX_STATE_NONE;
    info->multicast = !open ? RX_STATE_NONE :
                      filter.all_multicast ? RX_STATE_ALL : RX_STATE_NORMAL;
    info->vlan = !open ? RX_STATE_NONE :
                 filter.all_vlans ? RX_STATE_ALL :
                 info->vlan_table ? RX_STATE_NORMAL : RX_STATE_NONE;
    info->main_mac = open ? address_text(filter.mac)
                          : qemu_mac_strdup_printf(link->conf.macaddr.a);
    return info;
}

/* One function has one place: firmware finds it by the path of the function,
 * of which port 1 is the first card. */
void mlx4_ethernet_init(Mlx4State *s)
{
    device_add_bootindex_property(OBJECT(s), &s->links[0].conf.bootindex,
                                  "bootindex", "/ethernet-phy@0", DEVICE(s));
}
