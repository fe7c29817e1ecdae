/* Stepping over JSON: a value is checked and stepped over without recursion, and leaves a token. */
#ifndef FORETRACE_STEP_H
#define FORETRACE_STEP_H

#include "event.h"

/* Results besides the position behind what was stepped over: the text ends within it, or it is none. */
extern const uint8_t step_broken;
#define MORE ((const uint8_t *)NULL)
#define BROKEN (&step_broken)
#define STOPPED(p) ((p) == MORE || (p) == BROKEN)

static inline int is_space(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

const uint8_t *skip_spaces(const uint8_t *p, const uint8_t *end);

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

const uint8_t *step_number(const uint8_t *p, const uint8_t *end, token *t);
const uint8_t *step_word(scanner *s, const uint8_t *p, const uint8_t *end, token *t);
const uint8_t *step_nested(scanner *s, const uint8_t *p, const uint8_t *end, token *t);

/* A number as most are: not negative, few digits, no exponent. All others, and the end of the text, are left to
   step_number. */
static inline const uint8_t *step_short_number(const uint8_t *p, const uint8_t *end, token *t)
{
    const uint8_t *q = p, *point;
    uint64_t digits = 0;
    if (end - p <= SHORT_NUMBER) {
        return step_number(p, end, t);
    }
    do {
        digits = digits * 10 + (uint64_t)(*q++ - '0');
    } while (is_digit(*q) && q - p < 16);
    t->kind = T_INTEGER;
    t->places = 0;
    if (*q == '.') {
        point = q++;
        while (is_digit(*q) && q - point <= 3) {
            digits = digits * 10 + (uint64_t)(*q++ - '0');
        }
        t->kind = T_REAL;
        t->places = (uint8_t)(q - point - 1);
        if (!t->places) {
            return step_number(p, end, t);
        }
    }
    if (is_digit(*q) || (*q | 0x20) == 'e' || *q == '.' || (*p == '0' && is_digit(p[1]))) {
        return step_number(p, end, t);
    }
    t->start = p;
    t->size = (size_t)(q - p);
    t->digits = digits;
    t->flags = TOKEN_SHORT;
    t->negative = 0;
    return q;
}

static inline const uint8_t *step_scalar(scanner *s, const uint8_t *p, const uint8_t *end, token *t)
{
    if (*p == '"') {
        return step_string(s, p + 1, end, t);
    }
    if (is_digit(*p)) {
        return step_short_number(p, end, t);
    }
    if (*p == '-') {
        if (end - p < 2) {
            return MORE;
        }
        return is_digit(p[1]) ? step_number(p, end, t) : step_word(s, p, end, t);
    }
    return step_word(s, p, end, t);
}

static inline const uint8_t *step_value(scanner *s, const uint8_t *p, const uint8_t *end, token *t)
{
    if (*p == '{' || *p == '[') {
        return step_nested(s, p, end, t);
    }
    t->flags = 0;
    return step_scalar(s, p, end, t);
}

#endif
