/*
 * Linked into damaging-server and damaging-client, variants of the programs that flip one bit of
 * the data they send after computing its digest, as broken memory or a broken path would. The
 * environment variable DAMAGE is the offset of the byte in the stream; if it is unset, nothing is
 * flipped.
 *
 * The linker replaces the functions of protocol/digest.c with these (ld(1), --wrap). A message is
 * digested in one call; a stream in pieces, by the thread "source", while the thread "sink" digests
 * the received data.
 *
 * DAMAGE_PATTERN is the offset of the byte to flip in the test patterns that a thread generates.
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
void __real_digester_add_prepared(
	struct digester *digester, const void *data, size_t size, struct digest_part *part);
void __wrap_digester_add_prepared(
	struct digester *digester, const void *data, size_t size, struct digest_part *part);

/* Flips a bit at the offset in the variable if it is within these bytes, the first at `begin`. */
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

/* With a secret, a message is digested again in the memory from which it is sent. */
struct digest __wrap_digest_of_keyed(
	const uint8_t key[DIGEST_KEY_SIZE], const void *data, size_t size)
{
	struct digest digest = __real_digest_of_keyed(key, data, size);

	damage(data, size, 0);
	return digest;
}

/* Damages digested data of a stream that is sent. */
static void damage_stream(const void *data, size_t size)
{
	static _Thread_local unsigned long long position;
	char thread[16] = "";

	prctl(PR_GET_NAME, thread);
	if (strcmp(thread, "source") != 0)
		return;
	damage(data, size, position);
	position += size;
}

void __wrap_digester_add(struct digester *digester, const void *data, size_t size)
{
	__real_digester_add(digester, data, size);
	damage_stream(data, size);
}

void __wrap_digester_add_prepared(
	struct digester *digester, const void *data, size_t size, struct digest_part *part)
{
	__real_digester_add_prepared(digester, data, size, part);
	damage_stream(data, size);
}

void __wrap_pattern_fill(void *data, size_t size, uint64_t seed)
{
	static _Thread_local unsigned long long position;

	__real_pattern_fill(data, size, seed);
	damage_one("DAMAGE_PATTERN", data, size, position);
	position += size;
}
/* NOLINTEND(bugprone-reserved-identifier) */
