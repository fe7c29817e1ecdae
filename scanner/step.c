/* Stepping over white space, numbers, words, lists and objects. */
#include "step.h"

#include <stdlib.h>

const uint8_t step_broken = 0;

const uint8_t *skip_spaces(const uint8_t *p, const uint8_t *end)
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

/* The digits at p into the number; where they end. More digits than fit wrap around. */
static inline const uint8_t *step_digits(const uint8_t *p, const uint8_t *end, uint64_t *number)
{
    static const uint32_t scale[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    uint64_t value = *number;
    for (int i = 0; i < 4; i++) {
        /* Most numbers are short. */
        if (p >= end || !is_digit(*p)) {
            *number = value;
            return p;
        }
        value = value * 10 + (uint64_t)(*p++ - '0');
    }
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

const uint8_t *step_number(const uint8_t *p, const uint8_t *end, token *t)
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
const uint8_t *step_word(scanner *s, const uint8_t *p, const uint8_t *end, token *t)
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
const uint8_t *step_nested(scanner *s, const uint8_t *p, const uint8_t *end, token *t)
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
