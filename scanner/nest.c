#include "nest.h"

/* A range that has ended at one start has ended at all later ones, and the chain of parents passes over it from then
   on: so each range is passed over once, and the whole takes linear time. */
void nest_parents(const int32_t *thread, const int64_t *start, const int64_t *end, size_t count, int64_t *parent)
{
    for (size_t i = 0; i < count; i++) {
        int64_t above = i > 0 && thread[i - 1] == thread[i] ? (int64_t)i - 1 : -1;
        while (above >= 0 && end[above] <= start[i])
            above = parent[above];
        parent[i] = above;
    }
}
