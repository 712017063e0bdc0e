/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * The QEMU device "mlx4": a PCI function around the adapter model. The model
 * knows registers, DMA and interrupts; everything about configuration space,
 * properties and QEMU stands here. Everything runs under the big QEMU lock.
 */
#ifndef FREEHCA_QOM_MLX4_H
#define FREEHCA_QOM_MLX4_H

#include "compat.h"
#include "hw/pci/pcie.h"
#include "net/net.h"
#include "qemu/queue.h"
#include "qemu/timer.h"
#include "qom/object.h"
#include "freehca/model/c_api.h"

#define TYPE_MLX4 "mlx4"
OBJECT_DECLARE_SIMPLE_TYPE(Mlx4State, MLX4)

#define MLX4_VENDOR_ID 0x15b3
#define MLX4_REGISTER_BAR 0
#define MLX4_UAR_BAR 2
#define MLX4_REGISTER_BAR_BYTES (1u << 20)
#define MLX4_MSIX_VECTORS 128
#define MLX4_VPD_BYTES 4096

typedef enum Mlx4Variant {
    MLX4_CONNECTX3_PRO,
    MLX4_CONNECTX3,
    MLX4_CONNECTX2,
    MLX4_VARIANTS,
} Mlx4Variant;

/* What configuration space says about one kind of card. */
typedef struct Mlx4Identity {
    const char *name;               /* value of the property "variant" */
    uint16_t device_id;
    uint16_t subsystem_id[2];       /* card with one port, with two */
    uint32_t class_code;            /* 24 bits */
    uint8_t revision;
    bool gen3;                      /* else PCIe 2.0: no AER, no secondary PCIe */
    uint8_t max_payload;            /* as in DevCap: 1 is 256, 2 is 512 bytes */
    const char *product_name[2];    /* VPD, by ports as above */
    const char *part_number[2];
    const char *engineering_change[2];
    const char *link_text;
} Mlx4Identity;

typedef struct Mlx4Frame Mlx4Frame;

/* A cable out of a port. */
typedef struct Mlx4Link {
    Mlx4State *owner;
    unsigned port;                  /* 1 or 2 */
    bool ethernet;                  /* it is, or can be; else InfiniBand */
    bool vpi;                       /* it can be either */
    bool frames_only;               /* by its backend */
    NICConf conf;
    NICState *nic;                  /* NULL: no netdev was given */
    QSIMPLEQ_HEAD(, Mlx4Frame) frames;
    unsigned frame_count;
    bool full;                      /* the model was told to wait */
    bool busy;                      /* the backend was: its callback follows */
    bool held_up;                   /* the backend waits for the model */
    bool flushing;
    bool gone;                      /* the backend was deleted */
    char *wire_name;                /* the property; NULL: none */
    bool greeted;                   /* this connection has heard the name */
    bool changed;                   /* plugged or pulled by a move */
} Mlx4Link;

typedef struct Mlx4Writer Mlx4Writer;

/* A file with the packets, or frames, of a port, or a recording. */
typedef struct Mlx4File {
    char *path;                     /* the property; NULL: none */
    Mlx4Writer *writer;             /* NULL: it is not open */
    bool loss_reported;                 /* that something is in no file */
} Mlx4File;

/* How long the adapter has worked, and when it rests (turns.c). In ns of the
 * host's clock. */
typedef struct Mlx4Pace {
    int64_t credit;                 /* of work until the next rest */
    int64_t counted;                /* when credit was counted last */
    int64_t rest_until;
    bool one_turn;                  /* after this rest: then it rests again */
} Mlx4Pace;

/* A write that waits (posted_writes.c). */
typedef struct Mlx4PostedWrite {
    void *to;                       /* in a page that is mapped */
    uint32_t bytes;
    uint8_t data[256];               /* a context is the largest */
} Mlx4PostedWrite;

/* A page of the guest's memory (mapped_pages.c), of the least size that an
 * IOMMU translates. */
#define MLX4_PAGE_BYTES 4096
#define MLX4_MAPPED_PAGES 128
typedef struct Mlx4MappedPage {
    uint64_t page;                  /* its address, as the device names it */
    void *host;                     /* NULL: none is mapped here */
    MemoryRegion *region;           /* what holds it; a reference is kept */
} Mlx4MappedPage;

struct Mlx4State {
    PCIDevice parent_obj;

    MemoryRegion registers;
    MemoryRegion uar;
    QEMUTimer *timer;
    int64_t timer_at;               /* when it comes; INT64_MAX: not armed */
    uint64_t deadline;              /* of the model; UINT64_MAX: none */
    freehca_model *model;
    const Mlx4Identity *identity;

    /* Configuration space as realize left it: what a reset returns it to. */
    uint8_t power_on[PCIE_CONFIG_SPACE_SIZE];
    uint8_t vpd[MLX4_VPD_BYTES];
    uint16_t vpd_writable;          /* offset of the first writable byte */

    /* > 0 while the model runs: it may not be entered a second time. */
    unsigned depth;
    bool in_turns;                  /* ... the work that is due is done */
    Mlx4Pace pace;
    Mlx4PostedWrite posted[16];
    unsigned posted_count;
    Mlx4MappedPage mapped_pages[2][MLX4_MAPPED_PAGES]; /* to read, to write */
    Mlx4MappedPage *mapped_slots[2 * MLX4_MAPPED_PAGES];
    unsigned mapped_count;
    bool reset_pending;
    bool loading;                   /* the model takes a saved state */
    bool cable_in[2];               /* of ports with a netdev, when saved */
    Error *migration_blocker;       /* NULL: the state can be saved */
    VMChangeStateEntry *run_state_handler;
    /* The function was unplugged: its configuration space, MSI-X and timer are
     * gone. The model goes when it has been left. */
    bool dying;
    bool removed; /* x-fault-removed: without power */
    unsigned complaints_shown;

    Mlx4Link links[2];
    bool cable_pulled[2];           /* cable1=off, of a port without netdev */
    Mlx4File captures[2];
    Mlx4File recording;             /* x-record */
    Notifier recording_at_exit;
    Notifier captures_at_exit;

    /* Properties as given. */
    uint64_t node_guid;             /* claimed; 0: none is */
    QLIST_ENTRY(Mlx4State) next_card;
    char *variant_text;
    char *link_text[2];
    char *guid_text;
    char *mac_text;
    char *without;
    char *dumped;                   /* KIND:NUMBER of the property "dump" */
    bool strict;
    bool msix;                      /* x-msix */
    bool prefetch;                  /* x-prefetch */
    char *rules_off;
    char *record_label;
    uint32_t ports;
    uint32_t max_commands;
    uint64_t uar_bar_bytes;
    uint64_t host_memory_limit;
    uint32_t class_code;
    uint16_t device_id;             /* x-device-id; 0: that of the variant */
    uint16_t command_interface;     /* x-command-interface */
    bool subnet_manager;
    bool function_level_reset;
    uint64_t command_acceptance;
    uint64_t command_latency;
    bool commands_side_by_side;
    uint64_t work_latency;
    uint64_t reset_latency;
    uint64_t time_seed;
    char *command_fault;
    char *event_fault;
    char *link_fault[2];
};

/* PCI_DEVICE(), without the check of its type: for what every access does. */
static inline PCIDevice *mlx4_pci(Mlx4State *s)
{
    return &s->parent_obj;
}

/* identity.c: NULL and an error that lists the names when there is no such. */
const Mlx4Identity *mlx4_identity_by_name(const char *name, Error **errp);
Mlx4Variant mlx4_identity_variant(const Mlx4Identity *identity);
void mlx4_identity_write(Mlx4State *s);

/* options.c: false and an error that says what is allowed. */
bool mlx4_options_from_properties(Mlx4State *s, freehca_model_options *options,
                                  Error **errp);
void mlx4_options_add_class_properties(DeviceClass *dc);

/* remarks.c: what the model tells of its own doings. */
bool mlx4_listens(void *context, unsigned kind);
void mlx4_tell(void *context, unsigned kind, const char *rule,
               const char *text);
void mlx4_remarks_add_class_properties(ObjectClass *klass);

/* faults.c: false and an error when what the properties ask for is not. */
bool mlx4_faults_begin(Mlx4State *s, Error **errp);
void mlx4_faults_loaded(Mlx4State *s);
void mlx4_faults_add_class_properties(ObjectClass *klass);

/* capabilities.c: the chain of a real card, with the serial number. */
bool mlx4_capabilities_add(Mlx4State *s, uint64_t node_guid, Error **errp);
void mlx4_capabilities_remove(Mlx4State *s);

/* configuration.c */
uint32_t mlx4_configuration_read(PCIDevice *pci, uint32_t address, int bytes);
void mlx4_configuration_write(PCIDevice *pci, uint32_t address, uint32_t value,
                              int bytes);
bool mlx4_is_there(Mlx4State *s);   /* not pulled out, no reset goes on */
bool mlx4_in_d0(Mlx4State *s);      /* and still there */
void mlx4_configuration_reset(Mlx4State *s);

/* vpd.c */
void mlx4_vpd_make(Mlx4State *s, uint64_t node_guid);
void mlx4_vpd_written(Mlx4State *s);

/* registers.c: whoever enters leaves again; in between the object lives, even
 * if what the model does unplugs it. */
void mlx4_registers_init(Mlx4State *s);
bool mlx4_enter(Mlx4State *s);
void mlx4_leave(Mlx4State *s);
void mlx4_model_end(Mlx4State *s);

/* mapped_pages.c: page_at: the host's address of what the device reaches at
 * this one, up to the page's end, until unmap; NULL: that is no memory, or the
 * model does not run. unmap: whoever leaves the model, after all that waits. */
void *mlx4_page_at(Mlx4State *s, uint64_t address, bool writing);
void mlx4_unmap_pages(Mlx4State *s);

/* posted_writes.c: within one page that is mapped. */
void mlx4_write_memory(Mlx4State *s, void *to, const void *from, size_t bytes);
void mlx4_read_memory(Mlx4State *s, void *to, const void *from, size_t bytes);
void mlx4_flush_posted_writes(Mlx4State *s);
/* Is something among what waits for these bytes of the host's memory? */
bool mlx4_posted_writes_touch(Mlx4State *s, const void *from, size_t bytes);

/* turns.c: arm: after deadline has changed, and when the model has been left.
 * finish_access: leaves, and does what is due. */
void mlx4_arm_timer(Mlx4State *s);
void mlx4_run_timer(Mlx4State *s);
void mlx4_finish_access(Mlx4State *s);

/* links.c: check: false and an error that says which backends there can be.
 * flush: whenever the model has been left. pull: as if both cables were. */
bool mlx4_links_check(Mlx4State *s, freehca_model_options *options,
                      Error **errp);
void mlx4_links_begin(Mlx4State *s);
void mlx4_links_flush(Mlx4State *s);
void mlx4_links_pull(Mlx4State *s);
void mlx4_links_end(Mlx4State *s);
bool mlx4_link_send(void *context, unsigned port, const void *from,
                    size_t bytes);
bool mlx4_link_is_plugged(const Mlx4Link *link);
/* The frames that wait for a cable. load_frames: false, and an error is
 * reported, when they cannot be. loaded: after the model's state; was_plugged:
 * in the saved machine. run: the machine goes on. */
void mlx4_link_save_frames(const Mlx4Link *link, QEMUFile *file);
bool mlx4_link_load_frames(Mlx4Link *link, QEMUFile *file);
void mlx4_link_loaded(Mlx4Link *link, bool was_plugged);
void mlx4_links_run(Mlx4State *s);

/* ethernet.c: address: burned in. */
void mlx4_ethernet_init(Mlx4State *s);
void mlx4_ethernet_address(Mlx4Link *link, uint64_t mac);
RxFilterInfo *mlx4_ethernet_rx_filter(NetClientState *nc);

/* cables.c: begin: false and an error when there is no such cable to pull. */
bool mlx4_cables_begin(Mlx4State *s, Error **errp);
void mlx4_cables_add_class_properties(ObjectClass *klass);

/* file_writer.c: a thread that writes `file`, which is the writer's from then
 * on. `gapless`: a record that is behind one that was lost is worth nothing; it
 * is lost too, and whoever adds one waits for room. NULL and an error when
 * there can be no thread; `file` is closed.
 * add: false: a record, not necessarily this one, was lost.
 * lost: how many records are in no file, when all that were added are done or
 * the file takes nothing for seconds; `error`: errno of the first, 0: none.
 * end: the same, and closes the file. */
Mlx4Writer *mlx4_writer_new(int file, bool gapless, Error **errp);
bool mlx4_writer_add(Mlx4Writer *writer, const struct iovec *parts,
                     unsigned count);
uint64_t mlx4_writer_lost(Mlx4Writer *writer, int *error);
uint64_t mlx4_writer_end(Mlx4Writer *writer, int *error);

/* capture.c: begin: false and an error when a file cannot be written. errors:
 * packets that are in no file. */
bool mlx4_captures_begin(Mlx4State *s, freehca_model_options *options,
                         Error **errp);
void mlx4_packet_passed(void *context, unsigned port, const void *from,
                        size_t bytes);
uint64_t mlx4_capture_errors(Mlx4State *s);
void mlx4_captures_end(Mlx4State *s);

/* recording.c: begin: false and an error when the file cannot be made. began:
 * the same when the header, which the model writes, found no room. */
bool mlx4_recording_begin(Mlx4State *s, freehca_model_options *options,
                          Error **errp);
bool mlx4_recording_began(Mlx4State *s, Error **errp);
bool mlx4_record(void *context, const char *from, size_t bytes);
void mlx4_recording_end(Mlx4State *s);

/* saved_state.c: update: after what can stand in the way of saving has changed;
 * false and an error when QEMU allows no blocker now (-only-migratable). */
extern const VMStateDescription mlx4_vmstate;
void mlx4_saved_state_begin(Mlx4State *s);
void mlx4_saved_state_end(Mlx4State *s);
bool mlx4_update_migration_blocker(Mlx4State *s, Error **errp);
void mlx4_saved_state_add_class_properties(ObjectClass *klass);

/* guids.c: default: of a card that was given none; first: of the first card of a
 * machine without a UUID. claim: false and an error that names the card which
 * has one of the four GUIDs from node_guid on; else they are taken until
 * release. */
uint64_t mlx4_guid_default(Mlx4State *s, uint64_t first);
bool mlx4_guid_claim(Mlx4State *s, uint64_t node_guid, Error **errp);
void mlx4_guid_release(Mlx4State *s);

/* environment.c */
extern const freehca_model_environment mlx4_environment;

/* counters.c */
void mlx4_counters_add(Mlx4State *s);
void mlx4_counters_add_class_properties(ObjectClass *klass);

/* Where capabilities stand; the order of the chain is in capabilities.c. */
#define MLX4_CAP_PM 0x40
#define MLX4_CAP_VPD 0x48
#define MLX4_GATEWAY_ADDRESS 0x58
#define MLX4_GATEWAY_DATA 0x5c
#define MLX4_CAP_EXPRESS 0x60
#define MLX4_CAP_MSIX 0x9c
#define MLX4_CAP_VENDOR 0xc0
#define MLX4_EXT_ARI 0x100
#define MLX4_EXT_SERIAL 0x148
#define MLX4_EXT_AER 0x154
#define MLX4_EXT_SECONDARY 0x18c

#endif
