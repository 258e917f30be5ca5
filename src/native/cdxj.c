/* Lines of the index of the archive, where their URL and all else is as plain as nearly always; Python writes the
   others. */

#define PY_SSIZE_T_CLEAN
#include "json.h"
#include "native.h"

enum { MAX_TEXT = 512, LINE_ROOM = 2 * MAX_PLAIN_URL + 3 * MAX_TEXT + 512 };

static const long long END_S = 253402300800; /* the year 10000, which has too many digits */

typedef struct {
    const char *at, *end;
} Span;

static inline int is_digit(char c) { return c >= '0' && c <= '9'; }

static inline int is_capital(char c) { return c >= 'A' && c <= 'Z'; }

static inline int is_alphanumeric(char c) { return is_digit(c) || is_capital(c) || (c >= 'a' && c <= 'z'); }

static inline int is_in_segment(char c) { return is_alphanumeric(c) || c == '_' || c == '~' || c == '-' || c == '.'; }

static inline int is_in_query(char c) { return is_in_segment(c) || (c && strchr("=&/:;,+", c)); }

static inline int is(Span span, const char *text) {
    size_t size = strlen(text);
    return (size_t)(span.end - span.at) == size && memcmp(span.at, text, size) == 0;
}

/* The text of a column, if it is ASCII and not too long; else one that begins nowhere. */
static Span text_of(PyObject *column, Py_ssize_t most) {
    Span none = {NULL, NULL};
    if (!PyUnicode_Check(column) || !PyUnicode_IS_COMPACT_ASCII(column)) return none;
    Py_ssize_t size = PyUnicode_GET_LENGTH(column);
    const char *bytes = (const char *)PyUnicode_1BYTE_DATA(column);
    return size <= most ? (Span){bytes, bytes + size} : none;
}

/* The text of a column that stands in JSON as it is; else one that begins nowhere. */
static Span json_text_of(PyObject *column) {
    Span text = text_of(column, MAX_TEXT);
    for (const char *p = text.at; p < text.end; p++)
        if (*p < ' ' || *p > '~' || *p == '"' || *p == '\\') return (Span){NULL, NULL};
    return text;
}

/* A column that is a number and not negative; else -1, without an exception. */
static long long number_of(PyObject *column) {
    int overflows = 0;
    long long number = PyLong_CheckExact(column) ? PyLong_AsLongLongAndOverflow(column, &overflows) : -1;
    return overflows || number < 0 ? -1 : number;
}

static void put_lower(Json *line, Span text) {
    for (const char *p = text.at; p < text.end; p++) line->bytes[line->size++] = (char)(is_capital(*p) ? *p | 32 : *p);
}

/* Takes "www.", "www2." and so on off a host. */
static Span without_www(Span host) {
    const char *p = host.at;
    if (host.end - p < 4 || memcmp(p, "www", 3) != 0) return host;
    for (p += 3; p < host.end && is_digit(*p);) p++;
    return p < host.end && *p == '.' ? (Span){p + 1, host.end} : host;
}

/* Writes a host with its labels the other way round, and its port unless it is the scheme's own; 0 where one is not
   plain. */
static int put_host(Json *line, Span authority, const char *own_port) {
    const char *colon = authority.at, *p;
    while (colon < authority.end && *colon != ':') colon++;
    Span host = {authority.at, colon}, port = {colon + (colon < authority.end), authority.end};
    for (p = host.at; p < host.end; p++)
        if (!is_digit(*p) && (*p < 'a' || *p > 'z') && *p != '-' && (*p != '.' || p == host.at || p[-1] == '.')) return 0;
    if (host.at == host.end || host.end[-1] == '.' || (colon < authority.end && port.at == port.end)) return 0;
    for (p = port.at; p < port.end; p++)
        if (!is_digit(*p)) return 0;
    host = without_www(host);
    for (const char *end = host.end, *start; end > host.at; end = start > host.at ? start - 1 : start) {
        for (start = end; start > host.at && start[-1] != '.';) start--;
        if (end < host.end) put(line, ",", 1);
        put(line, start, end - start);
    }
    if (port.at < port.end && !is(port, own_port)) put(line, colon, port.end - colon);
    put(line, ")", 1);
    return 1;
}

/* Writes what a key has behind the host; 0 where it is not plain: dots that may lead elsewhere, escapes, arguments that
   have to be sorted or may name a session. */
static int put_tail(Json *line, Span tail) {
    const char *p = tail.at;
    for (; p < tail.end && *p != '?'; p++) {
        int begins = p == tail.at || p[-1] == '/';
        if (*p == '/' || *p == '.' ? begins : !is_in_segment(*p)) return 0;
    }
    Span path = {tail.at, p}, query = {p + (p < tail.end), tail.end};
    for (p = query.at; p < query.end; p++)
        if (!is_in_query(*p) || *p == '&') return 0;
    if (path.end > path.at && path.end[-1] == '/') path.end--;
    put(line, "/", 1);
    put_lower(line, path);
    if (query.at == query.end) return 1;
    put(line, "?", 1);
    char *start = line->bytes + line->size;
    put_lower(line, query);
    line->bytes[line->size] = 0;
    return !strstr(start, "sid=") && !strstr(start, "sessionid") && !strstr(start, "cfid=");
}

/* Writes the key of a URL; 0 where it is not plain. */
static int put_key(Json *line, Span url) {
    Py_ssize_t size = url.end - url.at;
    int is_http = size > 7 && memcmp(url.at, "http://", 7) == 0;
    if (!is_http && (size <= 8 || memcmp(url.at, "https://", 8) != 0)) return 0;
    Span authority = {url.at + (is_http ? 7 : 8), url.end};
    const char *slash = memchr(authority.at, '/', (size_t)(url.end - authority.at));
    if (slash) authority.end = slash;
    Span tail = {slash ? slash + 1 : url.end, url.end};
    return put_host(line, authority, is_http ? "80" : "443") && put_tail(line, tail);
}

/* Writes a number of this many digits, with zeros before it. */
static void put_digits(Json *line, unsigned number, int digits) {
    for (int at = digits; at-- > 0; number /= 10) line->bytes[line->size + at] = (char)('0' + number % 10);
    line->size += digits;
}

/* Writes a moment as 14 digits. Years begin in March here, so that a leap day is the last of its year. */
static void put_stamp(Json *line, long long epoch_s) {
    unsigned second = (unsigned)(epoch_s % 86400), day = (unsigned)(epoch_s / 86400) + 719468; /* from March of year 0 */
    unsigned era = day / 146097, of_era = day % 146097;
    unsigned year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    unsigned of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
    put_digits(line, year + era * 400 + (month >= 10), 4);
    put_digits(line, month < 10 ? month + 3 : month - 9, 2);
    put_digits(line, of_year - (153 * month + 2) / 5 + 1, 2);
    put_digits(line, second / 3600, 2);
    put_digits(line, second / 60 % 60, 2);
    put_digits(line, second % 60, 2);
}

static void put_text_of(Json *line, Span text) { put(line, text.at, text.end - text.at); }

static void put_word(Json *line, const char *word) { put(line, word, (Py_ssize_t)strlen(word)); }

PyObject *cdxj_line(PyObject *Py_UNUSED(module), PyObject *row) {
    static const char unknown[] = "unk";
    if (!PyTuple_Check(row) || PyTuple_GET_SIZE(row) != 8) {
        PyErr_SetString(PyExc_TypeError, "a row of the index has eight columns");
        return NULL;
    }
    Span url = text_of(PyTuple_GET_ITEM(row, 0), MAX_PLAIN_URL), mime = json_text_of(PyTuple_GET_ITEM(row, 2));
    Span digest = json_text_of(PyTuple_GET_ITEM(row, 4)), file = json_text_of(PyTuple_GET_ITEM(row, 7));
    long long epoch_ms = number_of(PyTuple_GET_ITEM(row, 1)), status = number_of(PyTuple_GET_ITEM(row, 3));
    long long size_b = number_of(PyTuple_GET_ITEM(row, 5)), offset = number_of(PyTuple_GET_ITEM(row, 6));
    if (!url.at || !mime.at || !digest.at || !file.at) Py_RETURN_NONE;
    if (epoch_ms < 0 || epoch_ms / 1000 >= END_S || status < 0 || size_b < 0 || offset < 0) Py_RETURN_NONE;
    char bytes[LINE_ROOM];
    Json line = {bytes, 0, sizeof bytes};
    if (!put_key(&line, url)) Py_RETURN_NONE;
    if (mime.at == mime.end) mime = (Span){unknown, unknown + sizeof unknown - 1};
    if (digest.end - digest.at >= 5 && memcmp(digest.at, "sha1:", 5) == 0) digest.at += 5;
    put(&line, " ", 1);
    put_stamp(&line, epoch_ms / 1000);
    put_word(&line, " {\"url\":\"");
    put_text_of(&line, url);
    put_word(&line, "\",\"mime\":\"");
    put_text_of(&line, mime);
    put_word(&line, "\",\"status\":\"");
    put_number(&line, (unsigned long long)status, '"');
    put_word(&line, ",\"digest\":\"");
    put_text_of(&line, digest);
    put_word(&line, "\",\"length\":\"");
    put_number(&line, (unsigned long long)size_b, '"');
    put_word(&line, ",\"offset\":\"");
    put_number(&line, (unsigned long long)offset, '"');
    put_word(&line, ",\"filename\":\"");
    put_text_of(&line, file);
    put_word(&line, "\"}\n");
    return PyBytes_FromStringAndSize(bytes, line.size);
}
