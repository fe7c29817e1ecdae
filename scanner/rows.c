/* Rows of the tables from the tokens of a whole event. */
#include <stdlib.h>

#include "step.h"

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

int table_room(scan_table *table, int kind, size_t rows)
{
    const unsigned char *widths = scan_table_widths[kind];
    size_t capacity;
    if (table->capacity - table->count >= rows) {
        return 0;
    }
    capacity = table->capacity ? table->capacity * 2 : 256;
    if (capacity < table->count + rows) {
        capacity = table->count + rows;
    }
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

static int is(const uint8_t *p, size_t n, const char *word, size_t size)
{
    return n == size && memcmp(p, word, size) == 0;
}

static int32_t narrow(int64_t value)
{
    return value == NUMBER_MISSING ? NUMBER_MISSING32 : (int32_t)value;
}

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
    if (table_room(to, TABLE_ACTIVITIES, 1) < 0) {
        s->out_of_memory = 1;
        return;
    }
    arg_triple(s, A_GRID, INT64_MAX, grid);
    arg_triple(s, A_BLOCK, INT32_MAX, block);
    PUT32(to, 0, (int32_t)row);
    PUT64(to, 1, arg_whole(s, A_DEVICE));
    PUT64(to, 2, arg_whole(s, A_STREAM));
    PUT64(to, 3, arg_whole(s, A_CONTEXT));
    PUT32(to, 4, arg_whole32(s, A_REGISTERS));
    PUT32(to, 5, arg_whole32(s, A_SHARED_MEMORY));
    for (int i = 0; i < 3; i++) {
        PUT64(to, 6 + i, grid[i]);
        PUT32(to, 9 + i, narrow(block[i]));
    }
    PUT64(to, 12, arg_whole(s, A_BYTES));
    PUT32(to, 13, arg_whole32(s, A_OCCUPANCY));
    PUTF(to, 14, arg_real(s, A_BLOCKS_PER_SM));
    PUTF(to, 15, arg_real(s, A_WARPS_PER_SM));
    PUT64(to, 16, arg_whole(s, A_GRAPH_NODE));
    to->count++;
}

static void add_op(scanner *s, size_t row, const uint8_t *end)
{
    scan_table *to = &s->tables[TABLE_OPS];
    if (table_room(to, TABLE_OPS, 1) < 0) {
        s->out_of_memory = 1;
        return;
    }
    PUT32(to, 0, (int32_t)row);
    PUT64(to, 1, arg_whole(s, A_SEQUENCE));
    PUT64(to, 2, arg_whole(s, A_FORWARD_THREAD));
    PUT32(to, 3, add_kept(s, s->args_seen >> A_DIMS & 1 ? A_DIMS : A_DIMS_OLD, end));
    PUT32(to, 4, add_kept(s, A_TYPES, end));
    PUT32(to, 5, add_kept(s, A_STRIDES, end));
    PUT32(to, 6, add_kept(s, A_CONCRETE, end));
    to->count++;
}

static void add_row(scanner *s, const uint8_t *end)
{
    scan_table *to = &s->tables[TABLE_ROWS];
    const token *args = &s->event[E_ARGS];
    size_t row = to->count;
    uint8_t kind = category(s);
    int external;
    if (row >= INT32_MAX || table_room(to, TABLE_ROWS, 1) < 0) {
        s->out_of_memory = 1;
        return;
    }
    if (s->is_device[kind]) {
        add_activity(s, row);
    } else if (kind == s->op) {
        add_op(s, row, end);
    }
    external = s->args_seen >> A_EXTERNAL & 1 && s->args[A_EXTERNAL].kind != T_NULL ? A_EXTERNAL : A_EXTERNAL_OLD;
    PUT64(to, 0, (int64_t)s->events);
    PUT8(to, 1, kind);
    PUT32(to, 2, add_string(s, &s->strings, &s->event[E_NAME]));
    PUT32(to, 3, add_thread(s));
    PUT64(to, 4, event_time(s, E_TS));
    PUT64(to, 5, event_time(s, E_DUR));
    PUT64(to, 6, arg_whole(s, A_CORRELATION));
    PUT64(to, 7, arg_whole(s, external));
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
    if (table_room(to, TABLE_FLOWS, 1) < 0) {
        s->out_of_memory = 1;
        return;
    }
    PUT64(to, 0, token_whole(s, &s->event[E_ID], INT64_MAX));
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
    if (table_room(to, TABLE_MEMORY, 1) < 0) {
        s->out_of_memory = 1;
        return;
    }
    PUT64(to, 0, event_time(s, E_TS));
    PUT32(to, 1, add_thread(s));
    for (int i = 0; i < 6; i++) {
        PUT64(to, 2 + i, arg_whole(s, keys[i]));
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
    if (table_room(to, TABLE_LABELS, 1) < 0) {
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
const uint8_t *read_event(scanner *s, const uint8_t *p, const uint8_t *end)
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
            add_row(s, end);
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
