/* The open elements of a page, and the rules by which tags open and end them (13.2.4.2, 13.2.6.4). */

#ifndef WEFT_QUICK_ELEMENTS_H
#define WEFT_QUICK_ELEMENTS_H

#include "quick_reader.h"

#pragma GCC visibility push(hidden)

static inline const Tag *top(const Reader *r) { return r->depth ? r->stack[r->depth - 1] : &unknown_tag; }

static inline int is_table_part(const Tag *tag) { return tag->flags & IN_TABLE; }

int push(Reader *r, const Tag *tag);

/* Ends the element at a depth and all above it. A link that stands in them is open no more: where a marker goes with
   them (the end of a table cell) it is over, else the tree builder would make it again behind. */
int pop_to(Reader *r, int depth, int with_marker);

/* The standard's "reconstruct the active formatting elements". */
int remake(Reader *r);

typedef enum { ANY_SCOPE, BUTTON_SCOPE, LIST_SCOPE } Scope;

/* How deep the innermost element of a kind stands that is "in scope", or -1. */
int in_scope(const Reader *r, int kind, Scope scope);

int close_p(Reader *r);

/* Ends the li that a new one follows; dd and dt end each other. */
int close_item(Reader *r, int kind, int other);

/* Opens a part of a table, and those it has to stand in; ends what cannot stand around it. */
int start_table_part(Reader *r, const Tag *tag);

int end_table_part(Reader *r, const Tag *tag);

/* Keeps an element that is not special; its tag has a size. */
int open_loose(Reader *r, const Tag *tag, const Name *name, Py_ssize_t size);

/* The end of an element that is not special. */
int end_loose(Reader *r, const Tag *tag, const Name *name);

/* The end of a form takes it off the stack and leaves open what stands in it. */
int end_form(Reader *r);

#pragma GCC visibility pop

#endif
