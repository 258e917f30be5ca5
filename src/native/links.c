/* What is known of the links of a page, how they are stored, and how many of them lead elsewhere. */

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

/* What is known of a URL as a number, or -1 with an exception. None has more than 64 bits, which would be cut off: of all
   ways to a C number this is by far the quickest one. */
static long long info_of(PyObject *info) { return (long long)PyLong_AsUnsignedLongLongMask(info); }

/* What is said of the kind of each link; -1 with an exception. */
static int offer_kinds(unsigned char *column, Py_ssize_t count, const char *by_kind, Py_ssize_t kinds) {
    for (Py_ssize_t at = 0; at < count; at++) {
        if (column[at] >= kinds) {
            PyErr_SetString(PyExc_IndexError, "a kind that is not known");
            return -1;
        }
        column[at] = (unsigned char)by_kind[column[at]];
    }
    return 0;
}

/* Whether one of the words of a text is this one: 1 or 0, or -1 with an exception. */
static int has_word(PyObject *text, PyObject *word) {
    int found = PyUnicode_Contains(text, word);
    if (found <= 0) return found;
    PyObject *words = PyUnicode_Split(text, NULL, -1);
    found = words ? PySequence_Contains(words, word) : -1;
    Py_XDECREF(words);
    return found;
}

/* Takes back what is offered by links whose rel has nofollow; -1 with an exception. */
static int heed_nofollow(unsigned char *column, Py_ssize_t count, PyObject *rels) {
    PyObject *key, *rel;
    if (!PyDict_GET_SIZE(rels)) return 0;
    PyObject *word = PyUnicode_FromString("nofollow");
    if (!word) return -1;
    for (Py_ssize_t at = 0; PyDict_Next(rels, &at, &key, &rel);) {
        Py_ssize_t place = PyLong_AsSsize_t(key);
        int found = place == -1 && PyErr_Occurred() ? -1 : has_word(rel, word);
        if (found < 0) break;
        if (found && place >= 0 && place < count) column[place] = 0;
    }
    Py_DECREF(word);
    return PyErr_Occurred() ? -1 : 0;
}

static int differ(Py_ssize_t one, Py_ssize_t other) {
    if (one != other) PyErr_SetString(PyExc_ValueError, "columns of different lengths");
    return one != other;
}

/* Appends a number to a list; -1 with an exception where that fails. */
static int append_number(PyObject *list, Py_ssize_t number) {
    PyObject *made = PyLong_FromSsize_t(number);
    int failed = made ? PyList_Append(list, made) : -1;
    Py_XDECREF(made);
    return failed;
}

/* What is known of one target: 1, 0 where nothing is, -1 with an exception. */
static int look_up(PyObject *known, PyObject *target, uint64_t *info) {
    PyObject *found = PyDict_GetItemWithError(known, target);
    if (!found) return PyErr_Occurred() ? -1 : 0;
    *info = (uint64_t)info_of(found);
    return *info == (uint64_t)-1 && PyErr_Occurred() ? -1 : 1;
}

PyObject *recall(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *known, *targets, *kinds, *rels, *found = NULL;
    unsigned long long unknown, bound;
    unsigned char plain_kind;
    const char *by_kind;
    Py_ssize_t by_kind_size;
    if (!PyArg_ParseTuple(args, "O!O!O!by#O!KK", &PyDict_Type, &known, &PyList_Type, &targets, &PyDict_Type, &kinds,
                          &plain_kind, &by_kind, &by_kind_size, &PyDict_Type, &rels, &unknown, &bound))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(targets);
    PyObject *infos = PyByteArray_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(uint64_t));
    PyObject *places = PyList_New(0), *offered = PyByteArray_FromStringAndSize(NULL, count);
    if (!infos || !places || !offered) goto end;
    unsigned char *column = (unsigned char *)PyByteArray_AS_STRING(offered);
    if (fill_kinds(column, count, plain_kind, kinds) < 0 || offer_kinds(column, count, by_kind, by_kind_size) < 0 ||
        heed_nofollow(column, count, rels) < 0)
        goto end;
    for (Py_ssize_t at = 0; at < count; at++) {
        uint64_t info = unknown;
        int is_known = look_up(known, PyList_GET_ITEM(targets, at), &info);
        if (is_known < 0) goto end;
        memcpy(PyByteArray_AS_STRING(infos) + at * (Py_ssize_t)sizeof info, &info, sizeof info);
        if ((!is_known || (column[at] && info > bound)) && append_number(places, at) < 0) goto end;
    }
    found = PyTuple_Pack(3, offered, infos, places);
end:
    Py_XDECREF(offered);
    Py_XDECREF(infos);
    Py_XDECREF(places);
    return found;
}

static uint64_t info_at(const Py_buffer *infos, Py_ssize_t at) {
    uint64_t info;
    memcpy(&info, (const char *)infos->buf + at * (Py_ssize_t)sizeof info, sizeof info);
    return info;
}

PyObject *pack_links(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *kinds, *packed = NULL;
    unsigned long long mask;
    unsigned char plain_kind, *column = NULL;
    Py_buffer infos, offered;
    const char *texts, *ends;
    Py_ssize_t texts_size, ends_size;
    if (!PyArg_ParseTuple(args, "y*KbO!y*y#y#", &infos, &mask, &plain_kind, &PyDict_Type, &kinds, &offered, &texts, &texts_size,
                          &ends, &ends_size))
        return NULL;
    Py_ssize_t count = offered.len;
    Json json = {NULL, 0, 0};
    if (differ(infos.len, count * (Py_ssize_t)sizeof(uint64_t)) || differ(ends_size, count * (Py_ssize_t)sizeof(uint32_t)))
        goto end;
    column = PyMem_Malloc((size_t)count + 1);
    if (!column) PyErr_NoMemory();
    if (!column || fill_kinds(column, count, plain_kind, kinds) < 0 || make_room(&json, texts_size + 80 * count + 8) < 0)
        goto end;
    put(&json, "[", 1);
    uint32_t start = 0, stop;
    for (Py_ssize_t at = 0; at < count; at++, start = stop) {
        uint64_t info = info_at(&infos, at);
        memcpy(&stop, ends + at * (Py_ssize_t)sizeof stop, sizeof stop);
        if (stop < start || stop > texts_size) {
            PyErr_SetString(PyExc_ValueError, "texts that end before they begin");
            goto end;
        }
        put(&json, "[", 1);
        put_number(&json, info & mask, ',');
        put_number(&json, column[at], ',');
        put_number(&json, ((const unsigned char *)offered.buf)[at], ',');
        put(&json, texts + start, stop - start);
        put(&json, "],", 2);
    }
    if (count) json.size--; /* the last comma */
    put(&json, "]", 1);
    packed = PyUnicode_DecodeUTF8(json.bytes, json.size, NULL);
end:
    PyBuffer_Release(&infos);
    PyBuffer_Release(&offered);
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
        const char *host = memchr(text, ':', (size_t)size), *end = text + size;
        const char *slash = host && end - host > 3 ? memchr(host + 3, '/', (size_t)(end - host - 3)) : NULL; /* behind "://" */
        if (!slash || memchr(host, '@', (size_t)(slash - host))) Py_RETURN_NONE;
        found++;
    }
    return PyLong_FromSsize_t(found);
}
