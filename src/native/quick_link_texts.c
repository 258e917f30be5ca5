#define PY_SSIZE_T_CLEAN
#include "quick_link_texts.h"

#include "json.h"

int note_link(Reader *r, const char *anchor, Py_ssize_t anchor_size, const char *fragment, Py_ssize_t fragment_size) {
    if (r->link_count == r->link_room) {
        Py_ssize_t room = r->link_room * 2 + 64;
        LinkTexts *texts = PyMem_Realloc(r->link_texts, (size_t)room * sizeof *texts);
        if (!texts) {
            PyErr_NoMemory();
            return FAILED;
        }
        r->link_texts = texts;
        r->link_room = room;
    }
    LinkTexts *noted = &r->link_texts[r->link_count];
    *noted = (LinkTexts){r->words.size, anchor_size, r->words.size + anchor_size, fragment_size};
    if (append(&r->words, (const unsigned char *)anchor, anchor_size) < 0) return FAILED;
    if (append(&r->words, (const unsigned char *)fragment, fragment_size) < 0) return FAILED;
    r->link_count++;
    return DONE;
}

int absorb_links(Reader *r) {
    Py_ssize_t count = PyList_GET_SIZE(r->anchors);
    if (!count) return DONE;
    if (PyList_GET_SIZE(r->fragments) != count) {
        PyErr_SetString(PyExc_ValueError, "columns of different lengths");
        return FAILED;
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        Py_ssize_t anchor_size, fragment_size;
        const char *anchor = PyUnicode_AsUTF8AndSize(PyList_GET_ITEM(r->anchors, at), &anchor_size);
        const char *fragment = anchor ? PyUnicode_AsUTF8AndSize(PyList_GET_ITEM(r->fragments, at), &fragment_size) : NULL;
        if (!fragment || note_link(r, anchor, anchor_size, fragment, fragment_size) < 0) return FAILED;
    }
    if (PyList_SetSlice(r->anchors, 0, count, NULL) < 0 || PyList_SetSlice(r->fragments, 0, count, NULL) < 0) return FAILED;
    return DONE;
}

void set_anchor(Reader *r, Py_ssize_t place, Py_ssize_t from) {
    r->link_texts[place].anchor = from;
    r->link_texts[place].anchor_size = r->words.size - from;
}

/* Appends the rel of a link, and its fragment, behind its anchor. */
static int put_more(Json *json, PyObject *rel, const char *fragment, Py_ssize_t fragment_size) {
    if (rel) {
        Py_ssize_t size;
        const char *bytes = PyUnicode_AsUTF8AndSize(rel, &size);
        put(json, ",", 1);
        if (!bytes || put_text(json, bytes, size) < 0) return FAILED;
        put(json, ",", 1);
    } else {
        put(json, ",\"\",", 4);
    }
    return put_text(json, fragment, fragment_size) < 0 ? FAILED : DONE;
}

/* The rels of all links, by their places, borrowed; NULL for those without. NULL with an exception. */
static PyObject **rels_of(Reader *r) {
    PyObject **rels = PyMem_Calloc((size_t)r->link_count + 1, sizeof *rels), *key, *value;
    if (!rels) PyErr_NoMemory();
    for (Py_ssize_t at = 0; rels && PyDict_Next(r->rels, &at, &key, &value);) {
        Py_ssize_t place = PyLong_AsSsize_t(key);
        if (place >= 0 && place < r->link_count) rels[place] = value;
    }
    return rels;
}

PyObject *link_texts_of(Reader *r) {
    Json json = {NULL, 0, 0};
    PyObject *found = NULL, *ends = PyBytes_FromStringAndSize(NULL, r->link_count * (Py_ssize_t)sizeof(uint32_t));
    PyObject **rels = ends ? rels_of(r) : NULL;
    int has_more = PyDict_GET_SIZE(r->rels) > 0;
    if (!rels || PyErr_Occurred() || make_room(&json, r->words.size + 8 * r->link_count + 64) < 0) goto end;
    for (Py_ssize_t at = 0; at < r->link_count && !has_more; at++) has_more = r->link_texts[at].fragment_size > 0;
    for (Py_ssize_t at = 0; at < r->link_count; at++) {
        const LinkTexts *texts = &r->link_texts[at];
        if (put_text(&json, r->words.bytes + texts->anchor, texts->anchor_size) < 0) goto end;
        if (has_more && put_more(&json, rels[at], r->words.bytes + texts->fragment, texts->fragment_size) < 0) goto end;
        if (json.size > UINT32_MAX) {
            PyErr_SetString(PyExc_OverflowError, "texts of links too long");
            goto end;
        }
        uint32_t stop = (uint32_t)json.size;
        memcpy(PyBytes_AS_STRING(ends) + at * (Py_ssize_t)sizeof stop, &stop, sizeof stop);
    }
    found = Py_BuildValue("y#O", json.bytes, json.size, ends);
end:
    PyMem_Free(rels);
    PyMem_Free(json.bytes);
    Py_XDECREF(ends);
    return found;
}
