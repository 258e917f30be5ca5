#define PY_SSIZE_T_CLEAN
#include "quick_links.h"

#include "native.h"
#include "quick_resolved.h"
#include "quick_link_texts.h"

#include <string.h>

static PyObject *name_target_of, *name_take, *name_add_srcset, *name_add_by_rel, *name_rebase, *name_take_title,
    *name_take_language, *name_learnt, *name_encoded, *name_title;

int prepare_links(void) {
    const struct {
        PyObject **place;
        const char *text;
    } names[] = {{&name_target_of, "target_of"}, {&name_take, "take"}, {&name_add_srcset, "add_srcset"},
                 {&name_add_by_rel, "add_by_rel"}, {&name_rebase, "rebase"}, {&name_take_title, "take_title"},
                 {&name_take_language, "take_language"}, {&name_learnt, "learnt"},
                 {&name_encoded, "encoded_fragment"}, {&name_title, "title"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!(*names[i].place = PyUnicode_InternFromString(names[i].text))) return -1;
    return 0;
}

/* Whether a fragment is written as URLs hold it. */
static int is_plain_fragment(const unsigned char *start, const unsigned char *end) {
    while (start < end && classes[*start] & IN_FRAGMENT) start++;
    return start == end;
}

/* Where what stands before a fragment leads, as far as that is known or plain to see, and remembered then; NULL where
   Python has to say, or with an exception. */
static PyObject *meaning_of(Reader *r, const unsigned char *start, const unsigned char *end) {
    char url[MAX_PLAIN_URL];
    Py_ssize_t base_size, size;
    PyObject *found = known_meaning(r->directory, (Span){start, end});
    if (found) {
        Py_INCREF(found);
        return found;
    }
    PyObject *path = text_of((const char *)start, end - start);
    if (!path) return NULL;
    found = PyDict_GetItemWithError(r->resolved, path);
    if (found) {
        Py_INCREF(found);
        remember_meaning(r->directory, (Span){start, end}, path, found);
    } else if (!PyErr_Occurred()) {
        const char *base = PyUnicode_AsUTF8AndSize(r->url, &base_size);
        size = base ? plain_url(base, base_size, (const char *)start, end - start, url) : 0;
        if (size) found = PyUnicode_DecodeASCII(url, size, NULL);
        if (found && size <= r->max_meaning && end - start <= r->max_meaning) {
            if (PyDict_SetItem(r->resolved, path, found) < 0) Py_CLEAR(found);
            else r->learnt++;
        }
    }
    Py_DECREF(path);
    return found;
}

int tell_learnt(Reader *r) {
    if (!r->learnt) return DONE;
    PyObject *count = PyLong_FromSsize_t(r->learnt);
    PyObject *done = count ? PyObject_CallMethodObjArgs(r->page, name_learnt, count, NULL) : NULL;
    Py_XDECREF(count);
    Py_XDECREF(done);
    return done ? DONE : FAILED;
}

static int is_page_plain(const Reader *r) {
    Py_ssize_t size;
    const char *url = PyUnicode_AsUTF8AndSize(r->url, &size);
    if (!url) PyErr_Clear(); /* Python says what it means */
    return url && is_plain_page(url, size);
}

static const unsigned char no_bytes[1];
static const Span nothing = {no_bytes, no_bytes};

/* Adds a link; rel is borrowed, and may be NULL. *place is where it stands, or -1 where it is not kept. */
static int add_link(Reader *r, Span reference, PyObject *kind, Span anchor, PyObject *rel, Py_ssize_t *place) {
    PyObject *target, *fragment = NULL;
    Py_ssize_t count = r->link_count, size = reference.end - reference.start, fragment_size = 0;
    const char *fragment_bytes = "";
    int result = FAILED;
    *place = -1;
    if (count >= r->max_links) return UNSURE;
    const unsigned char *hash = size ? memchr(reference.start, '#', (size_t)size) : NULL;
    if (size ? hash == reference.start : is_page_plain(r)) {
        target = r->url;
        Py_INCREF(target);
    } else {
        target = meaning_of(r, reference.start, hash ? hash : reference.end);
        if (!target && PyErr_Occurred()) return FAILED;
    }
    if (target && hash) {
        fragment_bytes = (const char *)hash + 1;
        fragment_size = reference.end - hash - 1;
        if (!is_plain_fragment(hash + 1, reference.end)) {
            PyObject *raw = text_of(fragment_bytes, fragment_size);
            fragment = raw ? PyObject_CallMethodObjArgs(r->page, name_encoded, raw, NULL) : NULL;
            Py_XDECREF(raw);
            if (!fragment) goto end;
        }
    } else if (!target) {
        PyObject *whole = text_of((const char *)reference.start, size);
        PyObject *found = whole ? PyObject_CallMethodObjArgs(r->page, name_target_of, whole, kind, NULL) : NULL;
        Py_XDECREF(whole);
        if (!found) return FAILED;
        if (found == Py_None) {
            Py_DECREF(found);
            return DONE;
        }
        int is_pair = PyArg_ParseTuple(found, "UU", &target, &fragment);
        if (is_pair) {
            Py_INCREF(target);
            Py_INCREF(fragment);
        }
        Py_DECREF(found);
        if (!is_pair) return FAILED;
    }
    if (fragment && !(fragment_bytes = PyUnicode_AsUTF8AndSize(fragment, &fragment_size))) goto end;
    if (kind != r->a_kind || rel) {
        PyObject *at = PyLong_FromSsize_t(count);
        if (!at) goto end;
        int failed = (kind != r->a_kind && PyDict_SetItem(r->kinds, at, kind) < 0) ||
                     (rel && PyUnicode_GetLength(rel) && PyDict_SetItem(r->rels, at, rel) < 0);
        Py_DECREF(at);
        if (failed) goto end;
    }
    if (PyList_Append(r->targets, target) < 0) goto end;
    if (note_link(r, (const char *)anchor.start, size_of(anchor), fragment_bytes, fragment_size) < 0) goto end;
    *place = count;
    result = DONE;
end:
    Py_XDECREF(target);
    Py_XDECREF(fragment);
    return result;
}

/* Appends what a link is called to the words, spaces collapsed. */
static int append_anchor(Reader *r) {
    const unsigned char *bytes = (const unsigned char *)r->link_text.bytes;
    char kept[MAX_COLLAPSED];
    Py_ssize_t count = r->link_text.size <= r->max_anchor ? collapse(bytes, r->link_text.size, kept) : -1;
    if (count >= 0) return append(&r->words, (const unsigned char *)kept, count);
    PyObject *cut = anchor_of(r, bytes, r->link_text.size);
    PyObject *anchor = cut ? words(cut) : NULL; /* cut, maybe behind a space */
    Py_ssize_t size;
    const char *text = anchor ? PyUnicode_AsUTF8AndSize(anchor, &size) : NULL;
    int result = text ? append(&r->words, (const unsigned char *)text, size) : FAILED;
    Py_XDECREF(cut);
    Py_XDECREF(anchor);
    return result;
}

int close_link(Reader *r) {
    r->in_link = 0;
    if (r->link_place < 0) return DONE;
    Py_ssize_t from = r->words.size;
    if (append_anchor(r) < 0) return FAILED;
    if (r->words.size == from && r->link_alts.size) {
        if (r->images > 10 || r->link_alts.size > r->max_anchor) return UNSURE;
        if (append(&r->words, (const unsigned char *)r->link_alts.bytes, r->link_alts.size) < 0) return FAILED;
    }
    set_anchor(r, r->link_place, from);
    return DONE;
}

int open_link(Reader *r) {
    const Span *href = attribute(r, "href"), *rel = attribute(r, "rel");
    if (!href) return DONE;
    PyObject *rel_text = NULL;
    if (rel && rel->end > rel->start) {
        Span value;
        if (value_of(r, *rel, &value) < 0) return FAILED;
        rel_text = said_of(r->rel_words, value);
        if (!rel_text) return FAILED;
    }
    Span reference;
    int result = value_of(r, *href, &reference);
    if (result > 0) result = add_link(r, reference, r->a_kind, nothing, rel_text, &r->link_place);
    Py_XDECREF(rel_text);
    if (result <= 0) return result;
    r->in_link = 1;
    r->link_depth = r->depth;
    r->link_loose = r->loose_count;
    r->images = 0;
    clear_text(&r->link_text);
    clear_text(&r->link_alts);
    return DONE;
}

int call_take(Reader *r, const Tag *tag) {
    PyObject *attributes = attribute_dict(r), *name = attributes ? PyUnicode_FromString(tag->text) : NULL;
    PyObject *done = name ? PyObject_CallMethodObjArgs(r->page, name_take, name, attributes, NULL) : NULL;
    Py_XDECREF(attributes);
    Py_XDECREF(name);
    Py_XDECREF(done);
    return done ? absorb_links(r) : FAILED;
}

int take_base(Reader *r) {
    const Span *href = attribute(r, "href");
    if (!href) return DONE;
    PyObject *reference = text_of_value(r, *href);
    PyObject *found = reference ? PyObject_CallMethodObjArgs(r->page, name_rebase, reference, NULL) : NULL;
    Py_XDECREF(reference);
    if (!found) return FAILED;
    int result = DONE;
    if (found == Py_False) {
        result = UNSURE;
    } else if (found != Py_None) {
        PyObject *resolved, *url;
        if (!PyArg_ParseTuple(found, "O!nUn", &PyDict_Type, &resolved, &r->directory, &url, &r->max_links)) {
            result = FAILED;
        } else {
            Py_INCREF(resolved);
            Py_INCREF(url);
            Py_DECREF(r->resolved);
            Py_DECREF(r->url);
            r->resolved = resolved, r->url = url;
        }
    }
    Py_DECREF(found);
    return result;
}

int take_image(Reader *r) {
    const Span *src = attribute(r, "src"), *srcset = attribute(r, "srcset"), *description = attribute(r, "alt");
    if (r->in_link && description && size_of(*description) > r->max_anchor) return UNSURE;
    Words alt;
    int result = read_words(r, description, &alt);
    if (result > 0 && r->in_link) {
        r->images++;
        Py_ssize_t size = size_of(alt.bytes);
        if (size && ((r->link_alts.size && append(&r->link_alts, (const unsigned char *)" ", 1) < 0) ||
                     append(&r->link_alts, alt.bytes.start, size) < 0))
            result = FAILED;
    }
    if (result > 0 && src && src->end > src->start) {
        Span reference;
        Py_ssize_t place;
        result = value_of(r, *src, &reference);
        if (result > 0) result = add_link(r, reference, r->image_kind, alt.bytes, NULL, &place);
    }
    if (result > 0 && srcset && srcset->end > srcset->start) {
        PyObject *text = text_of_value(r, *srcset);
        PyObject *words = text ? text_of((const char *)alt.bytes.start, size_of(alt.bytes)) : NULL;
        PyObject *done = words ? PyObject_CallMethodObjArgs(r->page, name_add_srcset, text, words, NULL) : NULL;
        Py_XDECREF(text);
        Py_XDECREF(words);
        Py_XDECREF(done);
        result = done ? absorb_links(r) : FAILED;
    }
    leave_words(&alt);
    return result;
}

int take_script(Reader *r) {
    const Span *src = attribute(r, "src");
    Span reference;
    Py_ssize_t place;
    if (!src || src->end == src->start) return DONE;
    if (value_of(r, *src, &reference) < 0) return FAILED;
    return add_link(r, reference, r->script_kind, nothing, NULL, &place);
}

int take_link(Reader *r) {
    const Span *href = attribute(r, "href"), *rel = attribute(r, "rel");
    if (!href || href->end == href->start) return DONE;
    Span value = nothing, reference;
    if (rel && value_of(r, *rel, &value) < 0) return FAILED;
    if (size_of(value) > r->max_rel) return UNSURE;
    PyObject *kind_and_words = said_of(r->kind_by_rel, value);
    if (!kind_and_words) return FAILED;
    Words title;
    int result = read_words(r, attribute(r, "title"), &title);
    PyObject *kind = PyTuple_GET_ITEM(kind_and_words, 0);
    int is_canonical = result > 0 ? PyObject_RichCompareBool(kind, r->canonical_kind, Py_EQ) : -1;
    if (is_canonical < 0) {
        result = FAILED;
    } else if (is_canonical && rel) {
        PyObject *href_text = text_of_value(r, *href), *rel_text = href_text ? text_of_value(r, *rel) : NULL;
        PyObject *words = rel_text ? text_of((const char *)title.bytes.start, size_of(title.bytes)) : NULL, *done = NULL;
        if (words) done = PyObject_CallMethodObjArgs(r->page, name_add_by_rel, href_text, rel_text, words, NULL);
        Py_XDECREF(href_text);
        Py_XDECREF(rel_text);
        Py_XDECREF(words);
        Py_XDECREF(done);
        result = done ? absorb_links(r) : FAILED;
    } else {
        Py_ssize_t place;
        result = value_of(r, *href, &reference);
        if (result > 0)
            result = add_link(r, reference, kind, title.bytes, PyTuple_GET_ITEM(kind_and_words, 1), &place);
    }
    leave_words(&title);
    Py_DECREF(kind_and_words);
    return result;
}

/* Whether a value is one of the names that Python wants to hear of; anything unusual is. */
static int is_wanted_name(Reader *r, Span value) {
    char name[40];
    Py_ssize_t size = 0;
    while (value.start < value.end && is_python_space(*value.start)) value.start++;
    while (value.start < value.end && is_python_space(value.end[-1])) value.end--;
    if (value.end - value.start > (Py_ssize_t)sizeof name) return 1;
    for (const unsigned char *p = value.start; p < value.end; p++) {
        if (*p >= 0x80) return 1;
        name[size++] = (char)lower(*p);
    }
    PyObject *text = PyUnicode_DecodeASCII(name, size, NULL);
    if (!text) return FAILED;
    int found = PySet_Contains(r->meta_names, text);
    Py_DECREF(text);
    return found;
}

int take_meta(Reader *r) {
    static const char *const sources[] = {"name", "http-equiv"};
    if (!attribute(r, "content")) return DONE;
    for (int i = 0; i < 2; i++) {
        const Span *source = attribute(r, sources[i]);
        Span value;
        if (!source) continue;
        if (value_of(r, *source, &value) < 0) return FAILED;
        int wanted = is_wanted_name(r, value);
        if (wanted) return wanted < 0 ? FAILED : call_take(r, tag_meta);
    }
    return DONE;
}

int take_title(Reader *r, Span content) {
    if (r->has_title) return DONE;
    r->has_title = 1;
    clear_text(&r->scratch);
    if (append_decoded(&r->scratch, content, 0) < 0) return FAILED;
    char kept[MAX_COLLAPSED];
    const unsigned char *bytes = (const unsigned char *)r->scratch.bytes;
    Py_ssize_t size = r->scratch.size <= MAX_COLLAPSED ? collapse(bytes, r->scratch.size, kept) : -1;
    if (size >= 0) {
        PyObject *title = text_of(kept, size);
        int result = title ? PyObject_SetAttr(r->page, name_title, title) : -1;
        Py_XDECREF(title);
        return result < 0 ? FAILED : DONE;
    }
    PyObject *text = text_of(r->scratch.bytes, r->scratch.size);
    PyObject *done = text ? PyObject_CallMethodObjArgs(r->page, name_take_title, text, NULL) : NULL;
    Py_XDECREF(text);
    Py_XDECREF(done);
    return done ? DONE : FAILED;
}

int take_language(Reader *r) {
    if (!r->language.start && !r->xml_language.start) return DONE;
    PyObject *texts[2] = {NULL, NULL};
    const Span *spans[2] = {&r->language, &r->xml_language};
    for (int i = 0; i < 2; i++) {
        if (spans[i]->start) {
            texts[i] = text_of_value(r, *spans[i]);
        } else {
            texts[i] = Py_None;
            Py_INCREF(Py_None);
        }
    }
    PyObject *done = NULL;
    if (texts[0] && texts[1])
        done = PyObject_CallMethodObjArgs(r->page, name_take_language, texts[0], texts[1], NULL);
    Py_XDECREF(texts[0]);
    Py_XDECREF(texts[1]);
    Py_XDECREF(done);
    return done ? DONE : FAILED;
}
