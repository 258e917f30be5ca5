/* What the compiled parts give Python; each is described in its own file. */

#ifndef WEFT_NATIVE_H
#define WEFT_NATIVE_H

#include <Python.h>

int prepare_quick(void);
PyObject *read_quickly(PyObject *module, PyObject *args);

int has_digests(void);
PyObject *digest(PyObject *module, PyObject *args);
PyObject *digests(PyObject *module, PyObject *args);

int prepare_heads(void);
PyObject *parse_head(PyObject *module, PyObject *lines);
PyObject *is_sound_answer(PyObject *module, PyObject *args);

/* Whether every reader finds the end of the head of a request, and its target. */
int is_sound_request(const char *head, Py_ssize_t size);
PyObject *exchange(PyObject *module, PyObject *const *args, Py_ssize_t count);

enum { MAX_PLAIN_URL = 4096 };
Py_ssize_t plain_url(const char *base, Py_ssize_t base_size, const char *reference, Py_ssize_t size, char *url);
PyObject *resolve_plainly(PyObject *module, PyObject *args);

PyObject *csv_lines(PyObject *module, PyObject *rows);
PyObject *bindable(PyObject *module, PyObject *args);

PyObject *offer_kinds(PyObject *module, PyObject *args);
PyObject *recall(PyObject *module, PyObject *args);
PyObject *pack_links(PyObject *module, PyObject *args);
PyObject *known_links(PyObject *module, PyObject *args);
PyObject *count_external(PyObject *module, PyObject *args);

PyObject *keep_freed_memory(PyObject *module, PyObject *none);
PyObject *cdxj_line(PyObject *module, PyObject *row);

#endif
