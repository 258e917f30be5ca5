/* What is known of URLs, in memory that processes share. */

#ifndef WEFT_SHARED_H
#define WEFT_SHARED_H

#include "native.h"

#include <stdint.h>

typedef struct {
    uint64_t hash, info;
} Entry;

typedef struct {
    unsigned char *bytes;
    uint64_t region_b, generation;
    uint32_t capacity; /* of one generation */
} Shared;

int open_shared(Shared *shared, const Py_buffer *memory);

/* What is known of the URL with this number, not 0; -1 with an exception. */
int shared_info(const Shared *shared, uint32_t number, uint64_t *info);

/* Keeps what is known of a text from now on; ``texts`` are the lists of all generations. -1 with an exception. */
int shared_put(const Shared *shared, PyObject *texts, PyObject *text, uint64_t info);

/* Whether these are the lists of all generations; 0 with an exception. */
int is_lists_of_texts(PyObject *texts);

#endif
