/* The passes over ranges as functions of the extension: columns in, one column filled. */
#include "module_nest.h"

#include "nest.h"

/* Ranges on more threads than this are sorted elsewhere. */
enum { MOST_THREADS = 1 << 20 };

/* Columns of equally many ranges; the last of them is filled. */
enum { MOST_COLUMNS = 4 };

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

/* The arguments as columns of these widths in bytes; -1 with an exception set. */
static int take(ranges *r, PyObject *args, const unsigned char *widths, int columns)
{
    r->held = 0;
    r->count = 0;
    if (PyTuple_Size(args) != columns) {
        PyErr_Format(PyExc_TypeError, "%d columns are needed", columns);
        return -1;
    }
    for (int i = 0; i < columns; i++) {
        int flags = i == columns - 1 ? PyBUF_WRITABLE : PyBUF_SIMPLE;
        size_t count;
        if (PyObject_GetBuffer(PyTuple_GetItem(args, i), &r->columns[i], flags) < 0) {
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

const char nest_order_doc[] = "nest_order(thread, start, end, order)\n--\n\n"
                             "Fill order (int64) with the positions of ranges by thread (int32), start and end (int64), "
                             "the longest first; False where the threads are not numbered from 0.";

PyObject *module_nest_order(PyObject *Py_UNUSED(module), PyObject *args)
{
    static const unsigned char widths[] = {4, 8, 8, 8};
    ranges r;
    const int32_t *thread;
    int32_t most = 0;
    int why = 0, numbered = 1;
    if (take(&r, args, widths, 4) < 0) {
        return NULL;
    }
    thread = r.columns[0].buf;
    Py_BEGIN_ALLOW_THREADS
    for (size_t i = 0; i < r.count; i++) {
        numbered &= thread[i] >= 0;
        most = thread[i] > most ? thread[i] : most;
    }
    numbered &= most <= MOST_THREADS;
    if (numbered) {
        why = nest_order(thread, r.columns[1].buf, r.columns[2].buf, r.count, (size_t)most + 1, r.columns[3].buf);
    }
    Py_END_ALLOW_THREADS
    release(&r);
    return why < 0 ? PyErr_NoMemory() : PyBool_FromLong(numbered);
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
