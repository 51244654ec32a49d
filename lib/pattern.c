#include <string.h>

#include "pattern.h"
#include "wire.h"

#define WORD sizeof(uint64_t)

/* Word number `index` of the pattern: the output function of SplitMix64 (Steele et al., 2014). */
static uint64_t word_at(uint64_t seed, uint64_t index)
{
	uint64_t word = seed + (index + 1) * 0x9e3779b97f4a7c15;

	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9;
	word = (word ^ word >> 27) * 0x94d049bb133111eb;
	return word ^ word >> 31;
}

void pattern_fill(void *data, size_t size, uint64_t seed)
{
	uint8_t *bytes = data, word[WORD];

	for (size_t at = 0; at < size; at += WORD) {
		wire_put64(word, word_at(seed, at / WORD));
		memcpy(bytes + at, word, size - at < WORD ? size - at : WORD);
	}
}

size_t pattern_check(const void *data, size_t size, uint64_t seed)
{
	const uint8_t *bytes = data;
	uint8_t word[WORD];

	for (size_t at = 0; at < size; at++) {
		if (at % WORD == 0)
			wire_put64(word, word_at(seed, at / WORD));
		if (bytes[at] != word[at % WORD])
			return at;
	}
	return size;
}
