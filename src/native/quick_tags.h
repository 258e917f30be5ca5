/* The tags that a page is read by: their names, and what the standard has them do. */

#ifndef WEFT_QUICK_TAGS_H
#define WEFT_QUICK_TAGS_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#pragma GCC visibility push(hidden)

typedef struct {
    const unsigned char *start, *end;
} Span;

enum {
    VOID = 1 << 0,         /* has no end tag */
    SPECIAL = 1 << 1,      /* in the standard's category of that name */
    CLOSES_P = 1 << 2,     /* its start tag ends an open p */
    SCOPE = 1 << 3,        /* ends a search for an element "in scope" */
    FORMATTING = 1 << 4,   /* its end tag runs the adoption agency */
    RAW = 1 << 5,          /* its content is text up to its end tag */
    STRUCTURE = 1 << 6,    /* a part of a table */
    BLOCK = 1 << 7,        /* its end tag ends it where it is in scope */
    TOLD = 1 << 8,         /* it is told to Python, with its attributes */
    STRANGE = 1 << 9,      /* only the tree tells */
    IN_HEAD = 1 << 10,     /* does not begin the body */
    NOT_IN_LINK = 1 << 11, /* inside a link only the tree tells */
    WANTED = 1 << 12,      /* its attributes are read here */
    LOOSE = 1 << 13,       /* opens and ends, and no more */
    OUTER = 1 << 14,       /* html, head or body */
    IN_TABLE = 1 << 15     /* only parts of a table may stand in it */
};

typedef enum {
    OTHER, A, AREA, AUDIO, BASE, BODY, BUTTON, CAPTION, CELL_D, CELL_H, COL, COLGROUP, DD, DT, EMBED, FORM, FORMAT, H,
    HEAD, HTML, IFRAME, IMG, INPUT, LI, LINK, META, NOSCRIPT, OBJECT, OPTION, P, PLAIN_VOID, RAW_TEXT,
    SCRIPT, SELECT, SOURCE, STRANGER, STYLE, SVG, TABLE, TBODY, TEXTAREA, TITLE, TR, TRACK, VIDEO, BLOCK_OF
    /* from BLOCK_OF on: one for each block element, so that end tags find their own */
} Kind;

/* The name of a tag, its first sixteen characters in lower case as two numbers, the first one lowest; one that is longer
   is none of ours. */
typedef struct {
    uint64_t first, second;
    Span rest;
} Name;

typedef struct {
    const char *text;
    int kind, flags;
    Name name;
} Tag;

extern const Tag unknown_tag;
extern const Tag *tag_address, *tag_div, *tag_ol, *tag_ul, *tag_meta, *tag_colgroup, *tag_tbody, *tag_tr, *tag_listing,
    *tag_pre, *tag_svg;

enum {
    SPACE = 1 << 0,
    NAME_END = 1 << 1,
    ATTRIBUTE_END = 1 << 2,
    VALUE_END = 1 << 3,
    BETWEEN = 1 << 4,      /* stands between attributes */
    PYTHON_SPACE = 1 << 5, /* where str.split() splits ASCII */
    IN_FRAGMENT = 1 << 6   /* stands in the fragments of URLs as it is */
};
extern unsigned char classes[256], lowered[256];

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

/* Whether a name, in whatever case, is the wanted one. */
static inline int is_named(Span name, const char *wanted, Py_ssize_t size) {
    if (name.end - name.start != size) return 0;
    for (Py_ssize_t i = 0; i < size; i++)
        if (lower(name.start[i]) != (unsigned char)wanted[i]) return 0;
    return 1;
}

/* Fills the tables; to be called before anything else here. */
void make_tables(void);

/* Where a byte stands first, or NULL; it is mostly near, and then found without a call. */
static inline const unsigned char *find_near(const unsigned char *p, const unsigned char *end, unsigned char wanted) {
#ifdef __SSE2__
    if (end - p >= 16) {
        __m128i equal = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)p), _mm_set1_epi8((char)wanted));
        int places = _mm_movemask_epi8(equal);
        if (places) return p + __builtin_ctz((unsigned)places);
        p += 16;
    }
#endif
    return memchr(p, wanted, (size_t)(end - p));
}

/* Whether one of two bytes stands in a text; most are short. */
static inline int has_either(Span text, unsigned char one, unsigned char other) {
    const unsigned char *p = text.start;
#ifdef __SSE2__
    const __m128i ones = _mm_set1_epi8((char)one), others = _mm_set1_epi8((char)other);
    for (; text.end - p >= 16; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)p);
        if (_mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(bytes, ones), _mm_cmpeq_epi8(bytes, others)))) return 1;
    }
#endif
    while (p < text.end && *p != one && *p != other) p++;
    return p < text.end;
}

/* Eight bytes as one number, the first one lowest. */
static inline uint64_t eight_at(const unsigned char *p) {
    uint64_t bytes;
    memcpy(&bytes, p, sizeof bytes);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    return bytes;
}

/* How many of eight bytes come before the first that cannot be a letter; no byte that ends a name can be one. */
static inline int count_letters(uint64_t bytes) {
    uint64_t others = ~bytes & 0x4040404040404040;
    return others ? __builtin_ctzll(others) / 8 : 8;
}

/* Reads a name up to a byte that ends it; where it ends. A byte of zero ends every page. */
const unsigned char *read_name(const unsigned char *p, Name *name);

/* The tag of a name, or unknown_tag. */
const Tag *find_tag(const Name *name);

/* Reads a name that begins with a letter, and finds its tag; *at moves behind it. */
const Tag *read_tag(const unsigned char **at, const unsigned char *end, Name *name);

#pragma GCC visibility pop

#endif
