/* How the C library deals with memory that is freed. */

#include "native.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { MAPPED_APART_B = 4 << 20, KEPT_FREE_B = 32 << 20 };

/* Pages and reports of a hundred kilobytes come and go all the time. By default each is mapped from the system and given
   back to it, and the processor meets every page of its memory for the first time again. */
PyObject *keep_freed_memory(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none)) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, MAPPED_APART_B);
    mallopt(M_TRIM_THRESHOLD, KEPT_FREE_B);
#endif
    Py_RETURN_NONE;
}
