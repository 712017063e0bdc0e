/* SPDX-License-Identifier: BSD-2-Clause
 * Copyright the freehca authors
 *
 * The model's face for C: what qemu/qom links against. Contracts as in environment.hpp, options.hpp
 * and device.hpp; each function here is one line around its C++ namesake. */
#ifndef FREEHCA_MODEL_C_API_H
#define FREEHCA_MODEL_C_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct freehca_model freehca_model;

/* remark_kind (remark.hpp). */
enum {
    FREEHCA_REMARK_COMMAND,
    FREEHCA_REMARK_REFUSED,
    FREEHCA_REMARK_WORK_ERROR,
    FREEHCA_REMARK_PACKET_DROPPED,
    FREEHCA_REMARK_EVENT,
    FREEHCA_REMARK_DOORBELL,
    FREEHCA_REMARK_COMPLAINT,
};

typedef struct freehca_model_environment {
    void *context; /* first argument of every call */
    bool (*dma_read)(void *context, uint64_t address, void *to, size_t bytes);
    bool (*dma_write)(void *context, uint64_t address, const void *from, size_t bytes);
    bool (*bus_master)(void *context);
    bool (*msix_enabled)(void *context);
    void (*msix)(void *context, unsigned vector);
    void (*intx)(void *context, bool asserted);
    uint64_t (*now)(void *context);
    void (*arm_timer)(void *context, uint64_t deadline); /* UINT64_MAX: never */
    void (*wipe_configuration_space)(void *context);
    /* `kind` is FREEHCA_REMARK_...; asked for those that explain nothing, and for dropped packets,
     * of which few are told otherwise (remark.hpp). */
    bool (*listens)(void *context, unsigned kind);
    void (*tell)(void *context, unsigned kind, const char *rule, const char *text);
    /* Packets of an InfiniBand port, frames without FCS of an Ethernet port. `port` is 1 or 2; not
     * called for ports without freehca_model_options::cable. */
    bool (*link_send)(void *context, unsigned port, const void *from, size_t bytes);
    /* The same without freehca_model_options::capture. */
    void (*packet_passed)(void *context, unsigned port, const void *from, size_t bytes);
    /* Not called without freehca_model_options::record. */
    bool (*record)(void *context, const char *from, size_t bytes);
} freehca_model_environment;

typedef struct freehca_model_options {
    uint8_t variant;      /* 0 connectx3-pro, 1 connectx3, 2 connectx2 */
    uint8_t ports;        /* 1 or 2 */
    uint8_t link[2];      /* 0 InfiniBand, 1 Ethernet */
    bool vpi[2];          /* the driver may make it the other; it is the first after a reset */
    bool cable[2];        /* a cable leads out of the port */
    bool capture[2];      /* packets or frames, as link says, go to packet_passed too */
    bool subnet_manager;
    uint8_t log_max_commands;
    uint16_t command_interface; /* the revision that QUERY_FW tells */
    uint64_t node_guid;   /* 0: the default */
    uint64_t mac;         /* 0: the default */
    uint64_t uar_bar_bytes;
    uint64_t host_memory_limit;
    uint64_t command_acceptance_ns;
    uint64_t command_latency_ns;
    bool commands_side_by_side;
    bool strict;
    bool prefetch;        /* options::prefetch */
    const char *rules_off; /* names of rules.hpp with commas between them; read by create alone; may be NULL */
    uint64_t work_latency_ns;
    uint64_t reset_latency_ns;
    uint64_t time_seed;
    const char *without;  /* names of capability.hpp with commas between them; read by create alone; may be NULL */
    bool record;          /* what passes between adapter and host goes to freehca_model_environment::record */
    const char *record_label; /* free text for the recording's header; read by create alone; may be NULL */
    uint32_t doorbells_under_way; /* options::doorbells_under_way */
} freehca_model_options;

/* Writes the defaults. */
void freehca_model_default_options(freehca_model_options *options);

/* Returns NULL and a message in `error` (always terminated) when the options make no adapter.
 * `environment` is copied; its context must outlive the model. */
freehca_model *freehca_model_create(const freehca_model_environment *environment,
                                    const freehca_model_options *options, char *error, size_t error_bytes);
void freehca_model_destroy(freehca_model *model);

uint64_t freehca_model_read_registers(freehca_model *model, uint64_t offset, unsigned bytes);
void freehca_model_write_registers(freehca_model *model, uint64_t offset, uint64_t value, unsigned bytes);
uint64_t freehca_model_read_uar(freehca_model *model, uint64_t offset, unsigned bytes);
void freehca_model_write_uar(freehca_model *model, uint64_t offset, uint64_t value, unsigned bytes);
/* device::look_at_uar(), uar_pages() and uar_page_changes() (uar_page.hpp). */
typedef struct freehca_model_uar_page {
    uint32_t number;
    uint64_t doorbells;
    uint64_t blueflame;
    uint64_t bytes;
} freehca_model_uar_page;
void freehca_model_look_at_uar(freehca_model *model, uint32_t page, bool sends, bool completions);
void freehca_model_uar_pages(const freehca_model *model,
                             void (*out)(void *context, const freehca_model_uar_page *page), void *context);
uint64_t freehca_model_uar_page_changes(const freehca_model *model);
void freehca_model_on_timer(freehca_model *model);
void freehca_model_reset(freehca_model *model);

/* device::link_receive(), link_may_receive(), link_has_room() and plug_cable(), for packets and for
 * frames; ports are 1 and 2. */
void freehca_model_link_receive(freehca_model *model, unsigned port, const void *from, size_t bytes);
bool freehca_model_link_may_receive(const freehca_model *model);
void freehca_model_link_has_room(freehca_model *model, unsigned port);
void freehca_model_plug_cable(freehca_model *model, unsigned port, bool plugged);

/* reception.hpp. The caller gives `context` and the calls, the model the rest. */
typedef struct freehca_model_receive_filter {
    void *context;
    void (*add_address)(void *context, uint64_t mac); /* for each of unicast and multicast */
    void (*add_vlan)(void *context, uint16_t vlan);
    uint64_t mac;
    bool broadcast;
    bool promiscuous;
    bool all_multicast;
    bool all_vlans;
} freehca_model_receive_filter;

/* device::receives(). False: the port lets nothing in; nothing is written, and nothing called. */
bool freehca_model_receives(const freehca_model *model, unsigned port,
                            freehca_model_receive_filter *filter);

/* port_view.hpp */
typedef struct freehca_model_port_view {
    bool ethernet;
    bool open;
    bool peer;
    bool link_up;
    bool active;
} freehca_model_port_view;

/* device::view(). False: nothing is written. */
bool freehca_model_view_port(const freehca_model *model, unsigned port, freehca_model_port_view *view);

/* Changes fault_options; holds for commands that come, or are accepted, from then on. May be called
 * at any time that no other call is inside the model. */
void freehca_model_set_work_times(freehca_model *model, uint64_t work_latency_ns, uint64_t reset_latency_ns,
                                  uint64_t seed);
/* device::in_reset() */
bool freehca_model_in_reset(const freehca_model *model);
void freehca_model_set_command_times(freehca_model *model, uint64_t acceptance_ns, uint64_t latency_ns,
                                     bool side_by_side);

/* What becomes of some firmware commands from now on: "COMMAND:FATE" or "COMMAND:FATE:N". COMMAND
 * is "any", a name as in the counters ("MAP_FA") or an opcode ("0xfff"). FATE is "silent" (not run,
 * not answered but by freehca_model_answer_held_commands), "twice" (run, an answer by event comes
 * twice), "stuck" (not run, GO stays set and nothing can follow), "lost" (run, never answered) or a
 * status from 1 to 255 with which it is refused ("0x01"). With N only the N-th such command from
 * now on, else every one. "" ends it; commands that were not answered stay so until a reset. False
 * and a message that says what is allowed when it is none of these; then nothing changes. When to
 * call it: as above. */
bool freehca_model_set_command_fault(freehca_model *model, const char *fault, char *error, size_t error_bytes);

/* The same for events: "EVENT:FATE" or "EVENT:FATE:N". EVENT is "any", "completion" (of a CQ),
 * "command" or a type from 0 to 0x3f. FATE is "lost" (no entry, no interrupt) or "twice" (two
 * entries). */
bool freehca_model_set_event_fault(freehca_model *model, const char *fault, char *error, size_t error_bytes);

/* Raises an event that an adapter in order does not raise (device::raise_event): "EVENT",
 * "EVENT:SUBTYPE" or "EVENT:SUBTYPE:PORT". EVENT is "client_reregister", "pkey_change",
 * "gid_change", "operation_required", "ecc_detect", "fatal_warning", "recoverable_error" or a type
 * from 1 to 0x3f; SUBTYPE and PORT are numbers from 0 to 255. Of "operation_required" SUBTYPE is
 * the type of the operation that GET_OP_REQ reports. False and a message when it is none of these,
 * or when no event queue takes it; then nothing happens. Does DMA and interrupts. */
bool freehca_model_raise_event(freehca_model *model, const char *event, char *error,
                               size_t error_bytes);

/* What the cable of a port does to the packets that it sends (link_faults.hpp): "KIND:RATE", any
 * number of them with colons between. KIND is "loss", "corruption", "duplication", "reordering"
 * with packets in a million, or "seed". "" ends it. A port without a cable: false, and a message
 * that says so. */
bool freehca_model_set_link_fault(freehca_model *model, unsigned port, const char *fault, char *error,
                                  size_t error_bytes);

/* How many commands are held by the fate "silent"; and lets them run and answers them, however
 * late. Does DMA and interrupts. */
uint64_t freehca_model_held_commands(const freehca_model *model);
void freehca_model_answer_held_commands(freehca_model *model);

/* device::fail() and device::failed(). Does DMA and interrupts. */
void freehca_model_fail(freehca_model *model);
bool freehca_model_failed(const freehca_model *model);

/* options::strict and options::rules_off of a living model. A name that is no rule: false, and a
 * message that lists them; then nothing changes. When to call them: as above. */
void freehca_model_set_strict(freehca_model *model, bool strict);
bool freehca_model_set_rules_off(freehca_model *model, const char *rules, char *error, size_t error_bytes);

/* Calls out(context, number, time, kind, rule, text) for the last remarks that explain something,
 * oldest first. */
void freehca_model_remarks(const freehca_model *model,
                           void (*out)(void *context, uint64_t number, uint64_t time, const char *kind,
                                       const char *rule, const char *text),
                           void *context);

/* device::obstacle_to_saving(): false when nothing stands in the way; else the reason is in `why`,
 * always terminated. */
bool freehca_model_obstacle_to_saving(const freehca_model *model, char *why, size_t why_bytes);
/* device::save(): hands the whole stream to `out` in one call. Precondition: no obstacle. */
void freehca_model_save(freehca_model *model,
                        void (*out)(void *context, const void *stream, size_t bytes), void *context);
/* device::load(). False, and the reason in `why`: nothing has changed. */
bool freehca_model_load(freehca_model *model, const void *stream, size_t bytes, char *why,
                        size_t why_bytes);
/* device::state_digest() */
uint64_t freehca_model_state_digest(freehca_model *model);

/* Writes the recording's last record, and records no more; without a recording, and a second time:
 * nothing. */
void freehca_model_end_recording(freehca_model *model);

/* device::dump(): as much of the text as fits in `bytes`, always terminated. */
bool freehca_model_dump(freehca_model *model, const char *which, char *text, size_t bytes);

/* Counters by index, from 0; false past the last. The name lives as long as the model. */
bool freehca_model_counter(const freehca_model *model, unsigned index, const char **name, uint64_t *value);

#ifdef __cplusplus
}
#endif

#endif
