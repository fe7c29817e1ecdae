/* Which range holds which. No Python here; module.c binds it. The numpy twins are in trace/nesting.py. */
#ifndef FORETRACE_NEST_H
#define FORETRACE_NEST_H

#include <stddef.h>
#include <stdint.h>

/* Positions of the ranges by thread (each below `threads`), start, longest first, place in the file. -1: no memory. */
int nest_order(const int32_t *thread, const int64_t *start, const int64_t *end, size_t count, size_t threads,
               int64_t *order);

/* All ranges in that order, and some of them: `chosen` ascends. Fills what is known of those, in the same order:
   original (which of the chosen each is) and their times. How many were found; -1: no memory. Fewer than 2**32. */
typedef struct {
    const int64_t *order;
    const int32_t *thread;
    const int64_t *start, *end;
    size_t count;
} nest_sorted;

typedef struct {
    int64_t *original;
    int32_t *thread;
    int64_t *start, *end;
} nest_picked;

int64_t nest_pick(const nest_sorted *all, const int64_t *chosen, size_t count, const nest_picked *picked);

/* For ranges in that order: parent[i] is the nearest earlier range of the same thread that has not ended at start[i],
   or -1. */
void nest_parents(const int32_t *thread, const int64_t *start, const int64_t *end, size_t count, int64_t *parent);

/* For ranges in that order: the length of each, less what of its children lies inside it. */
void nest_own(const int64_t *start, const int64_t *end, const int64_t *parent, size_t count, int64_t *own);

/* Ranges in that order with their parents. */
typedef struct {
    const int32_t *thread;
    const int64_t *start, *end, *parent;
    size_t count;
} nest_forest;

/* For each moment of a thread (each below `threads`): the innermost range around it, or -1. -1: no memory. */
int nest_innermost(const nest_forest *forest, const int32_t *thread, const int64_t *time, size_t count, size_t threads,
                   int64_t *found);

/* From here on only the parents matter. They come first: a parent that does not counts as none. */

/* How many ranges are around each. */
void nest_depths(const int64_t *parent, size_t count, int64_t *depth);

/* around[i]: the innermost range around range i that is counted, or -1. */
void nest_around(const int64_t *parent, const uint8_t *counted, size_t count, int64_t *around);

/* How many of the counted ranges end after the innermost counted one around them. -1: no memory. */
int64_t nest_crossings(const int64_t *end, const int64_t *parent, const uint8_t *counted, size_t count);

/* To the value of each range, add those of all ranges inside it. */
void nest_sums(const int64_t *parent, size_t count, int64_t *values);

/* alike[i]: the innermost range around range i that has its name (each below `names`), or -1. The parent of a range
   has to be the one before it or around that one. -1: no memory. */
int nest_alike(const int64_t *parent, const int32_t *name, size_t count, size_t names, int64_t *alike);

#endif
