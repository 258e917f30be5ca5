/* The links of a page as they are stored, and how many of them lead elsewhere. */

#define PY_SSIZE_T_CLEAN
#include "native.h"

#include <string.h>

typedef struct {
    char *bytes;
    Py_ssize_t size, room;
} Json;

static int room_for(Json *json, Py_ssize_t size) {
    if (json->size + size <= json->room) return 0;
    Py_ssize_t room = (json->size + size) * 2;
    char *bytes = PyMem_Realloc(json->bytes, (size_t)room);
    if (!bytes) {
        PyErr_NoMemory();
        return -1;
    }
    json->bytes = bytes;
    json->room = room;
    return 0;
}

/* A number, and the sign behind it; the caller has made room. */
static void put_number(Json *json, unsigned long long number, char behind) {
    char digits[24], *at = digits + sizeof digits;
    *--at = behind;
    do *--at = (char)('0' + number % 10);
    while (number /= 10);
    size_t size = (size_t)(digits + sizeof digits - at);
    memcpy(json->bytes + json->size, at, size);
    json->size += (Py_ssize_t)size;
}

static int put_text(Json *json, PyObject *text) {
    Py_ssize_t size;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &size);
    if (!bytes || room_for(json, 6 * size + 8) < 0) return -1;
    char *to = json->bytes + json->size;
    *to++ = '"';
    for (const char *end = bytes + size; bytes < end; bytes++) {
        const char *start = bytes;
        while (bytes < end && (unsigned char)*bytes >= 0x20 && *bytes != '"' && *bytes != '\\') bytes++;
        memcpy(to, start, (size_t)(bytes - start));
        to += bytes - start;
        if (bytes == end) break;
        unsigned char c = (unsigned char)*bytes;
        if (c == '"' || c == '\\') {
            *to++ = '\\';
            *to++ = (char)c;
        } else {
            static const char hex[] = "0123456789abcdef";
            memcpy(to, "\\u00", 4);
            to[4] = hex[c >> 4], to[5] = hex[c & 15];
            to += 6;
        }
    }
    *to++ = '"';
    json->size = to - json->bytes;
    return 0;
}

/* The number at a place of a list, or -1 with an exception. */
static long long number_at(PyObject *list, Py_ssize_t at) { return PyLong_AsLongLong(PyList_GET_ITEM(list, at)); }

/* What dictionaries by place have for each place: kinds as bytes, rels borrowed or NULL. */
typedef struct {
    unsigned char *kinds;
    PyObject **rels;
} Places;

static int fill_places(Places *places, Py_ssize_t count, unsigned char kind, PyObject *kinds, PyObject *rels) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    places->rels = PyMem_Calloc((size_t)count + 1, sizeof(PyObject *) + 1);
    if (!places->rels) {
        PyErr_NoMemory();
        return -1;
    }
    places->kinds = (unsigned char *)(places->rels + count);
    memset(places->kinds, kind, (size_t)count);
    while (PyDict_Next(kinds, &at, &key, &value)) {
        Py_ssize_t place = PyLong_AsSsize_t(key);
        if (place >= 0 && place < count) places->kinds[place] = (unsigned char)PyLong_AsLong(value);
    }
    for (at = 0; PyDict_Next(rels, &at, &key, &value);) {
        Py_ssize_t place = PyLong_AsSsize_t(key);
        if (place >= 0 && place < count) places->rels[place] = value;
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int put_link(Json *json, long long id, int kind, long long is_offered, PyObject *anchor) {
    if (room_for(json, 80) < 0) return -1;
    json->bytes[json->size++] = '[';
    put_number(json, (unsigned long long)id, ',');
    put_number(json, (unsigned long long)kind, ',');
    put_number(json, (unsigned long long)is_offered, ',');
    return put_text(json, anchor);
}

static int put_rel_and_fragment(Json *json, PyObject *rel, PyObject *fragment) {
    if (room_for(json, 8) < 0) return -1;
    json->bytes[json->size++] = ',';
    if (rel) {
        if (put_text(json, rel) < 0) return -1;
    } else {
        memcpy(json->bytes + json->size, "\"\"", 2);
        json->size += 2;
    }
    if (room_for(json, 8) < 0) return -1;
    json->bytes[json->size++] = ',';
    return put_text(json, fragment);
}

PyObject *pack_links(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *infos, *kinds, *offered, *anchors, *rels, *fragments, *packed = NULL;
    long long mask;
    unsigned char plain_kind;
    if (!PyArg_ParseTuple(args, "O!LbO!O!O!O!O!", &PyList_Type, &infos, &mask, &plain_kind, &PyDict_Type, &kinds, &PyList_Type, &offered,
                          &PyList_Type, &anchors, &PyDict_Type, &rels, &PyList_Type, &fragments))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(infos);
    if (PyList_GET_SIZE(offered) != count || PyList_GET_SIZE(anchors) != count || PyList_GET_SIZE(fragments) != count) {
        PyErr_SetString(PyExc_ValueError, "columns of different lengths");
        return NULL;
    }
    int has_more = PyDict_GET_SIZE(rels) > 0;
    for (Py_ssize_t at = 0; at < count && !has_more; at++) has_more = PyUnicode_GetLength(PyList_GET_ITEM(fragments, at)) > 0;
    Json json = {NULL, 0, 0};
    Places places = {NULL, NULL};
    if (fill_places(&places, count, plain_kind, kinds, rels) < 0 || room_for(&json, 64 * count + 64) < 0) goto end;
    json.bytes[json.size++] = '[';
    for (Py_ssize_t at = 0; at < count; at++) {
        long long info = number_at(infos, at), is_offered = number_at(offered, at);
        if ((info == -1 || is_offered == -1) && PyErr_Occurred()) goto end;
        if (put_link(&json, info & mask, places.kinds[at], is_offered, PyList_GET_ITEM(anchors, at)) < 0) goto end;
        if (has_more && put_rel_and_fragment(&json, places.rels[at], PyList_GET_ITEM(fragments, at)) < 0) goto end;
        if (room_for(&json, 8) < 0) goto end;
        json.bytes[json.size++] = ']';
        json.bytes[json.size++] = ',';
    }
    if (count) json.size--; /* the last comma */
    json.bytes[json.size++] = ']';
    packed = PyUnicode_DecodeUTF8(json.bytes, json.size, NULL);
end:
    PyMem_Free(places.rels);
    PyMem_Free(json.bytes);
    return packed;
}

static int begins(const char *text, Py_ssize_t size, const char *start, Py_ssize_t start_size) {
    return size >= start_size && memcmp(text, start, (size_t)start_size) == 0;
}

PyObject *count_external(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *targets;
    const char *own, *other;
    Py_ssize_t own_size, other_size, found = 0;
    if (!PyArg_ParseTuple(args, "O!s#s#", &PyList_Type, &targets, &own, &own_size, &other, &other_size)) return NULL;
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(targets); at++) {
        Py_ssize_t size;
        const char *text = PyUnicode_AsUTF8AndSize(PyList_GET_ITEM(targets, at), &size);
        if (!text) return NULL;
        if (begins(text, size, own, own_size) || begins(text, size, other, other_size) || !begins(text, size, "http", 4))
            continue;
        if (memchr(text, '@', (size_t)size)) Py_RETURN_NONE;
        found++;
    }
    return PyLong_FromSsize_t(found);
}
