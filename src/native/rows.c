/* Rows as Python's sqlite3 takes them at once. It searches for a way to store every value that is no number or text: of
   a row with a dozen NULLs and flags that search is a fifth of the cost. */

#include "native.h"

/* SQLite stores a number that is none as NULL. */
static PyObject *stored_as(PyObject *value, PyObject *not_a_number) {
    if (value == Py_None) return Py_NewRef(not_a_number);
    if (PyBool_Check(value)) return PyLong_FromLong(value == Py_True);
    return Py_NewRef(value);
}

/* The values of the rows from one place to another, one after the other. */
static PyObject *values_of(PyObject *rows, Py_ssize_t from, Py_ssize_t to, PyObject *not_a_number) {
    Py_ssize_t count = 0, at = 0;
    for (Py_ssize_t i = from; i < to; i++) {
        PyObject *row = PyList_GET_ITEM(rows, i);
        if (!PyTuple_Check(row)) return PyErr_Format(PyExc_TypeError, "a row has to be a tuple");
        count += PyTuple_GET_SIZE(row);
    }
    PyObject *values = PyList_New(count);
    for (Py_ssize_t i = from; values && i < to; i++) {
        PyObject *row = PyList_GET_ITEM(rows, i);
        for (Py_ssize_t j = 0; values && j < PyTuple_GET_SIZE(row); j++) {
            PyObject *value = stored_as(PyTuple_GET_ITEM(row, j), not_a_number);
            if (value) PyList_SET_ITEM(values, at++, value);
            else Py_CLEAR(values);
        }
    }
    return values;
}

PyObject *bindable(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *rows;
    Py_ssize_t together;
    if (!PyArg_ParseTuple(args, "O!n", &PyList_Type, &rows, &together)) return NULL;
    if (together < 1) return PyErr_Format(PyExc_ValueError, "at least one row has to be together");
    PyObject *not_a_number = PyFloat_FromDouble(Py_NAN);
    PyObject *groups = not_a_number ? PyList_New(0) : NULL;
    Py_ssize_t size = PyList_GET_SIZE(rows);
    for (Py_ssize_t from = 0, to; groups && from < size; from = to) {
        to = size - from > together ? from + together : size;
        PyObject *values = values_of(rows, from, to, not_a_number);
        if (!values || PyList_Append(groups, values) < 0) Py_CLEAR(groups);
        Py_XDECREF(values);
    }
    Py_XDECREF(not_a_number);
    return groups;
}
