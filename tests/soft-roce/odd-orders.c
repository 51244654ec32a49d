/* See odd-orders.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/order.h"
#include "odd-orders.h"

#define RUN_MS      100
#define RUN_MS_LONG 5001

static const char *const names[ORDER_TYPES] = {
	[ORDER_REGION] = "region",
	[ORDER_FACTS] = "facts",
	[ORDER_COUNTERS] = "counters",
	[ORDER_FILL] = "fill",
	[ORDER_CHECK] = "check",
	[ORDER_WRITE] = "write",
	[ORDER_READ] = "read",
	[ORDER_RUN] = "run",
	[ORDER_PROOF] = "proof",
	[ORDER_LANES] = "lanes",
	[ORDER_BEGIN] = "begin",
	[ORDER_END] = "end",
};

static const char *const statuses[ORDER_STATUSES] = {
	[ORDER_DONE] = "done",
	[ORDER_WRONG] = "wrong",
	[ORDER_FAILED] = "failed",
	[ORDER_REFUSED] = "refused",
};

/* The next word of how, which ends at a colon or with it. */
static const char *word(const char **how, size_t *length)
{
	const char *start = *how;

	*length = strcspn(start, ":");
	*how = start + *length + (start[*length] == ':');
	return start;
}

static bool is(const char *text, size_t length, const char *name)
{
	return strlen(name) == length && strncmp(text, name, length) == 0;
}

static enum order_type type_named(const char *name, size_t length)
{
	for (unsigned int type = 0; type < ORDER_TYPES; type++)
		if (is(name, length, names[type]))
			return (enum order_type)type;
	return (enum order_type)atoi(name);
}

/* Makes the message wrong in the way named. */
static void distort(struct order *message, const char *how, size_t length)
{
	if (is(how, length, "wrap"))
		message->address = UINT64_MAX - 10;
	else if (is(how, length, "empty"))
		message->length = 0;
	else if (is(how, length, "long"))
		message->length = ORDER_REGION_MAX + 1, message->milliseconds = RUN_MS_LONG;
	else if (is(how, length, "large"))
		message->length = ORDER_REGION_MIN;
	else if (is(how, length, "key"))
		message->rkey ^= 0xffff00;
	else if (is(how, length, "answer"))
		message->answer = true;
	else if (is(how, length, "number"))
		message->number += 7;
	else if (is(how, length, "status"))
		message->status = ORDER_STATUSES;
	else if (is(how, length, "refused"))
		message->status = ORDER_REFUSED;
	else if (is(how, length, "wrong"))
		message->status = ORDER_WRONG;
	else if (is(how, length, "garbage"))
		message->text = "\xff\x1b[2J:\n\n", message->text_size = 8;
	else if (length > 0 && message->type != ORDER_PROOF)
		die("no way '%.*s' to be wrong", (int)length, how);
}

static void give(struct peer *peer, const struct order *message)
{
	uint8_t bytes[ORDER_MAX];

	odd_send(peer, bytes, order_encode(message, bytes));
}

/* A message with our memory in it. */
static struct order ours(const struct peer *peer, enum order_type type)
{
	return (struct order){
		.type = type,
		.number = peer->orders,
		.address = (uintptr_t)peer->end.exposed,
		.length = ENDPOINT_REGION,
		.rkey = peer->end.exposed_mr->rkey,
		.size = ENDPOINT_REGION,
		.milliseconds = RUN_MS,
		.seed = 1,
		.nanoseconds = 1000,
	};
}

/* Adds our proof: right, with a bit flipped, or one for another nonce of ours. */
static void prove(struct peer *peer, struct order *message, const char *how, size_t length)
{
	static uint8_t proof[SECRET_PROOF_SIZE];
	struct handshake handshake = peer->handshake;

	if (is(how, length, "replay"))
		secret_nonce(handshake.transcript.words[handshake.role] + INTRODUCTION_SIZE);
	handshake_prove(&handshake, proof);
	if (is(how, length, "flip"))
		proof[0] ^= 1;
	message->text = (const char *)proof;
	message->text_size = is(how, length, "cut") ? SECRET_PROOF_SIZE - 1 : SECRET_PROOF_SIZE;
}

void odd_order(struct peer *peer, const char *how)
{
	size_t name_length, length;
	const char *name = word(&how, &name_length), *way = word(&how, &length);
	struct order message;

	peer->orders++;
	message = ours(peer, type_named(name, name_length));
	distort(&message, way, length);
	if (*how)
		message.size = (uint32_t)strtoul(how, NULL, 10);
	if (message.type == ORDER_PROOF)
		prove(peer, &message, way, length);
	give(peer, &message);
}

void odd_reply(struct peer *peer, const char *how)
{
	struct order message = ours(peer, peer->told);

	message.answer = true;
	message.size = message.milliseconds = 0;
	distort(&message, how, strlen(how));
	give(peer, &message);
}

void odd_told(struct peer *peer, const char *how)
{
	struct order message;
	const uint8_t *bytes;
	size_t length;

	(void)how;
	if (!odd_next(peer, &bytes, &length))
		return;
	if (order_decode(&message, bytes, length))
		die("it sent an order that cannot be decoded");
	peer->told = message.type;
	if (message.type == ORDER_REGION)
		peer->theirs = (struct message){
			.address = message.address, .length = message.length, .rkey = message.rkey};
	if (message.answer) {
		printf("told %s %s\n", names[message.type], statuses[message.status]);
	} else {
		peer->orders = message.number;
		printf("told to %s\n", names[message.type]);
	}
}
