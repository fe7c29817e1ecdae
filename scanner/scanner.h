/* The scanner: walks the event list of a trace once and fills columns. No Python here; module.c binds it. */
#ifndef FORETRACE_SCANNER_H
#define FORETRACE_SCANNER_H

#include <stddef.h>
#include <stdint.h>

#include "number.h"
#include "text.h"

/* Why a scan stopped. */
enum {
    SCAN_END = 0,    /* at the bracket that ends the list */
    SCAN_MORE = 1,   /* at the start of an event that the text does not hold whole, or at the end of the text */
    SCAN_BROKEN = 2, /* at the start of something that is no event */
    SCAN_MEMORY = 3  /* memory ran out */
};

/* Damage that needs no guess about structure, and is read past. */
enum { NOTE_BACKSLASH, NOTE_CONTROL, NOTE_BAD_TEXT, NOTE_NOT_FINITE, NOTE_EXTRA_COMMA, NOTE_MISSING_COMMA, NOTE_KINDS };

typedef struct {
    uint64_t count;
    uint64_t byte; /* where it was first met, in the whole text */
} scan_note;

/* Columns of one table; widths in bytes stand in scanner.c in the order of raw.py. */
enum { TABLE_ROWS, TABLE_ACTIVITIES, TABLE_OPS, TABLE_FLOWS, TABLE_MEMORY, TABLE_LABELS, TABLE_KINDS };
enum { TABLE_MAX_COLUMNS = 18 };

typedef struct {
    void *columns[TABLE_MAX_COLUMNS];
    size_t count, capacity;
} scan_table;

extern const unsigned char scan_table_widths[TABLE_KINDS][TABLE_MAX_COLUMNS]; /* 0 after the last */

typedef struct scanner scanner;

/* The words a scanner looks for, given by the caller so that they stand in one place. */
typedef struct {
    const char *const *names; /* categories, as the file spells them */
    const uint8_t *values;    /* and the number of each */
    size_t count;
    uint8_t op;               /* number of the ops' category */
    const uint8_t *device;    /* numbers of the device categories */
    size_t device_count;
    const char *legacy_process;
    uint64_t seed;
    number_to_double to_double;
} scan_words;

scanner *scanner_new(const scan_words *words);
void scanner_free(scanner *s);

/* Read events from text[at ...]; base is the byte of text[0] in the whole. *stop is where it stopped. */
int scanner_scan(scanner *s, const uint8_t *text, size_t size, size_t at, uint64_t base, size_t *stop);

/* Read one mended event; its args lie elsewhere in the original text. SCAN_END when it was read. */
int scanner_add(scanner *s, const uint8_t *text, size_t size, int64_t args_start, int32_t args_length);

/* Leave an event out: it keeps its number in the list. */
void scanner_skip(scanner *s);

/* Begin afresh between two events, without asking for a comma. */
void scanner_restart(scanner *s);

/* Take over all that `from` read, which is what follows in the text; `from` is then only good to be freed. SCAN_MORE,
   or SCAN_MEMORY. */
int scanner_absorb(scanner *to, scanner *from);

const scan_note *scanner_notes(const scanner *s);
scan_table *scanner_table(scanner *s, int table);
const text_set *scanner_strings(const scanner *s); /* names and raw lists */
const text_set *scanner_texts(const scanner *s);   /* process and thread ids, labels, phases */
size_t scanner_threads(const scanner *s, const int32_t **pairs); /* two numbers of texts for each */
size_t scanner_phases(const scanner *s, const int32_t **texts, const uint64_t **counts);
uint64_t scanner_events(const scanner *s);
int scanner_fractions(const scanner *s);
int scanner_text_times(const scanner *s);

uint64_t scan_count_lines(const uint8_t *p, size_t n);

#endif
