/* The test pattern: pseudo-random 64-bit words, little-endian, generated from a seed. */
#include <string.h>

#include "protocol/little-endian.h"
#include "protocol/test-pattern.h"

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
	size_t whole = size / WORD;

	for (size_t i = 0; i < whole; i++)
		le_put64(bytes + i * WORD, word_at(seed, i));
	le_put64(word, word_at(seed, whole));
	memcpy(bytes + whole * WORD, word, size % WORD);
}

/* Returns the index of the first byte that differs from the word, or size. */
static size_t check_word(const uint8_t *bytes, size_t size, uint64_t value)
{
	uint8_t word[WORD];
	size_t at = 0;

	le_put64(word, value);
	while (at < size && bytes[at] == word[at])
		at++;
	return at;
}

size_t pattern_check(const void *data, size_t size, uint64_t seed)
{
	const uint8_t *bytes = data;
	size_t whole = size / WORD, i = 0;

	while (i < whole && le_get64(bytes + i * WORD) == word_at(seed, i))
		i++;
	return i * WORD +
	       check_word(bytes + i * WORD, i < whole ? WORD : size % WORD, word_at(seed, i));
}
