/* The links of a page as they are stored, and how many of them lead elsewhere. */

#define PY_SSIZE_T_CLEAN
#include "json.h"
#include "native.h"

#include <stdint.h>

/* The kind of each link as a byte: that of all, but for those that have one of their own. -1 with an exception. */
static int fill_kinds(unsigned char *column, Py_ssize_t count, unsigned char kind, PyObject *kinds) {
    PyObject *key, *value;
    memset(column, kind, (size_t)count);
    for (Py_ssize_t at = 0; PyDict_Next(kinds, &at, &key, &value);) {
        Py_ssize_t place = PyLong_AsSsize_t(key);
        if (place >= 0 && place < count) column[place] = (unsigned char)PyLong_AsLong(value);
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* The number at a place of a list, or -1 with an exception; the longer way to it takes three times as long. */
static long long number_at(PyObject *list, Py_ssize_t at) {
    PyObject *number = PyList_GET_ITEM(list, at);
    return sizeof(Py_ssize_t) == sizeof(long long) ? PyLong_AsSsize_t(number) : PyLong_AsLongLong(number);
}

PyObject *pack_links(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *infos, *kinds, *offered, *packed = NULL;
    long long mask;
    unsigned char plain_kind, *column = NULL;
    const char *tails, *ends;
    Py_ssize_t tails_size, ends_size;
    if (!PyArg_ParseTuple(args, "O!LbO!O!y#y#", &PyList_Type, &infos, &mask, &plain_kind, &PyDict_Type, &kinds, &PyList_Type,
                          &offered, &tails, &tails_size, &ends, &ends_size))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(infos);
    if (PyList_GET_SIZE(offered) != count || ends_size != count * (Py_ssize_t)sizeof(uint32_t)) {
        PyErr_SetString(PyExc_ValueError, "columns of different lengths");
        return NULL;
    }
    Json json = {NULL, 0, 0};
    column = PyMem_Malloc((size_t)count + 1);
    if (!column) PyErr_NoMemory();
    if (!column || fill_kinds(column, count, plain_kind, kinds) < 0 || make_room(&json, tails_size + 80 * count + 8) < 0)
        goto end;
    put(&json, "[", 1);
    uint32_t start = 0, stop;
    for (Py_ssize_t at = 0; at < count; at++, start = stop) {
        long long info = number_at(infos, at), is_offered = number_at(offered, at);
        if ((info == -1 || is_offered == -1) && PyErr_Occurred()) goto end;
        memcpy(&stop, ends + at * (Py_ssize_t)sizeof stop, sizeof stop);
        if (stop < start || stop > tails_size) {
            PyErr_SetString(PyExc_ValueError, "tails that end before they begin");
            goto end;
        }
        put(&json, "[", 1);
        put_number(&json, (unsigned long long)(info & mask), ',');
        put_number(&json, column[at], ',');
        put_number(&json, (unsigned long long)is_offered, ',');
        put(&json, tails + start, stop - start);
        put(&json, "],", 2);
    }
    if (count) json.size--; /* the last comma */
    put(&json, "]", 1);
    packed = PyUnicode_DecodeUTF8(json.bytes, json.size, NULL);
end:
    PyMem_Free(column);
    PyMem_Free(json.bytes);
    return packed;
}

static int begins(const char *text, Py_ssize_t size, const char *start, Py_ssize_t start_size) {
    return size >= start_size && memcmp(text, start, (size_t)start_size) == 0;
}

PyObject *count_external(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *targets;
    const char *own, *other;
    Py_ssize_t own_size, other_size, found = 0;
    if (!PyArg_ParseTuple(args, "O!s#s#", &PyList_Type, &targets, &own, &own_size, &other, &other_size)) return NULL;
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(targets); at++) {
        Py_ssize_t size;
        const char *text = PyUnicode_AsUTF8AndSize(PyList_GET_ITEM(targets, at), &size);
        if (!text) return NULL;
        if (begins(text, size, own, own_size) || begins(text, size, other, other_size) || !begins(text, size, "http", 4))
            continue;
        if (memchr(text, '@', (size_t)size)) Py_RETURN_NONE;
        found++;
    }
    return PyLong_FromSsize_t(found);
}
