/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * The device's properties, and the model's options that follow from them.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/units.h"
#include "hw/qdev-properties-system.h"
#include "mlx4.h"

#define DEFAULT_CLASS_CODE UINT32_MAX   /* that of the variant */
#define MAX_COMMANDS 128

MLX4_PROPERTIES properties[] = {
    DEFINE_PROP_STRING("variant", Mlx4State, variant_text),
    DEFINE_PROP_UINT32("ports", Mlx4State, ports, 2),
    DEFINE_PROP_STRING("link1", Mlx4State, link_text[0]),
    DEFINE_PROP_STRING("link2", Mlx4State, link_text[1]),
    DEFINE_PROP_NETDEV("netdev1", Mlx4State, links[0].conf.peers),
    DEFINE_PROP_NETDEV("netdev2", Mlx4State, links[1].conf.peers),
    DEFINE_PROP_STRING("name1", Mlx4State, links[0].wire_name),
    DEFINE_PROP_STRING("name2", Mlx4State, links[1].wire_name),
    DEFINE_PROP_STRING("capture1", Mlx4State, captures[0].path),
    DEFINE_PROP_STRING("capture2", Mlx4State, captures[1].path),
    DEFINE_PROP_BOOL("sm", Mlx4State, subnet_manager, true),
    DEFINE_PROP_BOOL("flr", Mlx4State, function_level_reset, true),
    DEFINE_PROP_UINT32("max-commands", Mlx4State, max_commands, 16),
    DEFINE_PROP_SIZE("bar2-size", Mlx4State, uar_bar_bytes, 8 * MiB),
    DEFINE_PROP_SIZE("host-memory-limit", Mlx4State, host_memory_limit,
                     4 * GiB),
    DEFINE_PROP_UINT32("class-code", Mlx4State, class_code, DEFAULT_CLASS_CODE),
    DEFINE_PROP_STRING("guid", Mlx4State, guid_text),
    DEFINE_PROP_STRING("mac", Mlx4State, mac_text),
    DEFINE_PROP_UINT16("x-command-interface", Mlx4State, command_interface, 3),
    DEFINE_PROP_UINT16("x-device-id", Mlx4State, device_id, 0),
    DEFINE_PROP_BOOL("x-msix", Mlx4State, msix, true),
    DEFINE_PROP_BOOL("x-prefetch", Mlx4State, prefetch, false),
    DEFINE_PROP_STRING("x-without", Mlx4State, without),
    DEFINE_PROP_STRING("x-record", Mlx4State, recording.path),
    DEFINE_PROP_STRING("x-record-label", Mlx4State, record_label),
    MLX4_PROPERTIES_END
};

static const char *const descriptions[][2] = {
    { "variant", "connectx3-pro (default), connectx3 or connectx2" },
    { "ports", "2 (default) or 1" },
    { "link1", "ib (default) or eth; vpi-ib, vpi-eth: as it says at first, "
      "and as the driver says" },
    { "link2", "the same for port 2" },
    { "netdev1", "what port 1 is cabled to: any backend for an Ethernet port, "
                 "else stream, dgram, socket or hubport to another mlx4" },
    { "netdev2", "the same for port 2" },
    { "name1", "the name by which freehca-switch --listen knows the cable of "
               "port 1: letters, digits and -_.:" },
    { "name2", "the same for port 2" },
    { "capture1", "file for the packets or frames of port 1: pcap, link type "
                  "247 or 1" },
    { "capture2", "the same for port 2" },
    { "sm", "built-in subnet manager on InfiniBand ports without a peer" },
    { "flr", "whether the card offers function-level reset" },
    { "max-commands", "commands that the firmware takes at once: a power of "
                      "two from 1 to 128" },
    { "bar2-size", "8M (default) to 128M, a power of two" },
    { "host-memory-limit", "host memory that a guest can make the device "
                           "take: 32M or more" },
    { "class-code", "24 bits; default by variant" },
    { "guid", "node GUID; ports have the next ones" },
    { "mac", "of port 1; default from the GUID" },
    { "x-command-interface", "revision of the command interface that the "
                             "firmware tells, 3; for tests" },
    { "x-device-id", "PCI device ID, 0 (that of the variant); for tests" },
    { "x-msix", "off: no capability MSI-X, so that drivers use INTx; for tests" },
    { "x-prefetch", "on: send queues are read ahead, and what was read too early "
                    "is executed, as cards may" },
    { "x-record", "file for what passes between adapter and guest "
                  "(docs/recording.md)" },
    { "x-record-label", "free text for its header: which guest, which driver" },
    { "x-without", "capabilities that the card shall lack, with commas "
                   "between them; for tests" },
};

/* 16 hexadecimal digits, with 0x before them or colons between them. */
static bool parse_guid(const char *text, uint64_t *guid)
{
    unsigned digits = 0;

    *guid = 0;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        text += 2;
    }
    for (; *text; text++) {
        if (*text == ':' && digits > 0 && digits < 16 && digits % 2 == 0 &&
            text[1] != ':') {
            continue;
        }
        if (!g_ascii_isxdigit(*text) || ++digits > 16) {
            return false;
        }
        *guid = *guid << 4 | g_ascii_xdigit_value(*text);
    }
    return digits == 16 && *guid != 0;
}

static bool parse_link(const char *name, const char *text, uint8_t *link,
                       bool *vpi, Error **errp)
{
    static const char *const names[] = { "ib", "eth", "vpi-ib", "vpi-eth" };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(names); i++) {
        if (!strcmp(text ? text : "ib", names[i])) {
            *link = i & 1;
            *vpi = i >= 2;
            return true;
        }
    }
    error_setg(errp, "mlx4: %s=%s: a link is 'ib' or 'eth', or either, and "
               "'vpi-ib' or 'vpi-eth' at first", name, text);
    return false;
}

/* MACs keep company with the GUIDs: vendor part and low bits are the same,
 * port 1 has the node's number on a CX-2 and the next on later cards. */
static uint64_t mac_of_guid(Mlx4Variant variant, uint64_t guid)
{
    uint64_t low = (guid & 0xffffff) + (variant == MLX4_CONNECTX2 ? 0 : 1);

    return (guid >> 40) << 24 | (low & 0xffffff);
}

/* Six pairs of hexadecimal digits with colons between them, unicast. */
static bool parse_mac(const char *text, uint64_t *mac)
{
    int i;

    *mac = 0;
    for (i = 0; i < 17; i++) {
        if (i % 3 == 2) {
            if (text[i] != ':') {
                return false;
            }
        } else if (g_ascii_isxdigit(text[i])) {
            *mac = *mac << 4 | g_ascii_xdigit_value(text[i]);
        } else {
            return false;
        }
    }
    return text[17] == 0 && *mac != 0 && !(*mac >> 40 & 1);
}

bool mlx4_options_from_properties(Mlx4State *s, freehca_model_options *options,
                                  Error **errp)
{
    freehca_model_default_options(options);
    s->identity = mlx4_identity_by_name(s->variant_text, errp);
    if (!s->identity) {
        return false;
    }
    options->variant = mlx4_identity_variant(s->identity);
    if (s->ports != 1 && s->ports != 2) {
        error_setg(errp, "mlx4: ports=%u: an adapter has 1 or 2", s->ports);
        return false;
    }
    options->ports = s->ports;
    if (!parse_link("link1", s->link_text[0], &options->link[0],
                    &options->vpi[0], errp) ||
        !parse_link("link2", s->link_text[1], &options->link[1],
                    &options->vpi[1], errp)) {
        return false;
    }
    if (s->ports == 1 && s->link_text[1]) {
        error_setg(errp, "mlx4: link2= needs ports=2");
        return false;
    }
    if (!is_power_of_2(s->max_commands) || s->max_commands > MAX_COMMANDS) {
        error_setg(errp, "mlx4: max-commands=%u: a power of two from 1 to %u",
                   s->max_commands, MAX_COMMANDS);
        return false;
    }
    options->log_max_commands = ctz32(s->max_commands);
    if (!is_power_of_2(s->uar_bar_bytes) || s->uar_bar_bytes < 8 * MiB ||
        s->uar_bar_bytes > 128 * MiB) {
        error_setg(errp, "mlx4: bar2-size=%" PRIu64 ": 8M, 16M, 32M, 64M or "
                   "128M", s->uar_bar_bytes);
        return false;
    }
    options->command_interface = s->command_interface;
    options->uar_bar_bytes = s->uar_bar_bytes;
    if (s->host_memory_limit < 32 * MiB) {
        error_setg(errp, "mlx4: host-memory-limit=%" PRIu64 ": 32M or more",
                   s->host_memory_limit);
        return false;
    }
    options->host_memory_limit = s->host_memory_limit;
    if (s->class_code == DEFAULT_CLASS_CODE) {
        s->class_code = s->identity->class_code;
    } else if (s->class_code > 0xffffff) {
        error_setg(errp, "mlx4: class-code=0x%x: 24 bits, as in 0x020700",
                   s->class_code);
        return false;
    }
    if (!s->guid_text) {
        options->node_guid = mlx4_guid_default(s, options->node_guid);
    } else if (!parse_guid(s->guid_text, &options->node_guid)) {
        error_setg(errp, "mlx4: guid=%s: 16 hexadecimal digits that are not "
                   "all zero, as in 0x0002c90300f0ca00 or "
                   "0002:c903:00f0:ca00", s->guid_text);
        return false;
    }
    options->mac = mac_of_guid(options->variant, options->node_guid);
    if (s->mac_text && !parse_mac(s->mac_text, &options->mac)) {
        error_setg(errp, "mlx4: mac=%s: a unicast Ethernet address that is not "
                   "zero, as in 00:02:c9:f0:ca:01", s->mac_text);
        return false;
    }
    options->subnet_manager = s->subnet_manager;
    options->without = s->without;
    options->strict = s->strict;
    options->prefetch = s->prefetch;
    options->rules_off = s->rules_off;
    options->command_acceptance_ns = s->command_acceptance;
    options->command_latency_ns = s->command_latency;
    options->commands_side_by_side = s->commands_side_by_side;
    options->work_latency_ns = s->work_latency;
    options->reset_latency_ns = s->reset_latency;
    options->time_seed = s->time_seed;
    return true;
}

void mlx4_options_add_class_properties(DeviceClass *dc)
{
    ObjectClass *klass = OBJECT_CLASS(dc);
    unsigned i;

    device_class_set_props(dc, properties);
    for (i = 0; i < ARRAY_SIZE(descriptions); i++) {
        object_class_property_set_description(klass, descriptions[i][0],
                                              descriptions[i][1]);
    }
}
