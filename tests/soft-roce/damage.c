/*
 * Linked into a variant of either program, damaging-server and damaging-client: of what it sends,
 * one bit is flipped after it was digested, as broken memory or a broken path would do. The bit is
 * in the byte of the stream that DAMAGE in the environment numbers; without that nothing is.
 *
 * The linker puts these in the place of the functions of protocol/digest.c (ld(1), --wrap). A text
 * is digested as a whole; a stream in pieces, and by the thread called "source", while the "sink"
 * digests what arrives.
 *
 * Of the patterns that a thread makes to measure with, one bit is flipped after that, in the byte
 * that DAMAGE_PATTERN numbers.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "protocol/digest.h"
#include "protocol/test-pattern.h"

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
struct digest __real_digest_of(const void *data, size_t size);
struct digest __wrap_digest_of(const void *data, size_t size);
struct digest __real_digest_of_keyed(
	const uint8_t key[DIGEST_KEY_SIZE], const void *data, size_t size);
struct digest __wrap_digest_of_keyed(
	const uint8_t key[DIGEST_KEY_SIZE], const void *data, size_t size);
void __real_pattern_fill(void *data, size_t size, uint64_t seed);
void __wrap_pattern_fill(void *data, size_t size, uint64_t seed);
void __real_digester_add(struct digester *digester, const void *data, size_t size);
void __wrap_digester_add(struct digester *digester, const void *data, size_t size);

/* Flips the one that the variable numbers if it is among these, which begin at that byte of all. */
static void damage_one(
	const char *variable, const void *data, size_t size, unsigned long long begin)
{
	const char *wanted = getenv(variable);
	unsigned long long at = wanted ? strtoull(wanted, NULL, 10) : 0;

	if (wanted && at >= begin && at - begin < size)
		((unsigned char *)data)[at - begin] ^= 0x10;
}

static void damage(const void *data, size_t size, unsigned long long begin)
{
	damage_one("DAMAGE", data, size, begin);
}

struct digest __wrap_digest_of(const void *data, size_t size)
{
	struct digest digest = __real_digest_of(data, size);

	damage(data, size, 0);
	return digest;
}

/* With a secret a text is digested once more, in the memory that it goes out from. */
struct digest __wrap_digest_of_keyed(
	const uint8_t key[DIGEST_KEY_SIZE], const void *data, size_t size)
{
	struct digest digest = __real_digest_of_keyed(key, data, size);

	damage(data, size, 0);
	return digest;
}

void __wrap_digester_add(struct digester *digester, const void *data, size_t size)
{
	static _Thread_local unsigned long long position;
	char thread[16] = "";

	__real_digester_add(digester, data, size);
	prctl(PR_GET_NAME, thread);
	if (strcmp(thread, "source") != 0)
		return;
	damage(data, size, position);
	position += size;
}

void __wrap_pattern_fill(void *data, size_t size, uint64_t seed)
{
	static _Thread_local unsigned long long position;

	__real_pattern_fill(data, size, seed);
	damage_one("DAMAGE_PATTERN", data, size, position);
	position += size;
}
/* NOLINTEND(bugprone-reserved-identifier) */
