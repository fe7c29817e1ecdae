/* String tokens, UTF-8 as CPython's "replace" handler reads it, and a set of texts with a seeded hash. */
#include "text.h"

#include <stdlib.h>

int text_character(const uint8_t *p, const uint8_t *end)
{
    ptrdiff_t left = end - p;
    uint8_t a = p[0], low = 0x80, high = 0xBF;
    int need;
    if (a < 0x80) {
        return 1;
    }
    if (a < 0xC2 || a > 0xF4) {
        return -1;
    }
    need = a < 0xE0 ? 1 : a < 0xF0 ? 2 : 3;
    if (a == 0xE0) {
        low = 0xA0;
    } else if (a == 0xED) {
        high = 0x9F;
    } else if (a == 0xF0) {
        low = 0x90;
    } else if (a == 0xF4) {
        high = 0x8F;
    }
    for (int i = 1; i <= need; i++) {
        if (i >= left) {
            return 0;
        }
        if (p[i] < low || p[i] > high) {
            return -i;
        }
        low = 0x80;
        high = 0xBF;
    }
    return need + 1;
}

static int hex(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The code unit of the \uXXXX at p (the backslash), or -1. */
static int32_t unit(const uint8_t *p, const uint8_t *end)
{
    int32_t value = 0;
    if (end - p < 6 || p[0] != '\\' || p[1] != 'u') {
        return -1;
    }
    for (int i = 2; i < 6; i++) {
        int digit = hex(p[i]);
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

static int is_high(int32_t u)
{
    return u >= 0xD800 && u <= 0xDBFF;
}

static int is_low(int32_t u)
{
    return u >= 0xDC00 && u <= 0xDFFF;
}

const uint8_t *text_scan_slow(const uint8_t *p, const uint8_t *end, uint8_t *flags, text_damage *damage)
{
    for (;;) {
        p = text_special(p, end);
        if (p >= end) {
            return NULL;
        }
        if (*p == '"') {
            return p;
        }
        if (*p == '\\') {
            int32_t u;
            if (end - p < 2) {
                return NULL;
            }
            switch (p[1]) {
            case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
                *flags |= TEXT_ESCAPE;
                p += 2;
                continue;
            default:
                break;
            }
            u = unit(p, end);
            if (u < 0) {
                if (!(*flags & TEXT_BACKSLASH)) {
                    *flags |= TEXT_BACKSLASH;
                    damage->backslash = p;
                }
                p++;
                continue;
            }
            *flags |= TEXT_ESCAPE;
            if (is_high(u) && is_low(unit(p + 6, end))) {
                p += 12;
                continue;
            }
            if ((is_high(u) || is_low(u)) && !(*flags & TEXT_BAD)) {
                *flags |= TEXT_BAD;
                damage->bad = p;
            }
            p += 6;
        } else if (*p < 0x20) {
            if (!(*flags & TEXT_CONTROL)) {
                *flags |= TEXT_CONTROL;
                damage->control = p;
            }
            p++;
        } else {
            int length = text_character(p, end);
            if (length == 0) {
                return NULL;
            }
            if (length < 0) {
                if (!(*flags & TEXT_BAD)) {
                    *flags |= TEXT_BAD;
                    damage->bad = p;
                }
                length = -length;
            }
            p += length;
        }
    }
}

static size_t put(uint8_t *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (uint8_t)(0xC0 | c >> 6);
        out[1] = (uint8_t)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (uint8_t)(0xE0 | c >> 12);
        out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | c >> 18);
    out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (c & 0x3F));
    return 4;
}

size_t text_decode(const uint8_t *p, size_t n, uint8_t flags, uint8_t *out)
{
    const uint8_t *end = p + n;
    uint8_t *to = out;
    /* A string with a lone backslash comes from a writer that does not escape: "\n" in it is a path's "\n". */
    int literal = flags & TEXT_BACKSLASH;
    while (p < end) {
        if (*p == '\\' && end - p >= 2) {
            uint8_t c = p[1];
            int32_t u;
            if (c == '"' || c == '\\') {
                *to++ = c;
                p += 2;
                continue;
            }
            if (literal) {
                *to++ = *p++;
                continue;
            }
            u = unit(p, end);
            if (u >= 0) {
                int32_t second = is_high(u) ? unit(p + 6, end) : -1;
                if (is_low(second)) {
                    to += put(to, 0x10000u + ((uint32_t)(u - 0xD800) << 10) + (uint32_t)(second - 0xDC00));
                    p += 12;
                    continue;
                }
                to += put(to, is_high(u) || is_low(u) ? 0xFFFDu : (uint32_t)u);
                p += 6;
                continue;
            }
            *to++ = c == 'b' ? '\b' : c == 'f' ? '\f' : c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c;
            p += 2;
        } else if (*p < 0x80) {
            *to++ = *p++;
        } else {
            int length = text_character(p, end);
            if (length > 0) {
                memcpy(to, p, (size_t)length);
                to += length;
                p += length;
            } else {
                to += put(to, 0xFFFD);
                p += length < 0 ? -length : end - p;
            }
        }
    }
    return (size_t)(to - out);
}

static uint64_t mix(uint64_t a, uint64_t b)
{
#if defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 wide;
    wide r = (wide)a * b;
    return (uint64_t)r ^ (uint64_t)(r >> 64);
#else
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t ll = al * bl, lh = al * bh, hl = ah * bl, hh = ah * bh;
    uint64_t middle = (ll >> 32) + (uint32_t)lh + (uint32_t)hl;
    return (ll & 0xFFFFFFFFu | middle << 32) ^ (hh + (lh >> 32) + (hl >> 32) + (middle >> 32));
#endif
}

static uint64_t load(const uint8_t *p, size_t n)
{
    uint64_t v = 0;
    memcpy(&v, p, n);
    return v;
}

uint64_t text_hash(const uint8_t *p, size_t n, uint64_t seed)
{
    const uint64_t odd1 = 0xA0761D6478BD642Fu, odd2 = 0xE7037ED1A0B428DBu;
    uint64_t h = seed ^ odd1;
    size_t left = n;
    while (left > 16) {
        h = mix(load(p, 8) ^ odd2, load(p + 8, 8) ^ h);
        p += 16;
        left -= 16;
    }
    if (left > 8) {
        h = mix(load(p, 8) ^ odd2, load(p + 8, left - 8) ^ h);
    } else {
        h = mix(load(p, left) ^ odd2, h);
    }
    return mix(h ^ odd1, (uint64_t)n ^ seed ^ odd2);
}

int text_set_init(text_set *set, uint64_t seed)
{
    memset(set, 0, sizeof *set);
    set->seed = seed;
    set->mask = 1023;
    set->slots = calloc(set->mask + 1, sizeof *set->slots);
    return set->slots ? 0 : -1;
}

void text_set_free(text_set *set)
{
    free(set->bytes);
    free(set->ends);
    free(set->hashes);
    free(set->slots);
    memset(set, 0, sizeof *set);
}

static int grow_slots(text_set *set)
{
    size_t mask = set->mask * 2 + 1;
    uint32_t *slots = calloc(mask + 1, sizeof *slots);
    if (!slots) {
        return -1;
    }
    for (size_t i = 0; i < set->count; i++) {
        size_t at = (size_t)set->hashes[i] & mask;
        while (slots[at]) {
            at = (at + 1) & mask;
        }
        slots[at] = (uint32_t)i + 1;
    }
    free(set->slots);
    set->slots = slots;
    set->mask = mask;
    return 0;
}

static int grow_texts(text_set *set)
{
    size_t capacity = set->capacity ? set->capacity * 2 : 512;
    size_t *ends = realloc(set->ends, capacity * sizeof *ends);
    uint64_t *hashes;
    if (!ends) {
        return -1;
    }
    set->ends = ends;
    hashes = realloc(set->hashes, capacity * sizeof *hashes);
    if (!hashes) {
        return -1;
    }
    set->hashes = hashes;
    set->capacity = capacity;
    return 0;
}

int32_t text_set_add(text_set *set, const uint8_t *p, size_t n)
{
    uint64_t h = text_hash(p, n, set->seed);
    size_t at = (size_t)h & set->mask;
    while (set->slots[at]) {
        size_t i = set->slots[at] - 1;
        if (set->hashes[i] == h) {
            size_t begin = i ? set->ends[i - 1] : 0;
            if (set->ends[i] - begin == n && (n == 0 || memcmp(set->bytes + begin, p, n) == 0)) {
                return (int32_t)i;
            }
        }
        at = (at + 1) & set->mask;
    }
    if (set->count >= INT32_MAX - 1) {
        return -1;
    }
    if (set->count == set->capacity && grow_texts(set) < 0) {
        return -1;
    }
    if (set->room - set->used < n) {
        size_t room = set->room ? set->room * 2 : 65536;
        uint8_t *bytes;
        while (room - set->used < n) {
            room *= 2;
        }
        bytes = realloc(set->bytes, room);
        if (!bytes) {
            return -1;
        }
        set->bytes = bytes;
        set->room = room;
    }
    if (n) {
        memcpy(set->bytes + set->used, p, n);
    }
    set->used += n;
    set->ends[set->count] = set->used;
    set->hashes[set->count] = h;
    set->slots[at] = (uint32_t)++set->count;
    /* The new text is already in its slot, so a failure to grow costs only speed. */
    if (set->count * 2 > set->mask && grow_slots(set) < 0 && set->count >= set->mask) {
        return -1;
    }
    return (int32_t)set->count - 1;
}
