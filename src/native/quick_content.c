#define PY_SSIZE_T_CLEAN
#include "quick_content.h"

#include <string.h>

#include "quick_elements.h"
#include "quick_links.h"

enum { MAX_DRAWING = 32 };
enum { ROOT_CHECK_B = 131072, MAX_ROOT_TAGS_B = 16384, SAMPLE_STEP_B = 16384, SAMPLE_B = 512 }; /* as in bounds.py */

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

int read_raw(Reader *r, const Tag *tag) {
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

const unsigned char *comment_end(Reader *r) {
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

int read_text(Reader *r, const unsigned char *until) {
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
        "circle", "clippath", "defs", "desc", "ellipse", "filter", "g", "line", "lineargradient", "marker", "mask",
        "path", "pattern", "polygon", "polyline", "radialgradient", "rect", "stop", "svg", "symbol", "text", "title",
        "tspan", "use"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (is_named(name, names[i], (Py_ssize_t)strlen(names[i]))) return 1;
    return 0;
}

int read_svg(Reader *r) {
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

/* Where a tag ends, from behind its name: at its ">", or at the end. */
static const unsigned char *tag_end(const unsigned char *p, const unsigned char *end) {
    while (p < end && *p != '>') {
        if (*p++ != '=') continue;
        while (p < end && is_space(*p)) p++;
        if (p < end && (*p == '"' || *p == '\'')) {
            const unsigned char *close = memchr(p + 1, *p, (size_t)(end - p - 1));
            p = close ? close + 1 : end;
        }
    }
    return p;
}

static int is_root(const unsigned char *p, const unsigned char *end) {
    Span name = {p + 1, p + 5};
    return end - p > 5 && *p == '<' && (is_named(name, "html", 4) || is_named(name, "body", 4));
}

/* Whether a sample of the page has a tag of html or body in it, or lies within one. *mark is the last "<" before *seen,
   where the sample before was looked for it; both move on. */
static int is_in_root(Span page, const unsigned char *at, const unsigned char **mark, const unsigned char **seen) {
    const unsigned char *end = at + Py_MIN(SAMPLE_B, page.end - at);
    for (const unsigned char *p = at; (p = memchr(p, '<', (size_t)(end - p))); p++)
        if (is_root(p, page.end)) return 1;
    if (memchr(at, '>', (size_t)(end - at))) return 0;
    const unsigned char *last = end;
    while (last > *seen && *--last != '<') continue;
    if (*last == '<') *mark = last;
    *seen = end;
    return is_root(*mark, page.end);
}

int has_long_roots(Span page) {
    const unsigned char *p = page.start, *mark = p, *seen = p;
    Py_ssize_t size_b = 0;
    int count = 0;
    if (size_of(page) <= ROOT_CHECK_B) return 0;
    do p += Py_MIN(SAMPLE_STEP_B, page.end - p);
    while (p < page.end && !is_in_root(page, p, &mark, &seen));
    if (p == page.end) return 0;
    for (p = page.start; (p = memchr(p, '<', (size_t)(page.end - p)));) {
        if (!is_root(p++, page.end)) continue;
        const unsigned char *end = tag_end(p + 4, page.end);
        size_b += end - p + 1;
        if (++count > 1 && size_b > MAX_ROOT_TAGS_B) return 1;
        p = end;
    }
    return 0;
}
