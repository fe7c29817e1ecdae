/* Text of a trace: string tokens, UTF-8, and interning. No Python here. */
#ifndef FORETRACE_TEXT_H
#define FORETRACE_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* What a string token holds besides plain ASCII. */
enum {
    TEXT_ESCAPE = 1,     /* a valid escape */
    TEXT_BACKSLASH = 2,  /* a backslash that begins no escape: the writer did not escape */
    TEXT_CONTROL = 4,    /* a raw control character */
    TEXT_BAD = 8,        /* bytes that are no UTF-8, or half of a surrogate pair */
    TEXT_DAMAGED = TEXT_BACKSLASH | TEXT_CONTROL | TEXT_BAD
};

/* Where each kind of damage was first met in one string. */
typedef struct {
    const uint8_t *backslash;
    const uint8_t *control;
    const uint8_t *bad;
} text_damage;

/* First byte in [p, end) that a string cannot simply run over: quote, backslash, control, not ASCII. */
static inline const uint8_t *text_special(const uint8_t *p, const uint8_t *end)
{
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), space = _mm_set1_epi8(0x20);
    while (end - p >= 32) {
        /* Two at a time: where a string ends is hard to foresee, so the fewer rounds the better. */
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i w = _mm_loadu_si128((const __m128i *)(const void *)(p + 16));
        /* Signed: bytes of 0x80 and over are negative, so below 0x20 like the control characters. */
        __m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)),
                                   _mm_cmplt_epi8(v, space));
        __m128i more = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(w, quote), _mm_cmpeq_epi8(w, slash)),
                                    _mm_cmplt_epi8(w, space));
        uint32_t mask = (uint32_t)_mm_movemask_epi8(hit) | (uint32_t)_mm_movemask_epi8(more) << 16;
        if (mask) {
            return p + __builtin_ctz(mask);
        }
        p += 32;
    }
#else
    const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
    while (end - p >= 8) {
        uint64_t v, q, s;
        memcpy(&v, p, 8);
        q = v ^ (ones * '"');
        s = v ^ (ones * '\\');
        if ((v | ((q - ones) & ~q) | ((s - ones) & ~s) | (v - ones * 0x20)) & high) {
            break;
        }
        p += 8;
    }
#endif
    while (p < end && *p != '"' && *p != '\\' && *p >= 0x20 && *p < 0x80) {
        p++;
    }
    return p;
}

/* Bytes of the UTF-8 character at p; 0 if [p, end) is too short to tell; negative: as many bytes are no UTF-8. */
int text_character(const uint8_t *p, const uint8_t *end);

/* The closing quote of the string whose content begins at p, or NULL when [p, end) does not hold it. */
const uint8_t *text_scan_slow(const uint8_t *p, const uint8_t *end, uint8_t *flags, text_damage *damage);

/* The content [p, p + n) of a string token as UTF-8; out takes at most text_decoded_room(n) bytes. */
size_t text_decode(const uint8_t *p, size_t n, uint8_t flags, uint8_t *out);

static inline size_t text_decoded_room(size_t n)
{
    return 3 * n + 1;
}

/* A set of texts, numbered by first appearance. */
typedef struct {
    uint8_t *bytes;   /* all texts, one after the other */
    size_t used, room;
    size_t *ends;     /* where text i ends in bytes */
    size_t count, capacity;
    uint64_t *hashes; /* of text i */
    uint32_t *slots;  /* open addressing: number of a text + 1, 0 where free */
    size_t mask;
    uint64_t seed;
} text_set;

/* Text i of the set and its length; a set of nothing but the empty text has no bytes at all. */
static inline const uint8_t *text_set_get(const text_set *set, size_t i, size_t *n)
{
    size_t begin = i ? set->ends[i - 1] : 0;
    *n = set->ends[i] - begin;
    return *n ? set->bytes + begin : (const uint8_t *)"";
}

int text_set_init(text_set *set, uint64_t seed);
void text_set_free(text_set *set);

/* Number of the text in the set, added where new; -1 when memory or numbers run out. */
int32_t text_set_add(text_set *set, const uint8_t *p, size_t n);

uint64_t text_hash(const uint8_t *p, size_t n, uint64_t seed);

#endif
