/* What the references met last mean, found by their bytes alone: most links of a page stand on its sister pages too. */

#ifndef WEFT_QUICK_RESOLVED_H
#define WEFT_QUICK_RESOLVED_H

#include "quick_tags.h"

#pragma GCC visibility push(hidden)

/* Where a reference leads from the pages of a directory, which has a number; borrowed, or NULL where that is not known. */
PyObject *known_meaning(Py_ssize_t directory, Span reference);

/* Remembers it for a while; the text is the reference. Whoever calls bounds the length of both. */
void remember_meaning(Py_ssize_t directory, Span reference, PyObject *text, PyObject *target);

#pragma GCC visibility pop

#endif
