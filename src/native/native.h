/* What the compiled parts give Python; each is described in its own file. */

#ifndef WEFT_NATIVE_H
#define WEFT_NATIVE_H

#include <Python.h>

int prepare_quick(void);
PyObject *read_quickly(PyObject *module, PyObject *args);

PyObject *meta_label(PyObject *module, PyObject *args);

/* Whether this processor has instructions for SHA-1: without them nothing of it may be called. */
int has_digests(void);

/* Writes the SHA-1 of a body, and of it with a head before it, as WARC spells them; the first may be NULL: not wanted. */
enum { DIGEST_TEXT_B = 37 };
void spell_digests(const char *head, Py_ssize_t head_size, const char *body, Py_ssize_t body_size, char *of_body,
                   char *of_both);
PyObject *digest(PyObject *module, PyObject *args);
PyObject *digests(PyObject *module, PyObject *args);

/* Whether this processor has wide registers: without them nothing of it may be called. */
int has_wide_digests(void);
PyObject *wide_digests(PyObject *module, PyObject *exchanges);

enum { MAX_PLAIN_URL = 4096 };
Py_ssize_t plain_url(const char *base, Py_ssize_t base_size, const char *reference, Py_ssize_t size, char *url);
/* Whether the empty reference leads to the URL itself: one of the web, of a host that the parser takes. */
int is_plain_page(const char *url, Py_ssize_t size);
PyObject *resolve_plainly(PyObject *module, PyObject *args);

PyObject *csv_lines(PyObject *module, PyObject *rows);

PyObject *recall(PyObject *module, PyObject *args);
PyObject *pack_links(PyObject *module, PyObject *args);
PyObject *count_external(PyObject *module, PyObject *args);

PyObject *sift(PyObject *module, PyObject *args);
PyObject *fill_filter(PyObject *module, PyObject *args);
PyObject *merge_sorted(PyObject *module, PyObject *list);

PyObject *keep_freed_memory(PyObject *module, PyObject *none);

#endif
