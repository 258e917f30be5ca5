/* What the compiled parts give Python; each is described in its own file. */

#ifndef WEFT_NATIVE_H
#define WEFT_NATIVE_H

#include <Python.h>

int prepare_quick(void);
PyObject *read_quickly(PyObject *module, PyObject *args);

#endif
