/* Texts of Python that are as plain as most are. */

#ifndef WEFT_PLAIN_H
#define WEFT_PLAIN_H

#include <Python.h>

#pragma GCC visibility push(hidden)

typedef struct {
    const char *bytes;
    Py_ssize_t size;
} Part;

/* Whether a text is printable ASCII with no byte below the lowest; then its bytes, which last as long as it does. */
static inline int is_plain(PyObject *text, char lowest, Part *part) {
    if (!PyUnicode_IS_COMPACT_ASCII(text)) return 0;
    *part = (Part){(const char *)PyUnicode_1BYTE_DATA(text), PyUnicode_GET_LENGTH(text)};
    for (const char *p = part->bytes, *end = p + part->size; p < end; p++)
        if (*p < lowest || *p == 0x7f) return 0;
    return 1;
}

#pragma GCC visibility pop

#endif
