/* What a page says of its encoding in its first bytes (HTML, "prescan a byte stream to determine its encoding"). */

#define PY_SSIZE_T_CLEAN
#include "native.h"
#include "quick_tags.h"

typedef struct {
    Span charset, pragma, content; /* values of attributes; those that are not there have no start */
} Meta;

static void note(Meta *meta, Span name, Span value) {
    Span *place = is_named(name, "charset", 7)      ? &meta->charset
                  : is_named(name, "http-equiv", 10) ? &meta->pragma
                  : is_named(name, "content", 7)     ? &meta->content
                                                     : NULL;
    if (place && !place->start) *place = value;
}

/* Reads the attributes of a tag, from behind its name; where it ends, behind its ">", or NULL where it is cut. */
static const unsigned char *read_to_end(const unsigned char *p, const unsigned char *end, Meta *meta) {
    for (;;) {
        while (p < end && (is_space(*p) || *p == '/')) p++;
        if (p == end) return NULL;
        if (*p == '>') return p + 1;
        Span name = {p, p}, value;
        for (p++; p < end && !(classes[*p] & ATTRIBUTE_END && *p); p++) continue; /* a zero is like any other here */
        name.end = value.start = value.end = p;
        while (p < end && is_space(*p)) p++;
        if (p < end && *p == '=') {
            for (p++; p < end && is_space(*p);) p++;
            value.start = p;
            if (p < end && (*p == '"' || *p == '\'')) {
                const unsigned char *close = memchr(p + 1, *p, (size_t)(end - p - 1));
                if (!close) return NULL;
                value = (Span){p + 1, close};
                p = close + 1;
            } else {
                while (p < end && !is_space(*p) && *p != '>') p++;
                value.end = p;
            }
        }
        note(meta, name, value);
    }
}

/* What "charset=" is followed by; empty where it is not there. */
static Span label_in(Span content) {
    for (const unsigned char *p = content.start; content.end - p > 7; p++) {
        if (!is_named((Span){p, p + 7}, "charset", 7)) continue;
        const unsigned char *at = p + 7;
        while (at < content.end && is_space(*at)) at++;
        if (at == content.end || *at != '=') continue;
        for (at++; at < content.end && is_space(*at);) at++;
        if (at == content.end || *at == ';') continue;
        Span label = {at, at};
        if (*at == '"' || *at == '\'') {
            label.start++;
            label.end = memchr(label.start, *at, (size_t)(content.end - label.start));
            if (!label.end) continue;
        } else {
            while (label.end < content.end && !is_space(*label.end) && *label.end != ';') label.end++;
        }
        return label;
    }
    return (Span){NULL, NULL};
}

static Span label_of(const Meta *meta) {
    if (meta->charset.start) return meta->charset;
    if (meta->pragma.start && is_named(meta->pragma, "content-type", 12) && meta->content.start)
        return label_in(meta->content);
    return (Span){NULL, NULL};
}

/* Where a comment ends that begins here, or NULL; "<!-->" is a whole one. */
static const unsigned char *behind_comment(const unsigned char *p, const unsigned char *end) {
    for (p += 2; (p = memchr(p, '-', (size_t)(end - p))); p++)
        if (end - p >= 3 && p[1] == '-' && p[2] == '>') return p + 3;
    return NULL;
}

PyObject *meta_label(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *body;
    Py_ssize_t size, from, limit;
    if (!PyArg_ParseTuple(args, "y#nn", &body, &size, &from, &limit)) return NULL;
    size = Py_MIN(size, limit);
    if (from < 0 || from >= size) Py_RETURN_NONE;
    const unsigned char *start = (const unsigned char *)body, *end = start + size, *p = start + from;
    while (p && (p = memchr(p, '<', (size_t)(end - p))) && end - p > 2) {
        int is_end = p[1] == '/';
        if (memcmp(p + 1, "!-", 2) == 0 && end - p > 3 && p[3] == '-') {
            p = behind_comment(p, end);
        } else if (is_letter(p[1 + is_end])) {
            Meta meta = {{NULL, NULL}, {NULL, NULL}, {NULL, NULL}};
            Span name = {p + 1 + is_end, p + 1 + is_end};
            while (name.end < end && !is_space(*name.end) && *name.end != '>' && *name.end != '/') name.end++;
            p = read_to_end(name.end, end, &meta);
            if (!p || is_end || !is_named(name, "meta", 4)) continue;
            Span label = label_of(&meta);
            if (!size_of(label)) continue;
            PyObject *text = PyUnicode_DecodeLatin1((const char *)label.start, size_of(label), NULL);
            return text ? Py_BuildValue("Nn", text, p - start) : NULL;
        } else if (p[1] == '!' || p[1] == '/' || p[1] == '?') {
            p = memchr(p + 2, '>', (size_t)(end - p - 2));
            if (p) p++;
        } else {
            p++;
        }
    }
    Py_RETURN_NONE;
}
