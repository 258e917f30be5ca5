/* Lines of the index of the archive (CDXJ), for answers whose texts are printable ASCII with nothing to escape and whose
   path is as simple as most are; Python writes the others. */

#define PY_SSIZE_T_CLEAN
#include "json.h"
#include "native.h"
#include "plain.h"

/* Whether a text is plain, and stands in JSON as it is. */
static int is_plain_in_json(PyObject *text, char lowest, Part *part) {
    return PyUnicode_Check(text) && is_plain(text, lowest, part) && !memchr(part->bytes, '"', (size_t)part->size) &&
           !memchr(part->bytes, '\\', (size_t)part->size);
}

static int is_simple_in_path(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '~' ||
           c == '-';
}

/* Appends a path in lower case without its last slash; 0 where it has dots that lead elsewhere, escapes or a query. */
static int put_simple_path(Json *json, Part path) {
    char before = '/';
    for (Py_ssize_t i = 0; i < path.size; before = path.bytes[i++]) {
        char c = path.bytes[i];
        if (before == '/' ? c == '/' || c == '.' || !is_simple_in_path(c) : c != '/' && !is_simple_in_path(c)) return 0;
        json->bytes[json->size++] = (char)(c >= 'A' && c <= 'Z' ? c | 32 : c);
    }
    if (path.size && before == '/') json->size--;
    return 1;
}

static void put_field(Json *json, const char *name, Part value) {
    put(json, name, (Py_ssize_t)strlen(name));
    put(json, value.bytes, value.size);
}

/* Appends a field that is a number, and its last quote; 0 where it is none, or one that Python should write. */
static int put_count(Json *json, const char *name, PyObject *number) {
    long long count = PyLong_CheckExact(number) ? PyLong_AsLongLong(number) : -1;
    if (count < 0) {
        PyErr_Clear();
        return 0;
    }
    put(json, name, (Py_ssize_t)strlen(name));
    put_number(json, (unsigned long long)count, '"');
    return 1;
}

PyObject *index_line(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    enum { HOST, PATH, STAMP, URL, MIME, DIGEST, FILE_NAME, TEXTS };
    enum { STATUS = TEXTS, LENGTH, OFFSET, ALL };
    Part part[TEXTS];
    Py_ssize_t room = 256; /* what stands between the texts, and three numbers */
    if (count != ALL) {
        PyErr_SetString(PyExc_TypeError, "index_line() takes seven texts and three numbers");
        return NULL;
    }
    for (int i = 0; i < TEXTS; i++) {
        if (!is_plain_in_json(args[i], i == URL ? '!' : ' ', &part[i])) Py_RETURN_NONE;
        room += part[i].size;
    }
    Json json = {NULL, 0, 0};
    PyObject *line = NULL;
    if (make_room(&json, room) < 0) return NULL;
    put(&json, part[HOST].bytes, part[HOST].size);
    put(&json, "/", 1);
    int is_whole = put_simple_path(&json, part[PATH]);
    if (is_whole) {
        put_field(&json, " ", part[STAMP]);
        put_field(&json, " {\"url\":\"", part[URL]);
        put_field(&json, "\",\"mime\":\"", part[MIME]);
        is_whole = put_count(&json, "\",\"status\":\"", args[STATUS]);
        put_field(&json, ",\"digest\":\"", part[DIGEST]);
        is_whole = is_whole && put_count(&json, "\",\"length\":\"", args[LENGTH]);
        is_whole = is_whole && put_count(&json, ",\"offset\":\"", args[OFFSET]);
        put_field(&json, ",\"filename\":\"", part[FILE_NAME]);
        put(&json, "\"}\n", 3);
    }
    if (is_whole) line = PyBytes_FromStringAndSize(json.bytes, json.size);
    PyMem_Free(json.bytes);
    if (line || PyErr_Occurred()) return line;
    Py_RETURN_NONE;
}
