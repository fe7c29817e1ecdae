#include "nest.h"

#include <stdlib.h>
#include <string.h>

/* The starts and ends of all ranges. */
typedef struct {
    const int64_t *start, *end;
} ranges;

/* Whether range a belongs before range b of its thread whatever the file says: it starts earlier, or is longer. */
static inline int sooner(const ranges *r, int64_t a, int64_t b)
{
    return r->start[a] != r->start[b] ? r->start[a] < r->start[b] : r->end[a] > r->end[b];
}

/* [0, middle) and [middle, count) are in order; make them one. Only what has to move is touched. */
static void merge(const ranges *r, int64_t *order, size_t middle, size_t count, int64_t *scratch)
{
    size_t low = 0, high = middle, left = 0, right = middle, to, held;
    /* The first on the left that the first on the right goes before. */
    while (low < high) {
        size_t half = low + (high - low) / 2;
        if (sooner(r, order[middle], order[half])) {
            high = half;
        } else {
            low = half + 1;
        }
    }
    to = low;
    held = middle - low;
    memcpy(scratch, order + low, held * sizeof *scratch);
    while (left < held && right < count) {
        order[to++] = sooner(r, order[right], scratch[left]) ? order[right++] : scratch[left++];
    }
    memcpy(order + to, scratch + left, (held - left) * sizeof *scratch);
}

/* A merge sort that begins with the runs that are there, since files are nearly in order. Stable. */
static int sort_thread(const ranges *r, int64_t *order, size_t count)
{
    size_t runs = 0, *ends;
    int64_t *scratch;
    for (size_t i = 1; i < count; i++) {
        runs += (size_t)sooner(r, order[i], order[i - 1]);
    }
    if (!runs) {
        return 0;
    }
    scratch = malloc(count * sizeof *scratch);
    ends = malloc((runs + 1) * sizeof *ends);
    if (!scratch || !ends) {
        free(scratch);
        free(ends);
        return -1;
    }
    runs = 0;
    for (size_t i = 1; i < count; i++) {
        if (sooner(r, order[i], order[i - 1])) {
            ends[runs++] = i;
        }
    }
    ends[runs++] = count;
    while (runs > 1) {
        size_t begin = 0, kept = 0;
        for (size_t i = 0; i < runs; i += 2) {
            size_t stop = ends[i + 1 < runs ? i + 1 : i];
            if (i + 1 < runs) {
                merge(r, order + begin, ends[i] - begin, stop - begin, scratch);
            }
            ends[kept++] = begin = stop;
        }
        runs = kept;
    }
    free(scratch);
    free(ends);
    return 0;
}

int nest_order(const int32_t *thread, const int64_t *start, const int64_t *end, size_t count, size_t threads,
               int64_t *order)
{
    const ranges r = {start, end};
    size_t *next = calloc(threads + 1, sizeof *next), first = 0;
    if (!next) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        next[thread[i] + 1]++;
    }
    for (size_t i = 0; i < threads; i++) {
        next[i + 1] += next[i];
    }
    for (size_t i = 0; i < count; i++) {
        order[next[thread[i]]++] = (int64_t)i;
    }
    for (size_t i = 0; i < threads; first = next[i++]) {
        if (sort_thread(&r, order + first, next[i] - first) < 0) {
            free(next);
            return -1;
        }
    }
    free(next);
    return 0;
}

int64_t nest_pick(const nest_sorted *all, const int64_t *chosen, size_t count, const nest_picked *picked)
{
    /* For each range, which of the chosen it is, from 1; what lies nowhere is not chosen. */
    uint32_t *place = calloc(all->count + 1, sizeof *place);
    size_t to = 0;
    if (!place) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (chosen[i] >= 0 && (size_t)chosen[i] < all->count) {
            place[chosen[i]] = (uint32_t)i + 1;
        }
    }
    for (size_t i = 0; i < all->count && to < count; i++) {
        const int64_t at = all->order[i];
        if (at < 0 || (size_t)at >= all->count || !place[at]) {
            continue;
        }
        picked->original[to] = (int64_t)place[at] - 1;
        picked->thread[to] = all->thread[at];
        picked->start[to] = all->start[at];
        picked->end[to++] = all->end[at];
    }
    free(place);
    return (int64_t)to;
}

/* A range that has ended at one start has ended at all later ones, and the chain of parents passes over it from then
   on: so each range is passed over once, and the whole takes linear time. */
void nest_parents(const int32_t *thread, const int64_t *start, const int64_t *end, size_t count, int64_t *parent)
{
    for (size_t i = 0; i < count; i++) {
        int64_t above = i > 0 && thread[i - 1] == thread[i] ? (int64_t)i - 1 : -1;
        while (above >= 0 && end[above] <= start[i]) {
            above = parent[above];
        }
        parent[i] = above;
    }
}

void nest_own(const int64_t *start, const int64_t *end, const int64_t *parent, size_t count, int64_t *own)
{
    for (size_t i = 0; i < count; i++) {
        /* Unsigned: what overflows wraps around, as it does in numpy. */
        uint64_t begin = (uint64_t)start[i];
        own[i] = (int64_t)((uint64_t)end[i] - begin);
        if (parent[i] >= 0 && (size_t)parent[i] < i) {
            int64_t *around = &own[parent[i]], stop = end[parent[i]] < end[i] ? end[parent[i]] : end[i];
            *around = (int64_t)((uint64_t)*around - ((uint64_t)stop - begin));
        }
    }
}

/* The range around range i; what leads nowhere counts as none. */
static inline int64_t above(const int64_t *parent, int64_t i)
{
    return parent[i] >= 0 && parent[i] < i ? parent[i] : -1;
}

/* A sweep by time. A range that a moment passes over has ended for all later moments, and the parents of ranges that
   start later pass over it, too: so each range is passed over once. */
int nest_innermost(const nest_forest *f, const int32_t *thread, const int64_t *time, size_t count, size_t threads,
                   int64_t *found)
{
    int64_t *order = malloc((count + 1) * sizeof *order), last = -1, here = -1;
    size_t next = 0;
    if (!order || nest_order(thread, time, time, count, threads, order) < 0) {
        free(order);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        const int64_t asked = order[i], now = time[asked];
        const int32_t where = thread[asked];
        while (next < f->count &&
               (f->thread[next] < where || (f->thread[next] == where && f->start[next] <= now))) {
            next++;
        }
        found[asked] = -1;
        if (!next || f->thread[next - 1] != where) {
            continue;
        }
        if (last != (int64_t)next - 1) {
            here = last = (int64_t)next - 1;
        }
        while (here >= 0 && f->end[here] <= now) {
            here = above(f->parent, here);
        }
        found[asked] = here;
    }
    free(order);
    return 0;
}

void nest_depths(const int64_t *parent, size_t count, int64_t *depth)
{
    for (size_t i = 0; i < count; i++) {
        int64_t around = above(parent, (int64_t)i);
        depth[i] = around < 0 ? 0 : depth[around] + 1;
    }
}

void nest_around(const int64_t *parent, const uint8_t *counted, size_t count, int64_t *around)
{
    for (size_t i = 0; i < count; i++) {
        int64_t next = above(parent, (int64_t)i);
        around[i] = next < 0 || counted[next] ? next : around[next];
    }
}

int64_t nest_crossings(const int64_t *end, const int64_t *parent, const uint8_t *counted, size_t count)
{
    int64_t *around = malloc((count + 1) * sizeof *around), crossings = 0;
    if (!around) {
        return -1;
    }
    nest_around(parent, counted, count, around);
    for (size_t i = 0; i < count; i++) {
        crossings += counted[i] && around[i] >= 0 && end[i] > end[around[i]];
    }
    free(around);
    return crossings;
}

void nest_sums(const int64_t *parent, size_t count, int64_t *values)
{
    for (size_t i = count; i-- > 0;) {
        int64_t around = above(parent, (int64_t)i);
        if (around >= 0) {
            values[around] = (int64_t)((uint64_t)values[around] + (uint64_t)values[i]);
        }
    }
}

/* The ranges around the one before are open; `latest` has the innermost open one of each name. */
int nest_alike(const int64_t *parent, const int32_t *name, size_t count, size_t names, int64_t *alike)
{
    int64_t *latest = malloc(names * sizeof *latest);
    if (names && !latest) {
        return -1;
    }
    for (size_t i = 0; i < names; i++) {
        latest[i] = -1;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t around = above(parent, (int64_t)i);
        for (int64_t open = (int64_t)i - 1; open >= 0 && open != around; open = above(parent, open)) {
            latest[name[open]] = alike[open];
        }
        alike[i] = latest[name[i]];
        latest[name[i]] = (int64_t)i;
    }
    free(latest);
    return 0;
}
