/* What elements say: links above all. All of them answer DONE, UNSURE or FAILED. */

#ifndef WEFT_QUICK_LINKS_H
#define WEFT_QUICK_LINKS_H

#include "quick_attributes.h"

#pragma GCC visibility push(hidden)

/* To be called once before anything else here; -1 where it failed. */
int prepare_links(void);

/* Adds the link that a starts, whose text follows; without an href it is none. */
int open_link(Reader *r);

/* Gives a link the text that stands in it, or that of its images. */
int close_link(Reader *r);

/* Tells how many resolved of references were added: whoever keeps them bounds their number. */
int tell_learnt(Reader *r);

/* Tells Python of an element and its attributes. */
int call_take(Reader *r, const Tag *tag);

/* A base changes what all links mean: Python says what they mean from now on, or False where it comes too late. */
int take_base(Reader *r);

int take_image(Reader *r);
int take_script(Reader *r);
int take_link(Reader *r);
int take_meta(Reader *r);
int take_title(Reader *r, Span content);

/* Says what language the whole page is in, as far as its html tags tell. */
int take_language(Reader *r);

#pragma GCC visibility pop

#endif
