/* What tokens say: numbers, times, texts, threads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "step.h"

int64_t token_whole(scanner *s, const token *t, int64_t limit)
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

int64_t arg_whole(scanner *s, int which)
{
    return s->args_seen >> which & 1 ? token_whole(s, &s->args[which], INT64_MAX) : NUMBER_MISSING;
}

static int32_t narrow(int64_t value)
{
    return value == NUMBER_MISSING ? NUMBER_MISSING32 : (int32_t)value;
}

int32_t arg_whole32(scanner *s, int which)
{
    return s->args_seen >> which & 1 ? narrow(token_whole(s, &s->args[which], INT32_MAX)) : NUMBER_MISSING32;
}

double arg_real(scanner *s, int which)
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
void arg_triple(scanner *s, int which, int64_t limit, int64_t out[3])
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
            found[count] = token_whole(s, &item, limit);
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

int64_t event_time(scanner *s, int which)
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
        return t->negative ? -INT64_MAX : INT64_MAX;
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
int32_t add_string(scanner *s, text_set *set, const token *t)
{
    const uint8_t *p = (const uint8_t *)"";
    size_t n = 0;
    if (t->kind == T_STRING && token_text(s, t, 0, &p, &n) < 0) {
        return -1;
    }
    return add_to(s, set, p, n);
}

/* A process or thread id: a string's text; a number cut to a whole one; truth values as 1 and 0. */
int32_t add_id(scanner *s, const token *t)
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
        value = token_whole(s, t, INT64_MAX);
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
int32_t add_kept(scanner *s, int which, const uint8_t *end)
{
    const token *t = &s->args[which];
    int32_t number;
    if (!(s->args_seen >> which & 1)) {
        return NUMBER_MISSING32;
    }
    if (t->flags & TOKEN_SEEN) {
        return (int32_t)t->digits;
    }
    if (t->flags & TOKEN_DEEP) {
        return add_to(s, &s->strings, (const uint8_t *)"null", 4);
    }
    if (t->kind == T_STRING) {
        return add_to(s, &s->strings, t->start - 1, t->size + 2);
    }
    number = add_to(s, &s->strings, t->start, t->size);
    if (number >= 0) {
        remember_list(s, t, number, end);
    }
    return number;
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

/* Number of the thread whose process and thread ids are these texts, added where new; -1 without memory. */
int32_t thread_number(scanner *s, const int32_t pair[2])
{
    size_t at;
    if (grow_threads(s) < 0) {
        return -1;
    }
    at = (size_t)text_hash((const uint8_t *)pair, 8, s->seed) & s->thread_mask;
    while (s->thread_slots[at] && memcmp(&s->threads[2 * (s->thread_slots[at] - 1)], pair, 8) != 0) {
        at = (at + 1) & s->thread_mask;
    }
    if (!s->thread_slots[at]) {
        memcpy(&s->threads[2 * s->thread_count], pair, 8);
        s->thread_slots[at] = (uint32_t)++s->thread_count;
    }
    return (int32_t)s->thread_slots[at] - 1;
}

int32_t add_thread(scanner *s)
{
    const token *pid = &s->event[E_PID], *tid = &s->event[E_TID];
    int kinds = pid->kind * 256 + tid->kind;
    int plain = !((pid->flags | tid->flags) & (TEXT_ESCAPE | TEXT_DAMAGED)) && pid->size <= sizeof s->last_pid &&
                tid->size <= sizeof s->last_tid && pid->kind != T_NONE && tid->kind != T_NONE;
    int32_t pair[2], number;
    if (plain && kinds == s->last_kinds && pid->size == s->last_pid_size && tid->size == s->last_tid_size &&
        memcmp(pid->start, s->last_pid, pid->size) == 0 && memcmp(tid->start, s->last_tid, tid->size) == 0) {
        return s->last_thread;
    }
    pair[0] = add_id(s, pid);
    pair[1] = add_id(s, tid);
    number = pair[0] < 0 || pair[1] < 0 ? -1 : thread_number(s, pair);
    if (number < 0) {
        s->out_of_memory = 1;
        return -1;
    }
    if (plain) {
        memcpy(s->last_pid, pid->start, pid->size);
        memcpy(s->last_tid, tid->start, tid->size);
        s->last_pid_size = pid->size;
        s->last_tid_size = tid->size;
        s->last_kinds = kinds;
        s->last_thread = number;
    }
    return number;
}

/* Position of a phase among those that are counted, added where new; -1 without memory. */
int32_t phase_number(scanner *s, const uint8_t *p, size_t n)
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

void count_phase(scanner *s, const uint8_t *p, size_t n)
{
    int32_t at;
    if (n == 1 && *p < 128) {
        if (s->phase_by_letter[*p] < 0) {
            s->phase_by_letter[*p] = phase_number(s, p, n);
        }
        at = s->phase_by_letter[*p];
    } else {
        at = phase_number(s, p, n);
    }
    if (at >= 0) {
        s->phase_counts[at]++;
    }
}
