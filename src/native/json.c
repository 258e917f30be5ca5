#define PY_SSIZE_T_CLEAN
#include "json.h"

int make_room(Json *json, Py_ssize_t size) {
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

int put_text(Json *json, const char *bytes, Py_ssize_t size) {
    static const char hex[] = "0123456789abcdef";
    if (make_room(json, 6 * size + 8) < 0) return -1;
    put(json, "\"", 1);
    for (const char *end = bytes + size; bytes < end; bytes++) {
        const char *start = bytes;
        while (bytes < end && (unsigned char)*bytes >= 0x20 && *bytes != '"' && *bytes != '\\') bytes++;
        put(json, start, bytes - start);
        if (bytes == end) break;
        unsigned char c = (unsigned char)*bytes;
        if (c < 0x20) put(json, (const char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
        else put(json, (const char[]){'\\', (char)c}, 2);
    }
    put(json, "\"", 1);
    return 0;
}
