/* Walks the event list of a trace once and fills columns.
 *
 * An event is read in one pass: a value is checked and stepped over without recursion, and those that matter leave
 * a token (what it is and where). When the event is whole, its tokens are read into a row. So keys may come in any
 * order, the last of two equal keys holds, and an event that turns out broken or cut leaves nothing behind.
 */
#include "scanner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A whole number of as many digits is taken for nothing. */
#define LONGEST_INTEGER 4000u

/* A list that is kept as text is kept as null when it nests deeper than this. */
#define RAW_DEPTH 64

/* Longer than any event can reasonably be; one that is longer counts as broken. */
#define MAX_EVENT ((ptrdiff_t)64 << 20)

/* Keys that are recognized at a glance: longer ones and later ones are read the long way. */
enum { KEY_ROOM = 32, KEYS_KNOWN = 128 };

enum {
    T_NONE = 0, /* no such key */
    T_STRING,
    T_INTEGER,
    T_REAL,
    T_NOT_FINITE,
    T_TRUE,
    T_FALSE,
    T_NULL,
    T_LIST,
    T_OBJECT
};

/* Besides the flags of text.h: a value that nests too deep, a number of few digits without an exponent. */
enum { TOKEN_DEEP = 16, TOKEN_SHORT = 32 };

typedef struct {
    const uint8_t *start; /* of a string: its content */
    size_t size;
    uint64_t digits; /* of a number with TOKEN_SHORT: all its digits as one integer */
    uint8_t kind;
    uint8_t flags;
    uint8_t places;   /* and how many of them stand behind the point */
    uint8_t negative; /* and its sign */
} token;

/* Keys of an event. */
enum { E_PH, E_CAT, E_NAME, E_PID, E_TID, E_TS, E_DUR, E_ID, E_ARGS, E_COUNT, E_OTHER = E_COUNT };

/* Keys of its args. */
enum {
    A_EXTERNAL,
    A_EXTERNAL_OLD,
    A_CORRELATION,
    A_DEVICE,
    A_STREAM,
    A_CONTEXT,
    A_REGISTERS,
    A_SHARED_MEMORY,
    A_GRID,
    A_BLOCK,
    A_BYTES,
    A_OCCUPANCY,
    A_BLOCKS_PER_SM,
    A_WARPS_PER_SM,
    A_GRAPH_NODE,
    A_SEQUENCE,
    A_FORWARD_THREAD,
    A_DIMS,
    A_DIMS_OLD,
    A_TYPES,
    A_STRIDES,
    A_CONCRETE,
    A_MEMORY_ADDRESS,
    A_MEMORY_BYTES,
    A_MEMORY_ALLOCATED,
    A_MEMORY_RESERVED,
    A_MEMORY_DEVICE_TYPE,
    A_MEMORY_DEVICE,
    A_NAME,
    A_LABELS,
    A_COUNT,
    A_OTHER = A_COUNT
};

const unsigned char scan_table_widths[TABLE_KINDS][TABLE_MAX_COLUMNS] = {
    /* index, category, name, thread, ts, dur, correlation, external_id, args_start, args_length */
    {8, 1, 4, 4, 8, 8, 8, 8, 8, 4},
    /* row, device, stream, context, registers, shared_memory, grid, block, bytes, occupancy_pct, blocks_per_sm,
       warps_per_sm, graph_node */
    {4, 8, 8, 8, 4, 4, 8, 8, 8, 4, 4, 4, 8, 4, 8, 8, 8},
    /* row, sequence, forward_thread, dims, types, strides, concrete */
    {4, 8, 8, 4, 4, 4, 4},
    /* id, thread, ts, start */
    {8, 4, 8, 1},
    /* ts, thread, address, bytes, total_allocated, total_reserved, device_type, device */
    {8, 4, 8, 8, 8, 8, 8, 8},
    /* kind, pid, tid, text: numbers of texts */
    {4, 4, 4, 4},
};

typedef struct {
    uint64_t hash;
    int32_t text;
    int32_t value;
} category_slot;

/* A key as it was met, with its quotes, colon and the space after it, and the key that came next the last time. */
typedef struct {
    uint8_t text[KEY_ROOM];
    uint8_t size;
    uint8_t which;
    uint8_t next;
} known_key;

struct scanner {
    known_key keys[2][KEYS_KNOWN]; /* of events, of args; 0 stands before the first */
    unsigned keys_known[2];

    /* Where the scan stands. */
    const uint8_t *text; /* what is being scanned, for the byte of a note */
    uint64_t base;
    enum { BEFORE_FIRST, AFTER_EVENT, AFTER_COMMA } place;
    uint64_t comma; /* byte of the last comma between events */
    uint64_t events;

    scan_note notes[NOTE_KINDS];
    scan_note pending[NOTE_KINDS]; /* of the event being read */
    int noted;                     /* how many notes the event being read has */

    token event[E_COUNT];
    token args[A_COUNT];
    uint64_t args_seen; /* bit for each token of args that is set */

    int64_t given_args_start; /* of a mended event; else -1 */
    int32_t given_args_length;

    uint64_t *nest; /* one bit a level: 1 object, 0 list */
    size_t nest_words;

    scan_table tables[TABLE_KINDS];
    text_set strings, texts, categories;
    int32_t *category_values;
    uint8_t is_device[256];
    uint8_t op;

    int32_t *threads; /* two numbers of texts each */
    size_t thread_count, thread_capacity;
    uint32_t *thread_slots;
    size_t thread_mask;
    uint8_t last_pid[32], last_tid[32]; /* raw text of the last thread looked up */
    size_t last_pid_size, last_tid_size;
    int last_kinds;
    int32_t last_thread;

    int32_t *phase_texts;
    uint64_t *phase_counts;
    size_t phase_count, phase_capacity;
    int32_t phase_by_letter[128]; /* position of a phase of one letter, or -1 */
    int32_t *phase_of_text;       /* by number of text: position of the phase, or -1 */
    size_t phase_of_text_capacity;

    uint8_t *scratch[2]; /* decoded text */
    size_t scratch_room[2];

    const char *legacy_process;
    size_t legacy_size;
    uint64_t seed;
    number_to_double to_double;
    int fractions, text_times;
    int out_of_memory;
};

/* ---- tables ---- */

static int table_room(scan_table *table, int kind)
{
    const unsigned char *widths = scan_table_widths[kind];
    size_t capacity;
    if (table->count < table->capacity) {
        return 0;
    }
    capacity = table->capacity ? table->capacity * 2 : 256;
    for (int i = 0; i < TABLE_MAX_COLUMNS && widths[i]; i++) {
        void *grown = realloc(table->columns[i], capacity * widths[i]);
        if (!grown) {
            return -1;
        }
        table->columns[i] = grown;
    }
    table->capacity = capacity;
    return 0;
}

#define PUT64(table, column, value) (((int64_t *)(table)->columns[column])[(table)->count] = (value))
#define PUT32(table, column, value) (((int32_t *)(table)->columns[column])[(table)->count] = (value))
#define PUT8(table, column, value) (((uint8_t *)(table)->columns[column])[(table)->count] = (value))
#define PUTF(table, column, value) (((double *)(table)->columns[column])[(table)->count] = (value))

/* ---- notes ---- */

static void note_at(scan_note *note, uint64_t byte)
{
    if (note->count++ == 0) {
        note->byte = byte;
    }
}

static void note(scanner *s, int kind, const uint8_t *p)
{
    note_at(&s->pending[kind], s->base + (uint64_t)(p - s->text));
    s->noted++;
}

static void forget_notes(scanner *s)
{
    if (s->noted) {
        memset(s->pending, 0, sizeof s->pending);
        s->noted = 0;
    }
}

static void keep_notes(scanner *s)
{
    if (!s->noted) {
        return;
    }
    for (int i = 0; i < NOTE_KINDS; i++) {
        if (s->pending[i].count) {
            if (!s->notes[i].count) {
                s->notes[i].byte = s->pending[i].byte;
            }
            s->notes[i].count += s->pending[i].count;
        }
    }
    forget_notes(s);
}

/* ---- stepping over values ---- */

static inline int is_space(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static const uint8_t *skip_spaces(const uint8_t *p, const uint8_t *end)
{
#if defined(__SSE2__)
    /* A line feed and its indentation. */
    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        unsigned other = ~(unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(' ')),
                                                                   _mm_cmpeq_epi8(v, _mm_set1_epi8('\n'))));
        p += __builtin_ctz(other); /* bits 16 and up are set */
        if (other & 0xFFFF && !is_space(*p)) {
            return p;
        }
        if (other & 0xFFFF) {
            p++;
        }
    }
#endif
    while (p < end && is_space(*p)) {
        p++;
    }
    return p;
}

/* Mostly there is none, or one space. */
static inline const uint8_t *skip_space(const uint8_t *p, const uint8_t *end)
{
    if (end - p < 2 || (*p <= ' ' && (*p != ' ' || p[1] <= ' '))) {
        return skip_spaces(p, end);
    }
    return p + (*p == ' ');
}

static inline int is_digit(uint8_t c)
{
    return (uint8_t)(c - '0') <= 9;
}

/* The digits at p into the number; where they end. More digits than fit wrap around. */
static inline const uint8_t *step_digits(const uint8_t *p, const uint8_t *end, uint64_t *number)
{
    static const uint32_t scale[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    uint64_t value = *number;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    while (end - p >= 8) {
        /* Eight bytes at once: those from the first that is no digit on are moved out, zeros take their place. */
        uint64_t v, other;
        unsigned count;
        memcpy(&v, p, 8);
        v ^= 0x3030303030303030u;
        other = (v | (v + 0x7676767676767676u)) & 0x8080808080808080u;
        count = other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
        if (!count) {
            break;
        }
        v <<= 64 - 8 * count;
        v = v * 10 + (v >> 8);
        v = ((v & 0x000000FF000000FFu) * (100u + ((uint64_t)1000000 << 32)) +
             ((v >> 16) & 0x000000FF000000FFu) * (1u + ((uint64_t)10000 << 32))) >>
            32;
        value = value * scale[count] + v;
        p += count;
        if (count < 8) {
            break;
        }
    }
    if (end - p >= 8) {
        *number = value;
        return p;
    }
#endif
    while (p < end && is_digit(*p)) {
        value = value * 10 + (uint64_t)(*p++ - '0');
    }
    *number = value;
    return p;
}

/* Results of stepping over something, besides the position after it. */
static const uint8_t *const MORE = NULL;
static const uint8_t broken_mark;
#define BROKEN (&broken_mark)
#define STOPPED(p) ((p) == MORE || (p) == BROKEN)

/* From behind the opening quote to behind the closing one. */
static inline const uint8_t *step_string(scanner *s, const uint8_t *p, const uint8_t *end, token *t)
{
    const uint8_t *q = text_special(p, end);
    t->start = p;
    t->kind = T_STRING;
    t->flags = 0;
    if (q >= end || *q != '"') {
        text_damage damage;
        q = text_scan_slow(q, end, &t->flags, &damage);
        if (!q) {
            return MORE;
        }
        if (t->flags & TEXT_DAMAGED) {
            if (t->flags & TEXT_BACKSLASH) {
                note(s, NOTE_BACKSLASH, damage.backslash);
            }
            if (t->flags & TEXT_CONTROL) {
                note(s, NOTE_CONTROL, damage.control);
            }
            if (t->flags & TEXT_BAD) {
                note(s, NOTE_BAD_TEXT, damage.bad);
            }
        }
    }
    t->size = (size_t)(q - p);
    return q + 1;
}

static const uint8_t *step_number(const uint8_t *p, const uint8_t *end, token *t)
{
    const uint8_t *first;
    uint64_t digits = 0;
    size_t count;
    t->start = p;
    t->kind = T_INTEGER;
    t->flags = TOKEN_SHORT;
    t->places = 0;
    t->negative = *p == '-';
    p += t->negative;
    if (p == end) {
        return MORE;
    }
    first = p;
    if (!is_digit(*p)) {
        return BROKEN;
    }
    p = step_digits(p, end, &digits);
    count = (size_t)(p - first);
    if (*first == '0' && count > 1) {
        return BROKEN;
    }
    if (p < end && *p == '.') {
        t->kind = T_REAL;
        first = ++p;
        p = step_digits(p, end, &digits);
        if (p == first) {
            return p == end ? MORE : BROKEN;
        }
        count += (size_t)(p - first);
        t->places = (uint8_t)(p - first);
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        t->kind = T_REAL;
        t->flags = 0;
        p++;
        if (p < end && (*p == '-' || *p == '+')) {
            p++;
        }
        if (p == end) {
            return MORE;
        }
        if (!is_digit(*p)) {
            return BROKEN;
        }
        do {
            p++;
        } while (p < end && is_digit(*p));
    }
    if (count > 19) {
        t->flags = 0;
    }
    t->digits = digits;
    t->size = (size_t)(p - t->start);
    /* A number that touches the end of the text may go on. */
    return p == end ? MORE : p;
}

/* 1: word stands at p. 0: it does not. -1: the text ends within it. Letters match in either case if asked. */
static int at_word(const uint8_t *p, const uint8_t *end, const char *word, int either_case)
{
    for (; *word; word++, p++) {
        if (p == end) {
            return -1;
        }
        if (*p != (uint8_t)*word && !(either_case && (*p | 0x20) == (uint8_t)*word)) {
            return 0;
        }
    }
    return 1;
}

/* true, false, null; and what C and Python print for numbers that are not finite, with any sign. */
static const uint8_t *step_word(scanner *s, const uint8_t *p, const uint8_t *end, token *t)
{
    static const struct {
        const char *word;
        uint8_t kind;
    } words[] = {{"true", T_TRUE}, {"false", T_FALSE}, {"null", T_NULL}};
    static const char *const not_finite[] = {"nan(ind)", "nan", "infinity", "inf"};
    const uint8_t *start = p;
    int cut = 0;
    t->start = p;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        int found = at_word(p, end, words[i].word, 0);
        if (found > 0) {
            t->kind = words[i].kind;
            t->size = strlen(words[i].word);
            return p + t->size;
        }
        cut |= found < 0;
    }
    if (*p == '-' || *p == '+') {
        p++;
    }
    for (size_t i = 0; i < sizeof not_finite / sizeof *not_finite; i++) {
        int found = at_word(p, end, not_finite[i], 1);
        if (found < 0) {
            return MORE;
        }
        if (found > 0) {
            t->kind = T_NOT_FINITE;
            p += strlen(not_finite[i]);
            t->size = (size_t)(p - start);
            note(s, NOTE_NOT_FINITE, start);
            return p;
        }
    }
    return cut ? MORE : BROKEN;
}

static inline const uint8_t *step_scalar(scanner *s, const uint8_t *p, const uint8_t *end, token *t)
{
    if (*p == '"') {
        return step_string(s, p + 1, end, t);
    }
    if (is_digit(*p)) {
        return step_number(p, end, t);
    }
    if (*p == '-') {
        if (end - p < 2) {
            return MORE;
        }
        return is_digit(p[1]) ? step_number(p, end, t) : step_word(s, p, end, t);
    }
    return step_word(s, p, end, t);
}

static int nest_room(scanner *s, size_t depth)
{
    if (depth / 64 >= s->nest_words) {
        size_t words = s->nest_words ? s->nest_words * 2 : 16;
        uint64_t *nest = realloc(s->nest, words * sizeof *nest);
        if (!nest) {
            s->out_of_memory = 1;
            return -1;
        }
        s->nest = nest;
        s->nest_words = words;
    }
    return 0;
}

/* From the bracket or brace at p to behind the one that closes it. */
static const uint8_t *step_nested(scanner *s, const uint8_t *p, const uint8_t *end, token *t)
{
    size_t depth = 0;
    token inner;
    int object = *p == '{', before = s->noted;
    t->start = p;
    t->kind = object ? T_OBJECT : T_LIST;
    t->flags = 0;
    inner.flags = 0;
    for (;;) {
        /* At an opening bracket or brace. */
        object = *p == '{';
        if (nest_room(s, depth) < 0) {
            return MORE;
        }
        if (object) {
            s->nest[depth / 64] |= (uint64_t)1 << depth % 64;
        } else {
            s->nest[depth / 64] &= ~((uint64_t)1 << depth % 64);
        }
        if (++depth > RAW_DEPTH) {
            t->flags |= TOKEN_DEEP;
        }
        p = skip_space(p + 1, end);
        if (p >= end) {
            return MORE;
        }
        if (*p != (object ? '}' : ']')) {
            goto element;
        }
    close:
        p++;
        if (--depth == 0) {
            break;
        }
        object = (int)(s->nest[(depth - 1) / 64] >> (depth - 1) % 64 & 1);
    after:
        p = skip_space(p, end);
        if (p >= end) {
            return MORE;
        }
        if (*p == (object ? '}' : ']')) {
            goto close;
        }
        if (*p != ',') {
            return BROKEN;
        }
        p = skip_space(p + 1, end);
        if (p >= end) {
            return MORE;
        }
    element:
        if (object) {
            if (*p != '"') {
                return BROKEN;
            }
            p = step_string(s, p + 1, end, &inner);
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
        }
        if (*p == '{' || *p == '[') {
            continue;
        }
        p = step_scalar(s, p, end, &inner);
        if (STOPPED(p)) {
            return p;
        }
        goto after;
    }
    if (s->noted != before) {
        t->flags |= TEXT_DAMAGED;
    }
    t->size = (size_t)(p - t->start);
    return p;
}

static inline const uint8_t *step_value(scanner *s, const uint8_t *p, const uint8_t *end, token *t)
{
    if (*p == '{' || *p == '[') {
        return step_nested(s, p, end, t);
    }
    t->flags = 0;
    return step_scalar(s, p, end, t);
}

/* ---- keys ---- */

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
static int token_text(scanner *s, const token *t, int which, const uint8_t **p, size_t *n)
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

static int is(const uint8_t *p, size_t n, const char *word, size_t size)
{
    return n == size && memcmp(p, word, size) == 0;
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

/* The members of an object, into tokens: those of an event, or of its args. p stands behind the brace. */
static const uint8_t *step_members(scanner *s, const uint8_t *p, const uint8_t *end, int of_args);

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

static const uint8_t *step_members(scanner *s, const uint8_t *p, const uint8_t *end, int of_args)
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
            p = step_value(s, p, end, to);
        } else {
            if (which != E_OTHER) {
                to = &s->event[which];
            }
            p = which == E_ARGS ? step_args(s, p, end, to) : step_value(s, p, end, to);
        }
        if (STOPPED(p)) {
            return p;
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

/* ---- reading tokens ---- */

static int64_t whole(scanner *s, const token *t, int64_t limit)
{
    const uint8_t *p;
    size_t n;
    switch (t->kind) {
    case T_INTEGER:
        if (t->flags & TOKEN_SHORT) {
            return t->digits > (uint64_t)limit ? NUMBER_MISSING : t->negative ? -(int64_t)t->digits : (int64_t)t->digits;
        }
        return number_integer(t->start, t->size, limit);
    case T_REAL:
        return number_truncated(t->start, t->size, limit, s->to_double);
    case T_STRING:
        if (token_text(s, t, 0, &p, &n) < 0) {
            return NUMBER_MISSING;
        }
        return number_integer(p, n, limit);
    default:
        return NUMBER_MISSING;
    }
}

static int64_t arg(scanner *s, int which)
{
    return s->args_seen >> which & 1 ? whole(s, &s->args[which], INT64_MAX) : NUMBER_MISSING;
}

static int32_t narrow(int64_t value)
{
    return value == NUMBER_MISSING ? NUMBER_MISSING32 : (int32_t)value;
}

static int32_t arg32(scanner *s, int which)
{
    return s->args_seen >> which & 1 ? narrow(whole(s, &s->args[which], INT32_MAX)) : NUMBER_MISSING32;
}

static double arg_real(scanner *s, int which)
{
    const token *t = &s->args[which];
    if (s->args_seen >> which & 1 && (t->kind == T_INTEGER || t->kind == T_REAL)) {
        double value;
        if (t->flags & TOKEN_SHORT && t->digits < (uint64_t)1 << 53) {
            /* Both exact, so the quotient is rounded once, correctly. */
            value = (double)t->digits / number_power(t->places);
            return t->negative && t->digits ? -value : value;
        }
        value = number_real(t->start, t->size, s->to_double);
        if (isfinite(value)) {
            return value;
        }
    }
    return -1.7976931348623157e308; /* numpy's finfo.min, MISSING_FLOAT */
}

/* Grid and block: a list of three values, or the text of a list of three integers. */
static void triple(scanner *s, int which, int64_t limit, int64_t out[3])
{
    const token *t = &s->args[which];
    const uint8_t *p, *end;
    size_t n;
    token item;
    int count = 0, text;
    int64_t found[3];
    out[0] = out[1] = out[2] = NUMBER_MISSING;
    if (!(s->args_seen >> which & 1) || (t->kind != T_LIST && t->kind != T_STRING)) {
        return;
    }
    text = t->kind == T_STRING;
    p = t->start;
    n = t->size;
    if (text && token_text(s, t, 1, &p, &n) < 0) {
        return;
    }
    end = p + n;
    p = skip_space(p, end);
    if (p == end || *p != '[') {
        return;
    }
    p++;
    for (;;) {
        p = skip_space(p, end);
        if (p == end || count == 3 || *p == ']') {
            return; /* too many, or none: a list in a text may also end early */
        }
        if (text) {
            const uint8_t *first = p;
            while (p < end && (is_digit(*p) || *p == '-' || *p == '+')) {
                p++;
            }
            found[count] = number_integer(first, (size_t)(p - first), limit);
            /* A text that is no integer makes the whole no list; one that is too large is only missing. */
            if (first == p || (found[count] == NUMBER_MISSING && !is_digit(p[-1]))) {
                return;
            }
            for (const uint8_t *q = first + 1; q < p; q++) {
                if (!is_digit(*q)) {
                    return;
                }
            }
        } else {
            p = step_value(s, p, end, &item);
            if (STOPPED(p)) {
                return;
            }
            if (item.kind == T_LIST || item.kind == T_OBJECT) {
                return;
            }
            found[count] = whole(s, &item, limit);
        }
        count++;
        p = skip_space(p, end);
        if (p == end) {
            return;
        }
        if (*p == ']') {
            break;
        }
        if (*p != ',') {
            return;
        }
        p++;
    }
    if (count == 3 && (!text || skip_space(p + 1, end) == end)) {
        memcpy(out, found, sizeof found);
    }
}

static int64_t event_time(scanner *s, int which)
{
    const token *t = &s->event[which];
    const uint8_t *p = t->start;
    size_t n = t->size;
    if (t->kind == T_STRING) {
        s->text_times = 1;
        if (token_text(s, t, 0, &p, &n) < 0) {
            return NUMBER_MISSING;
        }
    } else if (t->kind != T_INTEGER && t->kind != T_REAL) {
        return NUMBER_MISSING;
    }
    if (t->flags & TOKEN_SHORT && t->places <= 3 && t->kind != T_STRING) {
        static const uint64_t scale[] = {1000, 100, 10, 1};
        s->fractions |= t->kind == T_REAL;
        if (t->digits <= INT64_MAX / scale[t->places]) {
            int64_t value = (int64_t)(t->digits * scale[t->places]);
            return t->negative ? -value : value;
        }
        return NUMBER_MISSING;
    }
    if (!s->fractions && memchr(p, '.', n)) {
        s->fractions = 1;
    }
    return number_nanoseconds(p, n);
}

static int32_t add_to(scanner *s, text_set *set, const uint8_t *p, size_t n)
{
    int32_t number = text_set_add(set, p, n);
    if (number < 0) {
        s->out_of_memory = 1;
    }
    return number;
}

/* A string's text; anything else is no text. */
static int32_t add_string(scanner *s, text_set *set, const token *t)
{
    const uint8_t *p = (const uint8_t *)"";
    size_t n = 0;
    if (t->kind == T_STRING && token_text(s, t, 0, &p, &n) < 0) {
        return -1;
    }
    return add_to(s, set, p, n);
}

/* A process or thread id: a string's text; a number cut to a whole one; truth values as 1 and 0. */
static int32_t add_id(scanner *s, const token *t)
{
    char text[24];
    int64_t value;
    switch (t->kind) {
    case T_INTEGER:
        if (t->negative && *(t->start + 1) == '0') {
            return add_to(s, &s->texts, (const uint8_t *)"0", 1);
        }
        return add_to(s, &s->texts, t->start, t->size - t->negative < LONGEST_INTEGER ? t->size : 0);
    case T_REAL:
        value = whole(s, t, INT64_MAX);
        if (value == NUMBER_MISSING) {
            return add_to(s, &s->texts, (const uint8_t *)"", 0);
        }
        return add_to(s, &s->texts, (const uint8_t *)text,
                      (size_t)snprintf(text, sizeof text, "%lld", (long long)value));
    case T_TRUE:
    case T_FALSE:
        return add_to(s, &s->texts, (const uint8_t *)(t->kind == T_TRUE ? "1" : "0"), 1);
    default:
        return add_string(s, &s->texts, t);
    }
}

/* A list that is kept as it is written. */
static int32_t add_raw(scanner *s, int which)
{
    const token *t = &s->args[which];
    if (!(s->args_seen >> which & 1)) {
        return NUMBER_MISSING32;
    }
    if (t->flags & TOKEN_DEEP) {
        return add_to(s, &s->strings, (const uint8_t *)"null", 4);
    }
    if (t->kind == T_STRING) {
        return add_to(s, &s->strings, t->start - 1, t->size + 2);
    }
    return add_to(s, &s->strings, t->start, t->size);
}

static int grow_threads(scanner *s)
{
    if (s->thread_count == s->thread_capacity) {
        size_t capacity = s->thread_capacity ? s->thread_capacity * 2 : 64;
        int32_t *threads = realloc(s->threads, capacity * 2 * sizeof *threads);
        if (!threads) {
            return -1;
        }
        s->threads = threads;
        s->thread_capacity = capacity;
    }
    if (s->thread_count * 2 >= s->thread_mask) {
        size_t mask = s->thread_mask ? s->thread_mask * 2 + 1 : 255;
        uint32_t *slots = calloc(mask + 1, sizeof *slots);
        if (!slots) {
            return -1;
        }
        for (size_t i = 0; i < s->thread_count; i++) {
            size_t at = (size_t)text_hash((const uint8_t *)&s->threads[2 * i], 8, s->seed) & mask;
            while (slots[at]) {
                at = (at + 1) & mask;
            }
            slots[at] = (uint32_t)i + 1;
        }
        free(s->thread_slots);
        s->thread_slots = slots;
        s->thread_mask = mask;
    }
    return 0;
}

static int32_t add_thread(scanner *s)
{
    const token *pid = &s->event[E_PID], *tid = &s->event[E_TID];
    int kinds = pid->kind * 256 + tid->kind;
    int plain = !((pid->flags | tid->flags) & (TEXT_ESCAPE | TEXT_DAMAGED)) && pid->size <= sizeof s->last_pid &&
                tid->size <= sizeof s->last_tid && pid->kind != T_NONE && tid->kind != T_NONE;
    int32_t pair[2];
    size_t at;
    if (plain && kinds == s->last_kinds && pid->size == s->last_pid_size && tid->size == s->last_tid_size &&
        memcmp(pid->start, s->last_pid, pid->size) == 0 && memcmp(tid->start, s->last_tid, tid->size) == 0) {
        return s->last_thread;
    }
    pair[0] = add_id(s, pid);
    pair[1] = add_id(s, tid);
    if (pair[0] < 0 || pair[1] < 0 || grow_threads(s) < 0) {
        s->out_of_memory = 1;
        return -1;
    }
    at = (size_t)text_hash((const uint8_t *)pair, 8, s->seed) & s->thread_mask;
    while (s->thread_slots[at] && memcmp(&s->threads[2 * (s->thread_slots[at] - 1)], pair, sizeof pair) != 0) {
        at = (at + 1) & s->thread_mask;
    }
    if (!s->thread_slots[at]) {
        memcpy(&s->threads[2 * s->thread_count], pair, sizeof pair);
        s->thread_slots[at] = (uint32_t)++s->thread_count;
    }
    if (plain) {
        memcpy(s->last_pid, pid->start, pid->size);
        memcpy(s->last_tid, tid->start, tid->size);
        s->last_pid_size = pid->size;
        s->last_tid_size = tid->size;
        s->last_kinds = kinds;
        s->last_thread = (int32_t)s->thread_slots[at] - 1;
    }
    return (int32_t)s->thread_slots[at] - 1;
}

static int32_t add_phase(scanner *s, const uint8_t *p, size_t n)
{
    int32_t text = add_to(s, &s->texts, p, n);
    size_t at = (size_t)text;
    if (text < 0) {
        return -1;
    }
    if (at >= s->phase_of_text_capacity) {
        size_t capacity = at * 2 + 64;
        int32_t *grown = realloc(s->phase_of_text, capacity * sizeof *grown);
        if (!grown) {
            s->out_of_memory = 1;
            return -1;
        }
        for (size_t i = s->phase_of_text_capacity; i < capacity; i++) {
            grown[i] = -1;
        }
        s->phase_of_text = grown;
        s->phase_of_text_capacity = capacity;
    }
    if (s->phase_of_text[at] < 0) {
        if (s->phase_count == s->phase_capacity) {
            size_t capacity = s->phase_capacity ? s->phase_capacity * 2 : 32;
            int32_t *texts = realloc(s->phase_texts, capacity * sizeof *texts);
            uint64_t *counts = texts ? realloc(s->phase_counts, capacity * sizeof *counts) : NULL;
            if (texts) {
                s->phase_texts = texts;
            }
            if (!counts) {
                s->out_of_memory = 1;
                return -1;
            }
            s->phase_counts = counts;
            s->phase_capacity = capacity;
        }
        s->phase_texts[s->phase_count] = text;
        s->phase_counts[s->phase_count] = 0;
        s->phase_of_text[at] = (int32_t)s->phase_count++;
    }
    return s->phase_of_text[at];
}

static void count_phase(scanner *s, const uint8_t *p, size_t n)
{
    int32_t at;
    if (n == 1 && *p < 128) {
        if (s->phase_by_letter[*p] < 0) {
            s->phase_by_letter[*p] = add_phase(s, p, n);
        }
        at = s->phase_by_letter[*p];
    } else {
        at = add_phase(s, p, n);
    }
    if (at >= 0) {
        s->phase_counts[at]++;
    }
}

/* ---- rows ---- */

static uint8_t category(scanner *s)
{
    const token *cat = &s->event[E_CAT];
    const uint8_t *p;
    size_t n;
    if (cat->kind == T_STRING) {
        uint64_t h;
        size_t at;
        if (token_text(s, cat, 0, &p, &n) < 0) {
            return 0;
        }
        h = text_hash(p, n, s->categories.seed);
        for (at = (size_t)h & s->categories.mask; s->categories.slots[at]; at = (at + 1) & s->categories.mask) {
            size_t i = s->categories.slots[at] - 1, begin = i ? s->categories.ends[i - 1] : 0;
            if (s->categories.hashes[i] == h && s->categories.ends[i] - begin == n &&
                memcmp(s->categories.bytes + begin, p, n) == 0) {
                return (uint8_t)s->category_values[i];
            }
        }
        return 0;
    }
    if ((cat->kind == T_NONE || cat->kind == T_NULL) && s->event[E_PID].kind == T_STRING &&
        token_text(s, &s->event[E_PID], 0, &p, &n) == 0 && is(p, n, s->legacy_process, s->legacy_size)) {
        return s->op;
    }
    return 0;
}

static void add_activity(scanner *s, size_t row)
{
    scan_table *to = &s->tables[TABLE_ACTIVITIES];
    int64_t grid[3], block[3];
    if (table_room(to, TABLE_ACTIVITIES) < 0) {
        s->out_of_memory = 1;
        return;
    }
    triple(s, A_GRID, INT64_MAX, grid);
    triple(s, A_BLOCK, INT32_MAX, block);
    PUT32(to, 0, (int32_t)row);
    PUT64(to, 1, arg(s, A_DEVICE));
    PUT64(to, 2, arg(s, A_STREAM));
    PUT64(to, 3, arg(s, A_CONTEXT));
    PUT32(to, 4, arg32(s, A_REGISTERS));
    PUT32(to, 5, arg32(s, A_SHARED_MEMORY));
    for (int i = 0; i < 3; i++) {
        PUT64(to, 6 + i, grid[i]);
        PUT32(to, 9 + i, narrow(block[i]));
    }
    PUT64(to, 12, arg(s, A_BYTES));
    PUT32(to, 13, arg32(s, A_OCCUPANCY));
    PUTF(to, 14, arg_real(s, A_BLOCKS_PER_SM));
    PUTF(to, 15, arg_real(s, A_WARPS_PER_SM));
    PUT64(to, 16, arg(s, A_GRAPH_NODE));
    to->count++;
}

static void add_op(scanner *s, size_t row)
{
    scan_table *to = &s->tables[TABLE_OPS];
    if (table_room(to, TABLE_OPS) < 0) {
        s->out_of_memory = 1;
        return;
    }
    PUT32(to, 0, (int32_t)row);
    PUT64(to, 1, arg(s, A_SEQUENCE));
    PUT64(to, 2, arg(s, A_FORWARD_THREAD));
    PUT32(to, 3, add_raw(s, s->args_seen >> A_DIMS & 1 ? A_DIMS : A_DIMS_OLD));
    PUT32(to, 4, add_raw(s, A_TYPES));
    PUT32(to, 5, add_raw(s, A_STRIDES));
    PUT32(to, 6, add_raw(s, A_CONCRETE));
    to->count++;
}

static void add_row(scanner *s)
{
    scan_table *to = &s->tables[TABLE_ROWS];
    const token *args = &s->event[E_ARGS];
    size_t row = to->count;
    uint8_t kind = category(s);
    int external;
    if (row >= INT32_MAX || table_room(to, TABLE_ROWS) < 0) {
        s->out_of_memory = 1;
        return;
    }
    if (s->is_device[kind]) {
        add_activity(s, row);
    } else if (kind == s->op) {
        add_op(s, row);
    }
    external = s->args_seen >> A_EXTERNAL & 1 && s->args[A_EXTERNAL].kind != T_NULL ? A_EXTERNAL : A_EXTERNAL_OLD;
    PUT64(to, 0, (int64_t)s->events);
    PUT8(to, 1, kind);
    PUT32(to, 2, add_string(s, &s->strings, &s->event[E_NAME]));
    PUT32(to, 3, add_thread(s));
    PUT64(to, 4, event_time(s, E_TS));
    PUT64(to, 5, event_time(s, E_DUR));
    PUT64(to, 6, arg(s, A_CORRELATION));
    PUT64(to, 7, arg(s, external));
    if (args->kind != T_OBJECT) {
        PUT64(to, 8, NUMBER_MISSING);
        PUT32(to, 9, 0);
    } else if (s->given_args_start >= 0) {
        PUT64(to, 8, s->given_args_start);
        PUT32(to, 9, s->given_args_length);
    } else {
        PUT64(to, 8, (int64_t)(s->base + (uint64_t)(args->start - s->text)));
        PUT32(to, 9, (int32_t)args->size);
    }
    to->count++;
}

static void add_flow(scanner *s, int start)
{
    scan_table *to = &s->tables[TABLE_FLOWS];
    if (table_room(to, TABLE_FLOWS) < 0) {
        s->out_of_memory = 1;
        return;
    }
    PUT64(to, 0, whole(s, &s->event[E_ID], INT64_MAX));
    PUT32(to, 1, add_thread(s));
    PUT64(to, 2, event_time(s, E_TS));
    PUT8(to, 3, (uint8_t)start);
    to->count++;
}

static void add_memory(scanner *s)
{
    static const int keys[] = {A_MEMORY_ADDRESS,  A_MEMORY_BYTES,       A_MEMORY_ALLOCATED,
                               A_MEMORY_RESERVED, A_MEMORY_DEVICE_TYPE, A_MEMORY_DEVICE};
    scan_table *to = &s->tables[TABLE_MEMORY];
    if (table_room(to, TABLE_MEMORY) < 0) {
        s->out_of_memory = 1;
        return;
    }
    PUT64(to, 0, event_time(s, E_TS));
    PUT32(to, 1, add_thread(s));
    for (int i = 0; i < 6; i++) {
        PUT64(to, 2 + i, arg(s, keys[i]));
    }
    to->count++;
}

static void add_label(scanner *s)
{
    scan_table *to = &s->tables[TABLE_LABELS];
    static const token none = {0};
    const token *text = s->args_seen >> A_NAME & 1     ? &s->args[A_NAME]
                        : s->args_seen >> A_LABELS & 1 ? &s->args[A_LABELS]
                                                       : &none;
    if (table_room(to, TABLE_LABELS) < 0) {
        s->out_of_memory = 1;
        return;
    }
    PUT32(to, 0, add_string(s, &s->texts, &s->event[E_NAME]));
    PUT32(to, 1, add_id(s, &s->event[E_PID]));
    PUT32(to, 2, add_id(s, &s->event[E_TID]));
    PUT32(to, 3, add_string(s, &s->texts, text));
    to->count++;
}

static int string_is(scanner *s, int which, const char *word, size_t size)
{
    const token *t = &s->event[which];
    const uint8_t *p;
    size_t n;
    return t->kind == T_STRING && token_text(s, t, 0, &p, &n) == 0 && is(p, n, word, size);
}

#define STRING_IS(s, which, word) string_is(s, which, word, sizeof word - 1)

/* A list that is kept as written must be whole text: otherwise it is mended first, like any broken event. */
static int keeps_damage(scanner *s)
{
    static const int raw[] = {A_DIMS, A_DIMS_OLD, A_TYPES, A_STRIDES, A_CONCRETE};
    for (size_t i = 0; i < sizeof raw / sizeof *raw; i++) {
        const token *t = &s->args[raw[i]];
        if (s->args_seen >> raw[i] & 1 && (t->flags & TEXT_DAMAGED || t->kind == T_NOT_FINITE)) {
            return 1;
        }
    }
    return 0;
}

/* The event whose brace is at p: into the tables, and behind it. */
static const uint8_t *read_event(scanner *s, const uint8_t *p, const uint8_t *end)
{
    const uint8_t *phase = (const uint8_t *)"";
    size_t size = 0;
    forget_notes(s);
    for (int i = 0; i < E_COUNT; i++) {
        s->event[i].kind = T_NONE;
        s->event[i].flags = 0;
        s->event[i].size = 0;
    }
    s->args_seen = 0;
    p = step_members(s, p + 1, end, 0);
    if (STOPPED(p)) {
        forget_notes(s);
        return p;
    }
    if (s->noted && keeps_damage(s)) {
        forget_notes(s);
        return BROKEN;
    }
    keep_notes(s);
    if (s->event[E_PH].kind == T_STRING && token_text(s, &s->event[E_PH], 1, &phase, &size) < 0) {
        return MORE;
    }
    count_phase(s, phase, size);
    if (size == 1) {
        int has_args = s->event[E_ARGS].kind == T_OBJECT;
        switch (*phase) {
        case 'X':
            add_row(s);
            break;
        case 's':
        case 'f':
            if (STRING_IS(s, E_CAT, "fwdbwd")) {
                add_flow(s, *phase == 's');
            }
            break;
        case 'i':
        case 'I':
            if (has_args && STRING_IS(s, E_NAME, "[memory]")) {
                add_memory(s);
            }
            break;
        case 'M':
            if (has_args && (STRING_IS(s, E_NAME, "process_name") || STRING_IS(s, E_NAME, "process_labels") ||
                             STRING_IS(s, E_NAME, "thread_name"))) {
                add_label(s);
            }
            break;
        default:
            break;
        }
    }
    s->events++;
    return p;
}

/* ---- the list ---- */

int scanner_scan(scanner *s, const uint8_t *text, size_t size, size_t at, uint64_t base, size_t *stop)
{
    const uint8_t *p = text + at, *end = text + size, *next;
    s->text = text;
    s->base = base;
    s->given_args_start = -1;
    for (;;) {
        p = skip_space(p, end);
        *stop = (size_t)(p - text);
        if (p >= end) {
            return SCAN_MORE;
        }
        if (*p == '{') {
            const uint8_t *limit = end - p > MAX_EVENT ? p + MAX_EVENT : end;
            next = read_event(s, p, limit);
            if (s->out_of_memory) {
                return SCAN_MEMORY;
            }
            if (next == MORE && limit == end) {
                return SCAN_MORE;
            }
            if (STOPPED(next)) {
                return SCAN_BROKEN;
            }
            if (s->place == AFTER_EVENT) {
                note_at(&s->notes[NOTE_MISSING_COMMA], base + *stop);
            }
            s->place = AFTER_EVENT;
            p = next;
        } else if (*p == ',') {
            if (s->place != AFTER_EVENT) {
                note_at(&s->notes[NOTE_EXTRA_COMMA], base + *stop);
            }
            s->place = AFTER_COMMA;
            s->comma = base + *stop;
            p++;
        } else if (*p == ']') {
            if (s->place == AFTER_COMMA) {
                note_at(&s->notes[NOTE_EXTRA_COMMA], s->comma);
            }
            return SCAN_END;
        } else {
            return SCAN_BROKEN;
        }
    }
}

int scanner_add(scanner *s, const uint8_t *text, size_t size, int64_t args_start, int32_t args_length)
{
    const uint8_t *end = text + size, *next;
    if (size == 0 || *text != '{') {
        return SCAN_BROKEN;
    }
    s->text = text;
    s->base = 0;
    s->given_args_start = args_start;
    s->given_args_length = args_length;
    next = read_event(s, text, end);
    s->given_args_start = -1;
    if (s->out_of_memory) {
        return SCAN_MEMORY;
    }
    s->place = AFTER_EVENT;
    return next == end ? SCAN_END : SCAN_BROKEN;
}

void scanner_skip(scanner *s)
{
    s->events++;
    s->place = BEFORE_FIRST;
}

void scanner_restart(scanner *s)
{
    s->place = BEFORE_FIRST;
}

/* ---- life and results ---- */

scanner *scanner_new(const scan_words *words)
{
    scanner *s = calloc(1, sizeof *s);
    if (!s) {
        return NULL;
    }
    s->seed = words->seed;
    s->op = words->op;
    s->legacy_process = words->legacy_process;
    s->legacy_size = strlen(words->legacy_process);
    s->to_double = words->to_double;
    s->last_kinds = -1;
    s->given_args_start = -1;
    for (int i = 0; i < 128; i++) {
        s->phase_by_letter[i] = -1;
    }
    s->category_values = calloc(words->count + 1, sizeof *s->category_values);
    if (!s->category_values || text_set_init(&s->strings, s->seed) < 0 || text_set_init(&s->texts, s->seed) < 0 ||
        text_set_init(&s->categories, s->seed) < 0) {
        scanner_free(s);
        return NULL;
    }
    for (size_t i = 0; i < words->count; i++) {
        int32_t number =
            text_set_add(&s->categories, (const uint8_t *)words->names[i], strlen(words->names[i]));
        if (number < 0) {
            scanner_free(s);
            return NULL;
        }
        s->category_values[number] = words->values[i];
    }
    for (size_t i = 0; i < words->device_count; i++) {
        s->is_device[words->device[i]] = 1;
    }
    return s;
}

void scanner_free(scanner *s)
{
    if (!s) {
        return;
    }
    for (int i = 0; i < TABLE_KINDS; i++) {
        for (int j = 0; j < TABLE_MAX_COLUMNS; j++) {
            free(s->tables[i].columns[j]);
        }
    }
    text_set_free(&s->strings);
    text_set_free(&s->texts);
    text_set_free(&s->categories);
    free(s->category_values);
    free(s->nest);
    free(s->threads);
    free(s->thread_slots);
    free(s->phase_texts);
    free(s->phase_counts);
    free(s->phase_of_text);
    free(s->scratch[0]);
    free(s->scratch[1]);
    free(s);
}

const scan_note *scanner_notes(const scanner *s)
{
    return s->notes;
}

scan_table *scanner_table(scanner *s, int table)
{
    return &s->tables[table];
}

const text_set *scanner_strings(const scanner *s)
{
    return &s->strings;
}

const text_set *scanner_texts(const scanner *s)
{
    return &s->texts;
}

size_t scanner_threads(const scanner *s, const int32_t **pairs)
{
    *pairs = s->threads;
    return s->thread_count;
}

size_t scanner_phases(const scanner *s, const int32_t **texts, const uint64_t **counts)
{
    *texts = s->phase_texts;
    *counts = s->phase_counts;
    return s->phase_count;
}

uint64_t scanner_events(const scanner *s)
{
    return s->events;
}

int scanner_fractions(const scanner *s)
{
    return s->fractions;
}

int scanner_text_times(const scanner *s)
{
    return s->text_times;
}

uint64_t scan_count_lines(const uint8_t *p, size_t n)
{
    uint64_t lines = 0;
    while (n) {
        size_t block = n < 255 * 16 ? n : 255 * 16;
        unsigned part = 0;
        for (size_t i = 0; i < block; i++) {
            part += p[i] == '\n';
        }
        lines += part;
        p += block;
        n -= block;
    }
    return lines;
}
