/* SHA-1 of many parts of records at once: eight sums side by side, each in a lane of wide registers. A sum waits for itself
   at every step, and eight of them take the time of one. It is for processors that have no instructions for SHA-1; with
   those one exchange after the other is as quick (digest.c). */

#define PY_SSIZE_T_CLEAN
#include "digest.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 8, WORDS = DIGEST_WORDS, BLOCK_B = 64, SEGMENTS = 4 };

/* One sum: its bytes as segments of whole blocks, the last of which is padded and has the length of all (FIPS 180-4, 5.1.1). */
typedef struct {
    const unsigned char *start[SEGMENTS];
    size_t blocks[SEGMENTS], all_blocks;
    unsigned char seam[BLOCK_B], last[2 * BLOCK_B];
    uint32_t sum[WORDS];
} Stream;

typedef uint32_t Lanes __attribute__((vector_size(4 * LANES)));

/* The steps of a sum; as macros, since one text is compiled for two kinds of processors. */
#define TURNED(x, bits) ((x) << (bits) | (x) >> (32 - (bits)))
#define CHOICE(b, c, d) ((d) ^ ((b) & ((c) ^ (d))))
#define PARITY(b, c, d) ((b) ^ (c) ^ (d))
#define MAJORITY(b, c, d) (((b) & (c)) | ((d) & ((b) | (c))))
#define MIXED(t) (w[((t) + 13) & 15] ^ w[((t) + 8) & 15] ^ w[((t) + 2) & 15] ^ w[(t) & 15])
#define WORD(t) ((t) < 16 ? w[(t) & 15] : (w[(t) & 15] = TURNED(MIXED(t), 1)))
#define STEP(a, b, c, d, e, mix, constant, t)                          \
    do {                                                               \
        e += TURNED(a, 5) + mix(b, c, d) + ((constant) + WORD(t));     \
        b = TURNED(b, 30);                                             \
    } while (0)
#define FIVE(mix, constant, t)                    \
    STEP(a, b, c, d, e, mix, constant, (t));      \
    STEP(e, a, b, c, d, mix, constant, (t) + 1);  \
    STEP(d, e, a, b, c, mix, constant, (t) + 2);  \
    STEP(c, d, e, a, b, mix, constant, (t) + 3);  \
    STEP(b, c, d, e, a, mix, constant, (t) + 4)
#define TWENTY(mix, constant, t)   \
    FIVE(mix, constant, (t));      \
    FIVE(mix, constant, (t) + 5);  \
    FIVE(mix, constant, (t) + 10); \
    FIVE(mix, constant, (t) + 15)

#define WIDE __attribute__((target("avx2")))

/* Eight words from each of eight places: the first of all, then the second of all, and so on, in the processor's order. */
WIDE static inline __attribute__((always_inline)) void gather(const unsigned char *const *at, size_t offset, Lanes *words) {
    const __m256i reversed = _mm256_broadcastsi128_si256(_mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203));
    __m256i row[LANES], pair[LANES], four[LANES];
    for (int i = 0; i < LANES; i++)
        row[i] = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)(at[i] + offset)), reversed);
    for (int i = 0; i < LANES; i += 2) {
        pair[i] = _mm256_unpacklo_epi32(row[i], row[i + 1]);
        pair[i + 1] = _mm256_unpackhi_epi32(row[i], row[i + 1]);
    }
    for (int i = 0; i < LANES; i += 4) {
        four[i] = _mm256_unpacklo_epi64(pair[i], pair[i + 2]);
        four[i + 1] = _mm256_unpackhi_epi64(pair[i], pair[i + 2]);
        four[i + 2] = _mm256_unpacklo_epi64(pair[i + 1], pair[i + 3]);
        four[i + 3] = _mm256_unpackhi_epi64(pair[i + 1], pair[i + 3]);
    }
    for (int i = 0; i < LANES / 2; i++) {
        words[i] = (Lanes)_mm256_permute2x128_si256(four[i], four[i + 4], 0x20);
        words[i + LANES / 2] = (Lanes)_mm256_permute2x128_si256(four[i], four[i + 4], 0x31);
    }
}

/* Takes so many blocks from each place into the sums; a step of 0 stays where it is. */
WIDE static inline __attribute__((always_inline)) void add_to_all(Lanes *sums, const unsigned char **at, const size_t *steps,
                                                                  size_t blocks) {
    Lanes a = sums[0], b = sums[1], c = sums[2], d = sums[3], e = sums[4], w[16];
    for (; blocks; blocks--) {
        const Lanes before[WORDS] = {a, b, c, d, e};
        gather(at, 0, w);
        gather(at, BLOCK_B / 2, w + LANES);
        TWENTY(CHOICE, 0x5a827999u, 0);
        TWENTY(PARITY, 0x6ed9eba1u, 20);
        TWENTY(MAJORITY, 0x8f1bbcdcu, 40);
        TWENTY(PARITY, 0xca62c1d6u, 60);
        a += before[0], b += before[1], c += before[2], d += before[3], e += before[4];
        for (int lane = 0; lane < LANES; lane++) at[lane] += steps[lane];
    }
    sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d, sums[4] = e;
}

WIDE static void add_to_all_plainly(Lanes *sums, const unsigned char **at, const size_t *steps, size_t blocks) {
    add_to_all(sums, at, steps, blocks);
}

/* The same with instructions that turn words, and mix three of them, in one step. */
__attribute__((target("avx2,avx512f,avx512vl"))) static void add_to_all_sooner(Lanes *sums, const unsigned char **at,
                                                                                const size_t *steps, size_t blocks) {
    add_to_all(sums, at, steps, blocks);
}

enum { NARROW = 1, PLAIN, SOONER };

static uint64_t kept_registers(void) {
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static int kind_of_processor(void) {
    static int kind; /* on a virtual machine it takes long to ask the processor */
    unsigned int a, b, c, d;
    if (kind) return kind;
    kind = NARROW;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX)) return kind;
    const uint64_t avx = 0x6, avx512 = 0xe6, kept = kept_registers(); /* by the system, when it changes processes */
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2) || (kept & avx) != avx) return kind;
    kind = b & bit_AVX512F && b & bit_AVX512VL && (kept & avx512) == avx512 ? SOONER : PLAIN;
    return kind;
}

int has_wide_digests(void) { return kind_of_processor() != NARROW; }

static void divide(Stream *stream, const char *head, size_t head_b, const char *body, size_t body_b) {
    size_t rest_b = head_b % BLOCK_B, part_b = rest_b ? Py_MIN(BLOCK_B - rest_b, body_b) : 0;
    const unsigned char *tail = (const unsigned char *)body + part_b;
    *stream = (Stream){.start = {(const unsigned char *)head, stream->seam, tail, stream->last},
                       .blocks = {head_b / BLOCK_B, rest_b + part_b == BLOCK_B, (body_b - part_b) / BLOCK_B, 0}};
    memcpy(stream->seam, head + head_b - rest_b, rest_b);
    memcpy(stream->seam + rest_b, body, part_b);
    size_t tail_b = (body_b - part_b) % BLOCK_B;
    tail += stream->blocks[2] * BLOCK_B;
    if (rest_b && !stream->blocks[1]) tail = stream->seam, tail_b = rest_b + part_b; /* the body ended within the seam */
    memcpy(stream->last, tail, tail_b);
    stream->last[tail_b] = 0x80;
    stream->blocks[3] = tail_b + 9 > BLOCK_B ? 2 : 1;
    for (int i = 0; i < 8; i++)
        stream->last[stream->blocks[3] * BLOCK_B - 1 - (size_t)i] = (unsigned char)((uint64_t)(head_b + body_b) * 8 >> 8 * i);
    for (int i = 0; i < SEGMENTS; i++) stream->all_blocks += stream->blocks[i];
}

static int longer_first(const void *one, const void *other) {
    size_t left = (*(Stream *const *)one)->all_blocks, right = (*(Stream *const *)other)->all_blocks;
    return left < right ? 1 : left > right ? -1 : 0;
}

/* Makes the sums of all streams. A lane takes the next one when its own is at its end. */
static void sum_up(Stream **streams, size_t count) {
    static const unsigned char nothing[BLOCK_B];
    static const uint32_t beginning[WORDS] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    Stream *lanes[LANES] = {NULL};
    const unsigned char *at[LANES];
    size_t steps[LANES], left[LANES] = {0}, next = 0;
    int segment[LANES];
    Lanes sums[WORDS] = {{0}};
    for (;;) {
        size_t blocks = 0;
        for (int lane = 0; lane < LANES; lane++) {
            while (!left[lane]) {
                if (lanes[lane] && ++segment[lane] < SEGMENTS) {
                    at[lane] = lanes[lane]->start[segment[lane]], left[lane] = lanes[lane]->blocks[segment[lane]];
                    continue;
                }
                for (int word = 0; lanes[lane] && word < WORDS; word++) lanes[lane]->sum[word] = sums[word][lane];
                lanes[lane] = next < count ? streams[next++] : NULL;
                for (int word = 0; word < WORDS; word++) sums[word][lane] = beginning[word];
                segment[lane] = -1, steps[lane] = BLOCK_B;
                if (lanes[lane]) continue;
                at[lane] = nothing, steps[lane] = 0, left[lane] = SIZE_MAX;
            }
            if (lanes[lane] && (!blocks || left[lane] < blocks)) blocks = left[lane];
        }
        if (!blocks) return;
        (kind_of_processor() == SOONER ? add_to_all_sooner : add_to_all_plainly)(sums, at, steps, blocks);
        for (int lane = 0; lane < LANES; lane++)
            if (lanes[lane]) left[lane] -= blocks;
    }
}

PyObject *wide_digests(PyObject *Py_UNUSED(module), PyObject *exchanges) {
    enum { HEAD, BODY, REQUEST, PARTS, SUMS = PARTS };
    if (!PyList_Check(exchanges)) return PyErr_Format(PyExc_TypeError, "no list");
    Py_ssize_t count = PyList_GET_SIZE(exchanges);
    Stream *streams = PyMem_Malloc((size_t)count * SUMS * sizeof *streams + 1);
    Stream **order = PyMem_Malloc((size_t)count * SUMS * sizeof *order + 1);
    PyObject *found = NULL;
    if (!streams || !order) {
        PyErr_NoMemory();
        goto end;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        const char *part[PARTS];
        Py_ssize_t size[PARTS];
        PyObject *parts = PyList_GET_ITEM(exchanges, i);
        if (!PyTuple_Check(parts)) PyErr_SetString(PyExc_TypeError, "no tuple");
        if (!PyTuple_Check(parts) || !PyArg_ParseTuple(parts, "y#y#y#", &part[HEAD], &size[HEAD], &part[BODY], &size[BODY],
                              &part[REQUEST], &size[REQUEST]))
            goto end;
        Stream *own = streams + i * SUMS;
        divide(&own[0], "", 0, part[BODY], (size_t)size[BODY]);
        divide(&own[1], part[HEAD], (size_t)size[HEAD], part[BODY], (size_t)size[BODY]);
        divide(&own[2], part[REQUEST], (size_t)size[REQUEST], "", 0);
        for (int sum = 0; sum < SUMS; sum++) order[i * SUMS + sum] = &own[sum];
    }
    qsort(order, (size_t)count * SUMS, sizeof *order, longer_first);
    sum_up(order, (size_t)count * SUMS);
    found = PyList_New(count);
    for (Py_ssize_t i = 0; found && i < count; i++) {
        char text[SUMS][DIGEST_TEXT_B];
        for (int sum = 0; sum < SUMS; sum++) spell_sum(streams[i * SUMS + sum].sum, text[sum]);
        const Py_ssize_t size = DIGEST_TEXT_B;
        PyObject *digests = Py_BuildValue("s#s#s#", text[0], size, text[1], size, text[2], size);
        if (!digests) Py_CLEAR(found);
        else PyList_SET_ITEM(found, i, digests);
    }
end:
    PyMem_Free(streams);
    PyMem_Free(order);
    return found;
}

#else

int has_wide_digests(void) { return 0; }

PyObject *wide_digests(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(exchanges)) { Py_RETURN_NONE; }

#endif
