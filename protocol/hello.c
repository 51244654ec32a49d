/* Encodes and decodes the hello field by field, independently of struct layout. */
#include <errno.h>
#include <string.h>

#include "protocol/hello.h"
#include "protocol/little-endian.h"
#include "protocol/test-parameters.h"

static const uint8_t magic[8] = {'r', 'd', 'm', 'a', 'p', 'a', 'i', 'r'};

/* Announces a secret with the digests of docs/protocol.md, and with those of version 0.1. */
#define HAS_SECRET     2
#define HAS_OLD_SECRET 1

/* In an exchange, the bits of `extended`, `answers` and `keeps`; the others are the MTU. */
#define EXTENDED 0x8000
#define ANSWERS  0x4000
#define KEEPS    0x2000

/* The lower bits of what work requests need are bytes of inline data. */
#define INLINE_BITS 11

enum {
	AT_MAGIC = 0,
	AT_VERSION = 8,
	AT_MODE = 10,
	AT_KIND = 11,
	AT_REFUSAL = 12,
	AT_SIZE = 16,
	AT_TIMEOUT = 24,
	AT_SECRET = 28,
	AT_FLAGS = 29,
	AT_MTU = 30,
};

void hello_encode(const struct hello *hello, uint8_t buffer[HELLO_SIZE])
{
	memset(buffer, 0, HELLO_SIZE);
	memcpy(buffer + AT_MAGIC, magic, sizeof(magic));
	le_put16(buffer + AT_VERSION, hello->version);
	buffer[AT_MODE] = hello->mode;
	buffer[AT_KIND] = hello->kind;
	le_put32(buffer + AT_REFUSAL, hello->refusal);
	le_put64(buffer + AT_SIZE, hello->size);
	le_put32(buffer + AT_TIMEOUT, hello->timeout);
	buffer[AT_SECRET] = hello->secret ? HAS_SECRET : 0;
	buffer[AT_FLAGS] = hello->flags;
	le_put16(buffer + AT_MTU,
		(uint16_t)(hello->mtu | (hello->extended ? EXTENDED : 0) |
			   (hello->answers ? ANSWERS : 0) | (hello->keeps ? KEEPS : 0)));
}

int hello_decode(struct hello *hello, const void *data, size_t length)
{
	const uint8_t *bytes = data;

	memset(hello, 0, sizeof(*hello));
	if (length < sizeof(magic) || memcmp(bytes + AT_MAGIC, magic, sizeof(magic)) != 0)
		return -ENOMSG;
	if (length < HELLO_SIZE)
		return -EMSGSIZE;
	hello->version = le_get16(bytes + AT_VERSION);
	hello->mode = bytes[AT_MODE];
	hello->kind = bytes[AT_KIND];
	hello->refusal = le_get32(bytes + AT_REFUSAL);
	hello->size = le_get64(bytes + AT_SIZE);
	hello->timeout = le_get32(bytes + AT_TIMEOUT);
	hello->secret = bytes[AT_SECRET] == HAS_SECRET;
	hello->old_secret = bytes[AT_SECRET] == HAS_OLD_SECRET;
	hello->flags = bytes[AT_FLAGS];
	hello->mtu = le_get16(bytes + AT_MTU);
	if (hello->kind == HELLO_EXCHANGE) {
		hello->extended = hello->mtu & EXTENDED;
		hello->answers = hello->mtu & ANSWERS;
		hello->keeps = hello->mtu & KEEPS;
		hello->mtu &= KEEPS - 1;
	}
	return 0;
}

enum refusal hello_check_plans(const struct hello *server, const struct hello *client)
{
	unsigned int ours = server->flags, theirs = client->flags;

	/* Version 0.1 would store a tree stream as one file. */
	if ((ours & HELLO_SENDS_TREE) && !(theirs & HELLO_TAKES_TREE))
		return theirs & HELLO_TAKES_FILE ? REFUSAL_TREE : REFUSAL_UNWANTED;
	if (!(ours & theirs & HELLO_PLANS))
		return REFUSAL_NONE;
	if ((theirs & HELLO_SENDS_FILE) && !(ours & HELLO_TAKES_FILE))
		return REFUSAL_NO_OUTPUT;
	if ((theirs & HELLO_SENDS_TREE) && !(ours & HELLO_TAKES_TREE))
		return REFUSAL_NO_FOLDER;
	if ((ours & HELLO_SENDS_FILE) && !(theirs & HELLO_TAKES_FILE))
		return REFUSAL_UNWANTED;
	if ((theirs & HELLO_WANTS_DATA) && !(ours & HELLO_SENDS_DATA))
		return REFUSAL_NO_DATA;
	return REFUSAL_NONE;
}

bool hello_is_greeting(const struct hello *hello)
{
	return (hello->flags & (HELLO_PLANS | HELLO_SENDS_DATA)) == HELLO_PLANS;
}

bool hello_resumes(const struct hello *sender, const struct hello *receiver)
{
	return (sender->flags & receiver->flags & HELLO_RESUMES) &&
	       (sender->flags & HELLO_SENDS_FILE) && !(sender->flags & HELLO_SENDS_TREE) &&
	       (receiver->flags & HELLO_WANTS_DATA);
}

bool hello_asks(const struct hello *sender, const struct hello *receiver)
{
	return sender->answers && receiver->answers && (sender->flags & HELLO_SENDS_TREE) &&
	       (receiver->flags & HELLO_TAKES_TREE) && (receiver->flags & HELLO_WANTS_DATA) &&
	       !(receiver->flags & HELLO_SENDS_DATA);
}

bool hello_is_control(const struct hello *hello)
{
	return hello->kind == HELLO_DIAGNOSIS || hello->kind == HELLO_MEASUREMENT;
}

uint64_t hello_shape(uint32_t queue_pairs, uint32_t depth)
{
	return (uint64_t)queue_pairs << 32 | depth;
}

uint16_t hello_requests(uint32_t inline_max, uint32_t gathers)
{
	return (uint16_t)(inline_max | (gathers - 1) << INLINE_BITS);
}

int hello_requests_decode(uint16_t requests, uint32_t *inline_max, uint32_t *gathers)
{
	*inline_max = requests & ((1U << INLINE_BITS) - 1);
	*gathers = ((uint32_t)requests >> INLINE_BITS) + 1;
	return *inline_max <= TEST_INLINE_MAX && *gathers <= TEST_SGE_MAX ? 0 : -ERANGE;
}

int hello_shape_decode(uint64_t size, uint32_t *queue_pairs, uint32_t *depth)
{
	*queue_pairs = (uint32_t)(size >> 32);
	*depth = (uint32_t)size;
	return test_shape_is_possible(*queue_pairs, *depth) ? 0 : -ERANGE;
}
