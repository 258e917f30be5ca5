/* What stands between tags: text, raw text, comments, drawings. */

#ifndef WEFT_QUICK_CONTENT_H
#define WEFT_QUICK_CONTENT_H

#include "quick_reader.h"

#pragma GCC visibility push(hidden)

/* Reads text up to a place. */
int read_text(Reader *r, const unsigned char *until);

/* Reads the content of an element that holds text only, and its end tag. */
int read_raw(Reader *r, const Tag *tag);

/* Where "<!", "<?" or "</" and no letter ends: the place behind its last character. */
const unsigned char *comment_end(Reader *r);

/* Reads a drawing, from behind its first tag to behind its end. */
int read_svg(Reader *r);

/* Whether tags of html and body take so much of a large page that it is not read as it is (weft/parse/bounds.py). */
int has_long_roots(Span page);

#pragma GCC visibility pop

#endif
