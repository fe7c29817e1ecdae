/* Walks the event list of a trace once and fills columns.
 *
 * An event is read in one pass: a value is checked and stepped over without recursion, and those that matter leave
 * a token (what it is and where). When the event is whole, its tokens are read into a row. So keys may come in any
 * order, the last of two equal keys holds, and an event that turns out broken or cut leaves nothing behind.
 */
#include <stdlib.h>

#include "step.h"

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
