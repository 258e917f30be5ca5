/* Lines of CSV, where their cells are as plain as nearly all are; Python writes the others. */

#define PY_SSIZE_T_CLEAN
#include "json.h"
#include "native.h"

/* Appends a text that every spreadsheet takes for one, whatever it begins with; 0 where Python should look. */
static int put_cell(Json *csv, const char *text, Py_ssize_t size) {
    Py_ssize_t quotes = 0, commas = 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        if (text[i] < ' ' || text[i] > '~') return 0;
        quotes += text[i] == '"';
        commas += text[i] == ',';
    }
    if (make_room(csv, size + quotes + 3) < 0) return -1;
    if (quotes || commas) put(csv, "\"", 1);
    if (size && strchr("=+-@", *text)) put(csv, "'", 1);
    if (!quotes) put(csv, text, size);
    for (Py_ssize_t i = 0; quotes && i < size; i++) put(csv, text[i] == '"' ? "\"\"" : text + i, text[i] == '"' ? 2 : 1);
    if (quotes || commas) put(csv, "\"", 1);
    return 1;
}

/* Appends what a value is written as; 0 where Python should look, -1 with an exception. */
static int put_value(Json *csv, PyObject *value) {
    int overflow;
    if (value == Py_None) return 1;
    if (PyUnicode_CheckExact(value))
        return PyUnicode_IS_COMPACT_ASCII(value)
                   ? put_cell(csv, (const char *)PyUnicode_1BYTE_DATA(value), PyUnicode_GET_LENGTH(value))
                   : 0;
    if (PyBool_Check(value)) return value == Py_True ? put_cell(csv, "true", 4) : put_cell(csv, "false", 5);
    if (!PyLong_CheckExact(value)) return 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow || number < 0) return 0;
    if (make_room(csv, 24) < 0) return -1;
    put_number(csv, (unsigned long long)number, ',');
    csv->size--; /* the comma, which the caller puts behind every cell */
    return 1;
}

PyObject *csv_lines(PyObject *Py_UNUSED(module), PyObject *rows) {
    Json csv = {NULL, 0, 0};
    int plain = PyList_Check(rows);
    for (Py_ssize_t at = 0; plain > 0 && at < PyList_GET_SIZE(rows); at++) {
        PyObject *row = PyList_GET_ITEM(rows, at);
        Py_ssize_t count = PyTuple_Check(row) ? PyTuple_GET_SIZE(row) : 0;
        if (count < 2) plain = 0; /* a line with nothing in it has a spelling of its own */
        for (Py_ssize_t i = 0; plain > 0 && i < count; i++) {
            plain = put_value(&csv, PyTuple_GET_ITEM(row, i));
            if (plain > 0 && make_room(&csv, 1) < 0) plain = -1;
            if (plain > 0) put(&csv, i < count - 1 ? "," : "\n", 1);
        }
    }
    PyObject *lines = NULL;
    if (plain > 0) lines = PyUnicode_DecodeASCII(csv.size ? csv.bytes : "", csv.size, NULL);
    PyMem_Free(csv.bytes);
    return plain ? lines : Py_NewRef(Py_None);
}
