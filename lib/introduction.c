#include <errno.h>
#include <string.h>

#include "introduction.h"
#include "plan.h"
#include "wire.h"

static const uint8_t magic[8] = {'r', 'd', 'm', 'a', 'p', 'a', 'i', 'r'};

enum {
	AT_MAGIC = 0,
	AT_VERSION = 8,
	AT_MODE = 10,
	AT_SESSION = 11,
	AT_REFUSAL = 12,
	AT_SIZE = 16,
	AT_TIMEOUT = 24,
	AT_SECRET = 28,
};

void introduction_encode(const struct introduction *introduction, uint8_t buffer[INTRODUCTION_SIZE])
{
	memset(buffer, 0, INTRODUCTION_SIZE);
	memcpy(buffer + AT_MAGIC, magic, sizeof(magic));
	wire_put16(buffer + AT_VERSION, introduction->version);
	buffer[AT_MODE] = introduction->mode;
	buffer[AT_SESSION] = introduction->session;
	wire_put32(buffer + AT_REFUSAL, introduction->refusal);
	wire_put64(buffer + AT_SIZE, introduction->size);
	wire_put32(buffer + AT_TIMEOUT, introduction->timeout);
	buffer[AT_SECRET] = introduction->secret;
}

int introduction_decode(struct introduction *introduction, const void *data, size_t length)
{
	const uint8_t *bytes = data;

	memset(introduction, 0, sizeof(*introduction));
	if (length < sizeof(magic) || memcmp(bytes + AT_MAGIC, magic, sizeof(magic)) != 0)
		return -ENOMSG;
	if (length < INTRODUCTION_SIZE)
		return -EMSGSIZE;
	introduction->version = wire_get16(bytes + AT_VERSION);
	introduction->mode = bytes[AT_MODE];
	introduction->session = bytes[AT_SESSION];
	introduction->refusal = wire_get32(bytes + AT_REFUSAL);
	introduction->size = wire_get64(bytes + AT_SIZE);
	introduction->timeout = wire_get32(bytes + AT_TIMEOUT);
	introduction->secret = bytes[AT_SECRET] == 1;
	return 0;
}

bool introduction_is_of_orders(const struct introduction *introduction)
{
	return introduction->session == SESSION_DIAGNOSIS ||
	       introduction->session == SESSION_MEASUREMENT;
}

uint64_t introduction_shape(uint32_t queue_pairs, uint32_t depth)
{
	return (uint64_t)queue_pairs << 32 | depth;
}

int introduction_shape_read(uint64_t size, uint32_t *queue_pairs, uint32_t *depth)
{
	*queue_pairs = (uint32_t)(size >> 32);
	*depth = (uint32_t)size;
	return plan_shape_is_possible(*queue_pairs, *depth) ? 0 : -ERANGE;
}
