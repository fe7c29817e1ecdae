/* The scanner as a CPython extension, within the stable ABI of 3.11. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>

#include "module_guard.h"
#include "module_nest.h"
#include "scanner.h"

/* ---- a column's memory, handed over without a copy ---- */

typedef struct {
    PyObject_HEAD
    void *data;
    Py_ssize_t size;
} column;

static void column_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    free(((column *)self)->data);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static int column_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    column *c = (column *)self;
    return PyBuffer_FillInfo(view, self, c->data, c->size, 0, flags);
}

static PyType_Slot column_slots[] = {
    {Py_tp_doc, "Memory of one column, with the buffer protocol."},
    {Py_tp_dealloc, column_dealloc},
    {Py_bf_getbuffer, column_getbuffer},
    {0, NULL},
};

static PyType_Spec column_spec = {
    "foretrace.trace._scan.Column", sizeof(column), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    column_slots,
};

/* ---- the scanner ---- */

typedef struct {
    PyObject_HEAD
    scanner *scan;
    char *words; /* texts that the scanner refers to */
    int busy;    /* a scan runs without the interpreter's lock */
} Scanner;

typedef struct {
    PyTypeObject *scanner_type, *column_type;
} module_state;

/* Correctly rounded whatever the locale; the interpreter's own conversion, since strtod heeds the locale. */
static double to_double(const char *text)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    double value = PyOS_string_to_double(text, NULL, NULL);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        value = Py_NAN;
    }
    PyGILState_Release(lock);
    return value;
}

static PyObject *scanner_create(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"categories", "op", "device", "legacy_process", "seed", NULL};
    PyObject *categories, *key, *value;
    const char *device, *legacy;
    Py_ssize_t device_count, legacy_size, at = 0, count, room = 0;
    unsigned char op;
    unsigned long long seed;
    Scanner *self = NULL;
    const char **texts = NULL;
    uint8_t *values = NULL;
    scan_words words;
    char *to;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!by#s#K:Scanner", names, &PyDict_Type, &categories, &op, &device,
                                     &device_count, &legacy, &legacy_size, &seed)) {
        return NULL;
    }
    count = PyDict_Size(categories);
    while (PyDict_Next(categories, &at, &key, &value)) {
        Py_ssize_t size;
        if (!PyUnicode_Check(key) || !PyUnicode_AsUTF8AndSize(key, &size)) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_TypeError, "categories must be texts");
            }
            return NULL;
        }
        room += size + 1;
    }
    texts = calloc((size_t)count + 1, sizeof *texts);
    values = calloc((size_t)count + 1, 1);
    self = (Scanner *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!texts || !values || !self || !(self->words = calloc((size_t)(room + legacy_size) + 1, 1))) {
        if (self) {
            PyErr_NoMemory();
        }
        goto fail;
    }
    to = self->words;
    at = 0;
    for (Py_ssize_t i = 0; PyDict_Next(categories, &at, &key, &value) && i < count; i++) {
        Py_ssize_t size;
        const char *text = PyUnicode_AsUTF8AndSize(key, &size);
        unsigned long number = PyLong_AsUnsignedLong(value);
        if (!text || PyErr_Occurred()) {
            goto fail;
        }
        memcpy(to, text, (size_t)size);
        texts[i] = to;
        values[i] = (uint8_t)number;
        to += size + 1;
    }
    memcpy(to, legacy, (size_t)legacy_size);
    words.names = texts;
    words.values = values;
    words.count = (size_t)count;
    words.op = op;
    words.device = (const uint8_t *)device;
    words.device_count = (size_t)device_count;
    words.legacy_process = to;
    words.seed = seed;
    words.to_double = to_double;
    self->scan = scanner_new(&words);
    if (!self->scan) {
        PyErr_NoMemory();
        goto fail;
    }
    free(texts);
    free(values);
    return (PyObject *)self;
fail:
    free(texts);
    free(values);
    Py_XDECREF((PyObject *)self);
    return NULL;
}

static void scanner_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    scanner_free(((Scanner *)self)->scan);
    free(((Scanner *)self)->words);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static int lock(Scanner *self)
{
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "the scanner is running in another thread");
        return -1;
    }
    self->busy = 1;
    return 0;
}

PyDoc_STRVAR(scan_doc, "scan(text, at, end, base)\n--\n\n"
                       "Read events from text[at:end]; (why, where) it stopped. base is the byte of text[0].");

static PyObject *scanner_method_scan(PyObject *object, PyObject *args)
{
    Scanner *self = (Scanner *)object;
    Py_buffer text;
    Py_ssize_t at, end;
    unsigned long long base;
    size_t stop = 0;
    int why;
    if (!PyArg_ParseTuple(args, "y*nnK:scan", &text, &at, &end, &base)) {
        return NULL;
    }
    if (at < 0 || end > text.len || at > end) {
        PyBuffer_Release(&text);
        PyErr_SetString(PyExc_ValueError, "no such part of the text");
        return NULL;
    }
    if (lock(self) < 0) {
        PyBuffer_Release(&text);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    why = scanner_scan(self->scan, text.buf, (size_t)end, (size_t)at, base, &stop);
    Py_END_ALLOW_THREADS
    self->busy = 0;
    PyBuffer_Release(&text);
    if (why == SCAN_MEMORY) {
        return PyErr_NoMemory();
    }
    return Py_BuildValue("in", why, (Py_ssize_t)stop);
}

PyDoc_STRVAR(add_doc, "add(text, args_start, args_length)\n--\n\nRead one mended event; whether it was one.");

static PyObject *scanner_method_add(PyObject *object, PyObject *args)
{
    Scanner *self = (Scanner *)object;
    Py_buffer text;
    long long start;
    int length, why;
    if (!PyArg_ParseTuple(args, "y*Li:add", &text, &start, &length)) {
        return NULL;
    }
    if (lock(self) < 0) {
        PyBuffer_Release(&text);
        return NULL;
    }
    why = scanner_add(self->scan, text.buf, (size_t)text.len, start, length);
    self->busy = 0;
    PyBuffer_Release(&text);
    if (why == SCAN_MEMORY) {
        return PyErr_NoMemory();
    }
    return PyBool_FromLong(why == SCAN_END);
}

static PyObject *scanner_method_skip(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    scanner_skip(((Scanner *)self)->scan);
    Py_RETURN_NONE;
}

static PyObject *scanner_method_restart(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    scanner_restart(((Scanner *)self)->scan);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(absorb_doc, "absorb(other)\n--\n\n"
                         "Take over all that another scanner read, which is what follows in the text.");

static PyObject *scanner_method_absorb(PyObject *object, PyObject *other)
{
    Scanner *self = (Scanner *)object, *from = (Scanner *)other;
    int why;
    if (!Py_IS_TYPE(other, Py_TYPE(object)) || object == other) {
        PyErr_SetString(PyExc_TypeError, "only another scanner can be taken over");
        return NULL;
    }
    if (lock(self) < 0) {
        return NULL;
    }
    if (lock(from) < 0) {
        self->busy = 0;
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    why = scanner_absorb(self->scan, from->scan);
    Py_END_ALLOW_THREADS
    self->busy = from->busy = 0;
    if (why == SCAN_MEMORY) {
        return PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

static PyObject *scanner_method_notes(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const scan_note *notes = scanner_notes(((Scanner *)self)->scan);
    PyObject *list = PyList_New(NOTE_KINDS);
    for (Py_ssize_t i = 0; list && i < NOTE_KINDS; i++) {
        PyObject *pair = Py_BuildValue("KK", (unsigned long long)notes[i].count, (unsigned long long)notes[i].byte);
        if (!pair || PyList_SetItem(list, i, pair) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

PyDoc_STRVAR(columns_doc, "columns(table)\n--\n\nThe columns of a table, which the scanner then no longer has.");

static PyObject *scanner_method_columns(PyObject *object, PyObject *args)
{
    Scanner *self = (Scanner *)object;
    PyObject *module_type = (PyObject *)Py_TYPE(object), *list;
    module_state *state = PyType_GetModuleState((PyTypeObject *)module_type);
    scan_table *table;
    int which;
    if (!state || !PyArg_ParseTuple(args, "i:columns", &which)) {
        return NULL;
    }
    if (which < 0 || which >= TABLE_LABELS) {
        PyErr_SetString(PyExc_ValueError, "no such table");
        return NULL;
    }
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "the scanner is running in another thread");
        return NULL;
    }
    table = scanner_table(self->scan, which);
    list = PyList_New(0);
    for (int i = 0; list && i < TABLE_MAX_COLUMNS && scan_table_widths[which][i]; i++) {
        PyTypeObject *type = state->column_type;
        column *c = (column *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
        size_t size = table->count * scan_table_widths[which][i];
        if (!c) {
            Py_CLEAR(list);
            break;
        }
        c->data = table->columns[i];
        c->size = (Py_ssize_t)size;
        table->columns[i] = NULL;
        if (c->data && size) {
            void *fitted = realloc(c->data, size);
            if (fitted) {
                c->data = fitted;
            }
        }
        if (PyList_Append(list, (PyObject *)c) < 0) {
            Py_CLEAR(list);
        }
        Py_DECREF(c);
    }
    table->count = table->capacity = 0;
    return list;
}

static PyObject *text_at(const text_set *set, size_t i)
{
    size_t n;
    const uint8_t *text = text_set_get(set, i, &n);
    return PyUnicode_DecodeUTF8((const char *)text, (Py_ssize_t)n, "replace");
}

static PyObject *scanner_method_strings(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const text_set *set = scanner_strings(((Scanner *)self)->scan);
    PyObject *list = PyList_New((Py_ssize_t)set->count);
    for (size_t i = 0; list && i < set->count; i++) {
        PyObject *text = text_at(set, i);
        if (!text || PyList_SetItem(list, (Py_ssize_t)i, text) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *scanner_method_threads(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    scanner *scan = ((Scanner *)self)->scan;
    const text_set *texts = scanner_texts(scan);
    const int32_t *pairs;
    size_t count = scanner_threads(scan, &pairs);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *pair = Py_BuildValue("NN", text_at(texts, (size_t)pairs[2 * i]), text_at(texts, (size_t)pairs[2 * i + 1]));
        if (!pair || PyList_SetItem(list, (Py_ssize_t)i, pair) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *scanner_method_labels(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    scanner *scan = ((Scanner *)self)->scan;
    const text_set *texts = scanner_texts(scan);
    const scan_table *table = scanner_table(scan, TABLE_LABELS);
    PyObject *labels = PyDict_New();
    for (size_t i = 0; labels && i < table->count; i++) {
        const int32_t *const *columns = (const int32_t *const *)table->columns;
        PyObject *key = Py_BuildValue("NNN", text_at(texts, (size_t)columns[0][i]), text_at(texts, (size_t)columns[1][i]),
                                      text_at(texts, (size_t)columns[2][i]));
        PyObject *value = key ? text_at(texts, (size_t)columns[3][i]) : NULL;
        if (!value || PyDict_SetItem(labels, key, value) < 0) {
            Py_CLEAR(labels);
        }
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return labels;
}

static PyObject *scanner_method_phases(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    scanner *scan = ((Scanner *)self)->scan;
    const int32_t *texts;
    const uint64_t *counts;
    size_t count = scanner_phases(scan, &texts, &counts);
    PyObject *phases = PyDict_New();
    for (size_t i = 0; phases && i < count; i++) {
        PyObject *key = text_at(scanner_texts(scan), (size_t)texts[i]);
        PyObject *value = key ? PyLong_FromUnsignedLongLong(counts[i]) : NULL;
        if (!value || PyDict_SetItem(phases, key, value) < 0) {
            Py_CLEAR(phases);
        }
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return phases;
}

static PyObject *scanner_method_facts(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    scanner *scan = ((Scanner *)self)->scan;
    return Py_BuildValue("KNN", (unsigned long long)scanner_events(scan), PyBool_FromLong(scanner_fractions(scan)),
                         PyBool_FromLong(scanner_text_times(scan)));
}

static PyMethodDef scanner_methods[] = {
    {"scan", scanner_method_scan, METH_VARARGS, scan_doc},
    {"add", scanner_method_add, METH_VARARGS, add_doc},
    {"skip", scanner_method_skip, METH_NOARGS, "skip()\n--\n\nLeave an event out: it keeps its number."},
    {"restart", scanner_method_restart, METH_NOARGS, "restart()\n--\n\nGo on between two events without asking for a comma."},
    {"absorb", scanner_method_absorb, METH_O, absorb_doc},
    {"notes", scanner_method_notes, METH_NOARGS, "notes()\n--\n\n(count, first byte) of each kind of damage read past."},
    {"columns", scanner_method_columns, METH_VARARGS, columns_doc},
    {"strings", scanner_method_strings, METH_NOARGS, "strings()\n--\n\nThe interned texts."},
    {"threads", scanner_method_threads, METH_NOARGS, "threads()\n--\n\n(pid, tid) of each thread."},
    {"labels", scanner_method_labels, METH_NOARGS, "labels()\n--\n\n(kind, pid, tid) -> text."},
    {"phases", scanner_method_phases, METH_NOARGS, "phases()\n--\n\nEvents by phase."},
    {"facts", scanner_method_facts, METH_NOARGS, "facts()\n--\n\n(events, whether times have fractions, are text)."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot scanner_slots[] = {
    {Py_tp_doc, "Scanner(categories, op, device, legacy_process, seed)\n--\n\nReads the event list of a trace into columns."},
    {Py_tp_new, scanner_create},
    {Py_tp_dealloc, scanner_dealloc},
    {Py_tp_methods, scanner_methods},
    {0, NULL},
};

static PyType_Spec scanner_spec = {
    "foretrace.trace._scan.Scanner", sizeof(Scanner), 0, Py_TPFLAGS_DEFAULT, scanner_slots,
};

/* ---- the module ---- */

PyDoc_STRVAR(count_lines_doc, "count_lines(text, start, stop)\n--\n\nLine feeds in text[start:stop].");

static PyObject *count_lines(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer text;
    Py_ssize_t start, stop;
    uint64_t lines = 0;
    if (!PyArg_ParseTuple(args, "y*nn:count_lines", &text, &start, &stop)) {
        return NULL;
    }
    if (stop > text.len) {
        stop = text.len;
    }
    if (start >= 0 && start < stop) {
        Py_BEGIN_ALLOW_THREADS
        lines = scan_count_lines((const uint8_t *)text.buf + start, (size_t)(stop - start));
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&text);
    return PyLong_FromUnsignedLongLong(lines);
}

static PyMethodDef module_methods[] = {
    {"guard", module_guard, METH_VARARGS, guard_doc},
    {"nest_alike", module_nest_alike, METH_VARARGS, nest_alike_doc},
    {"nest_around", module_nest_around, METH_VARARGS, nest_around_doc},
    {"nest_crossings", module_nest_crossings, METH_VARARGS, nest_crossings_doc},
    {"nest_depths", module_nest_depths, METH_VARARGS, nest_depths_doc},
    {"nest_innermost", module_nest_innermost, METH_VARARGS, nest_innermost_doc},
    {"nest_order", module_nest_order, METH_VARARGS, nest_order_doc},
    {"nest_own", module_nest_own, METH_VARARGS, nest_own_doc},
    {"nest_parents", module_nest_parents, METH_VARARGS, nest_parents_doc},
    {"nest_pick", module_nest_pick, METH_VARARGS, nest_pick_doc},
    {"nest_sums", module_nest_sums, METH_VARARGS, nest_sums_doc},
    {"count_lines", count_lines, METH_VARARGS, count_lines_doc},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module)
{
    module_state *state = PyModule_GetState(module);
    state->column_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &column_spec, NULL);
    state->scanner_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &scanner_spec, NULL);
    if (!state->column_type || !state->scanner_type) {
        return -1;
    }
    return PyModule_AddType(module, state->scanner_type);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    module_state *state = PyModule_GetState(module);
    Py_VISIT(state->scanner_type);
    Py_VISIT(state->column_type);
    return 0;
}

static int module_clear(PyObject *module)
{
    module_state *state = PyModule_GetState(module);
    Py_CLEAR(state->scanner_type);
    Py_CLEAR(state->column_type);
    return 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "foretrace.trace._scan", "Walks a trace's event list in C.", sizeof(module_state),
    module_methods, module_slots, module_traverse, module_clear, NULL,
};

PyMODINIT_FUNC PyInit__scan(void)
{
    return PyModuleDef_Init(&module_def);
}
