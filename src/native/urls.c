/* What a URL shows at a glance, for the rules about traps. */

#define PY_SSIZE_T_CLEAN
#include "native.h"

#include <stdint.h>
#include <string.h>

enum { SAMPLED = 1, HAS_QUERY = 2, ODD = 4, WINDING = 8, MOST_SEGMENTS = 32 };

static uint32_t crc_table[256];

/* The table of CRC-32 (ISO 3309, as in zip files), its polynomial read from the lowest bit. */
void prepare_urls(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t rest = byte;
        for (int bit = 0; bit < 8; bit++) rest = rest >> 1 ^ (rest & 1 ? 0xEDB88320 : 0);
        crc_table[byte] = rest;
    }
}

static uint32_t crc_of(const char *bytes, Py_ssize_t size) {
    uint32_t crc = 0xFFFFFFFF;
    for (Py_ssize_t at = 0; at < size; at++) crc = crc >> 8 ^ crc_table[(crc ^ (unsigned char)bytes[at]) & 0xFF];
    return ~crc;
}

static int is_odd(const char *at, const char *end) {
    char next = at + 1 < end ? at[1] : '\0', last = at + 2 < end ? at[2] : '\0';
    switch (*at) {
        case ';': case '(': case '+': case ',': case '|': case '=': return 1;
        case '/': return next == '/';
        case '.': return next == '.';
        case '%': return (next == '2' && (last | 0x20) >= 'b' && (last | 0x20) <= 'c') || (next == '7' && (last | 0x20) == 'c');
        default: return 0;
    }
}

/* Whether a path has more segments than so many, two that are equal, or a percent sign that is escaped. */
static int is_winding(const char *path, const char *end, Py_ssize_t most) {
    const char *segments[MOST_SEGMENTS];
    Py_ssize_t sizes[MOST_SEGMENTS], count = 0;
    for (const char *at = path; at < end;) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        Py_ssize_t size = (slash ? slash : end) - at;
        if (size) {
            if (count >= most || count >= MOST_SEGMENTS) return 1;
            for (Py_ssize_t other = 0; other < count; other++)
                if (sizes[other] == size && memcmp(segments[other], at, (size_t)size) == 0) return 1;
            segments[count] = at;
            sizes[count++] = size;
        }
        at += size + 1;
    }
    for (const char *at = path; (at = memchr(at, '%', (size_t)(end - at))); at++)
        if (end - at > 2 && at[1] == '2' && at[2] == '5') return 1;
    return 0;
}

/* The first slash behind the first eight characters, where a path begins; NULL where there is none. */
static const char *path_of(const char *url, const char *end) {
    for (int character = 0; character < 8 && url < end; character++)
        do url++;
        while (url < end && (*url & 0xC0) == 0x80); /* the rest of a character beyond ASCII */
    return memchr(url, '/', (size_t)(end - url));
}

PyObject *url_marks(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    Py_ssize_t size, most = count == 2 ? PyLong_AsSsize_t(args[1]) : -1;
    if (count != 2 || (most == -1 && PyErr_Occurred())) {
        if (count != 2) PyErr_SetString(PyExc_TypeError, "url_marks takes a URL and a number");
        return NULL;
    }
    const char *url = PyUnicode_AsUTF8AndSize(args[0], &size);
    if (!url) return NULL;
    const char *end = url + size, *path = path_of(url, end);
    const char *query = path ? memchr(path, '?', (size_t)(end - path)) : NULL, *path_end = query ? query : end;
    long marks = crc_of(url, size) % 4 ? 0 : SAMPLED;
    if (query && query + 1 < end) marks |= HAS_QUERY;
    for (const char *at = path; at && at < path_end; at++)
        if (is_odd(at, path_end)) {
            marks |= ODD;
            break;
        }
    if (path && is_winding(path, path_end, most)) marks |= WINDING;
    return PyLong_FromLong(marks);
}
