/* The state of one page as it is read. */

#ifndef WEFT_QUICK_READER_H
#define WEFT_QUICK_READER_H

#include "quick_text.h"

#pragma GCC visibility push(hidden)

enum { MAX_DEPTH = 200, MAX_LOOSE = 200, MAX_ATTRIBUTES = 60 };
enum { FORM_OF_TABLE = 2 }; /* has_form: one that ended at once, and is no parent of what follows */

typedef struct {
    Span name, value;
} Attribute;

typedef struct {
    Name name;
    int depth; /* of special elements when it was opened, or made again */
    int is_formatting;
    Py_ssize_t size; /* of its tag */
} Loose;

/* Where the texts of a link stand among the words of all. */
typedef struct {
    Py_ssize_t anchor, anchor_size, fragment, fragment_size;
} LinkTexts;

typedef struct {
    const unsigned char *at, *end;
    int depth, loose_count; /* of the stack and the loose ones, below */
    int open_paragraphs;
    int ended; /* the first of the formatting ones among them that ended with a parent: text makes them again */
    Py_ssize_t remade_b;
    int has_begun; /* it is too late for a doctype */
    int has_body, has_form, has_title;
    int in_head_noscript;
    int doubtful; /* what is open depends on more than is kept here: what ends it must not end a link */
    int is_standard; /* a doctype says that the page is not one of before there were standards */

    int in_link;
    int link_depth;
    Py_ssize_t link_place; /* -1: a link that is not kept */
    int images;
    Text link_text, link_alts;
    int link_loose; /* how many loose elements were open before it */

    int attribute_count;
    int is_cut;    /* the page ends within the tag */
    int is_closed; /* it ends in "/>" */

    Text scratch;
    Span language, xml_language;

    Text words;
    LinkTexts *link_texts;
    Py_ssize_t link_count, link_room;

    PyObject *page, *targets, *anchors, *fragments, *kinds, *rels, *resolved, *url, *meta_names;
    Py_ssize_t max_links;
    PyObject *a_kind, *image_kind, *script_kind, *canonical_kind, *rel_words, *kind_by_rel, *collapsed;
    Py_ssize_t max_anchor, max_rel, max_meaning;
    Py_ssize_t learnt;    /* how many resolved were added */
    Py_ssize_t directory; /* the number of that for which they hold */

    /* What follows is not cleared for a page: of each only as many mean something as were counted. */
    const Tag *stack[MAX_DEPTH]; /* the open special elements */
    Loose loose[MAX_LOOSE]; /* the others: outside of links some that have ended too */
    Attribute attributes[MAX_ATTRIBUTES];
} Reader;

#pragma GCC visibility pop

#endif
