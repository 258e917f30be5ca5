/* What is known of URLs, in memory that the crawl's process shares with its workers: it writes, they read.

   The memory has a number, the generation, and room for that of four. Each has an index of hashes and its entries, in
   the order in which they came; the texts stay with the writer, which has them in lists. URLs are looked up in the
   newest generation and in the one before it, and the older two are those that may still be meant by what is on its way.
   An entry is whole before it is in the index, and never leaves it. URLs are told apart by 64 bits, made of their bytes
   and of a secret that nobody knows who makes URLs. */

#define PY_SSIZE_T_CLEAN
#include "shared.h"

enum { GENERATIONS = 4, LOOKED_INTO = 2, FRONT_B = 64, INDEX_PER_ENTRY = 2, PLACE_BITS = 30 };
#define PLACE_MASK ((1u << PLACE_BITS) - 1)

/* Finds its parts in the memory; -1 with an exception where it is none such. */
int open_shared(Shared *shared, const Py_buffer *memory) {
    uint64_t room = memory->len > FRONT_B ? (uint64_t)(memory->len - FRONT_B) / GENERATIONS : 0;
    shared->bytes = memory->buf;
    shared->region_b = room;
    shared->capacity = (uint32_t)(room / (sizeof(Entry) + INDEX_PER_ENTRY * sizeof(uint32_t)));
    if (!shared->capacity || shared->capacity & (shared->capacity - 1) || shared->capacity > PLACE_MASK || room % 8) {
        PyErr_SetString(PyExc_ValueError, "memory of no size that is shared");
        return -1;
    }
    shared->generation = __atomic_load_n((uint64_t *)shared->bytes, __ATOMIC_ACQUIRE);
    return 0;
}

/* The words at the front of the memory: its generation, and the secret. */
static const uint64_t *front_of(const Shared *shared) { return (const uint64_t *)shared->bytes; }

static uint64_t hash_of(const Shared *shared, PyObject *text) {
    const unsigned char *bytes = PyUnicode_DATA(text);
    uint64_t size = (uint64_t)PyUnicode_GET_LENGTH(text) * PyUnicode_KIND(text), word, at = 0;
    uint64_t hash = front_of(shared)[1] ^ size, factor = front_of(shared)[2] | 1;
    for (; at + sizeof word <= size; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        hash = (hash ^ word) * factor;
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, bytes + at, size - at);
    hash = (hash ^ word) * factor;
    hash = (hash ^ hash >> 32) * factor;
    return hash ^ hash >> 32;
}

static unsigned char *region_of(const Shared *shared, uint64_t generation) {
    return shared->bytes + FRONT_B + generation % GENERATIONS * shared->region_b;
}

static Entry *entries_of(const Shared *shared, uint64_t generation) { return (Entry *)region_of(shared, generation); }

static uint32_t *index_of(const Shared *shared, uint64_t generation) {
    return (uint32_t *)(region_of(shared, generation) + shared->capacity * sizeof(Entry));
}

/* The place of a hash in a generation, counted from 1; 0 where it is not there, and the end of the search in the index. */
static uint32_t place_in(const Shared *shared, uint64_t generation, uint64_t hash, uint32_t *end) {
    const uint32_t *index = index_of(shared, generation), mask = shared->capacity * INDEX_PER_ENTRY - 1;
    const Entry *entries = entries_of(shared, generation);
    uint32_t at = (uint32_t)hash & mask, place;
    while ((place = __atomic_load_n(&index[at], __ATOMIC_ACQUIRE)) && entries[place - 1].hash != hash) at = (at + 1) & mask;
    if (end) *end = at;
    return place;
}

/* Where the text with a hash is, its generation in the two upper bits; 0 where it is not there. */
static uint32_t find(const Shared *shared, uint64_t hash) {
    for (uint64_t back = 0; back < LOOKED_INTO && back <= shared->generation; back++) {
        uint64_t generation = shared->generation - back;
        uint32_t place = place_in(shared, generation, hash, NULL);
        if (place) return (uint32_t)(generation % GENERATIONS) << PLACE_BITS | place;
    }
    return 0;
}

/* The entry that a number from ``find`` means; NULL with an exception where it means none. */
static Entry *entry_at(const Shared *shared, uint32_t number) {
    uint32_t place = number & PLACE_MASK;
    if (!place || place > shared->capacity) {
        PyErr_SetString(PyExc_ValueError, "no place of a URL");
        return NULL;
    }
    return &entries_of(shared, number >> PLACE_BITS)[place - 1];
}

int shared_info(const Shared *shared, uint32_t number, uint64_t *info) {
    Entry *entry = entry_at(shared, number);
    if (entry) *info = __atomic_load_n(&entry->info, __ATOMIC_RELAXED);
    return entry ? 0 : -1;
}

int shared_put(const Shared *shared, PyObject *texts, PyObject *text, uint64_t info) {
    uint64_t hash = hash_of(shared, text);
    int is_there = 0;
    uint32_t end;
    for (uint64_t back = 0; back < GENERATIONS && back <= shared->generation; back++) {
        uint64_t generation = shared->generation - back;
        uint32_t place = place_in(shared, generation, hash, NULL);
        if (!place) continue;
        __atomic_store_n(&entries_of(shared, generation)[place - 1].info, info, __ATOMIC_RELAXED);
        is_there |= back < LOOKED_INTO;
    }
    if (is_there) return 0;
    PyObject *list = PyList_GET_ITEM(texts, shared->generation % GENERATIONS);
    Py_ssize_t count = PyList_GET_SIZE(list);
    if (count >= shared->capacity) return 0; /* those that come now are known to the writer alone */
    if (PyList_Append(list, text) < 0) return -1;
    entries_of(shared, shared->generation)[count] = (Entry){hash, info};
    place_in(shared, shared->generation, hash, &end);
    __atomic_store_n(&index_of(shared, shared->generation)[end], (uint32_t)count + 1, __ATOMIC_RELEASE);
    return 0;
}

int is_lists_of_texts(PyObject *texts) {
    int is = PyList_Check(texts) && PyList_GET_SIZE(texts) == GENERATIONS;
    for (Py_ssize_t at = 0; is && at < GENERATIONS; at++) is = PyList_Check(PyList_GET_ITEM(texts, at));
    if (!is) PyErr_SetString(PyExc_TypeError, "no lists of texts");
    return is;
}

PyObject *put_shared(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *texts, *text, *done = NULL;
    unsigned long long info;
    Py_buffer memory;
    Shared shared;
    if (!PyArg_ParseTuple(args, "w*OUK", &memory, &texts, &text, &info)) return NULL;
    if (is_lists_of_texts(texts) && open_shared(&shared, &memory) == 0 && shared_put(&shared, texts, text, info) == 0)
        done = Py_NewRef(Py_None);
    PyBuffer_Release(&memory);
    return done;
}

PyObject *begin_shared(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *done = NULL;
    unsigned long long generation;
    Py_buffer memory;
    Shared shared;
    if (!PyArg_ParseTuple(args, "w*K", &memory, &generation)) return NULL;
    if (open_shared(&shared, &memory) == 0) {
        memset(index_of(&shared, generation), 0, shared.capacity * INDEX_PER_ENTRY * sizeof(uint32_t));
        __atomic_store_n((uint64_t *)shared.bytes, generation, __ATOMIC_RELEASE);
        done = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&memory);
    return done;
}

PyObject *places_of(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *targets, *places = NULL, *others = NULL, *found = NULL;
    Py_buffer memory;
    Shared shared;
    if (!PyArg_ParseTuple(args, "y*O!", &memory, &PyList_Type, &targets)) return NULL;
    Py_ssize_t count = PyList_GET_SIZE(targets);
    if (open_shared(&shared, &memory) < 0) goto end;
    places = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(uint32_t));
    others = PyList_New(0);
    if (!places || !others) goto end;
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *text = PyList_GET_ITEM(targets, at);
        if (!PyUnicode_Check(text)) {
            PyErr_SetString(PyExc_TypeError, "no text");
            goto end;
        }
        uint32_t number = find(&shared, hash_of(&shared, text));
        if (!number && PyList_Append(others, text) < 0) goto end;
        memcpy(PyBytes_AS_STRING(places) + at * (Py_ssize_t)sizeof number, &number, sizeof number);
    }
    found = PyTuple_Pack(2, places, others);
end:
    Py_XDECREF(places);
    Py_XDECREF(others);
    PyBuffer_Release(&memory);
    return found;
}

PyObject *texts_at(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *texts, *others, *targets;
    const char *places;
    Py_ssize_t size, other = 0;
    if (!PyArg_ParseTuple(args, "y#OO!", &places, &size, &texts, &PyList_Type, &others)) return NULL;
    if (!is_lists_of_texts(texts) || !(targets = PyList_New(size / (Py_ssize_t)sizeof(uint32_t)))) return NULL;
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(targets); at++) {
        uint32_t number;
        memcpy(&number, places + at * (Py_ssize_t)sizeof number, sizeof number);
        PyObject *list = number ? PyList_GET_ITEM(texts, number >> PLACE_BITS) : others;
        Py_ssize_t place = number ? (Py_ssize_t)(number & PLACE_MASK) - 1 : other++;
        if (place < 0 || place >= PyList_GET_SIZE(list)) {
            PyErr_SetString(PyExc_ValueError, "no place of a URL");
            Py_DECREF(targets);
            return NULL;
        }
        PyList_SET_ITEM(targets, at, Py_NewRef(PyList_GET_ITEM(list, place)));
    }
    return targets;
}
