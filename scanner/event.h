/* What the files of the scanner share: tokens, keys, its state. */
#ifndef FORETRACE_EVENT_H
#define FORETRACE_EVENT_H

#include "scanner.h"

/* A whole number of as many digits is taken for nothing. */
#define LONGEST_INTEGER 4000u

/* A list that is kept as text is kept as null when it nests deeper than this. */
#define RAW_DEPTH 64

/* Longer than any event can reasonably be; one that is longer counts as broken. */
#define MAX_EVENT ((ptrdiff_t)1 << 20)

/* As many bytes hold a number of 16 digits, a point, 3 digits, and what follows. */
#define SHORT_NUMBER 24

/* Keys that are recognized at a glance: longer ones and later ones are read the long way. */
enum { KEY_ROOM = 32, KEYS_KNOWN = 128 };

/* Lists of few shapes and types fill a trace: how many are recognized by their bytes, and by how many of these. */
enum { SEEN_LISTS = 2048, SEEN_BYTES = 32 };

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

/* Besides the flags of text.h: a value that nests too deep, a number of few digits without an exponent, a kept list
   that was met before (its number among the strings is in digits). */
enum { TOKEN_DEEP = 16, TOKEN_SHORT = 32, TOKEN_SEEN = 64 };

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

/* A key as it was met, with its quotes, colon and the space after it, and the key that came next the last time. */
typedef struct {
    uint8_t text[KEY_ROOM];
    uint8_t size;
    uint8_t which;
    uint8_t next;
} known_key;

/* A kept list that was met before: where it lies among the strings, and its number there. */
typedef struct {
    size_t start;
    uint32_t size;
    int32_t number;
} seen_list;

struct scanner {
    seen_list seen[SEEN_LISTS]; /* by the bytes they begin with */
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

static inline void note_at(scan_note *note, uint64_t byte)
{
    if (note->count++ == 0) {
        note->byte = byte;
    }
}

static inline void note(scanner *s, int kind, const uint8_t *p)
{
    note_at(&s->pending[kind], s->base + (uint64_t)(p - s->text));
    s->noted++;
}

static inline void forget_notes(scanner *s)
{
    if (s->noted) {
        memset(s->pending, 0, sizeof s->pending);
        s->noted = 0;
    }
}

static inline void keep_notes(scanner *s)
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

/* members.c: the members of an object into tokens, those of an event or of its args; p stands behind the brace. */
const uint8_t *step_members(scanner *s, const uint8_t *p, const uint8_t *end, int of_args);

/* The text of a string token: in place, or decoded into one of two scratch buffers. */
int token_text(scanner *s, const token *t, int which, const uint8_t **p, size_t *n);

/* Recognize a kept list by its bytes from now on. */
void remember_list(scanner *s, const token *t, int32_t number, const uint8_t *end);

/* values.c: what tokens say. arg..: of a key of the args. add_..: its number in a set of texts, -1 without memory. */
int64_t token_whole(scanner *s, const token *t, int64_t limit);
int64_t arg_whole(scanner *s, int which);
int32_t arg_whole32(scanner *s, int which);
double arg_real(scanner *s, int which);
void arg_triple(scanner *s, int which, int64_t limit, int64_t out[3]);
int64_t event_time(scanner *s, int which);
int32_t add_string(scanner *s, text_set *set, const token *t);
int32_t add_id(scanner *s, const token *t);
int32_t add_kept(scanner *s, int which, const uint8_t *end);
int32_t add_thread(scanner *s);
int32_t thread_number(scanner *s, const int32_t pair[2]);
int32_t phase_number(scanner *s, const uint8_t *p, size_t n);
void count_phase(scanner *s, const uint8_t *p, size_t n);

/* rows.c: the event whose brace is at p into the tables, and behind it; or how it failed. */
const uint8_t *read_event(scanner *s, const uint8_t *p, const uint8_t *end);

/* Room for so many more rows of a table; -1 without memory. */
int table_room(scan_table *table, int kind, size_t rows);

#endif
