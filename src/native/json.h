/* JSON as it grows. */

#ifndef WEFT_JSON_H
#define WEFT_JSON_H

#include <Python.h>
#include <string.h>

#pragma GCC visibility push(hidden)

typedef struct {
    char *bytes;
    Py_ssize_t size, room;
} Json;

/* Makes room for so many bytes more; -1 with an exception where there is none. */
int make_room(Json *json, Py_ssize_t size);

/* Appends a text in UTF-8 in quotes, and makes the room it needs, and that of six bytes more; -1 with an exception where
   there is none. */
int put_text(Json *json, const char *bytes, Py_ssize_t size);

/* Appends a few signs where there is room for them. */
static inline void put(Json *json, const char *bytes, Py_ssize_t size) {
    memcpy(json->bytes + json->size, bytes, (size_t)size);
    json->size += size;
}

/* Appends a number, and a sign behind it, where there is room for 24 bytes. */
static inline void put_number(Json *json, unsigned long long number, char behind) {
    int size = 1;
    for (unsigned long long rest = number; rest >= 10; rest /= 10) size++;
    char *at = json->bytes + json->size + size;
    json->size += size + 1;
    *at = behind;
    do *--at = (char)('0' + number % 10);
    while (number /= 10);
}

#pragma GCC visibility pop

#endif
