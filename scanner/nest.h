/* The parents of ranges that are sorted by (thread, start, longest first). No Python here; module.c binds it. */
#ifndef FORETRACE_NEST_H
#define FORETRACE_NEST_H

#include <stddef.h>
#include <stdint.h>

/* parent[i] is the position of the nearest earlier range of the same thread that has not ended at start[i], or -1.
   The twin of this is `forest` in trace/nesting.py. */
void nest_parents(const int32_t *thread, const int64_t *start, const int64_t *end, size_t count, int64_t *parent);

#endif
