#define PY_SSIZE_T_CLEAN
#include "quick_elements.h"

#include <string.h>

#include "quick_links.h"

enum { MAX_REMADE_B = 8 << 20, NODE_B = 200 }; /* what elements made again may take: an estimate, on the safe side */
enum { MAX_ADOPTIONS = 8 }; /* through more blocks an end tag does not reach (13.2.6.4.7, the adoption agency) */

int push(Reader *r, const Tag *tag) {
    if (r->depth == MAX_DEPTH) return UNSURE;
    r->stack[r->depth++] = tag;
    r->open_paragraphs += tag->kind == P;
    return DONE;
}

int pop_to(Reader *r, int depth, int with_marker) {
    while (--r->depth > depth) {
        if (r->stack[r->depth]->kind == OBJECT) return UNSURE; /* its own marker stays */
        r->open_paragraphs -= r->stack[r->depth]->kind == P;
    }
    r->open_paragraphs -= r->stack[depth]->kind == P;
    int first = r->loose_count, kept;
    while (first && r->loose[first - 1].depth > depth) first--;
    kept = first;
    if (!with_marker)
        for (int i = first; i < r->loose_count; i++) {
            if (!r->loose[i].is_formatting) continue;
            r->loose[kept] = r->loose[i];
            r->loose[kept++].depth = depth;
        }
    r->loose_count = kept;
    r->ended = Py_MIN(r->ended, kept > first ? first : kept);
    if (r->in_link && r->link_depth > depth) return with_marker ? close_link(r) : UNSURE;
    return DONE;
}

int remake(Reader *r) {
    for (; r->ended < r->loose_count; r->ended++) {
        r->loose[r->ended].depth = r->depth;
        r->remade_b += NODE_B + r->loose[r->ended].size;
    }
    return r->remade_b > MAX_REMADE_B ? UNSURE : DONE;
}

int in_scope(const Reader *r, int kind, Scope scope) {
    for (int i = r->depth - 1; i >= 0; i--) {
        const Tag *tag = r->stack[i];
        if (tag->kind == kind) return i;
        if (tag->flags & SCOPE) return -1;
        if (scope == BUTTON_SCOPE && tag->kind == BUTTON) return -1;
        if (scope == LIST_SCOPE && (tag == tag_ol || tag == tag_ul)) return -1;
    }
    return -1;
}

int close_p(Reader *r) {
    int at = r->open_paragraphs ? in_scope(r, P, BUTTON_SCOPE) : -1;
    return at < 0 ? DONE : pop_to(r, at, 0);
}

int close_item(Reader *r, int kind, int other) {
    for (int i = r->depth - 1; i >= 0; i--) {
        const Tag *tag = r->stack[i];
        if (tag->kind == kind || tag->kind == other) return pop_to(r, i, 0);
        if (tag != tag_address && tag != tag_div && tag->kind != P) break;
    }
    return DONE;
}

/* The innermost part of a table that is open, or -1. */
static int table_part(const Reader *r) {
    for (int i = r->depth - 1; i >= 0; i--)
        if (r->stack[i]->kind == TABLE || r->stack[i]->flags & STRUCTURE) return i;
    return -1;
}

int start_table_part(Reader *r, const Tag *tag) {
    for (;;) {
        int at = table_part(r), result = DONE;
        if (at < 0) return DONE; /* outside of tables these tags mean nothing */
        int is_cell = tag->kind == CELL_D || tag->kind == CELL_H;
        switch (r->stack[at]->kind) {
        case CELL_D: case CELL_H: case CAPTION:
            result = pop_to(r, at, 1);
            break;
        case COLGROUP:
            if (tag->kind == COL) return DONE;
            result = pop_to(r, at, 0);
            break;
        case TABLE:
            if (tag->kind == COL) return push(r, tag_colgroup);
            if (!is_cell && tag->kind != TR) return push(r, tag);
            result = push(r, tag_tbody);
            break;
        case TBODY:
            if (tag->kind == TR) return push(r, tag);
            result = is_cell ? push(r, tag_tr) : pop_to(r, at, 0);
            break;
        default: /* TR */
            if (is_cell) return push(r, tag);
            result = pop_to(r, at, 0);
        }
        if (result <= 0) return result;
    }
}

int end_table_part(Reader *r, const Tag *tag) {
    for (int i = r->depth - 1; i >= 0; i--) {
        const Tag *open = r->stack[i];
        if (open == tag) return pop_to(r, i, 1);
        if (open->kind == TABLE || (open->kind == CAPTION && tag->kind != TABLE)) return DONE;
    }
    return DONE;
}

int open_loose(Reader *r, const Tag *tag, const Name *name, Py_ssize_t size) {
    const Loose *last = r->loose + r->loose_count - 1;
    if (tag->kind == OPTION && r->loose_count && last->depth == r->depth && is_same(&last->name, name)) return DONE;
    if (r->loose_count == MAX_LOOSE) return UNSURE;
    r->loose[r->loose_count++] = (Loose){*name, r->depth, tag->flags & FORMATTING, size};
    r->ended = r->loose_count;
    return DONE;
}

int end_loose(Reader *r, const Tag *tag, const Name *name) {
    int is_formatting = tag->flags & FORMATTING, first = r->in_link ? r->link_loose : 0, at = r->loose_count - 1;
    for (; at >= first; at--) {
        if (!is_formatting && r->loose[at].depth < r->depth) return DONE; /* behind a special one: ignored */
        if (is_same(&r->loose[at].name, name)) break;
    }
    if (at < first) return r->in_link && (is_formatting || r->depth == r->link_depth) ? UNSURE : DONE;
    if (is_formatting) {
        /* the adoption agency ends some of those above, and makes others again */
        if (r->in_link && at < r->loose_count - 1) return UNSURE;
        if (r->depth - r->loose[at].depth >= MAX_ADOPTIONS) return UNSURE;
    }
    int kept = at;
    for (int i = at + 1; i < r->loose_count; i++) /* outside of links better too many are kept than too few */
        if (r->loose[i].is_formatting || !r->in_link) r->loose[kept++] = r->loose[i];
    r->loose_count = kept;
    r->ended = Py_MIN(r->ended, at);
    return DONE;
}

int end_form(Reader *r) {
    int had_form = r->has_form;
    r->has_form = 0;
    int at = had_form == FORM_OF_TABLE ? -1 : had_form ? in_scope(r, FORM, ANY_SCOPE) : -1;
    if (at < 0) return DONE;
    if (at != r->depth - 1) r->doubtful = 1; /* p, li, dd, dt on top are ended, unless something stands between */
    memmove(r->stack + at, r->stack + at + 1, (size_t)(r->depth - at - 1) * sizeof r->stack[0]);
    r->depth--;
    if (r->in_link) {
        if (r->link_depth <= at) return UNSURE;
        r->link_depth--;
    }
    for (int i = 0; i < r->loose_count; i++)
        if (r->loose[i].depth > at) r->loose[i].depth--;
    return DONE;
}
