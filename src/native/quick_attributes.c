#define PY_SSIZE_T_CLEAN
#include "quick_attributes.h"

#include <string.h>

int value_of(Reader *r, Span span, Span *value) {
    *value = span;
    if (!has_either(span, '&', '\r')) return DONE;
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

PyObject *text_of_value(Reader *r, Span span) {
    Span value;
    if (value_of(r, span, &value) < 0) return NULL;
    return text_of((const char *)value.start, value.end - value.start);
}

static int is_rest(unsigned char c) { return (c & 0xc0) == 0x80; }

/* How many bytes a character beyond ASCII has; 0 where it is none, or one of those that take a closer look. */
static int width_of(const unsigned char *p, const unsigned char *end) {
    if (*p >= 0xc2 && *p < 0xe0) return end - p > 1 && is_rest(p[1]) ? 2 : 0;
    if (*p > 0xe0 && *p < 0xf0 && *p != 0xed) return end - p > 2 && is_rest(p[1]) && is_rest(p[2]) ? 3 : 0;
    return 0;
}

/* Whether a character of two or three bytes is one of Unicode's spaces. */
static int is_wide_space(const unsigned char *p) {
    switch (*p) {
    case 0xc2:
        return p[1] == 0x85 || p[1] == 0xa0;
    case 0xe1:
        return p[1] == 0x9a && p[2] == 0x80;
    case 0xe2:
        if (p[1] == 0x81) return p[2] == 0x9f;
        return p[1] == 0x80 && (p[2] <= 0x8a || p[2] == 0xa8 || p[2] == 0xa9 || p[2] == 0xaf);
    case 0xe3:
        return p[1] == 0x80 && p[2] == 0x80;
    default:
        return 0;
    }
}

/* Whether eight bytes stay as they are behind a space, or behind something else: printable ASCII, no two spaces in a row.
   All are looked at at once, each in its part of a number. */
static int are_collapsed(const unsigned char *bytes, int is_behind_space) {
    const uint64_t ones = 0x0101010101010101, highest = 0x80 * ones;
    uint64_t all = eight_at(bytes), above_space = (all | highest) - 0x21 * ones, printable = (all | highest) - 0x20 * ones;
    uint64_t spaces = ~above_space & highest;
    if (all & highest || ~printable & highest) return 0;
    return !(spaces & (spaces << 8 | (is_behind_space ? 0x80 : 0)));
}

Py_ssize_t collapse(const unsigned char *bytes, Py_ssize_t size, char *kept) {
    Py_ssize_t count = 0;
    for (const unsigned char *end = bytes + size; bytes < end;) {
        if (end - bytes >= 8 && are_collapsed(bytes, !count || kept[count - 1] == ' ')) {
            memcpy(kept + count, bytes, 8);
            count += 8, bytes += 8;
            continue;
        }
        int width = *bytes < 0x80 ? 1 : width_of(bytes, end);
        if (!width) return -1;
        if (width == 1 ? is_python_space(*bytes) : is_wide_space(bytes)) {
            if (count && kept[count - 1] != ' ') kept[count++] = ' ';
            bytes += width;
        } else {
            do kept[count++] = (char)*bytes++;
            while (--width);
        }
    }
    return count && kept[count - 1] == ' ' ? count - 1 : count;
}

PyObject *anchor_of(Reader *r, const unsigned char *bytes, Py_ssize_t size) {
    char collapsed[MAX_COLLAPSED];
    Py_ssize_t count = size <= r->max_anchor ? collapse(bytes, size, collapsed) : -1;
    if (count >= 0) return text_of(collapsed, count);
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

int read_words(Reader *r, const Span *span, Words *words) {
    Span value;
    words->text = NULL;
    words->bytes = (Span){(unsigned char *)words->kept, (unsigned char *)words->kept};
    if (!span || span->end == span->start) return DONE;
    if (value_of(r, *span, &value) < 0) return FAILED;
    Py_ssize_t size = size_of(value) <= r->max_anchor ? collapse(value.start, size_of(value), words->kept) : -1;
    if (size < 0) {
        words->text = anchor_of(r, value.start, size_of(value));
        words->bytes.start = (const unsigned char *)(words->text ? PyUnicode_AsUTF8AndSize(words->text, &size) : NULL);
        if (!words->bytes.start) return FAILED;
    }
    words->bytes.end = words->bytes.start + size;
    return DONE;
}

enum { SAID_PLACES = 32, MAX_SAID = 32 };

static struct {
    PyObject *function, *said;
    Py_ssize_t size;
    unsigned char text[MAX_SAID];
} what_was_said[SAID_PLACES]; /* each in a place of its own, which the next one there takes over */

PyObject *said_of(PyObject *function, Span text) {
    Py_ssize_t size = size_of(text);
    size_t place = size ? ((size_t)size * 7 + text.start[0] * 3u + text.end[-1]) % SAID_PLACES : 0;
    if (what_was_said[place].function == function && what_was_said[place].size == size &&
        memcmp(what_was_said[place].text, text.start, (size_t)size) == 0) {
        Py_INCREF(what_was_said[place].said);
        return what_was_said[place].said;
    }
    PyObject *given = text_of((const char *)text.start, size);
    PyObject *said = given ? PyObject_CallFunctionObjArgs(function, given, NULL) : NULL;
    Py_XDECREF(given);
    if (!said || size > MAX_SAID) return said;
    PyObject *old_function = what_was_said[place].function, *old = what_was_said[place].said;
    Py_INCREF(function);
    Py_INCREF(said);
    what_was_said[place].function = function, what_was_said[place].said = said, what_was_said[place].size = size;
    memcpy(what_was_said[place].text, text.start, (size_t)size);
    Py_XDECREF(old_function);
    Py_XDECREF(old);
    return said;
}

PyObject *attribute_dict(Reader *r) {
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

int is_value(Reader *r, const char *name, const char *wanted, int *is_so) {
    const Span *span = attribute(r, name);
    Span value;
    *is_so = 0;
    if (!span) return DONE;
    if (value_of(r, *span, &value) < 0) return FAILED;
    *is_so = is_named(value, wanted, (Py_ssize_t)strlen(wanted));
    return DONE;
}

/* Code that may lead to another page has one of these words in it (weft/parse/attributes.py): only the tree tells. */
static int check_code(Reader *r, Span value) {
    Span code;
    if (value_of(r, value, &code) < 0) return FAILED;
    return has_word(code, "location") || has_word(code, "window.open") ? UNSURE : DONE;
}

int read_some_attributes(Reader *r, int wanted) {
    const unsigned char *p = r->at, *end = r->end;
    for (;;) {
        int slash = 0;
        for (; classes[*p] & BETWEEN; p++) slash = *p == '/';
        if (*p == '>') {
            r->is_closed = slash;
            r->at = p + 1;
            return DONE;
        }
        if (p >= end) break;
        Attribute found = {{p, p}, {NULL, NULL}};
        p++; /* whatever it is: a leading "=" belongs to the name */
        if (end - p >= 8) p += count_letters(eight_at(p));
        while (!(classes[*p] & ATTRIBUTE_END)) p++;
        found.name.end = found.value.start = found.value.end = p;
        while (is_space(*p)) p++;
        if (*p == '=') {
            p++;
            while (is_space(*p)) p++;
            if (*p == '"' || *p == '\'') {
                const unsigned char *close = find_near(p + 1, end, *p);
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
