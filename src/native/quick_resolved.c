#define PY_SSIZE_T_CLEAN
#include "quick_resolved.h"

enum { PLACES_BITS = 11 };

typedef struct {
    Py_ssize_t directory;
    PyObject *reference, *target;
} Meaning;

static Meaning resolved[1 << PLACES_BITS]; /* each in a place of its own, which the next one there takes over */

static Meaning *place_of(Py_ssize_t directory, Span reference) {
    const uint64_t odd = 0x9e3779b97f4a7c15;
    const unsigned char *p = reference.start;
    uint64_t sum = (uint64_t)directory, rest = 0;
    for (; reference.end - p >= 8; p += 8) sum = (sum ^ eight_at(p)) * odd, sum ^= sum >> 32;
    while (p < reference.end) rest = rest << 8 | *p++;
    return &resolved[((sum ^ rest) * odd) >> (64 - PLACES_BITS)];
}

PyObject *known_meaning(Py_ssize_t directory, Span reference) {
    const Meaning *found = place_of(directory, reference);
    if (!found->reference || found->directory != directory) return NULL;
    if (PyUnicode_GET_LENGTH(found->reference) != size_of(reference)) return NULL;
    if (memcmp(PyUnicode_1BYTE_DATA(found->reference), reference.start, (size_t)size_of(reference)) != 0) return NULL;
    return found->target;
}

void remember_meaning(Py_ssize_t directory, Span reference, PyObject *text, PyObject *target) {
    if (!PyUnicode_IS_COMPACT_ASCII(text)) return;
    Meaning *place = place_of(directory, reference), before = *place;
    Py_INCREF(text);
    Py_INCREF(target);
    *place = (Meaning){directory, text, target};
    Py_XDECREF(before.reference);
    Py_XDECREF(before.target);
}
