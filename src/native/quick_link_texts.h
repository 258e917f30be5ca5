/* The texts of links, kept together instead of one by one: anchors, fragments and rels, as they will be stored. */

#ifndef WEFT_QUICK_LINK_TEXTS_H
#define WEFT_QUICK_LINK_TEXTS_H

#include "quick_reader.h"

#pragma GCC visibility push(hidden)

/* Notes the texts of the next link, in UTF-8. */
int note_link(Reader *r, const char *anchor, Py_ssize_t anchor_size, const char *fragment, Py_ssize_t fragment_size);

/* Notes those of the links that Python has added meanwhile to the columns, which are empty then. */
int absorb_links(Reader *r);

/* Gives a link its anchor after the fact: what was appended to the words from a place on. */
void set_anchor(Reader *r, Py_ssize_t place, Py_ssize_t from);

/* The texts of all links as bytes of JSON, and where each ends as bytes of four; NULL with an exception. */
PyObject *link_texts_of(Reader *r);

#pragma GCC visibility pop

#endif
