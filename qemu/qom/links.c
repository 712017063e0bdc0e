/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * The cables: each is a network backend. Out of an InfiniBand port it carries
 * packets as they are, from the first byte of the LRH to the last of the VCRC;
 * out of an Ethernet port frames without their FCS.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "net/eth.h"
#include "net/net.h"
#include "qemu/error-report.h"
#include "migration/qemu-file-types.h"
#include "mlx4.h"

/* What the model sends while it runs goes out when it has been left: a hub may
 * bring it back to this device at once. */
struct Mlx4Frame {
    QSIMPLEQ_ENTRY(Mlx4Frame) next;
    size_t bytes;
    uint8_t data[];
};

/* From here on the model keeps what it sends. */
#define FRAMES_AT_MOST 512
/* That go out by a cable each time that the model is left: a system call each,
 * which cost about as much as a turn of the model. */
#define FRAMES_A_TURN 64
/* More than any packet or frame has; a saved state with more is damaged. */
#define FRAME_BYTES_AT_MOST (64 * 1024)

static void drop_frames(Mlx4Link *link)
{
    while (!QSIMPLEQ_EMPTY(&link->frames)) {
        Mlx4Frame *frame = QSIMPLEQ_FIRST(&link->frames);

        QSIMPLEQ_REMOVE_HEAD(&link->frames, next);
        g_free(frame);
    }
    link->frame_count = 0;
}

static void add_frame(Mlx4Link *link, Mlx4Frame *frame)
{
    QSIMPLEQ_INSERT_TAIL(&link->frames, frame, next);
    link->frame_count++;
}

static Mlx4Link *link_of(NetClientState *nc)
{
    return qemu_get_nic_opaque(nc);
}

/* Backends that carry any bytes, and know no Ethernet. */
static bool carries_anything(const NetClientState *backend)
{
    switch (backend->info->type) {
    case NET_CLIENT_DRIVER_SOCKET:
    case NET_CLIENT_DRIVER_STREAM:
    case NET_CLIENT_DRIVER_DGRAM:
    case NET_CLIENT_DRIVER_HUBPORT:
        return true;
    default:
        return false;
    }
}

static void sent(NetClientState *nc, ssize_t bytes)
{
    Mlx4Link *link = link_of(nc);
    Mlx4State *s = link->owner;

    link->busy = false;
    if (s->dying) {
        return;
    }
    object_ref(OBJECT(s));
    mlx4_links_flush(s);
    mlx4_arm_timer(s);
    object_unref(OBJECT(s));
}

/* A stream without a connection has no socket, does not say that its link is
 * down before it listens or after a set_link, and crashes on a packet (QEMU 7.2
 * to 10.0, net/stream.c). Its state is in a structure of that file, and its
 * events (NETDEV_STREAM_CONNECTED) go to monitors alone: the text that `info
 * network` prints is all that a device can see of it. tests/qom/test_links.py
 * holds these words against the QEMU that it runs. */
static bool has_begun(const NetClientState *backend)
{
    static const char *const without[] = { "initializing", "listening",
                                           "connecting", "error", "can't use" };
    unsigned i;

    if (backend->info->type != NET_CLIENT_DRIVER_STREAM) {
        return true;
    }
    for (i = 0; i < ARRAY_SIZE(without); i++) {
        if (g_str_has_prefix(backend->info_str, without[i])) {
            return false;
        }
    }
    return backend->info_str[0] != 0;
}

/* The greeting with which a wire begins that has a name and no secret
 * (docs/decisions/wires-hello.md). */
#define HELLO_BYTES 128
#define HELLO_VERSION 27
#define HELLO_KIND 28
#define HELLO_ROLE 29
#define HELLO_NAME_BYTES 31
#define HELLO_NAME 64
#define HELLO_NAME_BYTES_AT_MOST 63

static bool is_wire_name(const char *name)
{
    size_t bytes = strlen(name);

    return bytes > 0 && bytes <= HELLO_NAME_BYTES_AT_MOST &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789-_.:") == bytes;
}

static void greet(Mlx4Link *link, NetClientState *nc)
{
    static const uint8_t beginning[HELLO_VERSION] =
        "\x01\x80\xc2\x00\x00\x0f\x00\x00\x00\x00\x00\x00\x88\xb5"
        "freehca hello";
    uint8_t frame[HELLO_BYTES] = { 0 };

    memcpy(frame, beginning, sizeof(beginning));
    frame[HELLO_VERSION] = 1;
    frame[HELLO_KIND] = 1;  /* a greeting */
    frame[HELLO_ROLE] = 1;  /* of the end that has connected */
    frame[HELLO_NAME_BYTES] = strlen(link->wire_name);
    memcpy(frame + HELLO_NAME, link->wire_name, frame[HELLO_NAME_BYTES]);
    qemu_send_packet(nc, frame, sizeof(frame));
    link->greeted = true;
}

/* A connection without a name, or with it already, hears nothing. */
static void greet_if_new(Mlx4Link *link)
{
    NetClientState *nc = link->nic ? qemu_get_queue(link->nic) : NULL;

    if (!nc || !nc->peer || !link->wire_name || link->gone) {
        return;
    }
    if (!has_begun(nc->peer)) {
        link->greeted = false;
    } else if (!link->greeted) {
        greet(link, nc);
    }
}

/* Whether all of it has gone. `left`: how many frames may still go. */
static bool send_frames(Mlx4Link *link, unsigned *left)
{
    NetClientState *nc;

    if (!link->nic) {   /* unplugged meanwhile */
        return false;
    }
    nc = qemu_get_queue(link->nic);
    /* A new connection takes what the one before left, but does not say so. */
    if (link->busy && nc->peer && !link->gone && has_begun(nc->peer)) {
        qemu_flush_queued_packets(nc->peer);
    }
    greet_if_new(link);
    while ((!link->busy || link->gone) && *left > 0 &&
           !QSIMPLEQ_EMPTY(&link->frames)) {
        Mlx4Frame *frame = QSIMPLEQ_FIRST(&link->frames);

        QSIMPLEQ_REMOVE_HEAD(&link->frames, next);
        link->frame_count--;
        (*left)--;
        /* An acknowledgement does not overtake the payload that it is of. */
        mlx4_flush_posted_writes(link->owner);
        if (nc->peer && !link->gone && has_begun(nc->peer) &&
            qemu_send_packet_async(nc, frame->data, frame->bytes, sent) == 0) {
            link->busy = true;  /* QEMU has a copy */
        }
        g_free(frame);
    }
    return QSIMPLEQ_EMPTY(&link->frames);
}

/* With nobody inside the model. Both loops may enter it, and come back here.
 * `most`: frames by each cable; what is left goes out with the next turn, which
 * is due at once. */
static void flush(Mlx4State *s, unsigned most)
{
    bool more = false;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(s->links); i++) {
        Mlx4Link *link = &s->links[i];
        unsigned left = most;

        if (!link->nic || link->flushing) {
            continue;
        }
        link->flushing = true;
        while (send_frames(link, &left) && link->full && left > 0 &&
               mlx4_enter(s)) {
            link->full = false;
            freehca_model_link_has_room(s->model, link->port);
            mlx4_leave(s);
        }
        if (link->nic && link->held_up && s->model &&
            freehca_model_link_may_receive(s->model)) {
            link->held_up = false;
            qemu_flush_queued_packets(qemu_get_queue(link->nic));
        }
        link->flushing = false;
        more = more || (left == 0 && (!QSIMPLEQ_EMPTY(&link->frames) ||
                                      link->full));
    }
    if (more && !s->dying) {
        s->deadline = MIN(s->deadline,
                          (uint64_t)qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL));
    }
}

/* A machine that does not run may be about to be saved: nothing of it changes,
 * and the frames wait for mlx4_links_run(). */
void mlx4_links_flush(Mlx4State *s)
{
    if (runstate_is_running()) {
        flush(s, FRAMES_A_TURN);
    }
}

bool mlx4_link_send(void *context, unsigned port, const void *from,
                    size_t bytes)
{
    Mlx4State *s = context;
    Mlx4Link *link = &s->links[port - 1];
    Mlx4Frame *frame;

    /* A backend of Ethernet alone hears nothing of a VPI port that tries to
     * train as InfiniBand: such a packet is shorter than a frame's header. */
    if (!link->nic || (link->frames_only && bytes < ETH_HLEN)) {
        return true;
    }
    if (link->frame_count >= FRAMES_AT_MOST) {
        link->full = true;
        return false;
    }
    frame = g_malloc(sizeof(*frame) + bytes);
    frame->bytes = bytes;
    memcpy(frame->data, from, bytes);
    add_frame(link, frame);
    return true;
}

static bool can_receive(NetClientState *nc)
{
    Mlx4Link *link = link_of(nc);
    Mlx4State *s = link->owner;

    link->held_up = s->model && (s->depth > 0 ||
                                 !freehca_model_link_may_receive(s->model));
    return !link->held_up;
}

/* The work is done by the timer, which follows at once in the main loop. */
static ssize_t receive(NetClientState *nc, const uint8_t *from, size_t bytes)
{
    Mlx4Link *link = link_of(nc);
    Mlx4State *s = link->owner;

    if (!can_receive(nc)) {
        return 0;
    }
    if (mlx4_in_d0(s) && mlx4_enter(s)) {
        freehca_model_link_receive(s->model, link->port, from, bytes);
        mlx4_leave(s);
    }
    return bytes;
}

/* Cards of QEMU's own and some backends send frames that are too short for a
 * real network. */
static ssize_t receive_frame(NetClientState *nc, const uint8_t *from,
                             size_t bytes)
{
    uint8_t padded[ETH_ZLEN];
    size_t padded_bytes = sizeof(padded);

    if (eth_pad_short_frame(padded, &padded_bytes, from, bytes)) {
        return receive(nc, padded, padded_bytes);
    }
    return receive(nc, from, bytes);
}

/* QMP's set_link on the port or on its backend, which sets the port's flag too.
 * Both ends of a real InfiniBand link lose the signal at once: the other is
 * told before the port falls silent. */
static void link_status_changed(NetClientState *nc)
{
    Mlx4Link *link = link_of(nc);
    bool down = !mlx4_link_is_plugged(link);
    int own = nc->link_down;

    nc->link_down = 0;
    if (mlx4_enter(link->owner)) {
        freehca_model_plug_cable(link->owner->model, link->port, !down);
        mlx4_leave(link->owner);
    }
    nc->link_down = own;
    /* After netdev_del the backend is there, without what it sent with, until
     * the card goes; set_link would have it send all the same. */
    link->gone = link->nic && link->nic->peer_deleted;
}

static NetClientInfo link_info = {
    .type = NET_CLIENT_DRIVER_NIC,
    .size = sizeof(NICState),
    .can_receive = can_receive,
    .receive = receive,
    .link_status_changed = link_status_changed,
};

/* Nothing is padded before it is known to be a frame: the model does it. */
static NetClientInfo vpi_info = {
    .type = NET_CLIENT_DRIVER_NIC,
    .size = sizeof(NICState),
    .can_receive = can_receive,
    .receive = receive,
    .link_status_changed = link_status_changed,
    .query_rx_filter = mlx4_ethernet_rx_filter,
};

static NetClientInfo ethernet_info = {
    .type = NET_CLIENT_DRIVER_NIC,
    .size = sizeof(NICState),
    .can_receive = can_receive,
    .receive = receive_frame,
    .link_status_changed = link_status_changed,
    .query_rx_filter = mlx4_ethernet_rx_filter,
};

bool mlx4_links_check(Mlx4State *s, freehca_model_options *options,
                      Error **errp)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(s->links); i++) {
        NetClientState *backend = s->links[i].conf.peers.ncs[0];

        s->links[i].vpi = options->vpi[i];
        s->links[i].ethernet = options->link[i] != 0 || options->vpi[i];
        if (s->links[i].ethernet) {
            /* Of port 1; the model gives port 2 the next address. */
            mlx4_ethernet_address(&s->links[i], options->mac + i);
        }
        if (s->links[i].wire_name && !is_wire_name(s->links[i].wire_name)) {
            error_setg(errp, "mlx4: name%u=%s: 1 to %d letters, digits, '-', "
                       "'_', '.' and ':'", i + 1, s->links[i].wire_name,
                       HELLO_NAME_BYTES_AT_MOST);
            return false;
        }
        if (s->links[i].wire_name &&
            (!backend || backend->info->type != NET_CLIENT_DRIVER_STREAM)) {
            error_setg(errp, "mlx4: name%u= needs netdev%u= of type stream, "
                       "with server=off, to freehca-switch", i + 1, i + 1);
            return false;
        }
        if (!backend) {
            continue;
        }
        if (i >= s->ports) {
            error_setg(errp, "mlx4: netdev%u= needs ports=%u", i + 1, i + 1);
            return false;
        }
        if (backend == s->links[!i].conf.peers.ncs[0]) {
            error_setg(errp, "mlx4: netdev1=netdev2=%s: a backend in use; to "
                       "cable the two ports to each other give two hubports "
                       "of one hub", backend->name);
            return false;
        }
        if (!s->links[i].ethernet && !carries_anything(backend)) {
            error_setg(errp, "mlx4: netdev%u=%s: a backend of type '%s' cannot "
                       "carry InfiniBand packets; use -netdev stream, dgram, "
                       "socket or hubport to another mlx4", i + 1,
                       backend->name,
                       NetClientDriver_str(backend->info->type));
            return false;
        }
        s->links[i].frames_only = !carries_anything(backend);
        options->cable[i] = true;
    }
    return true;
}

void mlx4_links_begin(Mlx4State *s)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(s->links); i++) {
        Mlx4Link *link = &s->links[i];
        g_autofree char *name = NULL;

        link->owner = s;
        link->port = i + 1;
        QSIMPLEQ_INIT(&link->frames);
        if (!link->conf.peers.ncs[0]) {
            continue;
        }
        name = DEVICE(s)->id ? g_strdup_printf("%s.%u", DEVICE(s)->id, i + 1)
                             : NULL;
        link->nic = qemu_new_nic(link->vpi ? &vpi_info :
                                 link->ethernet ? &ethernet_info : &link_info,
                                 &link->conf, TYPE_MLX4, name,
                                 &DEVICE(s)->mem_reentrancy_guard, link);
        qemu_get_queue(link->nic)->do_not_pad = link->vpi || !link->ethernet;
        if (link->ethernet) {
            qemu_format_nic_info_str(qemu_get_queue(link->nic),
                                     link->conf.macaddr.a);
            continue;
        }
        qemu_set_info_str(qemu_get_queue(link->nic), "InfiniBand port %u",
                          link->port);
    }
}

/* The other ends are told as long as there is a way to. */
void mlx4_links_pull(Mlx4State *s)
{
    if (s->model && mlx4_enter(s)) {
        freehca_model_plug_cable(s->model, 1, false);
        freehca_model_plug_cable(s->model, 2, false);
        mlx4_leave(s);
        flush(s, UINT_MAX);
    }
}

void mlx4_links_end(Mlx4State *s)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(s->links); i++) {
        Mlx4Link *link = &s->links[i];

        if (link->nic) {
            drop_frames(link);
            /* Those that the backend keeps would come back by sent(). */
            qemu_purge_queued_packets(qemu_get_queue(link->nic));
            qemu_del_nic(link->nic);
            link->nic = NULL;
            link->gone = false;
        }
    }
}

bool mlx4_link_is_plugged(const Mlx4Link *link)
{
    return !link->nic ||
           !(qemu_get_queue(link->nic)->link_down || link->gone);
}

void mlx4_link_save_frames(const Mlx4Link *link, QEMUFile *file)
{
    const Mlx4Frame *frame;

    qemu_put_be32(file, link->frame_count);
    QSIMPLEQ_FOREACH(frame, &link->frames, next) {
        qemu_put_be32(file, frame->bytes);
        qemu_put_buffer(file, frame->data, frame->bytes);
    }
}

bool mlx4_link_load_frames(Mlx4Link *link, QEMUFile *file)
{
    uint32_t count = qemu_get_be32(file);

    drop_frames(link);
    if (count > (link->nic ? FRAMES_AT_MOST : 0)) {
        error_report("mlx4: %u frames wait for the cable of port %u in the "
                     "saved state, and here %u can", count, link->port,
                     link->nic ? FRAMES_AT_MOST : 0);
        return false;
    }
    while (count-- > 0) {
        uint32_t bytes = qemu_get_be32(file);
        Mlx4Frame *frame;

        if (bytes > FRAME_BYTES_AT_MOST) {
            error_report("mlx4: a frame of the saved state has %u bytes; the "
                         "most are %d", bytes, FRAME_BYTES_AT_MOST);
            return false;
        }
        frame = g_malloc(sizeof(*frame) + bytes);
        frame->bytes = bytes;
        add_frame(link, frame);
        if (qemu_get_buffer(file, frame->data, bytes) != bytes) {
            error_report("mlx4: the saved state is cut off in a frame");
            return false;
        }
    }
    return true;
}

void mlx4_link_loaded(Mlx4Link *link, bool was_plugged)
{
    link->busy = false;
    link->full = link->nic != NULL;
    link->held_up = link->nic != NULL;
    link->changed = link->nic && mlx4_link_is_plugged(link) != was_plugged;
    /* The backend keeps the name until the machine runs. It must come before
     * the frames by which QEMU announces the port. */
    link->greeted = false;
    greet_if_new(link);
}

void mlx4_links_run(Mlx4State *s)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(s->links); i++) {
        Mlx4Link *link = &s->links[i];

        if (link->changed && mlx4_enter(s)) {
            link->changed = false;
            freehca_model_plug_cable(s->model, link->port,
                                     mlx4_link_is_plugged(link));
            mlx4_leave(s);
        }
    }
    mlx4_links_flush(s);
}
