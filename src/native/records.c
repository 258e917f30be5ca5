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

/* The digests of an exchange: those of its tuple, or else made here. 0 where neither can be. */
static int find_digests(PyObject *given, Part head, Part body, Part request, Part *digests, char (*made)[DIGEST_TEXT_B]) {
    enum { OF_PAYLOAD, OF_BLOCK, OF_REQUEST, DIGESTS };
    if (given != Py_None) {
        if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != DIGESTS) return 0;
        for (int i = 0; i < DIGESTS; i++) {
            PyObject *text = PyTuple_GET_ITEM(given, i);
            if (!PyUnicode_Check(text) || !is_plain(text, ' ', &digests[i])) return 0;
        }
        return 1;
    }
    if (!has_digests()) return 0;
    for (int i = 0; i < DIGESTS; i++) digests[i] = (Part){made[i], DIGEST_TEXT_B};
    spell_digests(head.bytes, head.size, body.bytes, body.size, made[OF_PAYLOAD], made[OF_BLOCK]);
    if (request.size) spell_digests(request.bytes, request.size, "", 0, NULL, made[OF_REQUEST]);
    return 1;
}

PyObject *exchange(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    enum { URL, DATE, IP, PROTOCOL, TRUNCATED, TEXTS, IDS = TEXTS, HEAD, BODY, REQUEST, DIGESTS, ALL };
    enum { ID, REQUEST_ID, BOTH_IDS };
    Part part[ALL], id[BOTH_IDS], digest[3];
    char length[64], request_length[64], made[3][DIGEST_TEXT_B];
    int is_fit = count == ALL && PyTuple_Check(args[IDS]) && PyTuple_GET_SIZE(args[IDS]) == BOTH_IDS;
    for (int i = 0; i < DIGESTS && is_fit; i++)
        is_fit = i == IDS || (i < TEXTS ? PyUnicode_Check(args[i]) : PyBytes_Check(args[i]));
    for (int i = 0; i < BOTH_IDS && is_fit; i++) is_fit = PyUnicode_Check(PyTuple_GET_ITEM(args[IDS], i));
    if (!is_fit) {
        PyErr_SetString(PyExc_TypeError, "exchange() takes five texts, two ids, three times bytes, and digests or None");
        return NULL;
    }
    for (int i = 0; i < TEXTS; i++)
        if (!is_plain(args[i], i == URL ? '!' : ' ', &part[i])) Py_RETURN_NONE;
    for (int i = 0; i < BOTH_IDS; i++)
        if (!is_plain(PyTuple_GET_ITEM(args[IDS], i), ' ', &id[i])) Py_RETURN_NONE;
    for (int i = HEAD; i <= REQUEST; i++) part[i] = (Part){PyBytes_AS_STRING(args[i]), PyBytes_GET_SIZE(args[i])};
    if (!is_sound_response(part[HEAD].bytes, part[HEAD].size, part[BODY].size)) Py_RETURN_NONE;
    if (part[REQUEST].size && !is_sound_request(part[REQUEST].bytes, part[REQUEST].size)) Py_RETURN_NONE;
    if (!find_digests(args[DIGESTS], part[HEAD], part[BODY], part[REQUEST], digest, made)) Py_RETURN_NONE;

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
    add_part(&response, id[ID]);
    add_all(&response, &about);
    add_header(&response, "WARC-Payload-Digest: ", digest[0]);
    add_header(&response, "WARC-Truncated: ", part[TRUNCATED]);
    add_block(&response, digest[1], "Content-Type: application/http; msgtype=response\r\n", part[HEAD], part[BODY], length,
              sizeof length);
    if (part[REQUEST].size) {
        add_text(&request, "WARC/1.1\r\nWARC-Type: request\r\nWARC-Record-ID: <");
        add_part(&request, id[REQUEST_ID]);
        add_all(&request, &about);
        add_text(&request, "WARC-Concurrent-To: <");
        add_part(&request, id[ID]);
        add_text(&request, ">\r\n");
        add_block(&request, digest[2], "Content-Type: application/http; msgtype=request\r\n", part[REQUEST], nothing,
                  request_length, sizeof request_length);
    }
    PyObject *first = joined(&response), *second = first ? joined(&request) : NULL;
    if (second) return Py_BuildValue("NNs#", first, second, digest[0].bytes, digest[0].size);
    Py_XDECREF(first);
    return NULL;
}
