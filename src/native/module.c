/* The module weft_native: the parts of weft that are worth compiling. Each has a counterpart in Python that says the
   same, which is used where there is no compiler. */

#define PY_SSIZE_T_CLEAN
#include "native.h"

PyDoc_STRVAR(read_doc,
    "read(body, page, links, meanings, url, max_links, meta_names, tools) -> bool | None\n\n"
    "Reads a page, in UTF-8, adds its links to the columns, and tells the page what else it says.\n"
    "None: only its tree tells; what was added and told until then is to be forgotten. Else whether some of the\n"
    "fragments are not written as URLs hold them.");

static PyMethodDef methods[] = {
    {"read", read_quickly, METH_VARARGS, read_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "weft_native", "Compiled parts of weft.", -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_weft_native(void) { return prepare_quick() < 0 ? NULL : PyModule_Create(&definition); }
