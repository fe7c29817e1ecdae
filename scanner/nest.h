/* Which range holds which. No Python here; module.c binds it. The numpy twins are in trace/nesting.py. */
#ifndef FORETRACE_NEST_H
#define FORETRACE_NEST_H

#include <stddef.h>
#include <stdint.h>

/* Positions of the ranges by thread (each below `threads`), start, longest first, place in the file. -1: no memory. */
int nest_order(const int32_t *thread, const int64_t *start, const int64_t *end, size_t count, size_t threads,
               int64_t *order);

/* For ranges in that order: parent[i] is the nearest earlier range of the same thread that has not ended at start[i],
   or -1. */
void nest_parents(const int32_t *thread, const int64_t *start, const int64_t *end, size_t count, int64_t *parent);

/* For ranges in that order: the length of each, less what of its children lies inside it. */
void nest_own(const int64_t *start, const int64_t *end, const int64_t *parent, size_t count, int64_t *own);

#endif
