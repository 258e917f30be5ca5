/* Answers, their heads and those of requests, where they are as clean as nearly all are; Python looks at the others. */

#define PY_SSIZE_T_CLEAN
#include "native.h"

#include <string.h>

typedef unsigned char Byte;

static inline int is_blank(Byte c) { return c == ' ' || c == '\t'; }

static inline int is_digit(Byte c) { return c >= '0' && c <= '9'; }

static inline Byte lower(Byte c) { return c >= 'A' && c <= 'Z' ? c | 32 : c; }

/* Whether a line is "HTTP/v ddd", with or without a reason, and an answer's last status; then what it says. */
static int read_status(const Byte *line, Py_ssize_t size, Py_ssize_t *version_end, long *status) {
    const Byte *space = size > 5 && memcmp(line, "HTTP/", 5) == 0 ? memchr(line, ' ', (size_t)size) : NULL;
    if (!space || line + size - space < 4 || space == line + 5) return 0;
    if (!is_digit(space[1]) || !is_digit(space[2]) || !is_digit(space[3])) return 0;
    if (line + size - space > 4 && space[4] != ' ') return 0;
    for (const Byte *p = line + 5; p < space; p++)
        if (!is_digit(*p) && *p != '.') return 0;
    *version_end = space - line;
    *status = (space[1] - '0') * 100 + (space[2] - '0') * 10 + (space[3] - '0');
    return *status >= 200;
}

/* A name that most servers send. */
typedef struct {
    const char *spelling;
    PyObject *name;
} Known;

enum { KNOWN = 64 };

static Known known[KNOWN];

static Known *place_of(const char *name, Py_ssize_t size) {
    size_t mixed = (size_t)size + (Byte)name[0] + (Byte)name[size - 1] * 11u + (Byte)name[size / 2] * 2u;
    return &known[mixed % KNOWN];
}

int prepare_heads(void) {
    static const char *const names[] = {
        "accept-ranges", "cache-control", "connection", "content-encoding", "content-language", "content-length",
        "content-type", "date", "etag", "expires", "keep-alive", "last-modified", "link", "location", "server",
        "set-cookie", "strict-transport-security", "transfer-encoding", "vary", "x-content-type-options",
        "x-frame-options", "x-powered-by", "x-robots-tag", "x-xss-protection",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Known *place = place_of(names[i], (Py_ssize_t)strlen(names[i]));
        if (place->name) continue; /* taken by another: this one is like any name */
        place->spelling = names[i];
        place->name = PyUnicode_InternFromString(names[i]);
        if (!place->name) return -1;
    }
    return 0;
}

/* Name in lower case and value of a header line; None where Python should look. */
static PyObject *header_of(const Byte *line, Py_ssize_t size) {
    char name[64];
    const Byte *colon = memchr(line, ':', (size_t)size), *start, *end = line + size;
    Py_ssize_t name_size = colon ? colon - line : 0;
    if (!name_size || name_size > (Py_ssize_t)sizeof name) Py_RETURN_NONE;
    for (Py_ssize_t i = 0; i < name_size; i++) {
        if (line[i] <= ' ' || line[i] >= 0x7f) Py_RETURN_NONE;
        name[i] = (char)lower(line[i]);
    }
    for (start = colon + 1; start < end && is_blank(*start);) start++;
    while (end > start && is_blank(end[-1])) end--;
    const Known *place = place_of(name, name_size);
    int is_known = place->name && PyUnicode_GET_LENGTH(place->name) == name_size &&
                   memcmp(place->spelling, name, (size_t)name_size) == 0;
    PyObject *key = is_known ? Py_NewRef(place->name) : PyUnicode_DecodeASCII(name, name_size, NULL);
    PyObject *value = key ? PyUnicode_DecodeLatin1((const char *)start, end - start, NULL) : NULL;
    PyObject *pair = value ? PyTuple_Pack(2, key, value) : NULL;
    Py_XDECREF(key);
    Py_XDECREF(value);
    return pair;
}

/* Whether a line is whole, and has no other end in it than its own. */
static int is_clean(const Byte *line, Py_ssize_t size) {
    return size >= 2 && line[size - 2] == '\r' && line[size - 1] == '\n' && !memchr(line, '\r', (size_t)(size - 2)) &&
           !memchr(line, '\n', (size_t)(size - 2));
}

/* A header line that stood at some place of a head, and what it says: most come with every answer of a server. */
typedef struct {
    PyObject *line, *pair;
} Met;

enum { MET = 32, MAX_KEPT = 256 };

static Met met[MET];

/* What the line at this place says; None where Python should look. */
static PyObject *header_at(Py_ssize_t place, PyObject *line) {
    Met *last = &met[place % MET];
    const char *text = PyBytes_AS_STRING(line);
    Py_ssize_t size = PyBytes_GET_SIZE(line);
    if (last->line && PyBytes_GET_SIZE(last->line) == size &&
        memcmp(PyBytes_AS_STRING(last->line), text, (size_t)size) == 0)
        return Py_NewRef(last->pair);
    if (!is_clean((const Byte *)text, size)) Py_RETURN_NONE;
    PyObject *pair = header_of((const Byte *)text, size - 2);
    if (pair && pair != Py_None && size <= MAX_KEPT) {
        Py_XSETREF(last->line, Py_NewRef(line));
        Py_XSETREF(last->pair, Py_NewRef(pair));
    }
    return pair;
}

/* The lines one after the other. */
static PyObject *joined(PyObject *lines, Py_ssize_t size) {
    PyObject *raw = PyBytes_FromStringAndSize(NULL, size);
    char *at = raw ? PyBytes_AS_STRING(raw) : NULL;
    for (Py_ssize_t i = 0; raw && i < PyList_GET_SIZE(lines); i++) {
        PyObject *line = PyList_GET_ITEM(lines, i);
        memcpy(at, PyBytes_AS_STRING(line), (size_t)PyBytes_GET_SIZE(line));
        at += PyBytes_GET_SIZE(line);
    }
    return raw;
}

/* What a clean head says. */
typedef struct {
    PyObject *raw, *status, *version, *headers;
} Head;

static void forget(Head *head) {
    Py_CLEAR(head->raw);
    Py_CLEAR(head->status);
    Py_CLEAR(head->version);
    Py_CLEAR(head->headers);
}

static PyObject *version_of(const char *text, Py_ssize_t size) {
    static PyObject *usual;
    if (size != 3 || memcmp(text, "1.1", 3) != 0) return PyUnicode_DecodeASCII(text, size, NULL);
    if (!usual) usual = PyUnicode_InternFromString("1.1");
    return Py_XNewRef(usual);
}

/* 1: the lines are a clean head, taken apart now; 0: Python should look; -1: an error. */
static int read_head(PyObject *lines, Head *head) {
    Py_ssize_t count = PyList_Check(lines) ? PyList_GET_SIZE(lines) : 0, size = 0, version_end;
    long status;
    memset(head, 0, sizeof *head);
    if (count < 2) return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *line = PyList_GET_ITEM(lines, i);
        if (!PyBytes_Check(line) || (PyBytes_GET_SIZE(line) == 2) != (i == count - 1)) return 0;
        size += PyBytes_GET_SIZE(line);
    }
    const char *first = PyBytes_AS_STRING(PyList_GET_ITEM(lines, 0));
    Py_ssize_t first_size = PyBytes_GET_SIZE(PyList_GET_ITEM(lines, 0));
    if (memcmp(PyBytes_AS_STRING(PyList_GET_ITEM(lines, count - 1)), "\r\n", 2) != 0) return 0;
    if (!is_clean((const Byte *)first, first_size)) return 0;
    if (!read_status((const Byte *)first, first_size - 2, &version_end, &status)) return 0;
    head->headers = PyTuple_New(count - 2);
    for (Py_ssize_t i = 1; head->headers && i < count - 1; i++) {
        PyObject *pair = header_at(i, PyList_GET_ITEM(lines, i));
        if (!pair || pair == Py_None) {
            Py_XDECREF(pair);
            forget(head);
            return pair ? 0 : -1;
        }
        PyTuple_SET_ITEM(head->headers, i - 1, pair);
    }
    head->version = head->headers ? version_of(first + 5, version_end - 5) : NULL;
    head->status = head->version ? PyLong_FromLong(status) : NULL;
    head->raw = head->status ? joined(lines, size) : NULL;
    if (head->raw) return 1;
    forget(head);
    return -1;
}

static PyObject *parts_of(const Head *head) {
    return PyTuple_Pack(4, head->raw, head->status, head->version, head->headers);
}

PyObject *parse_head(PyObject *Py_UNUSED(module), PyObject *lines) {
    Head head;
    int found = read_head(lines, &head);
    if (found <= 0) return found ? NULL : Py_NewRef(Py_None);
    PyObject *parts = parts_of(&head);
    forget(&head);
    return parts;
}

/* Whether a header says something that has to be done to the answer, or with it. */
static int is_told(PyObject *pair) {
    enum { MAX_LENGTH_DIGITS = 18 };
    PyObject *name = PyTuple_GET_ITEM(pair, 0);
    switch (PyUnicode_GET_LENGTH(name)) {
        case 10: return PyUnicode_CompareWithASCIIString(name, "set-cookie") == 0;
        case 16: return PyUnicode_CompareWithASCIIString(name, "content-encoding") == 0;
        case 14:
            return PyUnicode_GET_LENGTH(PyTuple_GET_ITEM(pair, 1)) > MAX_LENGTH_DIGITS &&
                   PyUnicode_CompareWithASCIIString(name, "content-length") == 0;
        default: return 0;
    }
}

/* Whether an answer is what its bytes say, and tells nobody anything else. */
static int is_ordinary(const Head *head) {
    if (PyLong_AsLong(head->status) == 400 || PyUnicode_GET_LENGTH(head->version) != 3) return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(head->headers); i++)
        if (is_told(PyTuple_GET_ITEM(head->headers, i))) return 0;
    return 1;
}

/* The pieces of a body as one. */
static PyObject *body_of(PyObject *pieces) {
    Py_ssize_t size = 0;
    if (!PyList_Check(pieces)) return PyErr_Format(PyExc_TypeError, "a body comes in a list");
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pieces); i++) {
        PyObject *piece = PyList_GET_ITEM(pieces, i);
        if (!PyBytes_Check(piece)) return PyErr_Format(PyExc_TypeError, "a body comes in bytes");
        if (PyBytes_GET_SIZE(piece) > PY_SSIZE_T_MAX - size) return PyErr_NoMemory();
        size += PyBytes_GET_SIZE(piece);
    }
    return PyList_GET_SIZE(pieces) == 1 ? Py_NewRef(PyList_GET_ITEM(pieces, 0)) : joined(pieces, size);
}

/* The record of an ordinary answer; args are those of fetched. */
static PyObject *record_of(const Head *head, PyObject *const *args) {
    long long took_us = PyLong_AsLongLong(args[4]), before_us = PyLong_AsLongLong(args[5]);
    if (PyErr_Occurred()) return NULL;
    PyObject *record = NULL, *wire = body_of(args[2]);
    PyObject *response_ms = wire ? PyLong_FromLongLong(took_us > before_us ? (took_us - before_us) / 1000 : 0) : NULL;
    if (response_ms) {
        PyObject *fields[] = {head->status, head->raw, head->headers, wire,    wire,
                              Py_False,     args[3],   response_ms,   args[6], head->version};
        record = PyObject_Vectorcall(args[0], fields, sizeof fields / sizeof *fields, NULL);
    }
    Py_XDECREF(response_ms);
    Py_XDECREF(wire);
    return record;
}

PyObject *fetched(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    Head head;
    if (count != 7) return PyErr_Format(PyExc_TypeError, "fetched takes 7 arguments");
    int found = read_head(args[1], &head);
    if (found <= 0) return found ? NULL : Py_NewRef(Py_None);
    PyObject *answer = is_ordinary(&head) ? record_of(&head, args) : parts_of(&head);
    forget(&head);
    return answer;
}

/* Where a header's value begins, if a line has that name, followed at once by its colon; else NULL. */
static const Byte *value_of(const Byte *line, const Byte *end, const char *name) {
    size_t size = strlen(name);
    if ((size_t)(end - line) <= size) return NULL;
    for (size_t i = 0; i < size; i++)
        if (lower(line[i]) != (Byte)name[i]) return NULL;
    return line + size;
}

/* Whether a value is this number and nothing else but blanks. */
static int is_number(const Byte *start, const Byte *end, Py_ssize_t wanted) {
    unsigned long long found = 0;
    while (start < end && is_blank(*start)) start++;
    while (end > start && is_blank(end[-1])) end--;
    if (start == end || end - start > 18 || (*start == '0' && end - start > 1)) return 0;
    for (; start < end; start++) {
        if (!is_digit(*start)) return 0;
        found = found * 10 + (unsigned long long)(*start - '0');
    }
    return found == (unsigned long long)wanted;
}

/* Whether the lines behind the first are headers that every reader understands; where body_size is not negative, also
   whether none of them tells another length, or another framing, than this. */
static int are_sound(const Byte *at, const Byte *end, Py_ssize_t body_size) {
    int lengths = 0;
    while (end - at > 2) {
        const Byte *stop = memchr(at, '\r', (size_t)(end - at)), *p = at, *value;
        if (!stop || stop + 1 >= end || stop[1] != '\n') return 0;
        while (p < stop && *p > ' ' && *p < 0x7f && *p != ':') p++;
        if (p == at || p == stop || *p != ':' || memchr(p, '\n', (size_t)(stop - p)) || memchr(p, 0, (size_t)(stop - p)))
            return 0;
        if (body_size >= 0 && value_of(at, stop, "transfer-encoding")) return 0;
        if (body_size >= 0 && (value = value_of(at, stop, "content-length")))
            if (lengths++ || *value != ':' || !is_number(value + 1, stop, body_size)) return 0;
        at = stop + 2;
    }
    return end - at == 2 && at[0] == '\r' && at[1] == '\n';
}

int is_sound_request(const char *head, Py_ssize_t size) {
    static const char version[] = " HTTP/1.";
    const Byte *start = (const Byte *)head, *p = start, *end = start + size, *stop = memchr(head, '\r', (size_t)size);
    if (!stop || stop + 1 >= end || stop[1] != '\n' || stop - start < (Py_ssize_t)sizeof version) return 0;
    const Byte *target_end = stop - sizeof version; /* its zero stands for the last digit */
    if (memcmp(target_end, version, sizeof version - 1) != 0 || (stop[-1] != '0' && stop[-1] != '1')) return 0;
    while (p < target_end && *p >= 'A' && *p <= 'Z') p++;
    if (p == start || p == target_end || *p != ' ' || ++p == target_end) return 0;
    while (p < target_end && *p > ' ' && *p < 0x7f) p++;
    return p == target_end && are_sound(stop + 2, end, -1);
}

int is_sound_response(const char *head, Py_ssize_t size, Py_ssize_t body_size) {
    Py_ssize_t version_end;
    long status;
    const Byte *start = (const Byte *)head, *end = start + size, *stop = memchr(head, '\r', (size_t)size);
    if (!stop || stop + 1 >= end || stop[1] != '\n' || stop - start < 12 || memcmp(head, "HTTP/1.", 7) != 0) return 0;
    if ((start[7] != '0' && start[7] != '1') || !read_status(start, stop - start, &version_end, &status) || version_end != 8)
        return 0;
    if (memchr(start, '\n', (size_t)(stop - start)) || memchr(start, 0, (size_t)(stop - start))) return 0;
    return are_sound(stop + 2, end, body_size);
}

PyObject *is_sound_answer(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *head;
    Py_ssize_t size, body_size;
    if (!PyArg_ParseTuple(args, "y#n", &head, &size, &body_size)) return NULL;
    return PyBool_FromLong(is_sound_response(head, size, body_size));
}
