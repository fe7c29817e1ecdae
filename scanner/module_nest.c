/* The passes over ranges as functions of the extension: columns in, one column filled. */
#include "module_nest.h"

#include "nest.h"

/* More ranges than this, on more threads or of more names, are left to others. */
enum { MOST_RANGES = INT32_MAX, MOST_THREADS = 1 << 20, MOST_NAMES = 1 << 28 };

/* Columns of equally many ranges, or moments. */
enum { MOST_COLUMNS = 5 };

typedef struct {
    Py_buffer columns[MOST_COLUMNS];
    int held;
    size_t count;
} ranges;

static void release(ranges *r)
{
    while (r->held) {
        PyBuffer_Release(&r->columns[--r->held]);
    }
}

/* Some of the arguments as columns of these widths in bytes; -1 with an exception set. */
static int take_some(ranges *r, PyObject *args, int first, const unsigned char *widths, int columns, int filled)
{
    r->held = 0;
    r->count = 0;
    for (int i = 0; i < columns; i++) {
        int flags = i >= columns - filled ? PyBUF_WRITABLE : PyBUF_SIMPLE;
        size_t count;
        if (PyObject_GetBuffer(PyTuple_GetItem(args, first + i), &r->columns[i], flags) < 0) {
            release(r);
            return -1;
        }
        r->held++;
        count = (size_t)r->columns[i].len / widths[i];
        if ((size_t)r->columns[i].len % widths[i] || (i && count != r->count)) {
            PyErr_SetString(PyExc_ValueError, "the columns differ in length");
            release(r);
            return -1;
        }
        r->count = count;
    }
    return 0;
}

static int expect(PyObject *args, int columns)
{
    if (PyTuple_Size(args) == columns) {
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "%d columns are needed", columns);
    return -1;
}

/* All arguments as columns, the last of which is filled. */
static int take(ranges *r, PyObject *args, const unsigned char *widths, int columns)
{
    return expect(args, columns) < 0 ? -1 : take_some(r, args, 0, widths, columns, 1);
}

/* How many numbers there are from 0 to the greatest; 0 where one is negative or more than `most`. */
static size_t numbers(const int32_t *column, size_t count, int32_t most)
{
    int32_t least = 0, greatest = 0;
    for (size_t i = 0; i < count; i++) {
        least = column[i] < least ? column[i] : least;
        greatest = column[i] > greatest ? column[i] : greatest;
    }
    return least < 0 || greatest > most ? 0 : (size_t)greatest + 1;
}

const char nest_order_doc[] = "nest_order(thread, start, end, order)\n--\n\n"
                             "Fill order (int64) with the positions of ranges by thread (int32), start and end (int64), "
                             "the longest first; False where the threads are not numbered from 0.";

PyObject *module_nest_order(PyObject *Py_UNUSED(module), PyObject *args)
{
    static const unsigned char widths[] = {4, 8, 8, 8};
    ranges r;
    size_t threads;
    int why = 0;
    if (take(&r, args, widths, 4) < 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    threads = numbers(r.columns[0].buf, r.count, MOST_THREADS);
    if (threads) {
        why = nest_order(r.columns[0].buf, r.columns[1].buf, r.columns[2].buf, r.count, threads, r.columns[3].buf);
    }
    Py_END_ALLOW_THREADS
    release(&r);
    return why < 0 ? PyErr_NoMemory() : PyBool_FromLong(threads != 0);
}

const char nest_pick_doc[] = "nest_pick(order, thread, start, end, chosen, original, threads, starts, ends)\n--\n\n"
                            "Fill original (int64), threads (int32), starts and ends (int64) with the ranges that are "
                            "chosen (int64, ascending), in the order of all; False where there are too many.";

PyObject *module_nest_pick(PyObject *Py_UNUSED(module), PyObject *args)
{
    static const unsigned char widths[] = {8, 4, 8, 8}, picks[] = {8, 8, 4, 8, 8};
    ranges r, some;
    int few, wrong = 0;
    int64_t found = 0;
    if (expect(args, 9) < 0 || take_some(&r, args, 0, widths, 4, 0) < 0) {
        return NULL;
    }
    if (take_some(&some, args, 4, picks, 5, 4) < 0) {
        release(&r);
        return NULL;
    }
    few = r.count <= MOST_RANGES;
    if (few) {
        Py_BEGIN_ALLOW_THREADS
        const nest_sorted all = {r.columns[0].buf, r.columns[1].buf, r.columns[2].buf, r.columns[3].buf, r.count};
        const nest_picked picked = {some.columns[1].buf, some.columns[2].buf, some.columns[3].buf, some.columns[4].buf};
        found = nest_pick(&all, some.columns[0].buf, some.count, &picked);
        Py_END_ALLOW_THREADS
        wrong = found >= 0 && (size_t)found != some.count;
    }
    release(&some);
    release(&r);
    if (found < 0) {
        return PyErr_NoMemory();
    }
    if (wrong) {
        PyErr_SetString(PyExc_ValueError, "the order does not hold each of the chosen once");
        return NULL;
    }
    return PyBool_FromLong(few);
}

const char nest_parents_doc[] = "nest_parents(thread, start, end, parent)\n--\n\n"
                               "Fill parent (int64) for ranges in nesting order.";

PyObject *module_nest_parents(PyObject *Py_UNUSED(module), PyObject *args)
{
    static const unsigned char widths[] = {4, 8, 8, 8};
    ranges r;
    if (take(&r, args, widths, 4) < 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    nest_parents(r.columns[0].buf, r.columns[1].buf, r.columns[2].buf, r.count, r.columns[3].buf);
    Py_END_ALLOW_THREADS
    release(&r);
    Py_RETURN_NONE;
}

const char nest_own_doc[] = "nest_own(start, end, parent, own)\n--\n\n"
                           "Fill own (int64): the length of each range in nesting order less what lies inside it.";

PyObject *module_nest_own(PyObject *Py_UNUSED(module), PyObject *args)
{
    static const unsigned char widths[] = {8, 8, 8, 8};
    ranges r;
    if (take(&r, args, widths, 4) < 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    nest_own(r.columns[0].buf, r.columns[1].buf, r.columns[2].buf, r.count, r.columns[3].buf);
    Py_END_ALLOW_THREADS
    release(&r);
    Py_RETURN_NONE;
}

const char nest_innermost_doc[] = "nest_innermost(thread, start, end, parent, threads, times, found)\n--\n\n"
                                 "Fill found (int64) with the range around each time (int64) of a thread (int32), of "
                                 "ranges in nesting order; False where the threads are not numbered from 0.";

PyObject *module_nest_innermost(PyObject *Py_UNUSED(module), PyObject *args)
{
    static const unsigned char widths[] = {4, 8, 8, 8}, asked[] = {4, 8, 8};
    ranges r, moments;
    size_t threads;
    int why = 0;
    if (expect(args, 7) < 0 || take_some(&r, args, 0, widths, 4, 0) < 0) {
        return NULL;
    }
    if (take_some(&moments, args, 4, asked, 3, 1) < 0) {
        release(&r);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    threads = numbers(moments.columns[0].buf, moments.count, MOST_THREADS);
    if (threads) {
        const nest_forest forest = {r.columns[0].buf, r.columns[1].buf, r.columns[2].buf, r.columns[3].buf, r.count};
        why = nest_innermost(&forest, moments.columns[0].buf, moments.columns[1].buf, moments.count, threads,
                             moments.columns[2].buf);
    }
    Py_END_ALLOW_THREADS
    release(&moments);
    release(&r);
    return why < 0 ? PyErr_NoMemory() : PyBool_FromLong(threads != 0);
}

const char nest_depths_doc[] = "nest_depths(parent, depth)\n--\n\n"
                              "Fill depth (int64): how many ranges are around each.";

PyObject *module_nest_depths(PyObject *Py_UNUSED(module), PyObject *args)
{
    static const unsigned char widths[] = {8, 8};
    ranges r;
    if (take(&r, args, widths, 2) < 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    nest_depths(r.columns[0].buf, r.count, r.columns[1].buf);
    Py_END_ALLOW_THREADS
    release(&r);
    Py_RETURN_NONE;
}

const char nest_around_doc[] = "nest_around(parent, counted, around)\n--\n\n"
                              "Fill around (int64) with the innermost range around each that is counted (bool).";

PyObject *module_nest_around(PyObject *Py_UNUSED(module), PyObject *args)
{
    static const unsigned char widths[] = {8, 1, 8};
    ranges r;
    if (take(&r, args, widths, 3) < 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    nest_around(r.columns[0].buf, r.columns[1].buf, r.count, r.columns[2].buf);
    Py_END_ALLOW_THREADS
    release(&r);
    Py_RETURN_NONE;
}

const char nest_crossings_doc[] = "nest_crossings(end, parent, counted)\n--\n\n"
                                 "How many counted (bool) ranges end (int64) after the counted one around them.";

PyObject *module_nest_crossings(PyObject *Py_UNUSED(module), PyObject *args)
{
    static const unsigned char widths[] = {8, 8, 1};
    ranges r;
    int64_t crossings;
    if (expect(args, 3) < 0 || take_some(&r, args, 0, widths, 3, 0) < 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    crossings = nest_crossings(r.columns[0].buf, r.columns[1].buf, r.columns[2].buf, r.count);
    Py_END_ALLOW_THREADS
    release(&r);
    return crossings < 0 ? PyErr_NoMemory() : PyLong_FromLongLong(crossings);
}

const char nest_sums_doc[] = "nest_sums(parent, values)\n--\n\n"
                            "Add to each of the values (int64) those of all ranges inside.";

PyObject *module_nest_sums(PyObject *Py_UNUSED(module), PyObject *args)
{
    static const unsigned char widths[] = {8, 8};
    ranges r;
    if (take(&r, args, widths, 2) < 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    nest_sums(r.columns[0].buf, r.count, r.columns[1].buf);
    Py_END_ALLOW_THREADS
    release(&r);
    Py_RETURN_NONE;
}

const char nest_alike_doc[] = "nest_alike(parent, name, alike)\n--\n\n"
                             "Fill alike (int64) with the innermost range around each that has its name (int32); False "
                             "where the names are not numbered from 0.";

PyObject *module_nest_alike(PyObject *Py_UNUSED(module), PyObject *args)
{
    static const unsigned char widths[] = {8, 4, 8};
    ranges r;
    size_t names;
    int why = 0;
    if (take(&r, args, widths, 3) < 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    names = numbers(r.columns[1].buf, r.count, MOST_NAMES);
    if (names) {
        why = nest_alike(r.columns[0].buf, r.columns[1].buf, r.count, names, r.columns[2].buf);
    }
    Py_END_ALLOW_THREADS
    release(&r);
    return why < 0 ? PyErr_NoMemory() : PyBool_FromLong(names != 0);
}
