/* References resolved that are plain paths: letters, digits and marks that stand in URLs as they are. Most are, and they
   need no parser; all others are the parser's. */

#define PY_SSIZE_T_CLEAN
#include "native.h"

#include <string.h>

enum { IN_PATH = 1, IN_QUERY = 2 };

static const unsigned char *plain_bytes(void) {
    static unsigned char plain[256];
    if (!plain['a']) {
        for (const char *c = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~+,=@!$&()*;/"; *c; c++)
            plain[(unsigned char)*c] = IN_PATH | IN_QUERY;
        for (const char *c = "%:?"; *c; c++) plain[(unsigned char)*c] = IN_QUERY;
        for (int c = 'a'; c <= 'z'; c++) plain[c] = IN_PATH | IN_QUERY;
    }
    return plain;
}

/* Where the path of a serialised URL of the web begins, or NULL. */
static const char *path_of(const char *url, size_t size) {
    size_t scheme = size > 8 && memcmp(url, "http://", 7) == 0 ? 7 : size > 8 && memcmp(url, "https://", 8) == 0 ? 8 : 0;
    return scheme ? memchr(url + scheme, '/', size - scheme) : NULL;
}

/* Takes the last segment off a path that ends in a slash; the first slash stays. */
static char *without_last(char *start, char *end) {
    if (end - start <= 1) return end;
    for (end--; end > start && end[-1] != '/';) end--;
    return end;
}

/* The length of the URL that a reference leads to from a serialised one, written to url; 0 where it is not plain. */
Py_ssize_t plain_url(const char *base, Py_ssize_t base_size, const char *reference, Py_ssize_t size, char *url) {
    const unsigned char *plain = plain_bytes();
    const char *end = reference + size, *path_end = memchr(reference, '?', (size_t)size);
    if (!path_end) path_end = end;
    if (path_end == reference || base_size + size + 2 > MAX_PLAIN_URL || (size > 1 && memcmp(reference, "//", 2) == 0))
        return 0;
    for (const char *p = reference; p < path_end; p++)
        if (!(plain[(unsigned char)*p] & IN_PATH)) return 0;
    for (const char *p = path_end; p < end; p++)
        if (!(plain[(unsigned char)*p] & IN_QUERY)) return 0;

    const char *path = path_of(base, (size_t)base_size), *query = memchr(base, '?', (size_t)base_size);
    if (!path) return 0;
    const char *directory_end = query ? query : base + base_size;
    while (directory_end[-1] != '/') directory_end--; /* there is one: the path begins with it */
    for (const char *p = path; p < directory_end; p++)
        if (*p == ':' || *p == '|' || *p == '^') return 0; /* what the parser is helped along with */

    size_t kept = (size_t)((*reference == '/' ? path : directory_end - 1) - base);
    memcpy(url, base, kept);
    char *start = url + (path - base), *to = url + kept;
    *to++ = '/';
    for (const char *p = *reference == '/' ? reference + 1 : reference; p <= path_end;) {
        const char *segment = p;
        while (p < path_end && *p != '/') p++;
        size_t length = (size_t)(p - segment);
        int is_last = p == path_end;
        if (length == 2 && memcmp(segment, "..", 2) == 0) {
            to = without_last(start, to);
        } else if (!(length == 1 && *segment == '.')) {
            memcpy(to, segment, length);
            to += length;
            if (!is_last) *to++ = '/';
        }
        p++;
    }
    memcpy(to, path_end, (size_t)(end - path_end));
    return to + (end - path_end) - url;
}

PyObject *resolve_plainly(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *base, *reference;
    Py_ssize_t base_size, size;
    char url[MAX_PLAIN_URL];
    if (!PyArg_ParseTuple(args, "s#s#", &base, &base_size, &reference, &size)) return NULL;
    Py_ssize_t found = plain_url(base, base_size, reference, size, url);
    if (!found) Py_RETURN_NONE;
    return PyUnicode_DecodeASCII(url, found, NULL);
}
