/* References resolved that are plain: paths, and URLs of the web, made of letters, digits and marks that stand in URLs as
   they are. Most are, and they need no parser; all others are the parser's. */

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

/* How much of a URL of the web stands before its host; 0 where it is none. */
static size_t size_before_host(const char *url, size_t size) {
    return size > 8 && memcmp(url, "http://", 7) == 0 ? 7 : size > 8 && memcmp(url, "https://", 8) == 0 ? 8 : 0;
}

/* Where the path of a serialised URL of the web begins, or NULL. */
static const char *path_of(const char *url, size_t size) {
    size_t before = size_before_host(url, size);
    return before ? memchr(url + before, '/', size - before) : NULL;
}

int is_plain_page(const char *url, Py_ssize_t size) { return path_of(url, (size_t)size) && !strstr(url, "xn--"); }

/* Whether a host is a name that the parser leaves as it is: labels in lower case, none in punycode, the last no number. */
static int is_plain_host(const char *host, const char *end) {
    enum { MAX_LABEL = 63, MAX_HOST = 253 };
    const char *label = host;
    if (end - host > MAX_HOST) return 0;
    for (const char *p = host;; p++) {
        if (p == end || *p == '.') {
            if (p == label || p - label > MAX_LABEL || *label == '-' || p[-1] == '-') return 0;
            if (p == end) return *label >= 'a';
            label = p + 1;
        } else if (*p == '-') {
            if (p + 1 < end && p[1] == '-') return 0;
        } else if (!(*p >= 'a' && *p <= 'z') && !(*p >= '0' && *p <= '9')) {
            return 0;
        }
    }
}

/* Whether a path is written as URLs hold it. No escape in it may mean a dot, and no colon end a scheme, or the letter of
   a drive, which the parser is helped along with. */
static int is_plain_path(const char *path, const char *end) {
    const unsigned char *plain = plain_bytes();
    for (const char *p = path; p < end; p++) {
        if (plain[(unsigned char)*p] & IN_PATH) continue;
        if (*p == '%') {
            if (end - p > 2 && p[1] == '2' && (p[2] | 32) == 'e') return 0;
        } else if (*p != ':' || p - path < 2 || p[-2] == '/' || !memchr(path, '/', (size_t)(p - path))) {
            return 0;
        }
    }
    return 1;
}

static int is_plain_query(const char *query, const char *end) {
    const unsigned char *plain = plain_bytes();
    while (query < end && plain[(unsigned char)*query] & IN_QUERY) query++;
    return query == end;
}

static char *put(char *to, const char *bytes, const char *end) {
    memcpy(to, bytes, (size_t)(end - bytes));
    return to + (end - bytes);
}

/* Takes the last segment off a path that ends in a slash; the first slash stays. */
static char *without_last(char *start, char *end) {
    if (end - start <= 1) return end;
    for (end--; end > start && end[-1] != '/';) end--;
    return end;
}

/* Appends a path to a URL behind a slash, and follows its dots, which lead no higher than to the root. */
static char *put_path(char *root, char *to, const char *path, const char *end) {
    *to++ = '/';
    for (const char *p = path; p <= end; p++) {
        const char *segment = p;
        while (p < end && *p != '/') p++;
        size_t length = (size_t)(p - segment);
        if (length == 2 && memcmp(segment, "..", 2) == 0) {
            to = without_last(root, to);
        } else if (!(length == 1 && *segment == '.')) {
            to = put(to, segment, p);
            if (p < end) *to++ = '/';
        }
    }
    return to;
}

/* The length of the URL that a reference leads to from a serialised one, written to url; 0 where it is not plain. */
Py_ssize_t plain_url(const char *base, Py_ssize_t base_size, const char *reference, Py_ssize_t size, char *url) {
    const char *end = reference + size, *path = reference, *query = memchr(reference, '?', (size_t)size);
    const char *base_path = path_of(base, (size_t)base_size);
    if (!query) query = end;
    if (!base_path || query == reference || base_size + size + 2 > MAX_PLAIN_URL) return 0;
    size_t before_host = size > 1 && memcmp(reference, "//", 2) == 0 ? 2 : size_before_host(reference, (size_t)size);
    char *to = url, *root = url + (base_path - base);
    if (before_host) {
        for (path += before_host; path < query && *path != '/';) path++;
        if (!is_plain_host(reference + before_host, path)) return 0;
        if (before_host == 2) to = put(to, base, strchr(base, '/'));
        root = to = put(to, reference, path);
    } else if (*reference == '/') {
        to = put(to, base, base_path);
    } else {
        const char *base_query = memchr(base, '?', (size_t)base_size);
        const char *directory_end = base_query ? base_query : base + base_size;
        while (directory_end[-1] != '/') directory_end--; /* there is one: the path begins with it */
        for (const char *p = base_path; p < directory_end; p++)
            if (*p == ':' || *p == '|' || *p == '^') return 0; /* what the parser is helped along with */
        to = put(to, base, directory_end - 1);
    }
    if (!is_plain_path(path, query) || !is_plain_query(query, end)) return 0;
    to = put_path(root, to, path < query && *path == '/' ? path + 1 : path, query);
    return put(to, query, end) - url;
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
