/* libFuzzer over the passes over ranges: any ranges and moments, each answer held against a look at every pair.
 *
 * The first two bytes choose ranges and say how many bytes are moments; three bytes make a range or a moment.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nest.h"

enum { THREADS = 4, NAMES = 3, MOST = 128, BYTES = 3 };

typedef struct {
    int32_t thread[MOST];
    int64_t start[MOST], end[MOST];
    size_t count;
} table;

static void check(int fine, const char *what)
{
    if (!fine) {
        fprintf(stderr, "wrong: %s\n", what);
        abort();
    }
}

/* Small times collide often; a few lie at the ends of what a time can be. */
static void add(table *to, const uint8_t *bytes)
{
    int64_t start = (int8_t)bytes[1], length = bytes[2] & 0x3F;
    if (bytes[2] >> 6 == 3) {
        start *= INT64_C(1) << 55;
    }
    to->thread[to->count] = bytes[0] % THREADS;
    to->start[to->count] = start;
    to->end[to->count++] = start > INT64_MAX - length ? INT64_MAX : start + length;
}

/* A copy of exactly its size, so that the sanitizer sees what is read outside of it. */
static void *exactly(const void *values, size_t size)
{
    void *copy = malloc(size ? size : 1);
    if (!copy) {
        exit(0);
    }
    return size ? memcpy(copy, values, size) : copy;
}

static void check_order(const table *given, const int64_t *order)
{
    uint8_t seen[MOST] = {0};
    for (size_t i = 0; i < given->count; i++) {
        int64_t a, b = order[i];
        check(b >= 0 && (size_t)b < given->count && !seen[b]++, "the order is no permutation");
        if (!i) {
            continue;
        }
        a = order[i - 1];
        if (given->thread[a] != given->thread[b]) {
            check(given->thread[a] < given->thread[b], "the order of threads");
        } else if (given->start[a] != given->start[b]) {
            check(given->start[a] < given->start[b], "the order of starts");
        } else if (given->end[a] != given->end[b]) {
            check(given->end[a] > given->end[b], "the longest come first");
        } else {
            check(a < b, "the order of the file");
        }
    }
}

/* The last range before `stop` that is around a moment of a thread. */
static int64_t around(const table *sorted, size_t stop, int32_t thread, int64_t time)
{
    for (size_t i = stop; i-- > 0;) {
        if (sorted->thread[i] == thread && sorted->start[i] <= time && sorted->end[i] > time) {
            return (int64_t)i;
        }
    }
    return -1;
}

static void check_pick(const table *given, const int64_t *order, unsigned bits)
{
    int64_t chosen[MOST], original[MOST], *some;
    table picked = {.count = 0};
    size_t next = 0;
    const nest_sorted all = {order, given->thread, given->start, given->end, given->count};
    const nest_picked to = {original, picked.thread, picked.start, picked.end};
    for (size_t i = 0; i < given->count; i++) {
        if (bits >> i % 8 & 1) {
            chosen[picked.count++] = (int64_t)i;
        }
    }
    some = exactly(chosen, picked.count * sizeof *chosen);
    check(nest_pick(&all, some, picked.count, &to) == (int64_t)picked.count, "all chosen ones are found");
    for (size_t i = 0; i < given->count; i++) {
        if (bits >> order[i] % 8 & 1) {
            check(chosen[original[next]] == order[i] && picked.thread[next] == given->thread[order[i]] &&
                      picked.start[next] == given->start[order[i]] && picked.end[next] == given->end[order[i]],
                  "a chosen one is another");
            next++;
        }
    }
    free(some);
}

/* What follows from parents. */
static void check_passes(const table *sorted, const int64_t *parent, unsigned bits)
{
    int64_t depth[MOST], counted_around[MOST], alike[MOST], sums[MOST], own[MOST];
    uint64_t inside[MOST], left[MOST];
    uint8_t counted[MOST];
    int32_t name[MOST];
    int64_t crossings = 0;
    size_t count = sorted->count;
    for (size_t i = 0; i < count; i++) {
        counted[i] = bits >> i % 8 & 1;
        name[i] = (int32_t)((uint64_t)sorted->start[i] % NAMES);
        sums[i] = sorted->start[i];
        inside[i] = 0;
        left[i] = (uint64_t)sorted->end[i] - (uint64_t)sorted->start[i];
    }
    nest_depths(parent, count, depth);
    nest_around(parent, counted, count, counted_around);
    nest_sums(parent, count, sums);
    nest_own(sorted->start, sorted->end, parent, count, own);
    check(nest_alike(parent, name, count, NAMES, alike) == 0, "memory");
    for (size_t i = 0; i < count; i++) {
        int64_t levels = 0, first_counted = -1, first_alike = -1;
        for (int64_t up = parent[i]; up >= 0; up = parent[up]) {
            levels++;
            first_counted = first_counted < 0 && counted[up] ? up : first_counted;
            first_alike = first_alike < 0 && name[up] == name[i] ? up : first_alike;
            inside[up] += (uint64_t)sorted->start[i];
        }
        if (parent[i] >= 0) {
            int64_t stop = sorted->end[parent[i]] < sorted->end[i] ? sorted->end[parent[i]] : sorted->end[i];
            left[parent[i]] -= (uint64_t)stop - (uint64_t)sorted->start[i];
        }
        crossings += counted[i] && first_counted >= 0 && sorted->end[i] > sorted->end[first_counted];
        check(depth[i] == levels, "depth");
        check(counted_around[i] == first_counted, "the counted one around");
        check(alike[i] == first_alike, "the one of the same name around");
    }
    for (size_t i = 0; i < count; i++) {
        check((uint64_t)sums[i] == (uint64_t)sorted->start[i] + inside[i], "sum");
        check((uint64_t)own[i] == left[i], "own length");
    }
    check(nest_crossings(sorted->end, parent, counted, count) == crossings, "crossings");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static table given, sorted, asked;
    int64_t order[MOST], found[MOST], *parent;
    size_t moments;
    unsigned bits;
    given.count = sorted.count = asked.count = 0;
    if (size < 2) {
        return 0;
    }
    bits = data[0];
    moments = data[1] % (MOST / 2);
    for (size_t at = 2; at + BYTES <= size; at += BYTES) {
        table *to = asked.count < moments ? &asked : &given;
        if (to->count < MOST) {
            add(to, data + at);
        }
    }
    check(nest_order(given.thread, given.start, given.end, given.count, THREADS, order) == 0, "memory");
    check_order(&given, order);
    check_pick(&given, order, bits);
    for (size_t i = 0; i < given.count; i++) {
        sorted.thread[i] = given.thread[order[i]];
        sorted.start[i] = given.start[order[i]];
        sorted.end[i] = given.end[order[i]];
    }
    sorted.count = given.count;
    parent = malloc((sorted.count + 1) * sizeof *parent);
    if (!parent) {
        return 0;
    }
    nest_parents(sorted.thread, sorted.start, sorted.end, sorted.count, parent);
    for (size_t i = 0; i < sorted.count; i++) {
        check(parent[i] == around(&sorted, i, sorted.thread[i], sorted.start[i]), "parent");
    }
    {
        const nest_forest forest = {sorted.thread, sorted.start, sorted.end, parent, sorted.count};
        check(nest_innermost(&forest, asked.thread, asked.start, asked.count, THREADS, found) == 0, "memory");
    }
    for (size_t i = 0; i < asked.count; i++) {
        check(found[i] == around(&sorted, sorted.count, asked.thread[i], asked.start[i]), "innermost");
    }
    check_passes(&sorted, parent, bits);
    free(parent);
    return 0;
}
