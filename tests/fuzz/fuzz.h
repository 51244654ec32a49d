/*
 * Code shared by the fuzz targets: the function that libFuzzer calls, a check that aborts the
 * process, and an input reader. A target is one file, fuzz-NAME.c, which the Makefile finds. See
 * docs/fuzzing.md.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Processes one input, which it must not modify. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Optional: called once before the first input. */
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define FUZZ_COUNT(array) (sizeof(array) / sizeof((array)[0]))

static inline _Noreturn void fuzz_failed(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
	abort();
}

/* Checks a condition that must hold for every input. NDEBUG does not disable it. */
#define fuzz_check(condition) \
	do { \
		if (!(condition)) \
			fuzz_failed(__FILE__, __LINE__, #condition); \
	} while (0)

/* The rest of the input. Reading past its end returns zeros. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

static inline uint8_t fuzz_byte(struct fuzz_input *input)
{
	if (input->left == 0)
		return 0;
	input->left--;
	return *input->at++;
}

/* Reads up to 8 bytes as a number. */
static inline uint64_t fuzz_number(struct fuzz_input *input, size_t bytes)
{
	uint64_t number = 0;

	while (bytes-- > 0)
		number = number << 8 | fuzz_byte(input);
	return number;
}

/* Copies at most `most` of the next bytes to `to`. Returns the number of bytes copied. */
static inline size_t fuzz_bytes(struct fuzz_input *input, void *to, size_t most)
{
	size_t taken = input->left < most ? input->left : most;

	if (taken > 0)
		memcpy(to, input->at, taken);
	input->at += taken;
	input->left -= taken;
	return taken;
}

/*
 * Copies bytes to a buffer of exactly their size, so that AddressSanitizer detects reads past the
 * end. The caller frees it.
 */
static inline void *fuzz_copy(const void *bytes, size_t size)
{
	/* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI): size may be 0 */
	void *copy = calloc(1, size);

	fuzz_check(copy || size == 0);
	if (size > 0)
		memcpy(copy, bytes, size);
	return copy;
}

/* True if all bytes are printable ASCII. */
static inline bool fuzz_is_printable(const char *text)
{
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			return false;
	return true;
}

#endif
