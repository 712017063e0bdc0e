/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright the freehca authors
 *
 * When the adapter does the work that is due: turns of the model, each bounded
 * by what it costs, and rests between them.
 *
 * A turn holds QEMU's big lock, and that lock is not fair: whoever gives it
 * back and asks for it again at once gets it before a thread that has to wake
 * up first. So the adapter rests, without the lock, when it has worked for
 * BURST_NS, or as soon as somebody can be seen to want the lock. A processor
 * that takes an interrupt then wants it several times more (it acknowledges
 * the interrupt, and sets its timer), which cannot be seen: after such a rest
 * the adapter does one turn, and rests again. The numbers were measured
 * (`./dev bench lateness`, `./dev bench rdma_write`).
 */
#include "qemu/osdep.h"
#include "hw/core/cpu.h"
#include "mlx4.h"

#define BURST_NS (1200 * SCALE_US)
#define REST_NS (200 * SCALE_US)
#define POSTED_NS (20 * SCALE_US)

/* Counted instructions must repeat, whatever the host's clock says, and a
 * qtest has no processors that could wait. */
static bool rests(void)
{
    return !icount_enabled() && !qtest_enabled();
}

static int64_t rest_left(Mlx4State *s)
{
    return rests() ? MAX(0, s->pace.rest_until - get_clock()) : 0;
}

/* An earlier deadline wakes the main loop, a system call that costs more than
 * most work; so does a timer that is taken away and set again. So the timer is
 * left where it is when the deadline moves away: it may come early, finds
 * nothing due, and is set again. Where time is counted it comes exactly. */
static void arm(Mlx4State *s, int64_t earliest)
{
    int64_t at = MAX(MIN(s->deadline, INT64_MAX), earliest);

    if (s->dying) {
        return;
    }
    if (s->deadline == UINT64_MAX) {
        if (!rests()) {
            timer_del(s->timer);
        }
    } else if (!rests() || at < s->timer_at) {
        s->timer_at = at;
        timer_mod_ns(s->timer, at);
    }
}

/* While the model runs, its deadline may still change: whoever leaves it arms
 * the timer. */
void mlx4_arm_timer(Mlx4State *s)
{
    if (s->depth == 0 && !s->in_turns &&
        !(rests() && s->deadline >= (uint64_t)s->timer_at)) {
        arm(s, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + rest_left(s));
    }
}

/* For work that is done now, the main loop need not wake. */
static void drop_due_timer(Mlx4State *s)
{
    if (!s->dying &&
        s->timer_at <= qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL)) {
        timer_del(s->timer);
        s->timer_at = INT64_MAX;
    }
}

static bool due(Mlx4State *s)
{
    return s->deadline <= qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

/* Does a thread want the big lock, as far as that can be seen? The main loop
 * for a timer (the device's own is not set), or a processor for an interrupt. */
static bool lock_is_wanted(void)
{
    CPUState *cpu;

    if (qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL,
                                   QEMU_TIMER_ATTR_ALL) == 0) {
        return true;
    }
    CPU_FOREACH(cpu) {
        if (cpu_has_work(cpu)) {
            return true;
        }
    }
    return false;
}

static bool may_work(Mlx4State *s)
{
    Mlx4Pace *pace = &s->pace;
    int64_t now = get_clock();

    if (now < pace->rest_until) {
        return false;
    }
    if (pace->rest_until > pace->counted) {
        pace->credit = pace->one_turn ? 0 : BURST_NS;
    } else {
        pace->credit = MIN(BURST_NS, pace->credit + (now - pace->counted) *
                                     (BURST_NS / REST_NS));
    }
    pace->counted = now;
    return true;
}

/* Returns false when the adapter rests, or is gone. */
static bool run_turn(Mlx4State *s)
{
    Mlx4Pace *pace = &s->pace;
    bool wanted;

    if (!mlx4_enter(s)) {
        return false;
    }
    s->deadline = UINT64_MAX;
    freehca_model_on_timer(s->model);
    mlx4_leave(s);
    if (s->dying || !rests()) {
        return false;
    }
    pace->credit -= get_clock() - pace->counted;
    pace->counted = get_clock();
    drop_due_timer(s);
    wanted = due(s) && lock_is_wanted();
    if (pace->credit > 0 && !wanted) {
        return true;
    }
    pace->one_turn = wanted;
    pace->rest_until = pace->counted + REST_NS;
    return false;
}

/* Runs what is due, in the main loop or in the processor whose access caused
 * it: waking the main loop costs much more than most work, the more so on a
 * busy host. */
static void work(Mlx4State *s)
{
    int64_t began = get_clock();

    object_ref(OBJECT(s));
    drop_due_timer(s);
    s->in_turns = true;
    while (due(s) && (!rests() || may_work(s)) && run_turn(s)) {
        if (due(s) && get_clock() - began > POSTED_NS) {
            mlx4_flush_posted_writes(s);
        }
    }
    s->in_turns = false;
    /* The clock that counts instructions stands still in a rest, and between
     * two turns: one of them will do. */
    arm(s, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + rest_left(s) +
           (icount_enabled() ? 1 : 0));
    mlx4_unmap_pages(s);
    object_unref(OBJECT(s));
}

void mlx4_run_timer(Mlx4State *s)
{
    s->timer_at = INT64_MAX;
    if (!s->in_turns) {
        work(s);
    }
}

/* Where the virtual clock counts instructions, all work comes from its timers,
 * so that counts repeat. */
void mlx4_finish_access(Mlx4State *s)
{
    bool at_once = !icount_enabled() && !s->in_turns;

    if (!at_once) {
        mlx4_leave(s);
        return;
    }
    object_ref(OBJECT(s));
    s->in_turns = true;
    mlx4_leave(s);
    s->in_turns = false;
    if (!s->dying && s->deadline != UINT64_MAX && due(s)) {
        work(s);
    } else {
        mlx4_arm_timer(s);
        mlx4_unmap_pages(s);
    }
    object_unref(OBJECT(s));
}
