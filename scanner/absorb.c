/* Joining what two scanners read of one text, so that it is as if one had read both parts. */
#include <stdlib.h>

#include "step.h"

/* What the numbers of a column lead to, and so how they change when what they lead to is joined. */
enum { TO_NOTHING = 0, TO_EVENTS, TO_ROWS, TO_STRINGS, TO_THREADS, TO_TEXTS };

static const unsigned char leads_to[TABLE_KINDS][TABLE_MAX_COLUMNS] = {
    {TO_EVENTS, 0, TO_STRINGS, TO_THREADS},
    {TO_ROWS},
    {TO_ROWS, 0, 0, TO_STRINGS, TO_STRINGS, TO_STRINGS, TO_STRINGS},
    {0, TO_THREADS},
    {0, TO_THREADS},
    {TO_TEXTS, TO_TEXTS, TO_TEXTS, TO_TEXTS},
};

/* The number in `to` of each text of `from`; NULL when memory runs out. */
static int32_t *joined_texts(text_set *to, const text_set *from)
{
    int32_t *numbers = malloc((from->count + 1) * sizeof *numbers);
    for (size_t i = 0; numbers && i < from->count; i++) {
        size_t n;
        const uint8_t *text = text_set_get(from, i, &n);
        numbers[i] = text_set_add(to, text, n);
        if (numbers[i] < 0) {
            free(numbers);
            return NULL;
        }
    }
    return numbers;
}

static int32_t *joined_threads(scanner *to, const scanner *from, const int32_t *texts)
{
    int32_t *numbers = malloc((from->thread_count + 1) * sizeof *numbers);
    for (size_t i = 0; numbers && i < from->thread_count; i++) {
        int32_t pair[2] = {texts[from->threads[2 * i]], texts[from->threads[2 * i + 1]]};
        numbers[i] = thread_number(to, pair);
        if (numbers[i] < 0) {
            free(numbers);
            return NULL;
        }
    }
    return numbers;
}

static int join_phases(scanner *to, const scanner *from)
{
    for (size_t i = 0; i < from->phase_count; i++) {
        size_t n;
        const uint8_t *text = text_set_get(&from->texts, (size_t)from->phase_texts[i], &n);
        int32_t at = phase_number(to, text, n);
        if (at < 0) {
            return -1;
        }
        to->phase_counts[at] += from->phase_counts[i];
    }
    return 0;
}

static void move32(int32_t *column, size_t count, const int32_t *numbers)
{
    for (size_t i = 0; i < count; i++) {
        if (column[i] >= 0) {
            column[i] = numbers[column[i]];
        }
    }
}

/* The columns of one table behind each other; each column of `from` is freed when it has been copied. */
static int join_table(scanner *to, scanner *from, int kind, const int32_t *const moves[])
{
    scan_table *head = &to->tables[kind], *tail = &from->tables[kind];
    int32_t rows = (int32_t)to->tables[TABLE_ROWS].count;
    if (!tail->count) {
        return 0;
    }
    if (table_room(head, kind, tail->count) < 0) {
        return -1;
    }
    for (int i = 0; i < TABLE_MAX_COLUMNS && scan_table_widths[kind][i]; i++) {
        size_t width = scan_table_widths[kind][i];
        uint8_t *added = (uint8_t *)head->columns[i] + head->count * width;
        memcpy(added, tail->columns[i], tail->count * width);
        free(tail->columns[i]);
        tail->columns[i] = NULL;
        switch (leads_to[kind][i]) {
        case TO_NOTHING:
            break;
        case TO_EVENTS:
            for (size_t at = 0; at < tail->count; at++) {
                ((int64_t *)(void *)added)[at] += (int64_t)to->events;
            }
            break;
        case TO_ROWS:
            for (size_t at = 0; at < tail->count; at++) {
                ((int32_t *)(void *)added)[at] += rows;
            }
            break;
        default:
            move32((int32_t *)(void *)added, tail->count, moves[leads_to[kind][i]]);
        }
    }
    head->count += tail->count;
    tail->count = tail->capacity = 0;
    return 0;
}

int scanner_absorb(scanner *to, scanner *from)
{
    int32_t *strings = joined_texts(&to->strings, &from->strings);
    int32_t *texts = joined_texts(&to->texts, &from->texts);
    int32_t *threads = texts ? joined_threads(to, from, texts) : NULL;
    const int32_t *const moves[] = {NULL, NULL, NULL, strings, threads, texts};
    int failed = !strings || !texts || !threads || join_phases(to, from) < 0 ||
                 from->tables[TABLE_ROWS].count > INT32_MAX - to->tables[TABLE_ROWS].count;
    /* Rows last: the other tables point into them by how many there were. */
    for (int kind = TABLE_KINDS - 1; kind >= 0 && !failed; kind--) {
        failed = join_table(to, from, kind, moves) < 0;
    }
    free(strings);
    free(texts);
    free(threads);
    if (failed) {
        to->out_of_memory = 1;
        return SCAN_MEMORY;
    }
    for (int i = 0; i < NOTE_KINDS; i++) {
        if (!to->notes[i].count) {
            to->notes[i].byte = from->notes[i].byte;
        }
        to->notes[i].count += from->notes[i].count;
    }
    to->events += from->events;
    to->fractions |= from->fractions;
    to->text_times |= from->text_times;
    to->place = from->place;
    to->comma = from->comma;
    return SCAN_MORE;
}
