/* Reads ordinary HTML pages for their links without building a tree, and says so where a page is not ordinary.

   The tree decides what a page says (weft/parse/html.py). This reader follows the tokenizer and the stack of open
   elements of the HTML Standard (13.2.5, 13.2.6) just as far as the elements of the tree, their order, their attributes
   and the texts of links follow from the tags alone. Wherever the tree builder would do more than that (make an <a>
   again, move what stands in a table out of it, read foreign elements or templates ...) it gives up with UNSURE, and the
   page is read by way of its tree. So both always agree, which tests/test_quick.py checks on real and on broken pages.

   Of the open elements those that the standard calls special are kept on a stack of their own: the others (b, span,
   ...), here called loose, never decide which special elements are open. They are kept because an end tag in a link that
   belongs to one outside would end the link without taking it off the list of active formatting elements, and because
   a tree has bounds: it is never deeper than 512, and formatting elements that are made again take its memory.

   Time and memory are linear in the size of the page; nothing here recurses. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "native.h"

enum { FAILED = -1, UNSURE = 0, DONE = 1 }; /* FAILED: a Python exception is set */

enum { MAX_DEPTH = 200, MAX_LOOSE = 200, MAX_ATTRIBUTES = 60, MAX_DRAWING = 32 };
enum { MAX_REMADE_B = 8 << 20, NODE_B = 200 }; /* what formatting elements made again may take: an estimate, on the safe side */
enum { TABLE_BITS = 9 };
enum { FORM_OF_TABLE = 2 }; /* a form that ends at once, and is no parent of what follows */

typedef struct {
    const unsigned char *start, *end;
} Span;

typedef struct {
    char *bytes;
    Py_ssize_t size, room;
    int is_ascii;
} Text;

typedef struct {
    Span name, value;
} Attribute;

/* --- tags --- */

enum {
    VOID = 1 << 0,        /* has no end tag */
    SPECIAL = 1 << 1,     /* in the standard's category of that name */
    CLOSES_P = 1 << 2,    /* its start tag ends an open p */
    SCOPE = 1 << 3,       /* ends a search for an element "in scope" */
    FORMATTING = 1 << 4,  /* its end tag runs the adoption agency */
    RAW = 1 << 5,         /* its content is text up to its end tag, */
    REFERENCES = 1 << 6,  /* in which character references count */
    STRUCTURE = 1 << 7,   /* a part of a table */
    BLOCK = 1 << 8,       /* its end tag ends it where it is in scope */
    TOLD = 1 << 9,        /* it is told to Python, with its attributes */
    STRANGE = 1 << 10,    /* only the tree tells */
    IN_HEAD = 1 << 11,    /* does not begin the body */
    NOT_IN_LINK = 1 << 12, /* inside a link only the tree tells */
    WANTED = 1 << 13       /* its attributes are read here */
};

typedef enum {
    OTHER, A, AREA, AUDIO, BASE, BODY, BUTTON, CAPTION, CELL_D, CELL_H, COL, COLGROUP, DD, DT, EMBED, FORM, FORMAT, H,
    HEAD, HTML, IFRAME, IMG, INPUT, LI, LINK, META, NOSCRIPT, OBJECT, OPTION, P, PLAIN_VOID, RAW_TEXT,
    SCRIPT, SELECT, SOURCE, STRANGER, STYLE, SVG, TABLE, TBODY, TEXTAREA, TITLE, TR, TRACK, VIDEO, BLOCK_OF
    /* from BLOCK_OF on: one for each block element, so that end tags find their own */
} Kind;

/* The name of a tag, its first sixteen characters in lower case as two numbers; one that is longer is none of ours. */
typedef struct {
    uint64_t first, second;
    Span rest;
} Name;

typedef struct {
    const char *text;
    int kind, flags;
    Name name;
} Tag;

#define NO_NAME {0, 0, {NULL, NULL}} /* filled in by make_tables */
#define BLOCKS(text) {text, BLOCK_OF, SPECIAL | CLOSES_P | BLOCK, NO_NAME}
static Tag tags[] = {
    {"a", A, FORMATTING | WANTED, NO_NAME},
    {"area", AREA, VOID | TOLD, NO_NAME},
    {"audio", AUDIO, TOLD, NO_NAME},
    {"base", BASE, VOID | TOLD | IN_HEAD, NO_NAME},
    {"body", BODY, 0, NO_NAME},
    {"button", BUTTON, SPECIAL | BLOCK, NO_NAME},
    {"caption", CAPTION, SPECIAL | SCOPE | STRUCTURE, NO_NAME},
    {"td", CELL_D, SPECIAL | SCOPE | STRUCTURE, NO_NAME},
    {"th", CELL_H, SPECIAL | SCOPE | STRUCTURE, NO_NAME},
    {"col", COL, VOID | STRUCTURE, NO_NAME},
    {"colgroup", COLGROUP, SPECIAL | STRUCTURE, NO_NAME},
    {"dd", DD, SPECIAL | CLOSES_P, NO_NAME},
    {"dt", DT, SPECIAL | CLOSES_P, NO_NAME},
    {"embed", EMBED, VOID | TOLD, NO_NAME},
    {"form", FORM, SPECIAL | CLOSES_P | TOLD, NO_NAME},
    {"b", FORMAT, FORMATTING, NO_NAME}, {"big", FORMAT, FORMATTING, NO_NAME}, {"code", FORMAT, FORMATTING, NO_NAME}, {"em", FORMAT, FORMATTING, NO_NAME},
    {"font", FORMAT, FORMATTING, NO_NAME}, {"i", FORMAT, FORMATTING, NO_NAME}, {"s", FORMAT, FORMATTING, NO_NAME}, {"small", FORMAT, FORMATTING, NO_NAME},
    {"strike", FORMAT, FORMATTING, NO_NAME}, {"strong", FORMAT, FORMATTING, NO_NAME}, {"tt", FORMAT, FORMATTING, NO_NAME},
    {"u", FORMAT, FORMATTING, NO_NAME},
    {"h1", H, SPECIAL | CLOSES_P, NO_NAME}, {"h2", H, SPECIAL | CLOSES_P, NO_NAME}, {"h3", H, SPECIAL | CLOSES_P, NO_NAME},
    {"h4", H, SPECIAL | CLOSES_P, NO_NAME}, {"h5", H, SPECIAL | CLOSES_P, NO_NAME}, {"h6", H, SPECIAL | CLOSES_P, NO_NAME},
    {"head", HEAD, IN_HEAD, NO_NAME},
    {"html", HTML, IN_HEAD | WANTED, NO_NAME},
    {"iframe", IFRAME, RAW | TOLD | NOT_IN_LINK, NO_NAME},
    {"img", IMG, VOID | WANTED, NO_NAME},
    {"input", INPUT, VOID | WANTED, NO_NAME},
    {"li", LI, SPECIAL | CLOSES_P, NO_NAME},
    {"link", LINK, VOID | IN_HEAD | WANTED, NO_NAME},
    {"meta", META, VOID | IN_HEAD | WANTED, NO_NAME},
    {"noscript", NOSCRIPT, SPECIAL | IN_HEAD, NO_NAME},
    {"object", OBJECT, SPECIAL | SCOPE | TOLD, NO_NAME},
    {"option", OPTION, NOT_IN_LINK, NO_NAME}, {"optgroup", OPTION, NOT_IN_LINK, NO_NAME},
    {"p", P, SPECIAL | CLOSES_P, NO_NAME},
    {"br", PLAIN_VOID, VOID, NO_NAME}, {"keygen", PLAIN_VOID, VOID, NO_NAME}, {"param", PLAIN_VOID, VOID, NO_NAME}, {"wbr", PLAIN_VOID, VOID, NO_NAME},
    {"basefont", PLAIN_VOID, VOID | IN_HEAD, NO_NAME}, {"bgsound", PLAIN_VOID, VOID | IN_HEAD, NO_NAME},
    {"hr", PLAIN_VOID, VOID | CLOSES_P, NO_NAME},
    {"noembed", RAW_TEXT, RAW | NOT_IN_LINK, NO_NAME}, {"noframes", RAW_TEXT, RAW | NOT_IN_LINK | IN_HEAD, NO_NAME},
    {"xmp", RAW_TEXT, RAW | CLOSES_P | NOT_IN_LINK, NO_NAME},
    {"script", SCRIPT, RAW | NOT_IN_LINK | IN_HEAD | WANTED, NO_NAME},
    {"select", SELECT, SPECIAL | SCOPE | NOT_IN_LINK, NO_NAME},
    {"source", SOURCE, VOID | TOLD, NO_NAME},
    {"style", STYLE, RAW | NOT_IN_LINK | IN_HEAD, NO_NAME},
    {"table", TABLE, SPECIAL | SCOPE | CLOSES_P, NO_NAME},
    {"tbody", TBODY, SPECIAL | STRUCTURE, NO_NAME}, {"tfoot", TBODY, SPECIAL | STRUCTURE, NO_NAME}, {"thead", TBODY, SPECIAL | STRUCTURE, NO_NAME},
    {"textarea", TEXTAREA, RAW | REFERENCES | NOT_IN_LINK, NO_NAME},
    {"title", TITLE, RAW | REFERENCES | IN_HEAD | NOT_IN_LINK, NO_NAME},
    {"tr", TR, SPECIAL | STRUCTURE, NO_NAME},
    {"track", TRACK, VOID | TOLD, NO_NAME},
    {"video", VIDEO, TOLD, NO_NAME},
    {"applet", STRANGER, STRANGE, NO_NAME}, {"dialog", STRANGER, STRANGE, NO_NAME}, {"frame", STRANGER, STRANGE, NO_NAME},
    {"frameset", STRANGER, STRANGE, NO_NAME}, {"image", STRANGER, STRANGE, NO_NAME}, {"marquee", STRANGER, STRANGE, NO_NAME},
    {"math", STRANGER, STRANGE, NO_NAME}, {"nobr", STRANGER, STRANGE, NO_NAME}, {"plaintext", STRANGER, STRANGE, NO_NAME},
    {"rb", STRANGER, STRANGE, NO_NAME}, {"rp", STRANGER, STRANGE, NO_NAME}, {"rt", STRANGER, STRANGE, NO_NAME}, {"rtc", STRANGER, STRANGE, NO_NAME},
    {"svg", SVG, 0, NO_NAME}, {"template", STRANGER, STRANGE, NO_NAME},
    BLOCKS("address"), BLOCKS("article"), BLOCKS("aside"), BLOCKS("blockquote"), BLOCKS("center"), BLOCKS("details"),
    BLOCKS("dir"), BLOCKS("div"), BLOCKS("dl"), BLOCKS("fieldset"), BLOCKS("figcaption"), BLOCKS("figure"),
    BLOCKS("footer"), BLOCKS("header"), BLOCKS("hgroup"), BLOCKS("listing"), BLOCKS("main"), BLOCKS("menu"),
    BLOCKS("nav"), BLOCKS("ol"), BLOCKS("pre"), BLOCKS("search"), BLOCKS("section"), BLOCKS("summary"), BLOCKS("ul"),
};
enum { TAGS = sizeof tags / sizeof tags[0] };

static const Tag *tag_table[1 << TABLE_BITS];
static const Tag unknown_tag = {"", OTHER, 0, NO_NAME};
static const Tag *tag_address, *tag_div, *tag_ol, *tag_ul, *tag_meta, *tag_colgroup, *tag_tbody, *tag_tr, *tag_listing,
    *tag_pre, *tag_svg;

enum { SPACE = 1, NAME_END = 2, ATTRIBUTE_END = 4, VALUE_END = 8 };
static unsigned char classes[256], lowered[256];

static inline unsigned char lower(unsigned char c) { return lowered[c]; }

static inline int is_letter(unsigned char c) { return (unsigned char)((c | 32) - 'a') < 26; }

static inline int is_space(unsigned char c) { return classes[c] & SPACE; }

static inline Py_ssize_t size_of(Span span) { return span.end - span.start; }

static inline int is_same(const Name *a, const Name *b) {
    if (a->first != b->first || a->second != b->second || size_of(a->rest) != size_of(b->rest)) return 0;
    for (Py_ssize_t i = 0; i < size_of(a->rest); i++)
        if (lower(a->rest.start[i]) != lower(b->rest.start[i])) return 0;
    return 1;
}

/* Reads a name up to a byte that ends it; where it ends. A byte of zero ends every page. */
static const unsigned char *read_name(const unsigned char *p, Name *name) {
    uint64_t first = 0, second = 0;
    const unsigned char *start = p;
    for (; !(classes[*p] & NAME_END) && p - start < 8; p++) first = first << 8 | lowered[*p];
    for (; !(classes[*p] & NAME_END) && p - start < 16; p++) second = second << 8 | lowered[*p];
    name->first = first, name->second = second;
    name->rest.start = p;
    while (!(classes[*p] & NAME_END)) p++;
    name->rest.end = p;
    return p;
}

static inline size_t place_of(const Name *name) { return (name->first * 0x9e3779b97f4a7c15ULL) >> (64 - TABLE_BITS); }

static const Tag *find_tag(const Name *name) {
    if (!size_of(name->rest))
        for (size_t at = place_of(name); tag_table[at]; at = (at + 1) % (1 << TABLE_BITS))
            if (is_same(&tag_table[at]->name, name)) return tag_table[at];
    return &unknown_tag;
}

static const Tag *tag_named(const char *text) {
    Name name;
    read_name((const unsigned char *)text, &name);
    return find_tag(&name);
}

static void make_tables(void) {
    if (tag_meta) return;
    for (int c = 0; c < 256; c++) lowered[c] = (unsigned char)(c >= 'A' && c <= 'Z' ? c | 32 : c);
    for (const char *c = "\t\n\f\r "; *c; c++) classes[(int)*c] = SPACE | NAME_END | ATTRIBUTE_END | VALUE_END;
    classes[0] = classes['>'] = NAME_END | ATTRIBUTE_END | VALUE_END;
    classes['/'] = NAME_END | ATTRIBUTE_END;
    classes['='] = ATTRIBUTE_END;
    for (int i = 0, blocks = 0; i < TAGS; i++) {
        read_name((const unsigned char *)tags[i].text, &tags[i].name);
        if (tags[i].kind == BLOCK_OF) tags[i].kind += blocks++;
        size_t at = place_of(&tags[i].name);
        while (tag_table[at]) at = (at + 1) % (1 << TABLE_BITS);
        tag_table[at] = &tags[i];
    }
    tag_address = tag_named("address"), tag_div = tag_named("div"), tag_ol = tag_named("ol"), tag_ul = tag_named("ul");
    tag_colgroup = tag_named("colgroup"), tag_tbody = tag_named("tbody"), tag_tr = tag_named("tr");
    tag_listing = tag_named("listing"), tag_pre = tag_named("pre"), tag_svg = tag_named("svg");
    tag_meta = tag_named("meta");
}

/* --- the state of one page --- */

typedef struct {
    Name name;
    int depth; /* of special elements when it was opened, or made again */
    int is_formatting;
    Py_ssize_t size; /* of its tag */
} Loose;

typedef struct {
    const unsigned char *at, *end;
    const Tag *stack[MAX_DEPTH]; /* the open special elements */
    int depth;
    Loose loose[MAX_LOOSE]; /* the others, */
    int loose_count;
    int ended; /* the first of the formatting elements among them that were ended with a parent: text makes them again */
    Py_ssize_t remade_b;
    int has_begun, /* it is too late for a doctype */ has_body, has_form, has_title;
    int in_head_noscript;
    int doubtful; /* whether a p or li is open depends on more than is kept here: what ends one must not end a link */
    int is_standard; /* a doctype says that the page is not one of before there were standards */

    int in_link;
    int link_depth;
    Py_ssize_t link_place; /* -1: a link that is not kept */
    int images;
    Text link_text, link_alts;
    int link_loose; /* how many loose elements were open before it */

    Attribute attributes[MAX_ATTRIBUTES];
    int attribute_count;
    int is_cut;    /* the page ends within the tag */
    int is_closed; /* it ends in "/>" */

    Text scratch;
    Span language, xml_language;
    int odd_fragments;

    PyObject *page, *targets, *anchors, *fragments, *kinds, *rels, *meanings, *url, *meta_names;
    Py_ssize_t max_links;
    PyObject *a_kind, *image_kind, *script_kind, *canonical_kind, *rel_words, *kind_by_rel, *collapsed;
    Py_ssize_t max_anchor, max_rel;
} Reader;

static PyObject *empty_text, *one_space, *entities;
static PyObject *name_target_of, *name_take, *name_add_srcset, *name_add_by_rel, *name_rebase, *name_take_title,
    *name_take_language;

/* --- text --- */

static int more_room(Text *text, Py_ssize_t size) {
    if (text->size + size <= text->room) return DONE;
    Py_ssize_t room = (text->size + size) * 2 + 256;
    char *bytes = PyMem_Realloc(text->bytes, (size_t)room);
    if (!bytes) {
        PyErr_NoMemory();
        return FAILED;
    }
    text->bytes = bytes;
    text->room = room;
    return DONE;
}

static void clear_text(Text *text) {
    text->size = 0;
    text->is_ascii = 1;
}

static int append(Text *text, const unsigned char *bytes, Py_ssize_t size) {
    if (!size) return DONE; /* a text may have no bytes yet */
    if (more_room(text, size) < 0) return FAILED;
    memcpy(text->bytes + text->size, bytes, (size_t)size);
    if (text->is_ascii) {
        unsigned char any = 0;
        for (Py_ssize_t i = 0; i < size; i++) any |= bytes[i];
        text->is_ascii = any < 0x80;
    }
    text->size += size;
    return DONE;
}

static int append_code(Text *text, uint32_t code) {
    unsigned char bytes[4];
    int size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (size == 1) {
        bytes[0] = (unsigned char)code;
    } else {
        for (int i = size - 1; i > 0; i--, code >>= 6) bytes[i] = (unsigned char)(0x80 | (code & 0x3f));
        bytes[0] = (unsigned char)((0xf00 >> size & 0xff & ~(0xff >> (size + 1))) | code);
    }
    return append(text, bytes, size);
}

static int is_word(unsigned char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

/* What C1 controls in numeric references stand for (13.2.5.80). */
static const uint16_t c1_meanings[32] = {
    0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d, 0x8f,
    0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178};

/* Appends what a numeric reference stands for; *at is behind "&#" and moves behind it. */
static int append_number(Text *text, const unsigned char **at, const unsigned char *end) {
    const unsigned char *p = *at, *digits;
    int base = 10;
    if (p < end && (*p | 32) == 'x') base = 16, p++;
    uint32_t code = 0;
    for (digits = p; p < end; p++) {
        unsigned char c = *p | 32;
        uint32_t digit;
        if (*p >= '0' && *p <= '9') digit = *p - '0';
        else if (base == 16 && c >= 'a' && c <= 'f') digit = c - 'a' + 10u;
        else break;
        if (code < 0x110000) code = code * (uint32_t)base + digit;
    }
    if (p == digits) { /* "&#" or "&#x" as it stands */
        if (append(text, (const unsigned char *)"&#", 2) < 0) return FAILED;
        return DONE;
    }
    if (p < end && *p == ';') p++;
    *at = p;
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = 0xfffd;
    if (code >= 0x80 && code < 0xa0) code = c1_meanings[code - 0x80];
    return append_code(text, code);
}

/* What a name stands for, borrowed, or NULL: no such name, or an exception is set. */
static PyObject *entity(const unsigned char *name, Py_ssize_t size) {
    if (!entities) {
        PyObject *module = PyImport_ImportModule("html.entities");
        if (!module) return NULL;
        entities = PyObject_GetAttrString(module, "html5");
        Py_DECREF(module);
        if (!entities) return NULL;
    }
    PyObject *key = PyUnicode_DecodeASCII((const char *)name, size, NULL);
    if (!key) return NULL;
    PyObject *found = PyDict_GetItemWithError(entities, key);
    Py_DECREF(key);
    return found;
}

static int append_entity(Text *text, PyObject *meaning) {
    Py_ssize_t size;
    const char *bytes = PyUnicode_AsUTF8AndSize(meaning, &size);
    return bytes ? append(text, (const unsigned char *)bytes, size) : FAILED;
}

enum { MAX_NAME = 32, MAX_BARE_NAME = 6 }; /* the longest name, and the longest that needs no semicolon */

/* Appends what a reference stands for, or its ampersand; *at is at the ampersand and moves behind what was read. */
static int append_reference(Text *text, const unsigned char **at, const unsigned char *end, int in_attribute) {
    const unsigned char *name = *at + 1, *p = name;
    *at = name;
    if (p < end && *p == '#') {
        *at = p + 1;
        return append_number(text, at, end);
    }
    while (p < end && is_word(*p) && p - name <= MAX_NAME) p++;
    if (p < end && *p == ';' && p > name) {
        Py_ssize_t size = p + 1 - name;
        const char *plain = NULL;
        if (size == 4 && memcmp(name, "amp;", 4) == 0) plain = "&";
        else if (size == 3 && memcmp(name, "lt;", 3) == 0) plain = "<";
        else if (size == 3 && memcmp(name, "gt;", 3) == 0) plain = ">";
        else if (size == 5 && memcmp(name, "quot;", 5) == 0) plain = "\"";
        if (plain) {
            *at = p + 1;
            return append(text, (const unsigned char *)plain, 1);
        }
        PyObject *meaning = entity(name, size);
        if (meaning) {
            *at = p + 1;
            return append_entity(text, meaning);
        }
        if (PyErr_Occurred()) return FAILED;
    }
    for (Py_ssize_t size = Py_MIN(p - name, MAX_BARE_NAME); size > 1; size--) {
        PyObject *meaning = entity(name, size);
        if (meaning) {
            const unsigned char *behind = name + size;
            if (in_attribute && behind < end && (*behind == '=' || is_word(*behind))) break;
            *at = behind;
            return append_entity(text, meaning);
        }
        if (PyErr_Occurred()) return FAILED;
    }
    return append(text, (const unsigned char *)"&", 1);
}

/* Appends text with its references replaced. */
static int append_decoded(Text *text, Span span, int in_attribute) {
    const unsigned char *at = span.start;
    while (at < span.end) {
        const unsigned char *mark = memchr(at, '&', (size_t)(span.end - at));
        if (append(text, at, (mark ? mark : span.end) - at) < 0) return FAILED;
        if (!mark) break;
        at = mark;
        if (append_reference(text, &at, span.end, in_attribute) < 0) return FAILED;
    }
    return DONE;
}

static PyObject *text_of(const char *bytes, Py_ssize_t size) { return PyUnicode_DecodeUTF8(bytes, size, "replace"); }

/* The value of an attribute as bytes, references replaced and newlines made one; it lasts until the next call. */
static int value_of(Reader *r, Span span, Span *value) {
    Py_ssize_t size = span.end - span.start;
    *value = span;
    if (!size || (!memchr(span.start, '&', (size_t)size) && !memchr(span.start, '\r', (size_t)size))) return DONE;
    clear_text(&r->scratch);
    /* Newlines come first: a reference may stand for a carriage return, which stays. */
    const unsigned char *at = span.start;
    while (at < span.end) {
        const unsigned char *mark = memchr(at, '\r', (size_t)(span.end - at));
        Span part = {at, mark ? mark : span.end};
        if (append_decoded(&r->scratch, part, 1) < 0) return FAILED;
        if (!mark) break;
        if (append(&r->scratch, (const unsigned char *)"\n", 1) < 0) return FAILED;
        at = mark + 1;
        if (at < span.end && *at == '\n') at++;
    }
    value->start = (const unsigned char *)r->scratch.bytes;
    value->end = value->start + r->scratch.size;
    return DONE;
}

static PyObject *text_of_value(Reader *r, Span span) {
    Span value;
    if (value_of(r, span, &value) < 0) return NULL;
    return text_of((const char *)value.start, value.end - value.start);
}

/* " ".join(text.split()) */
static PyObject *words(PyObject *text) {
    PyObject *parts = PyUnicode_Split(text, NULL, -1);
    if (!parts) return NULL;
    PyObject *joined = PyUnicode_Join(one_space, parts);
    Py_DECREF(parts);
    return joined;
}

static inline int is_python_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f); }

/* The words of a text as they are kept: spaces collapsed, cut to the length of an anchor. */
static PyObject *anchor_of(Reader *r, const unsigned char *bytes, Py_ssize_t size, int is_ascii) {
    if (is_ascii && size <= r->max_anchor) {
        char kept[1024];
        Py_ssize_t count = 0;
        for (Py_ssize_t i = 0; i < size; i++) {
            if (!is_python_space(bytes[i])) kept[count++] = (char)bytes[i];
            else if (count && kept[count - 1] != ' ') kept[count++] = ' ';
        }
        if (count && kept[count - 1] == ' ') count--;
        return PyUnicode_DecodeASCII(kept, count, NULL);
    }
    PyObject *text = text_of((const char *)bytes, size), *kept;
    if (!text) return NULL;
    if (PyUnicode_GetLength(text) <= r->max_anchor) {
        kept = words(text);
    } else {
        PyObject *limit = PyLong_FromSsize_t(r->max_anchor);
        kept = limit ? PyObject_CallFunctionObjArgs(r->collapsed, text, limit, NULL) : NULL;
        Py_XDECREF(limit);
    }
    Py_DECREF(text);
    return kept;
}

/* --- attributes --- */

static int is_named(Span name, const char *wanted, Py_ssize_t size) {
    if (name.end - name.start != size) return 0;
    for (Py_ssize_t i = 0; i < size; i++)
        if (lower(name.start[i]) != (unsigned char)wanted[i]) return 0;
    return 1;
}

static const Span *attribute(const Reader *r, const char *name) {
    Py_ssize_t size = (Py_ssize_t)strlen(name);
    for (int i = 0; i < r->attribute_count; i++)
        if (is_named(r->attributes[i].name, name, size)) return &r->attributes[i].value;
    return NULL;
}

static PyObject *attribute_dict(Reader *r) {
    PyObject *found = PyDict_New();
    for (int i = 0; found && i < r->attribute_count; i++) {
        Span name = r->attributes[i].name;
        clear_text(&r->scratch);
        if (append(&r->scratch, name.start, name.end - name.start) < 0) goto failed;
        for (Py_ssize_t c = 0; c < r->scratch.size; c++)
            r->scratch.bytes[c] = (char)lower((unsigned char)r->scratch.bytes[c]);
        PyObject *key = text_of(r->scratch.bytes, r->scratch.size);
        PyObject *value = key ? text_of_value(r, r->attributes[i].value) : NULL;
        int failed = !value || !PyDict_SetDefault(found, key, value);
        Py_XDECREF(key);
        Py_XDECREF(value);
        if (failed) goto failed;
    }
    return found;
failed:
    Py_XDECREF(found);
    return NULL;
}

static int has_word(Span text, const char *word) {
    size_t size = strlen(word);
    for (const unsigned char *p = text.start; text.end - p >= (Py_ssize_t)size; p++) {
        p = memchr(p, *word, (size_t)(text.end - p) - size + 1);
        if (!p) return 0;
        if (memcmp(p, word, size) == 0) return 1;
    }
    return 0;
}

/* Code that may lead to another page has one of these words in it (weft/parse/attributes.py): only the tree tells. */
static int check_code(Reader *r, Span value) {
    Span code;
    if (value_of(r, value, &code) < 0) return FAILED;
    return has_word(code, "location") || has_word(code, "window.open") ? UNSURE : DONE;
}

/* Reads the attributes of a tag, from behind its name to behind its ">". UNSURE where one of them holds a link. */
static int read_attributes(Reader *r, int wanted) {
    const unsigned char *p = r->at, *end = r->end;
    r->attribute_count = 0;
    for (;;) {
        int slash = 0;
        for (; is_space(*p) || *p == '/'; p++) slash = *p == '/';
        if (*p == '>') {
            r->is_closed = slash;
            r->at = p + 1;
            return DONE;
        }
        if (p >= end) break;
        Attribute found = {{p, p}, {NULL, NULL}};
        p++; /* whatever it is: a leading "=" belongs to the name */
        while (!(classes[*p] & ATTRIBUTE_END)) p++;
        found.name.end = found.value.start = found.value.end = p;
        while (is_space(*p)) p++;
        if (*p == '=') {
            p++;
            while (is_space(*p)) p++;
            if (*p == '"' || *p == '\'') {
                const unsigned char *close = memchr(p + 1, *p, (size_t)(end - p - 1));
                if (!close) break;
                found.value.start = p + 1;
                found.value.end = close;
                p = close + 1;
            } else { /* nothing before a ">" */
                found.value.start = p;
                while (!(classes[*p] & VALUE_END)) p++;
                found.value.end = p;
            }
        }
        if ((found.name.start[0] | 32) == 'o' && is_named(found.name, "onclick", 7)) {
            int result = check_code(r, found.value);
            if (result <= 0) return result;
        }
        if (wanted) {
            if (r->attribute_count == MAX_ATTRIBUTES) return UNSURE;
            r->attributes[r->attribute_count++] = found;
        }
    }
    r->at = end; /* a tag that the page ends in is none, and nothing follows */
    r->is_cut = 1;
    return DONE;
}

/* --- links --- */

static void note_fragment(Reader *r, const unsigned char *start, const unsigned char *end) {
    for (; start < end; start++)
        if (*start <= ' ' || *start >= 0x7f || *start == '"' || *start == '<' || *start == '>' || *start == '`') {
            r->odd_fragments = 1;
            return;
        }
}

/* Adds a link; anchor and rel are borrowed, rel may be NULL. *place is where it stands, or -1 where it is not kept. */
static int add_link(Reader *r, Span reference, PyObject *kind, PyObject *anchor, PyObject *rel, Py_ssize_t *place) {
    PyObject *target = NULL, *fragment = NULL, *known = NULL;
    Py_ssize_t count = PyList_GET_SIZE(r->targets), size = reference.end - reference.start;
    int result = FAILED;
    *place = -1;
    if (count >= r->max_links) return UNSURE;
    const unsigned char *hash = size ? memchr(reference.start, '#', (size_t)size) : NULL;
    if (hash == reference.start && hash) {
        known = r->url;
    } else {
        PyObject *path = text_of((const char *)reference.start, (hash ? hash : reference.end) - reference.start);
        if (!path) return FAILED;
        known = PyDict_GetItemWithError(r->meanings, path);
        Py_DECREF(path);
        if (!known && PyErr_Occurred()) return FAILED;
    }
    if (known) {
        target = known;
        Py_INCREF(target);
        if (hash) {
            note_fragment(r, hash + 1, reference.end);
            fragment = text_of((const char *)hash + 1, reference.end - hash - 1);
            if (!fragment) goto end;
        } else {
            fragment = empty_text;
            Py_INCREF(fragment);
        }
    } else {
        PyObject *whole = text_of((const char *)reference.start, size);
        if (!whole) return FAILED;
        PyObject *found = PyObject_CallMethodObjArgs(r->page, name_target_of, whole, kind, NULL);
        Py_DECREF(whole);
        if (!found) return FAILED;
        if (found == Py_None) {
            Py_DECREF(found);
            return DONE;
        }
        if (!PyTuple_Check(found) || PyTuple_GET_SIZE(found) != 2) {
            Py_DECREF(found);
            PyErr_SetString(PyExc_TypeError, "target_of() gives a pair or None");
            return FAILED;
        }
        target = PyTuple_GET_ITEM(found, 0), fragment = PyTuple_GET_ITEM(found, 1);
        Py_INCREF(target);
        Py_INCREF(fragment);
        Py_DECREF(found);
    }
    if (kind != r->a_kind || rel) {
        PyObject *at = PyLong_FromSsize_t(count);
        if (!at) goto end;
        int failed = (kind != r->a_kind && PyDict_SetItem(r->kinds, at, kind) < 0) ||
                     (rel && PyUnicode_GetLength(rel) && PyDict_SetItem(r->rels, at, rel) < 0);
        Py_DECREF(at);
        if (failed) goto end;
    }
    if (PyList_Append(r->targets, target) < 0 || PyList_Append(r->anchors, anchor) < 0 ||
        PyList_Append(r->fragments, fragment) < 0)
        goto end;
    *place = count;
    result = DONE;
end:
    Py_XDECREF(target);
    Py_XDECREF(fragment);
    return result;
}

static int close_link(Reader *r) {
    r->in_link = 0;
    if (r->link_place < 0) return DONE;
    PyObject *anchor = anchor_of(r, (unsigned char *)r->link_text.bytes, r->link_text.size, r->link_text.is_ascii);
    if (!anchor) return FAILED;
    Py_ssize_t length = PyUnicode_GetLength(anchor);
    if (length == r->max_anchor) { /* cut, maybe behind a space */
        PyObject *whole = anchor;
        anchor = words(whole);
        Py_DECREF(whole);
        if (!anchor) return FAILED;
    }
    if (!length && r->link_alts.size) {
        if (r->images > 10 || r->link_alts.size > r->max_anchor) {
            Py_DECREF(anchor);
            return UNSURE;
        }
        Py_DECREF(anchor);
        anchor = text_of(r->link_alts.bytes, r->link_alts.size);
        if (!anchor) return FAILED;
    }
    return PyList_SetItem(r->anchors, r->link_place, anchor) < 0 ? FAILED : DONE;
}

static int open_link(Reader *r) {
    const Span *href = attribute(r, "href"), *rel = attribute(r, "rel");
    if (!href) return DONE;
    PyObject *rel_text = NULL;
    if (rel && rel->end > rel->start) {
        PyObject *raw = text_of_value(r, *rel);
        if (!raw) return FAILED;
        rel_text = PyObject_CallFunctionObjArgs(r->rel_words, raw, NULL);
        Py_DECREF(raw);
        if (!rel_text) return FAILED;
    }
    Span reference;
    int result = value_of(r, *href, &reference);
    if (result > 0) result = add_link(r, reference, r->a_kind, empty_text, rel_text, &r->link_place);
    Py_XDECREF(rel_text);
    if (result <= 0) return result;
    r->in_link = 1;
    r->link_depth = r->depth;
    r->link_loose = r->loose_count;
    r->images = 0;
    clear_text(&r->link_text);
    clear_text(&r->link_alts);
    return DONE;
}

/* --- the stack of open elements --- */

static inline const Tag *top(const Reader *r) { return r->depth ? r->stack[r->depth - 1] : &unknown_tag; }

static inline int is_table_part(const Tag *tag) {
    return tag->kind == TABLE || tag->kind == TBODY || tag->kind == TR || tag->kind == COLGROUP;
}

static int push(Reader *r, const Tag *tag) {
    if (r->depth == MAX_DEPTH) return UNSURE;
    r->stack[r->depth++] = tag;
    return DONE;
}

/* Ends the element at a depth and all above it. A link that stands in them is open no more: where a marker goes with
   them (the end of a table cell) it is over, else the tree builder would make it again behind. */
static int pop_to(Reader *r, int depth, int with_marker) {
    while (--r->depth > depth)
        if (r->stack[r->depth]->kind == OBJECT) return UNSURE; /* its own marker stays */
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

/* The standard's "reconstruct the active formatting elements". */
static int remake(Reader *r) {
    for (; r->ended < r->loose_count; r->ended++) {
        r->loose[r->ended].depth = r->depth;
        r->remade_b += NODE_B + r->loose[r->ended].size;
    }
    return r->remade_b > MAX_REMADE_B ? UNSURE : DONE;
}

typedef enum { ANY_SCOPE, BUTTON_SCOPE, LIST_SCOPE } Scope;

static int in_scope(const Reader *r, int kind, Scope scope) {
    for (int i = r->depth - 1; i >= 0; i--) {
        const Tag *tag = r->stack[i];
        if (tag->kind == kind) return i;
        if (tag->flags & SCOPE) return -1;
        if (scope == BUTTON_SCOPE && tag->kind == BUTTON) return -1;
        if (scope == LIST_SCOPE && (tag == tag_ol || tag == tag_ul)) return -1;
    }
    return -1;
}

static int close_p(Reader *r) {
    int at = in_scope(r, P, BUTTON_SCOPE);
    return at < 0 ? DONE : pop_to(r, at, 0);
}

/* Ends the li that a new one follows; dd and dt end each other. */
static int close_item(Reader *r, int kind, int other) {
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

static int start_table_part(Reader *r, const Tag *tag) {
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

static int end_table_part(Reader *r, const Tag *tag) {
    for (int i = r->depth - 1; i >= 0; i--) {
        const Tag *open = r->stack[i];
        if (open == tag) return pop_to(r, i, 1);
        if (open->kind == TABLE || (open->kind == CAPTION && tag->kind != TABLE)) return DONE;
    }
    return DONE;
}

/* --- what tags say --- */

static int call_take(Reader *r, const Tag *tag) {
    PyObject *attributes = attribute_dict(r), *name = attributes ? PyUnicode_FromString(tag->text) : NULL;
    PyObject *done = name ? PyObject_CallMethodObjArgs(r->page, name_take, name, attributes, NULL) : NULL;
    Py_XDECREF(attributes);
    Py_XDECREF(name);
    Py_XDECREF(done);
    return done ? DONE : FAILED;
}

/* A base changes what all links mean: Python says what they mean from now on, or False where it comes too late. */
static int take_base(Reader *r) {
    const Span *href = attribute(r, "href");
    if (!href) return DONE;
    PyObject *reference = text_of_value(r, *href);
    PyObject *found = reference ? PyObject_CallMethodObjArgs(r->page, name_rebase, reference, NULL) : NULL;
    Py_XDECREF(reference);
    if (!found) return FAILED;
    int result = DONE;
    if (found == Py_False) {
        result = UNSURE;
    } else if (found != Py_None) {
        PyObject *meanings, *url;
        if (!PyArg_ParseTuple(found, "O!Un", &PyDict_Type, &meanings, &url, &r->max_links)) {
            result = FAILED;
        } else {
            Py_INCREF(meanings);
            Py_INCREF(url);
            Py_DECREF(r->meanings);
            Py_DECREF(r->url);
            r->meanings = meanings, r->url = url;
        }
    }
    Py_DECREF(found);
    return result;
}

/* The value of an attribute as words: an anchor, or the empty text where there is none. */
static PyObject *words_of(Reader *r, const Span *span) {
    Span value;
    if (!span || span->end == span->start) {
        Py_INCREF(empty_text);
        return empty_text;
    }
    if (value_of(r, *span, &value) < 0) return NULL;
    unsigned char any = 0;
    for (const unsigned char *p = value.start; p < value.end; p++) any |= *p;
    return anchor_of(r, value.start, value.end - value.start, any < 0x80);
}

static int take_image(Reader *r) {
    const Span *src = attribute(r, "src"), *srcset = attribute(r, "srcset"), *description = attribute(r, "alt");
    if (r->in_link && description && size_of(*description) > r->max_anchor) return UNSURE;
    PyObject *alt = words_of(r, description);
    if (!alt) return FAILED;
    int result = DONE;
    if (r->in_link) {
        r->images++;
        if (PyUnicode_GetLength(alt)) {
            Py_ssize_t size;
            const char *bytes = PyUnicode_AsUTF8AndSize(alt, &size);
            if (!bytes || (r->link_alts.size && append(&r->link_alts, (const unsigned char *)" ", 1) < 0) ||
                append(&r->link_alts, (const unsigned char *)bytes, size) < 0)
                result = FAILED;
        }
    }
    if (result > 0 && src && src->end > src->start) {
        Span reference;
        Py_ssize_t place;
        result = value_of(r, *src, &reference);
        if (result > 0) result = add_link(r, reference, r->image_kind, alt, NULL, &place);
    }
    if (result > 0 && srcset && srcset->end > srcset->start) {
        PyObject *text = text_of_value(r, *srcset);
        PyObject *done = text ? PyObject_CallMethodObjArgs(r->page, name_add_srcset, text, alt, NULL) : NULL;
        Py_XDECREF(text);
        Py_XDECREF(done);
        if (!done) result = FAILED;
    }
    Py_DECREF(alt);
    return result;
}

static int take_script(Reader *r) {
    const Span *src = attribute(r, "src");
    Span reference;
    Py_ssize_t place;
    if (!src || src->end == src->start) return DONE;
    if (value_of(r, *src, &reference) < 0) return FAILED;
    return add_link(r, reference, r->script_kind, empty_text, NULL, &place);
}

static int take_link(Reader *r) {
    const Span *href = attribute(r, "href"), *rel = attribute(r, "rel");
    if (!href || href->end == href->start) return DONE;
    PyObject *rel_text = rel ? text_of_value(r, *rel) : empty_text;
    if (!rel_text) return FAILED;
    if (!rel) Py_INCREF(rel_text);
    PyObject *title = words_of(r, attribute(r, "title")), *kind_and_words = NULL;
    int result = FAILED;
    if (!title) goto end;
    if (PyUnicode_GetLength(rel_text) > r->max_rel) {
        result = UNSURE;
        goto end;
    }
    kind_and_words = PyObject_CallFunctionObjArgs(r->kind_by_rel, rel_text, NULL);
    if (!kind_and_words) goto end;
    PyObject *kind = PyTuple_GET_ITEM(kind_and_words, 0);
    int is_canonical = PyObject_RichCompareBool(kind, r->canonical_kind, Py_EQ);
    if (is_canonical < 0) goto end;
    if (is_canonical) {
        PyObject *reference = text_of_value(r, *href);
        PyObject *done =
            reference ? PyObject_CallMethodObjArgs(r->page, name_add_by_rel, reference, rel_text, title, NULL) : NULL;
        Py_XDECREF(reference);
        Py_XDECREF(done);
        result = done ? DONE : FAILED;
    } else {
        Span reference;
        Py_ssize_t place;
        result = value_of(r, *href, &reference);
        if (result > 0)
            result = add_link(r, reference, kind, title, PyTuple_GET_ITEM(kind_and_words, 1), &place);
    }
end:
    Py_XDECREF(kind_and_words);
    Py_XDECREF(title);
    Py_DECREF(rel_text);
    return result;
}

/* Whether a value is one of the names that Python wants to hear of; anything unusual is. */
static int is_wanted_name(Reader *r, Span value) {
    char name[40];
    Py_ssize_t size = 0;
    while (value.start < value.end && is_python_space(*value.start)) value.start++;
    while (value.start < value.end && is_python_space(value.end[-1])) value.end--;
    if (value.end - value.start > (Py_ssize_t)sizeof name) return 1;
    for (const unsigned char *p = value.start; p < value.end; p++) {
        if (*p >= 0x80) return 1;
        name[size++] = (char)lower(*p);
    }
    PyObject *text = PyUnicode_DecodeASCII(name, size, NULL);
    if (!text) return FAILED;
    int found = PySet_Contains(r->meta_names, text);
    Py_DECREF(text);
    return found;
}

static int take_meta(Reader *r) {
    static const char *const sources[] = {"name", "http-equiv"};
    if (!attribute(r, "content")) return DONE;
    for (int i = 0; i < 2; i++) {
        const Span *source = attribute(r, sources[i]);
        Span value;
        if (!source) continue;
        if (value_of(r, *source, &value) < 0) return FAILED;
        int wanted = is_wanted_name(r, value);
        if (wanted) return wanted < 0 ? FAILED : call_take(r, tag_meta);
    }
    return DONE;
}

static int is_value(Reader *r, const char *name, const char *wanted, int *is_so) {
    const Span *span = attribute(r, name);
    Span value;
    *is_so = 0;
    if (!span) return DONE;
    if (value_of(r, *span, &value) < 0) return FAILED;
    *is_so = is_named(value, wanted, (Py_ssize_t)strlen(wanted));
    return DONE;
}

static int take_title(Reader *r, Span content) {
    if (r->has_title) return DONE;
    r->has_title = 1;
    clear_text(&r->scratch);
    if (append_decoded(&r->scratch, content, 0) < 0) return FAILED;
    PyObject *text = text_of(r->scratch.bytes, r->scratch.size);
    PyObject *done = text ? PyObject_CallMethodObjArgs(r->page, name_take_title, text, NULL) : NULL;
    Py_XDECREF(text);
    Py_XDECREF(done);
    return done ? DONE : FAILED;
}

/* --- tags --- */

/* Where the end tag of a raw element begins, or the end of the page; NULL where only the tree tells. */
static const unsigned char *raw_end(const Reader *r, const Tag *tag) {
    size_t size = strlen(tag->text);
    const unsigned char *p = r->at;
    int has_comment = 0;
    for (;;) {
        p = memchr(p, '<', (size_t)(r->end - p));
        if (!p) return r->end;
        if (tag->kind == SCRIPT && r->end - p >= 4 && memcmp(p, "<!--", 4) == 0) has_comment = 1;
        /* inside of a comment a script can hold another one, whose end tag is not its own */
        if (has_comment && r->end - p > 7 && is_named((Span){p + 1, p + 7}, "script", 6)) return NULL;
        if ((size_t)(r->end - p) > size + 2 && p[1] == '/' &&
            is_named((Span){p + 2, p + 2 + size}, tag->text, (Py_ssize_t)size) &&
            (is_space(p[2 + size]) || p[2 + size] == '/' || p[2 + size] == '>'))
            return p;
        p++;
    }
}

static int read_raw(Reader *r, const Tag *tag) {
    const unsigned char *close = raw_end(r, tag);
    if (!close) return UNSURE;
    Span content = {r->at, close};
    if (tag->kind == TITLE) {
        int result = take_title(r, content);
        if (result <= 0) return result;
    }
    r->at = close;
    if (close < r->end) {
        r->at += 2 + strlen(tag->text);
        return read_attributes(r, 0);
    }
    return DONE;
}

/* Where "<!", "<?" or "</" and no letter ends: the place behind its last character. */
static const unsigned char *comment_end(Reader *r) {
    const unsigned char *p = r->at, *end = r->end;
    if (end - p >= 4 && memcmp(p, "<!--", 4) == 0) {
        p += 4;
        if (p < end && *p == '>') return p + 1;
        if (end - p >= 2 && p[0] == '-' && p[1] == '>') return p + 2;
        for (;;) {
            p = memchr(p, '-', (size_t)(end - p));
            if (!p || end - p < 3) return end;
            if (p[1] != '-') p++;
            else if (p[2] == '>') return p + 3;
            else if (p[2] == '!' && end - p > 3 && p[3] == '>') return p + 4;
            else p++;
        }
    }
    if (end - p >= 9 && is_named((Span){p + 2, p + 9}, "doctype", 7)) {
        const unsigned char *q = p + 9;
        while (q < end && is_space(*q)) q++;
        if (end - q >= 4 && is_named((Span){q, q + 4}, "html", 4)) {
            for (q += 4; q < end && is_space(*q);) q++;
            if (q < end && *q == '>' && !r->has_body && !r->has_begun) r->is_standard = 1;
        }
        r->has_begun = 1;
    }
    const unsigned char *close = memchr(p, '>', (size_t)(end - p));
    return close ? close + 1 : end;
}

/* Appends to the text of a link. Bytes that complete a character only without the tag in between are left alone. */
static int append_link_text(Reader *r, Span text) {
    if (text.start < text.end && (*text.start & 0xc0) == 0x80) return UNSURE;
    return append_decoded(&r->link_text, text, 0);
}

static int read_text(Reader *r, const unsigned char *until) {
    Span text = {r->at, until};
    r->at = until;
    int in_table = is_table_part(top(r));
    if (!r->has_body || in_table) {
        const unsigned char *p = text.start;
        while (p < text.end && is_space(*p)) p++;
        if (p < text.end) {
            if (in_table || r->in_head_noscript) return UNSURE;
            r->has_body = 1;
        }
    }
    if (r->ended < r->loose_count && !in_table && remake(r) <= 0) return UNSURE;
    return r->in_link ? append_link_text(r, text) : DONE;
}

/* Elements of SVG that draw, and say nothing: the tree has no more to tell of them than their text. */
static int is_drawing(Span name) {
    static const char *const names[] = {
        "circle", "clippath", "defs", "desc", "ellipse", "filter", "g", "line", "lineargradient", "marker", "mask", "path",
        "pattern", "polygon", "polyline", "radialgradient", "rect", "stop", "svg", "symbol", "text", "title", "tspan",
        "use"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (is_named(name, names[i], (Py_ssize_t)strlen(names[i]))) return 1;
    return 0;
}

/* Reads a drawing, from behind its first tag to behind its end. */
static int read_svg(Reader *r) {
    Name open[MAX_DRAWING], name;
    int count = 1, in_words = 0; /* in a title or desc, where HTML begins again */
    open[0] = tag_svg->name;
    while (r->at < r->end) {
        const unsigned char *mark = memchr(r->at, '<', (size_t)(r->end - r->at));
        Span text = {r->at, mark ? mark : r->end};
        int result = r->in_link ? append_link_text(r, text) : DONE;
        r->at = text.end;
        if (result <= 0 || !mark) return result;
        int is_end = mark[1] == '/';
        if (!is_letter(mark[1 + is_end])) {
            if (r->end - mark < 4 || memcmp(mark, "<!--", 4) != 0) return UNSURE;
            r->at = comment_end(r);
            continue;
        }
        r->at = mark + 1 + is_end;
        Span tag = {r->at, r->at};
        tag.end = r->at = read_name(r->at, &name);
        if ((result = read_attributes(r, 0)) <= 0 || r->is_cut) return result;
        if (is_end) {
            if (in_words && !is_same(&name, open + count - 1)) return UNSURE;
            int at = count - 1;
            while (at >= 0 && !is_same(open + at, &name)) at--;
            if (at < 0) return UNSURE;
            in_words = 0;
            if (!(count = at)) return DONE;
        } else {
            if (in_words || !is_drawing(tag)) return UNSURE;
            if (r->is_closed) continue;
            if (count == MAX_DRAWING) return UNSURE;
            open[count++] = name;
            in_words = is_named(tag, "title", 5) || is_named(tag, "desc", 4);
        }
    }
    return DONE;
}

static void take_attributes_of_html(Reader *r) {
    const Span *language = attribute(r, "lang"), *xml_language = attribute(r, "xml:lang");
    if (language && !r->language.start) r->language = *language;
    if (xml_language && !r->xml_language.start) r->xml_language = *xml_language;
}

static int start_tag(Reader *r, const Tag *tag, const Name *name) {
    const unsigned char *start = r->at;
    int result = read_attributes(r, tag->flags & (WANTED | TOLD));
    if (result <= 0 || r->is_cut) return result;
    if (tag->flags & STRANGE) return UNSURE;
    if (tag->kind == HTML) take_attributes_of_html(r);
    if (tag->kind == HTML || tag->kind == HEAD) return DONE;
    if (tag->kind == BODY) {
        r->has_body = 1;
        return r->in_head_noscript ? UNSURE : DONE;
    }
    if (r->in_head_noscript && tag->kind != LINK && tag->kind != META && tag->kind != STYLE) return UNSURE;
    if (!(tag->flags & IN_HEAD)) r->has_body = 1;
    if (r->in_link && tag->flags & NOT_IN_LINK) return UNSURE;

    const Tag *open = top(r);
    if (open->kind == SELECT) return tag->kind == OPTION ? DONE : UNSURE;
    if (open->kind == COLGROUP && tag->kind != COL) {
        r->depth--;
        open = top(r);
    }
    if (is_table_part(open) && !(tag->flags & STRUCTURE)) {
        int is_hidden;
        switch (tag->kind) {
        case SCRIPT: case STYLE:
            break;
        case INPUT:
            result = is_value(r, "type", "hidden", &is_hidden);
            return result <= 0 ? result : is_hidden ? DONE : UNSURE;
        case FORM:
            if (r->has_form) return DONE;
            r->has_form = FORM_OF_TABLE;
            return call_take(r, tag);
        case TABLE:
            for (int i = r->depth - 1; i >= 0; i--)
                if (r->stack[i]->kind == TABLE) {
                    if ((result = pop_to(r, i, 1)) <= 0) return result;
                    break;
                }
            if (is_table_part(top(r))) return UNSURE;
            break;
        default:
            return UNSURE;
        }
    }
    if (tag->flags & STRUCTURE) return start_table_part(r, tag);
    if (!(tag->flags & (CLOSES_P | IN_HEAD)) && (result = remake(r)) <= 0) return result;

    if (r->in_link && r->doubtful && (tag->flags & CLOSES_P || tag->kind == BUTTON)) return UNSURE;
    if (tag->kind == FORM && r->has_form) return DONE;
    if (tag->kind == LI && (result = close_item(r, LI, LI)) <= 0) return result;
    if ((tag->kind == DD || tag->kind == DT) && (result = close_item(r, DD, DT)) <= 0) return result;
    if (tag->kind == TABLE && !r->is_standard) {
        if (in_scope(r, P, BUTTON_SCOPE) >= 0) r->doubtful = 1;
        if (r->in_link && r->doubtful) return UNSURE;
    }
    if (tag->flags & CLOSES_P && (result = close_p(r)) <= 0) return result;
    if (tag->kind == H && top(r)->kind == H && !(r->in_link && r->link_depth == r->depth)) {
        r->doubtful = 1; /* where a loose one stands between, it stays */
        if ((result = pop_to(r, r->depth - 1, 0)) <= 0) return result;
    }
    if (tag->kind == BUTTON) {
        int at = in_scope(r, BUTTON, ANY_SCOPE);
        if (at >= 0 && (result = pop_to(r, at, 0)) <= 0) return result;
    }
    if (r->in_link && (tag == tag_pre || tag == tag_listing)) return UNSURE; /* their first newline is no space */

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
    if (tag->flags & SPECIAL) return push(r, tag);
    const Loose *last = r->loose + r->loose_count - 1;
    if (tag->kind == OPTION && r->loose_count && last->depth == r->depth && is_same(&last->name, name)) return DONE;
    if (r->loose_count == MAX_LOOSE) return UNSURE;
    r->loose[r->loose_count++] = (Loose){*name, r->depth, tag->flags & FORMATTING, r->at - start};
    r->ended = r->loose_count;
    return DONE;
}

/* The end of an element that is not special. */
static int end_loose(Reader *r, const Tag *tag, const Name *name) {
    int is_formatting = tag->flags & FORMATTING, at = r->loose_count - 1;
    for (; at >= 0; at--) {
        if (!is_formatting && r->loose[at].depth < r->depth) return DONE; /* behind a special one: ignored */
        if (is_same(&r->loose[at].name, name)) break;
    }
    if (r->in_link) {
        if (at < r->link_loose) return !is_formatting && r->depth > r->link_depth ? DONE : UNSURE;
        /* the adoption agency ends some of those above, and makes others again */
        if (is_formatting && at < r->loose_count - 1) return UNSURE;
    }
    if (at < 0) return DONE;
    if (is_formatting) memmove(r->loose + at, r->loose + at + 1, (size_t)(r->loose_count - at - 1) * sizeof(Loose));
    r->loose_count = is_formatting ? r->loose_count - 1 : at;
    r->ended = Py_MIN(r->ended > at && is_formatting ? r->ended - 1 : r->ended, r->loose_count);
    return DONE;
}

/* The end of a form takes it off the stack and leaves open what stands in it. */
static int end_form(Reader *r) {
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

static int read_page(Reader *r) {
    while (r->at < r->end) {
        int result;
        const unsigned char *mark = *r->at == '<' ? r->at : memchr(r->at, '<', (size_t)(r->end - r->at));
        if (!mark) return read_text(r, r->end);
        if (mark > r->at && (result = read_text(r, mark)) <= 0) return result;
        unsigned char next = mark[1];
        Name name;
        if (is_letter(next)) {
            r->has_begun = 1;
            r->at = read_name(mark + 1, &name);
            result = start_tag(r, find_tag(&name), &name);
        } else if (next == '/' && is_letter(mark[2])) {
            r->has_begun = 1;
            r->at = read_name(mark + 2, &name);
            result = end_tag(r, find_tag(&name), &name);
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
    if (result <= 0 || (!r->language.start && !r->xml_language.start)) return result;
    PyObject *texts[2] = {NULL, NULL};
    const Span *spans[2] = {&r->language, &r->xml_language};
    for (int i = 0; i < 2; i++) {
        if (spans[i]->start) {
            texts[i] = text_of_value(r, *spans[i]);
        } else {
            texts[i] = Py_None;
            Py_INCREF(Py_None);
        }
    }
    PyObject *done = NULL;
    if (texts[0] && texts[1])
        done = PyObject_CallMethodObjArgs(r->page, name_take_language, texts[0], texts[1], NULL);
    Py_XDECREF(texts[0]);
    Py_XDECREF(texts[1]);
    Py_XDECREF(done);
    return done ? DONE : FAILED;
}

PyObject *read_quickly(PyObject *Py_UNUSED(module), PyObject *args) {
    Reader r;
    PyObject *body, *links, *tools;
    memset(&r, 0, sizeof r);
    if (!PyArg_ParseTuple(args, "SOO!O!UnOO!", &body, &r.page, &PyTuple_Type, &links, &PyDict_Type, &r.meanings, &r.url,
                          &r.max_links, &r.meta_names, &PyTuple_Type, &tools))
        return NULL;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(links, "O!O!O!O!O!", &PyList_Type, &r.targets, &PyList_Type, &r.anchors, &PyList_Type,
                          &r.fragments, &PyDict_Type, &r.kinds, &PyDict_Type, &r.rels) ||
        !PyArg_ParseTuple(tools, "OOOOOOOnn", &r.a_kind, &r.image_kind, &r.script_kind, &r.canonical_kind, &r.rel_words,
                          &r.kind_by_rel, &r.collapsed, &r.max_anchor, &r.max_rel))
        goto end;
    if (r.max_anchor > 1000) {
        PyErr_SetString(PyExc_ValueError, "anchors of at most 1000 characters");
        goto end;
    }
    r.at = (const unsigned char *)PyBytes_AS_STRING(body); /* behind its end there is a zero */
    r.end = r.at + PyBytes_GET_SIZE(body);
    int has_zero = memchr(r.at, 0, (size_t)(r.end - r.at)) != NULL;
    if (r.end - r.at >= 3 && memcmp(r.at, "\xef\xbb\xbf", 3) == 0) r.at += 3;
    Py_INCREF(r.meanings);
    Py_INCREF(r.url);
    int state = UNSURE;
    if (PyUnicode_GetLength(r.url) && !has_zero) {
        state = read_page(&r);
        if (state > 0) state = finish(&r);
    }
    Py_DECREF(r.meanings);
    Py_DECREF(r.url);
    if (state == UNSURE) {
        result = Py_None;
        Py_INCREF(result);
    } else if (state == DONE) {
        result = PyBool_FromLong(r.odd_fragments);
    }
end:
    PyMem_Free(r.link_text.bytes);
    PyMem_Free(r.link_alts.bytes);
    PyMem_Free(r.scratch.bytes);
    return result;
}

int prepare_quick(void) {
    const struct {
        PyObject **place;
        const char *text;
    } texts[] = {{&empty_text, ""}, {&one_space, " "}, {&name_target_of, "target_of"}, {&name_take, "take"},
                 {&name_add_srcset, "add_srcset"}, {&name_add_by_rel, "add_by_rel"}, {&name_rebase, "rebase"},
                 {&name_take_title, "take_title"}, {&name_take_language, "take_language"}};
    make_tables();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!(*texts[i].place = PyUnicode_InternFromString(texts[i].text))) return -1;
    return 0;
}
