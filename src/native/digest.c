/* SHA-1 as WARC spells it, of a payload and of the block that holds it, at once.

   A record has both digests, and its block is the payload behind a short head: the same bytes twice, in two sums that do
   not wait for each other. Processors with instructions for SHA-1 spend most of one sum waiting, so two take little more
   time than one. Without those instructions nothing here is offered: see wide.c. */

#define PY_SSIZE_T_CLEAN
#include "digest.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>
#include <immintrin.h>
#include <string.h>

enum { BLOCK_B = 64, DIGEST_B = 20 };

void spell_sum(const uint32_t *words, char *text) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    unsigned char digest[DIGEST_B];
    memcpy(text, "sha1:", 5);
    for (int i = 0; i < DIGEST_B; i++) digest[i] = (unsigned char)(words[i / 4] >> (24 - i % 4 * 8));
    for (int group = 0; group < DIGEST_B / 5; group++) {
        uint64_t bits = 0;
        for (int i = 0; i < 5; i++) bits = bits << 8 | digest[group * 5 + i];
        for (int i = 0; i < 8; i++) text[5 + group * 8 + i] = digits[bits >> (35 - 5 * i) & 31];
    }
}

typedef struct {
    __m128i abcd, e; /* a in the highest lane */
} State;

static int has_instructions(void) {
    unsigned int a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3) || !(c & bit_SSE4_1)) return 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_SHA;
}

int has_digests(void) {
    static int known, found; /* on a virtual machine it takes long to ask the processor */
    if (!known) found = has_instructions(), known = 1;
    return found;
}

#define SHA __attribute__((target("sha,sse4.1,ssse3")))

SHA static State beginning(void) {
    return (State){_mm_set_epi32(0x67452301, (int)0xefcdab89, (int)0x98badcfe, 0x10325476),
                   _mm_set_epi32((int)0xc3d2e1f0, 0, 0, 0)};
}

/* Four rounds of one sum: the words they take are loaded, or made of those before (FIPS 180-4, 6.1.2). */
#define FOUR(lane, i, constant)                                                                                        \
    do {                                                                                                               \
        __m128i *word = &w[lane][(i) % 4];                                                                             \
        if ((i) < 4)                                                                                                   \
            *word = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)at[lane] + (i) % 4), reversed);                  \
        else                                                                                                           \
            *word = _mm_sha1msg2_epu32(                                                                                \
                _mm_xor_si128(_mm_sha1msg1_epu32(*word, w[lane][((i) + 1) % 4]), w[lane][((i) + 2) % 4]),              \
                w[lane][((i) + 3) % 4]);                                                                               \
        __m128i sum = (i) ? _mm_sha1nexte_epu32(s[lane].e, *word) : _mm_add_epi32(s[lane].e, *word);                   \
        s[lane].e = s[lane].abcd;                                                                                      \
        s[lane].abcd = _mm_sha1rnds4_epu32(s[lane].abcd, sum, constant);                                               \
    } while (0)

#define FOUR_OF_EACH(i, constant)                                                                                      \
    FOUR(0, i, constant);                                                                                              \
    if (lanes == 2) FOUR(1, i, constant)

#define TWENTY(i, constant)                                                                                            \
    FOUR_OF_EACH(i, constant);                                                                                         \
    FOUR_OF_EACH((i) + 1, constant);                                                                                   \
    FOUR_OF_EACH((i) + 2, constant);                                                                                   \
    FOUR_OF_EACH((i) + 3, constant);                                                                                   \
    FOUR_OF_EACH((i) + 4, constant)

SHA static inline __attribute__((always_inline)) void add_blocks(State *states, const unsigned char **data,
                                                                  size_t blocks, int lanes) {
    const __m128i reversed = _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f);
    State s[2] = {states[0], states[lanes - 1]};
    const unsigned char *at[2] = {data[0], data[lanes - 1]};
    __m128i w[2][4];
    for (; blocks; blocks--) {
        const State before[2] = {s[0], s[1]};
        TWENTY(0, 0);
        TWENTY(5, 1);
        TWENTY(10, 2);
        TWENTY(15, 3);
        for (int lane = 0; lane < lanes; lane++) {
            s[lane].e = _mm_sha1nexte_epu32(s[lane].e, before[lane].e);
            s[lane].abcd = _mm_add_epi32(s[lane].abcd, before[lane].abcd);
            at[lane] += BLOCK_B;
        }
    }
    for (int lane = 0; lane < lanes; lane++) states[lane] = s[lane], data[lane] = at[lane];
}

SHA static void add_one(State *state, const unsigned char **data, size_t blocks) { add_blocks(state, data, blocks, 1); }

SHA static void add_two(State *states, const unsigned char **data, size_t blocks) { add_blocks(states, data, blocks, 2); }

/* Writes the digest of all: what is left over, padded, and the length of the whole. */
SHA static void spell(State state, const unsigned char *rest, size_t rest_b, uint64_t whole_b, char *text) {
    unsigned char last[2 * BLOCK_B] = {0};
    const unsigned char *at = last;
    memcpy(last, rest, rest_b);
    last[rest_b] = 0x80;
    size_t blocks = rest_b + 9 > BLOCK_B ? 2 : 1;
    for (int i = 0; i < 8; i++) last[blocks * BLOCK_B - 1 - (size_t)i] = (unsigned char)(whole_b * 8 >> 8 * i);
    add_one(&state, &at, blocks);
    uint32_t words[DIGEST_WORDS] = {(uint32_t)_mm_extract_epi32(state.abcd, 3), (uint32_t)_mm_extract_epi32(state.abcd, 2),
                         (uint32_t)_mm_extract_epi32(state.abcd, 1), (uint32_t)_mm_extract_epi32(state.abcd, 0),
                         (uint32_t)_mm_extract_epi32(state.e, 3)};
    spell_sum(words, text);
}

SHA void spell_digests(const char *head, Py_ssize_t head_size, const char *body, Py_ssize_t body_size, char *of_body,
                       char *of_both) {
    enum { BODY, BOTH };
    State states[2] = {beginning(), beginning()};
    const unsigned char *end = (const unsigned char *)body + body_size;
    const unsigned char *at[2] = {(const unsigned char *)body, (const unsigned char *)head};
    size_t head_b = (size_t)head_size, body_b = (size_t)body_size, rest_b = head_b % BLOCK_B;
    unsigned char seam[BLOCK_B];
    add_one(&states[BOTH], &at[BOTH], head_b / BLOCK_B);
    memcpy(seam, at[BOTH], rest_b);
    at[BOTH] = (const unsigned char *)body;
    if (rest_b) { /* the end of the head and the beginning of the body share a block */
        size_t part_b = Py_MIN(BLOCK_B - rest_b, body_b);
        const unsigned char *start = seam;
        memcpy(seam + rest_b, at[BOTH], part_b);
        at[BOTH] += part_b;
        rest_b += part_b;
        if (rest_b == BLOCK_B) {
            add_one(&states[BOTH], &start, 1);
            rest_b = 0;
        }
    }
    if (of_body) add_two(states, at, (size_t)(end - at[BOTH]) / BLOCK_B);
    for (int sum = of_body ? BODY : BOTH; sum <= BOTH; sum++)
        add_one(&states[sum], &at[sum], (size_t)(end - at[sum]) / BLOCK_B);
    /* Either the seam is a whole block, or the body ended within it. */
    const unsigned char *rest = rest_b ? seam : at[BOTH];
    spell(states[BOTH], rest, rest_b ? rest_b : (size_t)(end - at[BOTH]), head_b + body_b, of_both);
    if (of_body) spell(states[BODY], at[BODY], (size_t)(end - at[BODY]), body_b, of_body);
}

static PyObject *with_parts(PyObject *args, int only) {
    Py_buffer head = {0}, body = {0};
    char of_body[DIGEST_TEXT_B], of_both[DIGEST_TEXT_B];
    if (!PyArg_ParseTuple(args, "y*y*", &head, &body)) return NULL;
    spell_digests(head.buf, head.len, body.buf, body.len, only ? NULL : of_body, of_both);
    PyBuffer_Release(&head);
    PyBuffer_Release(&body);
    const Py_ssize_t size = DIGEST_TEXT_B;
    return only ? PyUnicode_DecodeASCII(of_both, size, NULL) : Py_BuildValue("s#s#", of_body, size, of_both, size);
}

PyObject *digest(PyObject *Py_UNUSED(module), PyObject *args) { return with_parts(args, 1); }

PyObject *digests(PyObject *Py_UNUSED(module), PyObject *args) { return with_parts(args, 0); }

#else

int has_digests(void) { return 0; }

void spell_digests(const char *Py_UNUSED(head), Py_ssize_t Py_UNUSED(head_size), const char *Py_UNUSED(body),
                   Py_ssize_t Py_UNUSED(body_size), char *Py_UNUSED(of_body), char *Py_UNUSED(of_both)) {}

PyObject *digest(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args)) { Py_RETURN_NONE; }

PyObject *digests(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args)) { Py_RETURN_NONE; }

#endif
