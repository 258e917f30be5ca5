/* The module weft_native: the parts of weft that are worth compiling. Each has a counterpart in Python that says the
   same, which is used where there is no compiler. */

#define PY_SSIZE_T_CLEAN
#include "native.h"

PyDoc_STRVAR(read_doc,
    "read(body, page, links, resolved, directory, url, max_links, meta_names, tools) -> tuple[bytes, bytes] | None\n\n"
    "Reads a page, in UTF-8, adds its links to the columns, and tells the page what else it says.\n"
    "None: only its tree tells; what was added and told until then is to be forgotten. Else the texts of the links, and\n"
    "where each of them ends; the columns of anchors and fragments are empty then.");

PyDoc_STRVAR(label_doc,
    "meta_label(body, start, limit) -> tuple[str, int] | None\n\n"
    "The label of an encoding that the first meta behind the start gives, and where this meta ends; None where no whole\n"
    "one within the limit gives any.");

PyDoc_STRVAR(recall_doc,
    "recall(known, targets, kinds, kind, by_kind, rels, unknown, bound) -> tuple[bytearray, bytearray, list[int]]\n\n"
    "What is said of the kind of each link, which is that of all unless it has one of its own, or 0 where its rel has\n"
    "nofollow; what is known of each target, eight bytes each; and the places of those that are unknown, or offered and\n"
    "above the bound.");

PyDoc_STRVAR(pack_doc,
    "pack_links(infos, mask, kind, kinds, offered, texts, ends) -> str\n\n"
    "The rows of a page's links as JSON; the id of a target is what the mask leaves of its info, and its kind that of\n"
    "all unless it has one of its own.");

PyDoc_STRVAR(resolve_doc,
    "resolve(base, reference) -> str | None\n\n"
    "The URL that a plain reference leads to from a serialised URL of the web: a path, with or without a host before it\n"
    "and a query behind it; None for what is not plain.");

PyDoc_STRVAR(external_doc,
    "count_external(targets, own, other) -> int | None\n\n"
    "How many URLs of the web begin with neither; None where one has credentials and wants a closer look.");

PyDoc_STRVAR(memory_doc,
    "keep_freed_memory()\n\nHas the C library keep what is freed for the next that is asked for, up to a bound.");

PyDoc_STRVAR(csv_doc,
    "csv_lines(rows) -> str | None\n\n"
    "Rows of texts and numbers as CSV, safe for spreadsheets; None where one of them is not plain.");

PyDoc_STRVAR(filter_hits_doc,
    "filter_hits(fingerprints, filters) -> list[list[int]]\n\n"
    "For each filter, those of the fingerprints that it lets through, in their order.");

PyDoc_STRVAR(fill_doc,
    "fill_filter(words, fingerprints)\n\nTakes fingerprints into a filter.");

PyDoc_STRVAR(merge_doc,
    "merge_sorted(parts) -> tuple[bytes, bytes]\n\n"
    "Sorted lists of fingerprints, and their ids, as one list; of those that several have, the id of the last.");

static PyMethodDef methods[] = {
    {"read", read_quickly, METH_VARARGS, read_doc},
    {"meta_label", meta_label, METH_VARARGS, label_doc},
    {"resolve", resolve_plainly, METH_VARARGS, resolve_doc},
    {"recall", recall, METH_VARARGS, recall_doc},
    {"pack_links", pack_links, METH_VARARGS, pack_doc},
    {"count_external", count_external, METH_VARARGS, external_doc},
    {"filter_hits", filter_hits, METH_VARARGS, filter_hits_doc},
    {"fill_filter", fill_filter, METH_VARARGS, fill_doc},
    {"merge_sorted", merge_sorted, METH_O, merge_doc},
    {"keep_freed_memory", keep_freed_memory, METH_NOARGS, memory_doc},
    {"csv_lines", csv_lines, METH_O, csv_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "weft_native", "Compiled parts of weft.", -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_weft_native(void) {
    return prepare_quick() < 0 ? NULL : PyModule_Create(&definition);
}
