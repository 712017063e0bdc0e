/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * Lets a preloaded object register its types in one QEMU alone: the binary
 * that it was compiled for.
 *
 * All sources of the object but this one are compiled with
 * -Dregister_module_init=mlx4_preload_register, so that the constructors that
 * type_init() and trace_init() make call the function below. It compares the
 * build identifier of the running program before anything of that program is
 * called. Types are registered after all types of QEMU's own, when the sizes
 * of the structures that the object shares with QEMU can be asked for.
 *
 * Whenever something differs, nothing is registered, the reason goes to the
 * standard error, and QEMU runs on without the device.
 */
#include "qemu/osdep.h"
#include <dlfcn.h>
#include <link.h>
#include "qemu/module.h"
#include "hw/core/cpu.h"
#include "../compat.h"

/* The QEMUs that the object was linked for, up to one without a name, and
 * Debian's version of them: a source that qemu/build/preload_objects.py
 * writes. */
extern const struct mlx4_preload_program {
    const char *name;
    const char *build_id;
} mlx4_preload_programs[];
extern const char mlx4_preload_version[];

static const struct {
    const char *type;
    size_t size;
} shared[] = {
    { TYPE_DEVICE, sizeof(DeviceState) },
    { TYPE_PCI_DEVICE, sizeof(PCIDevice) },
    { TYPE_MEMORY_REGION, sizeof(MemoryRegion) },
    { TYPE_CPU, sizeof(CPUState) },
};

/* Tests compile the object with a size that is false. */
#ifndef MLX4_PRELOAD_FALSE_SIZE
#define MLX4_PRELOAD_FALSE_SIZE ""
#endif

#define MOST_TYPES 4
static void (*waiting[MOST_TYPES])(void);
static unsigned waiting_count;

void mlx4_preload_register(void (*fn)(void), module_init_type type);

static const char *own_path(void)
{
    Dl_info info;

    return dladdr(mlx4_preload_programs, &info) && info.dli_fname ? info.dli_fname
                                                  : "freehca";
}

static void G_GNUC_PRINTF(1, 2) refuse(const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "%s: not used: ", own_path());
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, ". It was compiled for QEMU %s; run ./dev qemu for an "
                    "object that fits this QEMU\n", mlx4_preload_version);
}

/* NT_GNU_BUILD_ID. QEMU has an elf.h of its own, which lacks it. */
#define BUILD_ID_NOTE 3

/* The build identifier in hexadecimal digits, of the first object, which is
 * the program itself. */
static int find_build_id(struct dl_phdr_info *object, size_t size, void *text)
{
    static const char digits[] = "0123456789abcdef";
    char *to = text;

    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const char *at = (const char *)object->dlpi_addr + part->p_vaddr;
        const char *end = at + part->p_memsz;

        if (part->p_type != PT_NOTE) {
            continue;
        }
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
            const char *name = at + sizeof(*note);
            const uint8_t *body =
                (const uint8_t *)name + ROUND_UP(note->n_namesz, 4);

            if (note->n_type == BUILD_ID_NOTE && note->n_namesz == 4 &&
                memcmp(name, "GNU", 4) == 0) {
                for (unsigned j = 0; j < MIN(note->n_descsz, 32); j++) {
                    *to++ = digits[body[j] >> 4];
                    *to++ = digits[body[j] & 15];
                }
                *to = 0;
                return 1;
            }
            at = (const char *)body + ROUND_UP(note->n_descsz, 4);
        }
    }
    return 1;
}

static bool is_known_binary(void)
{
    static int answer = -1;
    char build_id[2 * 32 + 1] = "";
    unsigned i;

    if (answer >= 0) {
        return answer;
    }
    dl_iterate_phdr(find_build_id, build_id);
    answer = 0;
    for (i = 0; mlx4_preload_programs[i].name; i++) {
        answer |= strcmp(mlx4_preload_programs[i].build_id, build_id) == 0;
    }
    if (!answer) {
        refuse("this program's build identifier is %s, and not %s, which is "
               "that of %s%s", build_id[0] ? build_id : "missing",
               mlx4_preload_programs[0].build_id, mlx4_preload_programs[0].name,
               i > 1 ? ", or that of another it was compiled for" : "");
    }
    return answer;
}

static bool has_known_sizes(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(shared); i++) {
        size_t size = object_type_get_instance_size(shared[i].type);
        size_t own = shared[i].size +
                     (strcmp(shared[i].type, MLX4_PRELOAD_FALSE_SIZE) == 0);

        if (size != own) {
            refuse("an object of type '%s' has %zu bytes in this program, and "
                   "had %zu in the headers", shared[i].type, size, own);
            return false;
        }
    }
    return true;
}

/* The last of QEMU's functions that register types: all others are known. */
static void register_waiting(void)
{
    if (!has_known_sizes()) {
        return;
    }
    for (unsigned i = 0; i < waiting_count; i++) {
        waiting[i]();
    }
}

/* A preloaded object's constructors run before the program's own, so this is
 * the first function of its kind. What it adds becomes the last. */
static void go_last(void)
{
    register_module_init(register_waiting, MODULE_INIT_QOM);
}

void mlx4_preload_register(void (*fn)(void), module_init_type type)
{
    if (!is_known_binary()) {
        return;
    }
    if (type != MODULE_INIT_QOM) {
        register_module_init(fn, type);
        return;
    }
    g_assert(waiting_count < MOST_TYPES);
    if (waiting_count == 0) {
        register_module_init(go_last, MODULE_INIT_QOM);
    }
    waiting[waiting_count++] = fn;
}

/* The programs that QEMU starts (scripts of a tap device, exec: of a
 * migration) must not get the object: they lack what it takes from QEMU. */
static void __attribute__((constructor)) leave_environment(void)
{
    const char *own = own_path(), *at = getenv("LD_PRELOAD");
    g_autofree char *left = NULL;
    g_auto(GStrv) words = NULL;
    unsigned to = 0;

    if (!at) {
        return;
    }
    words = g_strsplit_set(at, ": ", -1);
    for (unsigned i = 0; words[i]; i++) {
        if (!words[i][0] || strcmp(words[i], own) == 0) {
            g_free(words[i]);
        } else {
            words[to++] = words[i];
        }
    }
    words[to] = NULL;
    left = g_strjoinv(":", words);
    if (left[0]) {
        setenv("LD_PRELOAD", left, 1);
    } else {
        unsetenv("LD_PRELOAD");
    }
}
