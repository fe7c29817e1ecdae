/* libFuzzer over the scanner: any bytes as an event list, in any pieces, with the ways out that trace/document.py takes.
 *
 * The first byte of the input says how the rest is cut: a scan sees a piece in a buffer of exactly its size, so that the
 * sanitizer sees every byte read outside of it. What is whole is then read out like module.c does.
 */
#include <stdio.h>
#include <stdlib.h>

#include "scanner.h"

static double to_double(const char *text)
{
    return strtod(text, NULL);
}

static const char *const names[] = {"cpu_op", "cuda_runtime", "kernel", "gpu_memcpy", "python_function"};
static const uint8_t values[] = {1, 4, 6, 7, 3};
static const uint8_t device[] = {6, 7, 8};

static void check(int fine, const char *what)
{
    if (!fine) {
        fprintf(stderr, "broken promise: %s\n", what);
        abort();
    }
}

/* Every number in a column must lead somewhere, and the tables agree on what they hold. */
static void check_columns(scanner *s)
{
    const scan_table *rows = scanner_table(s, TABLE_ROWS), *ops = scanner_table(s, TABLE_OPS);
    const scan_table *activities = scanner_table(s, TABLE_ACTIVITIES);
    const int32_t *pairs;
    size_t threads = scanner_threads(s, &pairs);
    int32_t strings = (int32_t)scanner_strings(s)->count, texts = (int32_t)scanner_texts(s)->count;
    for (size_t i = 0; i < rows->count; i++) {
        check(((int32_t *)rows->columns[2])[i] >= 0 && ((int32_t *)rows->columns[2])[i] < strings, "name");
        check(((int32_t *)rows->columns[3])[i] >= 0 && (size_t)((int32_t *)rows->columns[3])[i] < threads, "thread");
        check((uint64_t)((int64_t *)rows->columns[0])[i] < scanner_events(s), "index");
    }
    for (size_t i = 0; i < 2 * threads; i++) {
        check(pairs[i] >= 0 && pairs[i] < texts, "thread's text");
    }
    for (size_t i = 0; i < ops->count; i++) {
        check((size_t)((int32_t *)ops->columns[0])[i] < rows->count, "op's row");
        for (int column = 3; column < 7; column++) {
            int32_t text = ((int32_t *)ops->columns[column])[i];
            check(text == INT32_MIN || (text >= 0 && text < strings), "op's list");
        }
    }
    for (size_t i = 0; i < activities->count; i++) {
        check((size_t)((int32_t *)activities->columns[0])[i] < rows->count, "activity's row");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scan_words words = {names, values, 5, 1, device, 3, "CPU functions", 0x5EED, to_double};
    scanner *s, *other;
    size_t at = 0, piece, held = 0;
    if (size < 2) {
        return 0;
    }
    s = scanner_new(&words);
    if (!s) {
        return 0;
    }
    piece = data[0] ? 1 + (size_t)data[0] * data[0] : size;
    data++;
    size--;
    scanner_restart(s);
    for (;;) {
        /* The text from `at` on, as far as it is held. */
        size_t stop = 0, length;
        uint8_t *text;
        int why;
        held = held + piece < size ? held + piece : size;
        length = held - at;
        text = malloc(length ? length : 1);
        if (!text) {
            break;
        }
        memcpy(text, data + at, length);
        why = scanner_scan(s, text, length, 0, at, &stop);
        check(stop <= length, "stop");
        (void)scan_count_lines(text, length);
        if (why == SCAN_BROKEN) {
            /* As a mended event; then on to the next thing that may be one. */
            const uint8_t *next = memchr(text + stop + 1, '{', length - stop - 1);
            if (next && !(next[-1] & 1)) {
                size_t part = (size_t)(next - text) - stop;
                uint8_t *copy = malloc(part);
                if (copy) {
                    memcpy(copy, text + stop, part);
                    (void)scanner_add(s, copy, part, 7, (int32_t)part);
                    free(copy);
                }
            }
            scanner_skip(s);
            stop = next ? (size_t)(next - text) : length;
        }
        free(text);
        at += stop;
        if (why == SCAN_END) {
            at++;
            scanner_restart(s);
        }
        if (why == SCAN_MEMORY || at >= size || (why == SCAN_MORE && held == size)) {
            break;
        }
        if (why != SCAN_MORE) {
            held = held > at ? held - (held - at < piece ? held - at : piece) : at;
            held = held > at ? held : at;
        }
    }
    check_columns(s);
    /* What another scanner reads of the same text, taken over. */
    other = scanner_new(&words);
    if (other) {
        size_t stop = 0;
        uint64_t events = scanner_events(s), threads = scanner_threads(s, &(const int32_t *){NULL});
        scanner_restart(other);
        (void)scanner_scan(other, data, size, 0, 0, &stop);
        events += scanner_events(other);
        if (scanner_absorb(s, other) != SCAN_MEMORY) {
            check(scanner_events(s) == events, "events of both");
            check(scanner_threads(s, &(const int32_t *){NULL}) >= threads, "threads of both");
            check_columns(s);
        }
        scanner_free(other);
    }
    scanner_free(s);
    return 0;
}
