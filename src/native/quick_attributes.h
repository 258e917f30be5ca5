/* The attributes of tags, and what their values say. */

#ifndef WEFT_QUICK_ATTRIBUTES_H
#define WEFT_QUICK_ATTRIBUTES_H

#include <string.h>

#include "quick_reader.h"

#pragma GCC visibility push(hidden)

/* Reads attributes where there are some, or else the end of a tag that is not just ">". */
int read_some_attributes(Reader *r, int wanted);

/* Reads the attributes of a tag, from behind its name to behind its ">". UNSURE where one of them holds a link. */
static inline int read_attributes(Reader *r, int wanted) {
    r->attribute_count = 0;
    r->is_closed = 0;
    if (*r->at != '>') return read_some_attributes(r, wanted);
    r->at++;
    return DONE;
}

/* The value of an attribute of the tag as it is written, or NULL. */
static inline const Span *attribute(const Reader *r, const char *name) {
    Py_ssize_t size = (Py_ssize_t)strlen(name);
    for (int i = 0; i < r->attribute_count; i++)
        if (is_named(r->attributes[i].name, name, size)) return &r->attributes[i].value;
    return NULL;
}

/* All attributes of the tag by their names. */
PyObject *attribute_dict(Reader *r);

/* Whether an attribute has a value, in whatever case. */
int is_value(Reader *r, const char *name, const char *wanted, int *is_so);

/* The value of an attribute as bytes, references replaced and newlines made one; it lasts until the next call. */
int value_of(Reader *r, Span span, Span *value);

PyObject *text_of_value(Reader *r, Span span);

enum { MAX_COLLAPSED = 1000 };

/* Copies text with its spaces collapsed, as Python's split() sees them; how long it is then, or -1: Python should look. */
Py_ssize_t collapse(const unsigned char *bytes, Py_ssize_t size, char *kept);

/* The words of a text as they are kept: spaces collapsed, cut to the length of an anchor. */
PyObject *anchor_of(Reader *r, const unsigned char *bytes, Py_ssize_t size);

/* The value of an attribute as words: an anchor, or nothing where there is none. */
typedef struct {
    Span bytes;
    char kept[MAX_COLLAPSED]; /* where they stand, */
    PyObject *text;           /* unless Python had to look */
} Words;

/* Reads them; whether it worked or not, they are to be left in the end. */
int read_words(Reader *r, const Span *span, Words *words);
static inline void leave_words(Words *words) { Py_XDECREF(words->text); }

/* What a function of Python says of a text, by its bytes: that of the short ones is remembered. A new reference. */
PyObject *said_of(PyObject *function, Span text);

#pragma GCC visibility pop

#endif
