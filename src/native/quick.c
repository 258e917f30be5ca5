/* Reads ordinary HTML pages for their links without building a tree, and says so where a page is not ordinary.

   The tree decides what a page says (weft/parse/tree.py). This reader follows the tokenizer and the stack of open
   elements of the HTML Standard (13.2.5, 13.2.6) just as far as the elements of the tree, their order, their attributes
   and the texts of links follow from the tags alone. Wherever the tree builder would do more than that (make an <a>
   again, move what stands in a table out of it, read foreign elements or templates ...) it gives up with UNSURE, and
   the page is read by way of its tree. So both always agree, which tests/property/test_quick.py checks on real and
   on broken pages.

   Of the open elements those that the standard calls special are kept on a stack of their own: the others (b, span,
   ...), here called loose, never decide which special elements are open. They are kept because an end tag in a link
   that belongs to one outside would end the link without taking it off the list of active formatting elements, and
   because a tree has bounds: it is never deeper than 512, and elements that are made again take its memory.

   Time and memory are linear in the size of the page; nothing here recurses. */

#define PY_SSIZE_T_CLEAN
#include "quick_content.h"
#include "quick_elements.h"
#include "quick_links.h"
#include "quick_link_texts.h"

#include <stddef.h>
#include <string.h>

#include "native.h"

static void take_attributes_of_html(Reader *r) {
    const Span *language = attribute(r, "lang"), *xml_language = attribute(r, "xml:lang");
    if (language && !r->language.start) r->language = *language;
    if (xml_language && !r->xml_language.start) r->xml_language = *xml_language;
}

static int start_outer(Reader *r, const Tag *tag) {
    if (tag->flags & STRANGE) return UNSURE;
    if (tag->kind == HTML) take_attributes_of_html(r);
    if (tag->kind != BODY) return DONE;
    r->has_body = 1;
    return r->in_head_noscript ? UNSURE : DONE;
}

/* The start of an element where only parts of a table belong; *is_over where nothing more is to be done for it. */
static int start_in_table(Reader *r, const Tag *tag, int *is_over) {
    int result, is_hidden;
    *is_over = 0;
    switch (tag->kind) {
    case SCRIPT: case STYLE:
        return DONE;
    case INPUT:
        *is_over = 1;
        result = is_value(r, "type", "hidden", &is_hidden);
        return result <= 0 ? result : is_hidden ? DONE : UNSURE;
    case FORM:
        *is_over = 1;
        if (r->has_form) return DONE;
        r->has_form = FORM_OF_TABLE;
        return call_take(r, tag);
    case TABLE: /* ends the one it stands in */
        if ((result = end_table_part(r, tag)) <= 0) return result;
        return is_table_part(top(r)) ? UNSURE : DONE;
    default:
        return UNSURE;
    }
}

/* Ends the elements that a start tag ends. */
static int end_before(Reader *r, const Tag *tag) {
    int result;
    if (r->in_link && r->doubtful && (tag->flags & CLOSES_P || tag->kind == BUTTON)) return UNSURE;
    if (tag->kind == LI && (result = close_item(r, LI, LI)) <= 0) return result;
    if ((tag->kind == DD || tag->kind == DT) && (result = close_item(r, DD, DT)) <= 0) return result;
    if (tag->kind == TABLE && !r->is_standard) {
        if (in_scope(r, P, BUTTON_SCOPE) >= 0) r->doubtful = 1;
        if (r->in_link && r->doubtful) return UNSURE;
    }
    if (tag->flags & CLOSES_P && (result = close_p(r)) <= 0) return result;
    if (tag->kind == H && top(r)->kind == H) r->doubtful = 1; /* which ends, unless a loose one stands between */
    if (tag->kind == BUTTON) {
        int at = in_scope(r, BUTTON, ANY_SCOPE);
        if (at >= 0 && (result = pop_to(r, at, 0)) <= 0) return result;
    }
    return DONE;
}

/* Takes what an element says, and opens it; its tag has a size. */
static int start_element(Reader *r, const Tag *tag, const Name *name, Py_ssize_t size) {
    int result;
    switch (tag->kind) {
    case A:
        if (r->in_link) {
            if (r->depth != r->link_depth) return UNSURE;
            if ((result = close_link(r)) <= 0) return result;
        }
        return open_link(r);
    case SVG:
        return r->is_closed ? DONE : read_svg(r);
    case IMG:
        return take_image(r);
    case LINK:
        return take_link(r);
    case META:
        return take_meta(r);
    case BASE:
        return take_base(r);
    case INPUT: {
        int is_image;
        result = is_value(r, "type", "image", &is_image);
        return result > 0 && is_image ? call_take(r, tag) : result;
    }
    case SCRIPT:
        if ((result = take_script(r)) <= 0) return result;
        return read_raw(r, tag);
    case FORM:
        r->has_form = 1;
        break;
    case NOSCRIPT:
        r->in_head_noscript = !r->has_body;
        break;
    case IFRAME: {
        const Span *document = attribute(r, "srcdoc");
        if (document && document->end > document->start) return UNSURE;
        break;
    }
    default:
        break;
    }
    if (tag->flags & TOLD) {
        if ((result = call_take(r, tag)) <= 0) return result;
        if (PyList_GET_SIZE(r->targets) >= r->max_links) return UNSURE;
    }
    if (tag->flags & RAW) return read_raw(r, tag);
    if (tag->flags & VOID) return DONE;
    return tag->flags & SPECIAL ? push(r, tag) : open_loose(r, tag, name, size);
}

static int start_tag(Reader *r, const Tag *tag, const Name *name) {
    const unsigned char *start = r->at;
    int result = read_attributes(r, tag->flags & (WANTED | TOLD));
    if (result <= 0 || r->is_cut) return result;
    if (tag->flags & (STRANGE | OUTER)) return start_outer(r, tag);
    if (r->in_head_noscript && tag->kind != LINK && tag->kind != META && tag->kind != STYLE) return UNSURE;
    if (!(tag->flags & IN_HEAD)) r->has_body = 1;
    if (r->in_link && tag->flags & NOT_IN_LINK) return UNSURE;

    const Tag *open = top(r);
    if (open->kind == SELECT) return tag->kind == OPTION ? DONE : UNSURE;
    if (open->kind == COLGROUP && tag->kind != COL) {
        r->depth--;
        open = top(r);
    }
    if (tag->flags & STRUCTURE) return start_table_part(r, tag);
    if (is_table_part(open)) {
        int is_over;
        if ((result = start_in_table(r, tag, &is_over)) <= 0 || is_over) return result;
    }
    if (r->ended < r->loose_count && !(tag->flags & (CLOSES_P | IN_HEAD)) && (result = remake(r)) <= 0) return result;
    if (tag->flags & LOOSE) return open_loose(r, tag, name, r->at - start);
    if (tag->kind == FORM && r->has_form) return DONE;
    if ((result = end_before(r, tag)) <= 0) return result;
    if (r->in_link && (tag == tag_pre || tag == tag_listing)) return UNSURE; /* their first newline is no space */
    return start_element(r, tag, name, r->at - start);
}

static int end_tag(Reader *r, const Tag *tag, const Name *name) {
    int at, result = read_attributes(r, 0);
    if (result <= 0 || r->is_cut) return result;
    if (tag->flags & STRANGE) return UNSURE;
    const Tag *open = top(r);
    if (open->kind == SELECT && tag->kind != SELECT && tag->kind != OPTION) return UNSURE;
    if (open->kind == COLGROUP && tag->kind != COLGROUP && tag->kind != COL) {
        r->depth--;
        open = top(r);
    }
    if (tag->flags & STRUCTURE || tag->kind == TABLE) return end_table_part(r, tag);
    if (is_table_part(open)) {
        if (tag->kind == FORM) r->has_form = 0;
        return r->in_link && tag->kind == A ? UNSURE : DONE;
    }
    if (tag->flags & LOOSE) return end_loose(r, tag, name);
    if (r->in_link && r->doubtful && tag->flags & SPECIAL) return UNSURE;
    switch (tag->kind) {
    case A:
        if (!r->in_link) return DONE;
        return r->depth == r->link_depth ? close_link(r) : UNSURE;
    case FORM:
        return end_form(r);
    case P:
        at = in_scope(r, P, BUTTON_SCOPE);
        return at < 0 ? DONE : pop_to(r, at, 0);
    case LI:
        at = in_scope(r, LI, LIST_SCOPE);
        return at < 0 ? DONE : pop_to(r, at, 0);
    case OBJECT:
        at = in_scope(r, OBJECT, ANY_SCOPE);
        return at < 0 ? DONE : pop_to(r, at, 1);
    case NOSCRIPT:
        r->in_head_noscript = 0;
        if (open->kind != NOSCRIPT) return DONE;
        return pop_to(r, r->depth - 1, 0);
    case DD: case DT: case H: case SELECT: case BUTTON:
        at = in_scope(r, tag->kind, ANY_SCOPE);
        return at < 0 ? DONE : pop_to(r, at, 0);
    case HTML: case HEAD: case BODY:
        return r->in_head_noscript ? UNSURE : DONE;
    default:
        break;
    }
    if (tag->flags & BLOCK) {
        at = in_scope(r, tag->kind, ANY_SCOPE);
        return at < 0 ? DONE : pop_to(r, at, 0);
    }
    if (tag->flags & (VOID | RAW)) return DONE;
    return end_loose(r, tag, name);
}

/* Whether text changes nothing here: it begins no body, belongs to no link, and makes no element again. */
static int is_text_idle(const Reader *r) {
    return r->has_body && !r->in_link && r->ended >= r->loose_count && !is_table_part(top(r));
}

/* Ends the loose element that was opened last, where that is all that a tag, from behind its "</", does. Most do, and
   need not be looked for. */
static int end_last(Reader *r, const unsigned char *p) {
    const Loose *last = r->loose + r->loose_count - 1;
    const Tag *open = top(r);
    if (r->loose_count <= (r->in_link ? r->link_loose : 0) || last->depth != r->depth || r->end - p < 8) return 0;
    if (open->flags & IN_TABLE || open->kind == SELECT) return 0;
    int bits = 64 - (__builtin_clzll(last->name.first) & ~7); /* there is no name without a letter */
    if (bits == 64) return 0;
    uint64_t bytes = eight_at(p);
    if ((bytes >> bits & 0xff) != '>' || (bytes & ((1ULL << bits) - 1)) != last->name.first) return 0;
    r->loose_count--;
    r->ended = Py_MIN(r->ended, r->loose_count);
    r->at = p + bits / 8 + 1;
    return 1;
}

static int read_page(Reader *r) {
    while (r->at < r->end) {
        int result;
        const unsigned char *mark = find_near(r->at, r->end, '<');
        if (!mark) return read_text(r, r->end);
        if (is_text_idle(r)) r->at = mark;
        else if (mark > r->at && (result = read_text(r, mark)) <= 0) return result;
        unsigned char next = mark[1];
        Name name;
        if (is_letter(next)) {
            r->has_begun = 1;
            r->at = mark + 1;
            const Tag *tag = read_tag(&r->at, r->end, &name);
            result = start_tag(r, tag, &name);
        } else if (next == '/' && is_letter(mark[2])) {
            r->has_begun = 1;
            if (end_last(r, mark + 2)) continue;
            r->at = mark + 2;
            const Tag *tag = read_tag(&r->at, r->end, &name);
            result = end_tag(r, tag, &name);
        } else if (next == '!' || next == '?' || (next == '/' && mark + 2 < r->end)) {
            r->at = comment_end(r);
            result = DONE;
        } else {
            result = read_text(r, mark + 1);
        }
        if (result <= 0) return result;
    }
    return DONE;
}

static int finish(Reader *r) {
    int result = r->in_link ? close_link(r) : DONE;
    return result > 0 ? take_language(r) : result;
}

PyObject *read_quickly(PyObject *Py_UNUSED(module), PyObject *args) {
    Reader r;
    PyObject *body, *links, *tools;
    memset(&r, 0, offsetof(Reader, stack));
    if (!PyArg_ParseTuple(args, "SOO!O!nUnOO!", &body, &r.page, &PyTuple_Type, &links, &PyDict_Type, &r.resolved,
                          &r.directory, &r.url, &r.max_links, &r.meta_names, &PyTuple_Type, &tools))
        return NULL;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(links, "O!O!O!O!O!", &PyList_Type, &r.targets, &PyList_Type, &r.anchors, &PyList_Type,
                          &r.fragments, &PyDict_Type, &r.kinds, &PyDict_Type, &r.rels) ||
        !PyArg_ParseTuple(tools, "OOOOOOOnnn", &r.a_kind, &r.image_kind, &r.script_kind, &r.canonical_kind,
                          &r.rel_words, &r.kind_by_rel, &r.collapsed, &r.max_anchor, &r.max_rel, &r.max_meaning))
        goto end;
    if (r.max_anchor > MAX_COLLAPSED) {
        PyErr_SetString(PyExc_ValueError, "anchors of at most 1000 characters");
        goto end;
    }
    r.at = (const unsigned char *)PyBytes_AS_STRING(body); /* behind its end there is a zero */
    r.end = r.at + PyBytes_GET_SIZE(body);
    int has_zero = memchr(r.at, 0, (size_t)(r.end - r.at)) != NULL;
    if (r.end - r.at >= 3 && memcmp(r.at, "\xef\xbb\xbf", 3) == 0) r.at += 3;
    Py_INCREF(r.resolved);
    Py_INCREF(r.url);
    int state = UNSURE;
    if (PyUnicode_GetLength(r.url) && !has_zero && !has_long_roots((Span){r.at, r.end})) {
        state = absorb_links(&r); /* those of headers */
        if (state > 0) state = read_page(&r);
        if (state > 0) state = finish(&r);
        if (state != FAILED && tell_learnt(&r) < 0) state = FAILED;
    }
    Py_DECREF(r.resolved);
    Py_DECREF(r.url);
    if (state == UNSURE) {
        result = Py_None;
        Py_INCREF(result);
    } else if (state == DONE) {
        result = link_texts_of(&r);
    }
end:
    PyMem_Free(r.link_text.bytes);
    PyMem_Free(r.link_alts.bytes);
    PyMem_Free(r.scratch.bytes);
    PyMem_Free(r.words.bytes);
    PyMem_Free(r.link_texts);
    return result;
}

int prepare_quick(void) {
    make_tables();
    return prepare_text() < 0 || prepare_links() < 0 ? -1 : 0;
}
