/* How WARC spells a SHA-1. */

#ifndef WEFT_DIGEST_H
#define WEFT_DIGEST_H

#include "native.h"

#include <stdint.h>

enum { DIGEST_WORDS = 5 };

/* Writes "sha1:" and 32 digits in base32. */
void spell_sum(const uint32_t *words, char *text);

#endif
