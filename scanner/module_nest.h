/* What module_nest.c adds to the extension. */
#ifndef FORETRACE_MODULE_NEST_H
#define FORETRACE_MODULE_NEST_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern const char nest_order_doc[], nest_parents_doc[], nest_own_doc[], nest_innermost_doc[], nest_depths_doc[],
    nest_around_doc[], nest_sums_doc[], nest_alike_doc[], nest_pick_doc[],
    nest_crossings_doc[];
PyObject *module_nest_order(PyObject *module, PyObject *args);
PyObject *module_nest_parents(PyObject *module, PyObject *args);
PyObject *module_nest_own(PyObject *module, PyObject *args);
PyObject *module_nest_innermost(PyObject *module, PyObject *args);
PyObject *module_nest_depths(PyObject *module, PyObject *args);
PyObject *module_nest_around(PyObject *module, PyObject *args);
PyObject *module_nest_sums(PyObject *module, PyObject *args);
PyObject *module_nest_alike(PyObject *module, PyObject *args);
PyObject *module_nest_pick(PyObject *module, PyObject *args);
PyObject *module_nest_crossings(PyObject *module, PyObject *args);

#endif
