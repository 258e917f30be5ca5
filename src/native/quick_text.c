#define PY_SSIZE_T_CLEAN
#include "quick_text.h"

#include <string.h>

static PyObject *one_space, *entities;

int prepare_text(void) {
    one_space = PyUnicode_InternFromString(" ");
    return one_space ? 0 : -1;
}

static int is_ascii(const unsigned char *bytes, Py_ssize_t size) {
    uint64_t any = 0;
    for (; size >= 8; size -= 8, bytes += 8) any |= eight_at(bytes);
    while (size) any |= bytes[--size];
    return !(any & 0x8080808080808080);
}

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

int append(Text *text, const unsigned char *bytes, Py_ssize_t size) {
    if (!size) return DONE; /* a text may have no bytes yet */
    if (more_room(text, size) < 0) return FAILED;
    memcpy(text->bytes + text->size, bytes, (size_t)size);
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
    0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d, 0x17e,
    0x178};

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

int append_decoded(Text *text, Span span, int in_attribute) {
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

PyObject *text_of(const char *bytes, Py_ssize_t size) {
    if (!is_ascii((const unsigned char *)bytes, size)) return PyUnicode_DecodeUTF8(bytes, size, "replace");
    PyObject *text = PyUnicode_New(size, 0x7f);
    if (text && size) memcpy(PyUnicode_1BYTE_DATA(text), bytes, (size_t)size);
    return text;
}

PyObject *words(PyObject *text) {
    PyObject *parts = PyUnicode_Split(text, NULL, -1);
    if (!parts) return NULL;
    PyObject *joined = PyUnicode_Join(one_space, parts);
    Py_DECREF(parts);
    return joined;
}

int has_word(Span text, const char *word) {
    size_t size = strlen(word);
    for (const unsigned char *p = text.start; text.end - p >= (Py_ssize_t)size; p++) {
        p = memchr(p, *word, (size_t)(text.end - p) - size + 1);
        if (!p) return 0;
        if (memcmp(p, word, size) == 0) return 1;
    }
    return 0;
}
