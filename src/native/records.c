/* The records of an exchange as WARC 1.1 writes them, where all that goes into their heads is as plain as it nearly always
   is: printable ASCII, a request that every reader understands. Python writes the others. */

#define PY_SSIZE_T_CLEAN
#include "native.h"

#include <string.h>

enum { MAX_PARTS = 40 };

typedef struct {
    const char *bytes;
    Py_ssize_t size;
} Part;

typedef struct {
    Part parts[MAX_PARTS];
    int count;
} Parts;

static void add(Parts *all, const char *bytes, Py_ssize_t size) { all->parts[all->count++] = (Part){bytes, size}; }

static void add_text(Parts *all, const char *text) { add(all, text, (Py_ssize_t)strlen(text)); }

static void add_part(Parts *all, Part part) { add(all, part.bytes, part.size); }

/* A header of its name and its value; none where there is no value. */
static void add_header(Parts *all, const char *name, Part value) {
    if (!value.size) return;
    add_text(all, name);
    add_part(all, value);
    add_text(all, "\r\n");
}

static void add_all(Parts *all, const Parts *others) {
    for (int i = 0; i < others->count; i++) add_part(all, others->parts[i]);
}

/* Whether a text is printable ASCII with no byte below the lowest; then its bytes, which last as long as it does. */
static int is_plain(PyObject *text, char lowest, Part *part) {
    if (!PyUnicode_IS_COMPACT_ASCII(text)) return 0;
    *part = (Part){(const char *)PyUnicode_1BYTE_DATA(text), PyUnicode_GET_LENGTH(text)};
    for (const char *p = part->bytes, *end = p + part->size; p < end; p++)
        if (*p < lowest || *p == 0x7f) return 0;
    return 1;
}

static PyObject *joined(const Parts *all) {
    Py_ssize_t size = 0;
    for (int i = 0; i < all->count; i++) size += all->parts[i].size;
    PyObject *record = PyBytes_FromStringAndSize(NULL, size);
    if (!record) return NULL;
    char *to = PyBytes_AS_STRING(record);
    for (int i = 0; i < all->count; to += all->parts[i++].size) memcpy(to, all->parts[i].bytes, (size_t)all->parts[i].size);
    return record;
}

/* What all records say of their block, and the block itself, in two parts. */
static void add_block(Parts *all, Part digest, const char *type, Part block, Part more, char *length, size_t room) {
    add_header(all, "WARC-Block-Digest: ", digest);
    add_text(all, type);
    add(all, length, snprintf(length, room, "Content-Length: %zd\r\n\r\n", block.size + more.size));
    add_part(all, block);
    add_part(all, more);
    add_text(all, "\r\n\r\n");
}

PyObject *exchange(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    enum { URL, DATE, IP, PROTOCOL, TRUNCATED, ID, REQUEST_ID, PAYLOAD_DIGEST, DIGEST, REQUEST_DIGEST, TEXTS };
    enum { HEAD = TEXTS, BODY, REQUEST, ALL };
    Part part[ALL];
    char length[64], request_length[64];
    if (count != ALL) {
        PyErr_SetString(PyExc_TypeError, "exchange() takes ten texts and three times bytes");
        return NULL;
    }
    for (int i = 0; i < ALL; i++) {
        if (i < TEXTS ? !PyUnicode_Check(args[i]) : !PyBytes_Check(args[i])) {
            PyErr_SetString(PyExc_TypeError, "exchange() takes ten texts and three times bytes");
            return NULL;
        }
        if (i >= TEXTS) part[i] = (Part){PyBytes_AS_STRING(args[i]), PyBytes_GET_SIZE(args[i])};
        else if (!is_plain(args[i], i == URL ? '!' : ' ', &part[i])) Py_RETURN_NONE;
    }
    if (part[REQUEST].size && !is_sound_request(part[REQUEST].bytes, part[REQUEST].size)) Py_RETURN_NONE;

    const Part nothing = {"", 0};
    Parts about = {.count = 0}, response = {.count = 0}, request = {.count = 0};
    add_text(&about, ">\r\n");
    add_header(&about, "WARC-Date: ", part[DATE]);
    add_text(&about, "WARC-Target-URI: ");
    add_part(&about, part[URL]);
    add_text(&about, "\r\n");
    add_header(&about, "WARC-IP-Address: ", part[IP]);
    add_header(&about, "WARC-Protocol: ", part[PROTOCOL]);

    add_text(&response, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <");
    add_part(&response, part[ID]);
    add_all(&response, &about);
    add_header(&response, "WARC-Payload-Digest: ", part[PAYLOAD_DIGEST]);
    add_header(&response, "WARC-Truncated: ", part[TRUNCATED]);
    add_block(&response, part[DIGEST], "Content-Type: application/http; msgtype=response\r\n", part[HEAD], part[BODY], length,
              sizeof length);
    if (part[REQUEST].size) {
        add_text(&request, "WARC/1.1\r\nWARC-Type: request\r\nWARC-Record-ID: <");
        add_part(&request, part[REQUEST_ID]);
        add_all(&request, &about);
        add_text(&request, "WARC-Concurrent-To: <");
        add_part(&request, part[ID]);
        add_text(&request, ">\r\n");
        add_block(&request, part[REQUEST_DIGEST], "Content-Type: application/http; msgtype=request\r\n", part[REQUEST],
                  nothing, request_length, sizeof request_length);
    }
    PyObject *first = joined(&response), *second = first ? joined(&request) : NULL;
    if (second) return Py_BuildValue("NN", first, second);
    Py_XDECREF(first);
    return NULL;
}
