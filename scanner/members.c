/* The members of an event and of its args: which keys matter, and their values as tokens. */
#include <stdlib.h>

#include "step.h"

static uint8_t *scratch(scanner *s, int which, size_t room)
{
    if (s->scratch_room[which] < room) {
        size_t grown = room + room / 2 + 256;
        uint8_t *p = realloc(s->scratch[which], grown);
        if (!p) {
            s->out_of_memory = 1;
            return NULL;
        }
        s->scratch[which] = p;
        s->scratch_room[which] = grown;
    }
    return s->scratch[which];
}

/* The text of a string token: in place, or decoded into scratch. */
int token_text(scanner *s, const token *t, int which, const uint8_t **p, size_t *n)
{
    if (!(t->flags & (TEXT_ESCAPE | TEXT_DAMAGED))) {
        *p = t->start;
        *n = t->size;
        return 0;
    }
    *p = scratch(s, which, text_decoded_room(t->size));
    if (!*p) {
        return -1;
    }
    *n = text_decode(t->start, t->size, t->flags, s->scratch[which]);
    return 0;
}

#define IS(word) (memcmp(p, word, sizeof word - 1) == 0)

static int event_key(const uint8_t *p, size_t n)
{
    switch (n) {
    case 2:
        return IS("ph") ? E_PH : IS("ts") ? E_TS : IS("id") ? E_ID : E_OTHER;
    case 3:
        return IS("cat") ? E_CAT : IS("pid") ? E_PID : IS("tid") ? E_TID : IS("dur") ? E_DUR : E_OTHER;
    case 4:
        return IS("name") ? E_NAME : IS("args") ? E_ARGS : E_OTHER;
    default:
        return E_OTHER;
    }
}

static int args_key(const uint8_t *p, size_t n)
{
    switch (n) {
    case 4:
        return IS("grid") ? A_GRID : IS("Addr") ? A_MEMORY_ADDRESS : IS("name") ? A_NAME : A_OTHER;
    case 5:
        return IS("block") ? A_BLOCK : IS("bytes") ? A_BYTES : IS("Bytes") ? A_MEMORY_BYTES : A_OTHER;
    case 6:
        return IS("stream") ? A_STREAM : IS("device") ? A_DEVICE : IS("labels") ? A_LABELS : A_OTHER;
    case 7:
        return IS("context") ? A_CONTEXT : A_OTHER;
    case 9:
        return IS("Device Id") ? A_MEMORY_DEVICE : A_OTHER;
    case 10:
        return IS("Input Dims") ? A_DIMS
               : IS("Input type") ? A_TYPES
               : IS("Input dims") ? A_DIMS_OLD
                                  : A_OTHER;
    case 11:
        return IS("External id") ? A_EXTERNAL
               : IS("correlation") ? A_CORRELATION
               : IS("external id") ? A_EXTERNAL_OLD
               : IS("Device Type") ? A_MEMORY_DEVICE_TYPE
                                   : A_OTHER;
    case 12:
        return IS("warps per SM") ? A_WARPS_PER_SM : A_OTHER;
    case 13:
        return IS("shared memory") ? A_SHARED_MEMORY
               : IS("blocks per SM") ? A_BLOCKS_PER_SM
               : IS("Input Strides") ? A_STRIDES
               : IS("Fwd thread id") ? A_FORWARD_THREAD
               : IS("graph node id") ? A_GRAPH_NODE
                                     : A_OTHER;
    case 14:
        return IS("Total Reserved") ? A_MEMORY_RESERVED : A_OTHER;
    case 15:
        return IS("Concrete Inputs") ? A_CONCRETE
               : IS("Sequence number") ? A_SEQUENCE
               : IS("Total Allocated") ? A_MEMORY_ALLOCATED
                                       : A_OTHER;
    case 20:
        return IS("registers per thread") ? A_REGISTERS : A_OTHER;
    case 25:
        return IS("est. achieved occupancy %") ? A_OCCUPANCY : A_OTHER;
    default:
        return A_OTHER;
    }
}

static const uint8_t *step_args(scanner *s, const uint8_t *p, const uint8_t *end, token *t)
{
    s->args_seen = 0;
    if (*p != '{') {
        return step_value(s, p, end, t);
    }
    t->start = p;
    t->kind = T_OBJECT;
    t->flags = 0;
    p = step_members(s, p + 1, end, 1);
    if (!STOPPED(p)) {
        t->size = (size_t)(p - t->start);
    }
    return p;
}

static inline seen_list *seen_at(scanner *s, const uint8_t *p)
{
    uint64_t a[SEEN_BYTES / 8];
    memcpy(a, p, sizeof a);
    a[0] = (a[0] ^ (a[1] << 7 | a[1] >> 57)) * 0x9E3779B97F4A7C15u;
    a[0] = (a[0] ^ a[2] ^ (a[3] << 9 | a[3] >> 55)) * 0x9E3779B97F4A7C15u;
    return &s->seen[a[0] >> 53];
}

void remember_list(scanner *s, const token *t, int32_t number, const uint8_t *end)
{
    if (t->kind == T_LIST && end - t->start > SEEN_BYTES) {
        seen_list *seen = seen_at(s, t->start);
        seen->start = number ? s->strings.ends[number - 1] : 0;
        seen->size = (uint32_t)t->size;
        seen->number = number;
    }
}

/* A list that is kept as it is written. One that was met before has been checked then. */
static inline const uint8_t *step_kept(scanner *s, const uint8_t *p, const uint8_t *end, token *t)
{
    if (*p == '[' && end - p > SEEN_BYTES) {
        const seen_list *seen = seen_at(s, p);
        if (seen->size && seen->size < (size_t)(end - p) && memcmp(s->strings.bytes + seen->start, p, seen->size) == 0) {
            t->start = p;
            t->size = seen->size;
            t->kind = T_LIST;
            t->flags = TOKEN_SEEN;
            t->digits = (uint64_t)seen->number;
            return p + seen->size;
        }
    }
    return step_value(s, p, end, t);
}

/* Remember a key that was read the long way: text[0, size) from its quote to where its value begins. */
static unsigned know_key(scanner *s, int of_args, unsigned before, const uint8_t *text, size_t size, int which)
{
    known_key *keys = s->keys[of_args];
    unsigned i;
    if (size > KEY_ROOM) {
        return 0;
    }
    for (i = 1; i <= s->keys_known[of_args]; i++) {
        if (keys[i].size == size && memcmp(keys[i].text, text, size) == 0) {
            break;
        }
    }
    if (i > s->keys_known[of_args]) {
        if (i == KEYS_KNOWN) {
            return 0;
        }
        memcpy(keys[i].text, text, size);
        keys[i].size = (uint8_t)size;
        keys[i].which = (uint8_t)which;
        s->keys_known[of_args] = i;
    }
    keys[before].next = (uint8_t)i;
    return i;
}

static inline int same_bytes(const uint8_t *p, const known_key *key)
{
#if defined(__SSE2__)
    /* p has KEY_ROOM bytes to read, and so has the key. */
    __m128i a = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)p),
                               _mm_loadu_si128((const __m128i *)(const void *)key->text));
    __m128i b = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + 16)),
                               _mm_loadu_si128((const __m128i *)(const void *)(key->text + 16)));
    uint32_t differ = ~((uint32_t)_mm_movemask_epi8(a) | (uint32_t)_mm_movemask_epi8(b) << 16);
    return !differ || (unsigned)__builtin_ctz(differ) >= key->size;
#else
    return memcmp(p, key->text, key->size) == 0;
#endif
}

const uint8_t *step_members(scanner *s, const uint8_t *p, const uint8_t *end, int of_args)
{
    known_key *keys = s->keys[of_args];
    unsigned before = 0;
    p = skip_space(p, end);
    if (p >= end) {
        return MORE;
    }
    if (*p == '}') {
        return p + 1;
    }
    for (;;) {
        token ignored, *to;
        int which;
        unsigned next = keys[before].next;
        if (next && end - p > KEY_ROOM && same_bytes(p, &keys[next])) {
            p += keys[next].size;
            which = keys[next].which;
            before = next;
            if (*p <= ' ') {
                p = skip_space(p, end);
                if (p >= end) {
                    return MORE;
                }
            }
        } else {
            const uint8_t *start = p, *name;
            size_t size;
            token key;
            if (*p != '"') {
                return BROKEN;
            }
            p = step_string(s, p + 1, end, &key);
            if (STOPPED(p)) {
                return p;
            }
            p = skip_space(p, end);
            if (p >= end) {
                return MORE;
            }
            if (*p != ':') {
                return BROKEN;
            }
            p = skip_space(p + 1, end);
            if (p >= end) {
                return MORE;
            }
            if (token_text(s, &key, 0, &name, &size) < 0) {
                return MORE;
            }
            which = of_args ? args_key(name, size) : event_key(name, size);
            before = key.flags ? 0 : know_key(s, of_args, before, start, (size_t)(p - start), which);
        }
        to = &ignored;
        if (of_args) {
            if (which != A_OTHER) {
                to = &s->args[which];
                s->args_seen |= (uint64_t)1 << which;
            }
            p = which >= A_DIMS && which <= A_CONCRETE ? step_kept(s, p, end, to) : step_value(s, p, end, to);
        } else {
            if (which != E_OTHER) {
                to = &s->event[which];
            }
            p = which == E_ARGS ? step_args(s, p, end, to) : step_value(s, p, end, to);
        }
        if (STOPPED(p)) {
            return p;
        }
        if (end - p > 8) {
            /* As PyTorch lays events out. Branches, not sums: what comes next is then begun before this is known. */
            if (p[0] == ',' && p[1] == ' ' && p[2] == '"') {
                p += 2;
                continue;
            }
            if (memcmp(p, ",\n    \"", 7) == 0) {
                p += 6;
                continue;
            }
        }
        p = skip_space(p, end);
        if (p >= end) {
            return MORE;
        }
        if (*p == '}') {
            return p + 1;
        }
        if (*p != ',') {
            return BROKEN;
        }
        p = skip_space(p + 1, end);
        if (p >= end) {
            return MORE;
        }
    }
}
