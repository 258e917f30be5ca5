/* What the compiled parts give Python; each is described in its own file. */

#ifndef WEFT_NATIVE_H
#define WEFT_NATIVE_H

#include <Python.h>

int prepare_quick(void);
PyObject *read_quickly(PyObject *module, PyObject *args);

PyObject *meta_label(PyObject *module, PyObject *args);

enum { MAX_PLAIN_URL = 4096 };
Py_ssize_t plain_url(const char *base, Py_ssize_t base_size, const char *reference, Py_ssize_t size, char *url);
/* Whether the empty reference leads to the URL itself: one of the web, of a host that the parser takes. */
int is_plain_page(const char *url, Py_ssize_t size);
PyObject *resolve_plainly(PyObject *module, PyObject *args);

PyObject *csv_lines(PyObject *module, PyObject *rows);

PyObject *recall(PyObject *module, PyObject *args);
PyObject *pack_links(PyObject *module, PyObject *args);
PyObject *count_external(PyObject *module, PyObject *args);

PyObject *filter_hits(PyObject *module, PyObject *args);
PyObject *fill_filter(PyObject *module, PyObject *args);
PyObject *merge_sorted(PyObject *module, PyObject *list);

PyObject *keep_freed_memory(PyObject *module, PyObject *none);

#endif
