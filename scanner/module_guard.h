/* What module_guard.c adds to the extension. */
#ifndef FORETRACE_MODULE_GUARD_H
#define FORETRACE_MODULE_GUARD_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern const char guard_doc[];
PyObject *module_guard(PyObject *module, PyObject *args);

#endif
