/* The sorted runs of fingerprints (weft.frontier.runs): the filters before them, and how they are merged. Each look at
   a filter misses the processor's caches, once there are millions of URLs; so many of them are under way at once. */

#include "native.h"

#include <stdint.h>

enum { AT_ONCE = 64 };

typedef struct {
    Py_buffer words;
    int shift;
} Filter;

/* Four bits of a word, one in each quarter, chosen by the lowest twelve bits: as marks_of_fingerprints has it. */
static uint64_t mark_of(uint64_t fingerprint) {
    uint64_t spread = (fingerprint & 0xFFF) * 0x9E3779B97F4A7C15u >> 48;
    return UINT64_C(1) << (spread >> 12) | UINT64_C(1) << (16 + (spread >> 8 & 15)) |
           UINT64_C(1) << (32 + (spread >> 4 & 15)) | UINT64_C(1) << (48 + (spread & 15));
}

static int open_filter(PyObject *words, int writable, Filter *filter) {
    if (PyObject_GetBuffer(words, &filter->words, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) < 0) return -1;
    size_t size = (size_t)filter->words.len;
    if (size < 16 || (size & (size - 1)) != 0) {
        PyErr_SetString(PyExc_ValueError, "the words of a filter are two, or any higher power of two");
        PyBuffer_Release(&filter->words);
        return -1;
    }
    filter->shift = 64;
    for (size_t words_left = size / 8; words_left > 1; words_left >>= 1) filter->shift--;
    return 0;
}

/* Appends those of some fingerprints that a filter lets through. */
static int ask(const Filter *filter, PyObject **objects, const uint64_t *fingerprints, Py_ssize_t count,
               PyObject *passed) {
    const uint64_t *words = filter->words.buf;
    for (Py_ssize_t i = 0; i < count; i++) {
        uint64_t mark = mark_of(fingerprints[i]);
        if ((words[fingerprints[i] >> filter->shift] & mark) == mark && PyList_Append(passed, objects[i]) < 0) return -1;
    }
    return 0;
}

static int filter_all(PyObject *fingerprints, const Filter *filters, Py_ssize_t count, PyObject *passed) {
    uint64_t numbers[AT_ONCE];
    Py_ssize_t size = PyList_GET_SIZE(fingerprints);
    for (Py_ssize_t from = 0, some; from < size; from += some) {
        some = size - from < AT_ONCE ? size - from : AT_ONCE;
        PyObject **objects = &PyList_GET_ITEM(fingerprints, from);
        for (Py_ssize_t i = 0; i < some; i++) {
            numbers[i] = PyLong_AsUnsignedLongLong(objects[i]);
            if (numbers[i] == (uint64_t)-1 && PyErr_Occurred()) return -1;
            for (Py_ssize_t j = 0; j < count; j++)
                __builtin_prefetch((const uint64_t *)filters[j].words.buf + (numbers[i] >> filters[j].shift));
        }
        for (Py_ssize_t j = 0; j < count; j++)
            if (ask(&filters[j], objects, numbers, some, PyList_GET_ITEM(passed, j)) < 0) return -1;
    }
    return 0;
}

PyObject *filter_hits(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *fingerprints, *all_words;
    if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &fingerprints, &PyList_Type, &all_words)) return NULL;
    Py_ssize_t count = PyList_GET_SIZE(all_words), opened = 0;
    Filter *filters = PyMem_New(Filter, (size_t)count);
    if (!filters) return PyErr_NoMemory();
    PyObject *passed = PyList_New(count);
    for (Py_ssize_t j = 0; passed && j < count; j++) {
        PyObject *mine = PyList_New(0);
        if (!mine || open_filter(PyList_GET_ITEM(all_words, j), 0, &filters[j]) < 0) {
            Py_XDECREF(mine);
            Py_CLEAR(passed);
        } else {
            PyList_SET_ITEM(passed, j, mine);
            opened++;
        }
    }
    if (passed && filter_all(fingerprints, filters, count, passed) < 0) Py_CLEAR(passed);
    while (opened > 0) PyBuffer_Release(&filters[--opened].words);
    PyMem_Free(filters);
    return passed;
}

PyObject *fill_filter(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *words;
    Py_buffer fingerprints;
    Filter filter;
    if (!PyArg_ParseTuple(args, "Oy*", &words, &fingerprints)) return NULL;
    int opened = open_filter(words, 1, &filter);
    if (opened == 0) {
        uint64_t *filled = filter.words.buf;
        const uint64_t *numbers = fingerprints.buf;
        for (Py_ssize_t i = 0; i < fingerprints.len / 8; i++) filled[numbers[i] >> filter.shift] |= mark_of(numbers[i]);
        PyBuffer_Release(&filter.words);
    }
    PyBuffer_Release(&fingerprints);
    return opened == 0 ? Py_NewRef(Py_None) : NULL;
}

/* A sorted list of fingerprints with their ids, read up to some place. */
typedef struct {
    Py_buffer fingerprints, ids;
    Py_ssize_t at, size;
} Sorted;

static uint64_t fingerprint_at(const Sorted *part) { return ((const uint64_t *)part->fingerprints.buf)[part->at]; }

static int open_sorted(PyObject *pair, Sorted *part) {
    if (!PyTuple_Check(pair)) {
        PyErr_SetString(PyExc_TypeError, "a part is a tuple of fingerprints and ids");
        return -1;
    }
    if (!PyArg_ParseTuple(pair, "y*y*", &part->fingerprints, &part->ids)) return -1;
    part->at = 0;
    part->size = part->fingerprints.len / 8;
    if (part->fingerprints.len == part->ids.len && part->ids.len % 8 == 0) return 0;
    PyErr_SetString(PyExc_ValueError, "every fingerprint has an id, both of eight bytes");
    PyBuffer_Release(&part->fingerprints);
    PyBuffer_Release(&part->ids);
    return -1;
}

/* Writes all of them in order, each fingerprint once; how many that are. */
static Py_ssize_t merge_all(Sorted *parts, Py_ssize_t count, uint64_t *fingerprints, uint64_t *ids) {
    for (Py_ssize_t written = 0;; written++) {
        uint64_t least = 0, id = 0;
        Py_ssize_t open = 0;
        for (Py_ssize_t j = 0; j < count; j++)
            if (parts[j].at < parts[j].size && (open++ == 0 || fingerprint_at(&parts[j]) < least))
                least = fingerprint_at(&parts[j]);
        if (open == 0) return written;
        for (Py_ssize_t j = 0; j < count; j++)
            while (parts[j].at < parts[j].size && fingerprint_at(&parts[j]) == least)
                id = ((const uint64_t *)parts[j].ids.buf)[parts[j].at++];
        fingerprints[written] = least;
        ids[written] = id;
    }
}

PyObject *merge_sorted(PyObject *Py_UNUSED(module), PyObject *list) {
    if (!PyList_Check(list)) return PyErr_Format(PyExc_TypeError, "the parts are a list");
    Py_ssize_t count = PyList_GET_SIZE(list), opened = 0, entries = 0;
    Sorted *parts = PyMem_New(Sorted, (size_t)count);
    if (!parts) return PyErr_NoMemory();
    while (opened < count && open_sorted(PyList_GET_ITEM(list, opened), &parts[opened]) == 0)
        entries += parts[opened++].size;
    PyObject *fingerprints = NULL, *ids = NULL, *both = NULL;
    if (opened == count) {
        fingerprints = PyBytes_FromStringAndSize(NULL, entries * 8);
        ids = PyBytes_FromStringAndSize(NULL, entries * 8);
    }
    if (fingerprints && ids) {
        Py_ssize_t written = merge_all(parts, count, (uint64_t *)PyBytes_AS_STRING(fingerprints),
                                       (uint64_t *)PyBytes_AS_STRING(ids));
        if (_PyBytes_Resize(&fingerprints, written * 8) == 0 && _PyBytes_Resize(&ids, written * 8) == 0)
            both = PyTuple_Pack(2, fingerprints, ids);
    }
    Py_XDECREF(fingerprints);
    Py_XDECREF(ids);
    while (opened > 0) {
        PyBuffer_Release(&parts[--opened].fingerprints);
        PyBuffer_Release(&parts[opened].ids);
    }
    PyMem_Free(parts);
    return both;
}
