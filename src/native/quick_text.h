/* Texts as they grow, and the character references in them. */

#ifndef WEFT_QUICK_TEXT_H
#define WEFT_QUICK_TEXT_H

#include "quick_tags.h"

#pragma GCC visibility push(hidden)

enum { FAILED = -1, UNSURE = 0, DONE = 1 }; /* FAILED: a Python exception is set */

typedef struct {
    char *bytes;
    Py_ssize_t size, room;
} Text;

/* To be called once before anything else here; -1 where it failed. */
int prepare_text(void);

static inline void clear_text(Text *text) { text->size = 0; }

static inline int is_python_space(unsigned char c) { return classes[c] & PYTHON_SPACE; }

int append(Text *text, const unsigned char *bytes, Py_ssize_t size);

/* Appends text with its references replaced. */
int append_decoded(Text *text, Span span, int in_attribute);

PyObject *text_of(const char *bytes, Py_ssize_t size);

/* " ".join(text.split()) */
PyObject *words(PyObject *text);

int has_word(Span text, const char *word);

#pragma GCC visibility pop

#endif
