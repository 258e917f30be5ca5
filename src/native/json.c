#define PY_SSIZE_T_CLEAN
#include "json.h"

#include <stdint.h>

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

/* Whether none of eight bytes has to be written as another than itself: all at once, each in its part of a number. */
static int are_plain(const char *bytes) {
    const uint64_t ones = 0x0101010101010101, highest = 0x80 * ones;
    uint64_t all, quotes, slashes;
    memcpy(&all, bytes, sizeof all);
    quotes = all ^ '"' * ones, slashes = all ^ '\\' * ones;
    return !((((all - 0x20 * ones) & ~all) | ((quotes - ones) & ~quotes) | ((slashes - ones) & ~slashes)) & highest);
}

/* The same of a text: its last eight bytes are looked at together, whether some of them were before or not. */
static int is_all_plain(const char *bytes, Py_ssize_t size) {
    if (size < 8) return 0;
    for (Py_ssize_t at = 0; at + 8 < size; at += 8)
        if (!are_plain(bytes + at)) return 0;
    return are_plain(bytes + size - 8);
}

int put_text(Json *json, const char *bytes, Py_ssize_t size) {
    static const char hex[] = "0123456789abcdef";
    if (make_room(json, 6 * size + 8) < 0) return -1;
    put(json, "\"", 1);
    if (is_all_plain(bytes, size)) {
        put(json, bytes, size);
        put(json, "\"", 1);
        return 0;
    }
    for (const char *end = bytes + size; bytes < end;) {
        if (end - bytes >= 8 && are_plain(bytes)) {
            put(json, bytes, 8);
            bytes += 8;
            continue;
        }
        unsigned char c = (unsigned char)*bytes++;
        if (c < 0x20) put(json, (const char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
        else if (c == '"' || c == '\\') put(json, (const char[]){'\\', (char)c}, 2);
        else json->bytes[json->size++] = (char)c;
    }
    put(json, "\"", 1);
    return 0;
}
