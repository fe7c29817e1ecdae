/* A file that is mapped and then made shorter by somebody else: reading it raises SIGBUS, which would end the program
   without a word. For programs that only read a trace, a sentence and an exit code instead. */
#define _POSIX_C_SOURCE 200809L
#include "module_guard.h"

#if defined(_WIN32)

PyObject *module_guard(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    Py_RETURN_NONE;
}

#else

#include <signal.h>
#include <string.h>
#include <unistd.h>

static char sentence[512];
static size_t length;
static int exit_code;
static struct sigaction before;

/* Nothing here but what a signal handler may call. */
static void complain(int Py_UNUSED(number))
{
    ssize_t written = write(STDERR_FILENO, sentence, length);
    (void)written;
    _exit(exit_code);
}

PyObject *module_guard(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *text;
    Py_ssize_t size;
    int code;
    struct sigaction now;
    if (!PyArg_ParseTuple(args, "z#i:guard", &text, &size, &code)) {
        return NULL;
    }
    if (!text) {
        if (length) {
            sigaction(SIGBUS, &before, NULL);
            length = 0;
        }
        Py_RETURN_NONE;
    }
    if (length || size <= 0 || (size_t)size > sizeof sentence) {
        PyErr_SetString(PyExc_ValueError, "a guard is set already, or its sentence is none");
        return NULL;
    }
    memcpy(sentence, text, (size_t)size);
    exit_code = code;
    memset(&now, 0, sizeof now);
    now.sa_handler = complain;
    sigemptyset(&now.sa_mask);
    if (sigaction(SIGBUS, &now, &before) < 0) {
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    length = (size_t)size;
    Py_RETURN_NONE;
}

#endif

const char guard_doc[] = "guard(sentence, code)\n--\n\n"
                         "Should a mapped file become shorter: print the sentence (bytes) and exit; None undoes it.";
