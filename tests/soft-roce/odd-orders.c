/* See odd-orders.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/order.h"
#include "lib/plan.h"
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

const char *odd_word(const char **how, size_t *length)
{
	const char *start = *how;

	*length = strcspn(start, ":");
	*how = start + *length + (start[*length] == ':');
	return start;
}

bool odd_is(const char *text, size_t length, const char *name)
{
	return strlen(name) == length && strncmp(text, name, length) == 0;
}

static enum order_type type_named(const char *name, size_t length)
{
	for (unsigned int type = 0; type < ORDER_TYPES; type++)
		if (odd_is(name, length, names[type]))
			return (enum order_type)type;
	return (enum order_type)atoi(name);
}

/* Makes the message wrong in the way named. */
static void distort(struct order *message, const char *how, size_t length)
{
	static const char zeros[TALLY_SIZE];
	static char ones[TALLY_SIZE];

	memset(ones, 0xff, sizeof(ones));
	if (odd_is(how, length, "wrap"))
		message->address = UINT64_MAX - 10;
	else if (odd_is(how, length, "empty"))
		message->length = 0;
	else if (odd_is(how, length, "long"))
		message->length = ORDER_REGION_MAX + 1, message->milliseconds = RUN_MS_LONG;
	else if (odd_is(how, length, "large"))
		message->length = ORDER_REGION_MIN;
	else if (odd_is(how, length, "key"))
		message->rkey ^= 0xffff00;
	else if (odd_is(how, length, "answer"))
		message->answer = true;
	else if (odd_is(how, length, "number"))
		message->number += 7;
	else if (odd_is(how, length, "status"))
		message->status = ORDER_STATUSES;
	else if (odd_is(how, length, "refused"))
		message->status = ORDER_REFUSED;
	else if (odd_is(how, length, "wrong"))
		message->status = ORDER_WRONG;
	else if (odd_is(how, length, "garbage"))
		message->text = "\xff\x1b[2J:\n\n", message->text_size = 8;
	else if (odd_is(how, length, "zeros"))
		message->text = zeros, message->text_size = TALLY_SIZE;
	else if (odd_is(how, length, "ones"))
		message->text = ones, message->text_size = TALLY_SIZE;
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

/* Adds our proof, without a secret none: right, with a bit flipped, or one for another nonce. */
static void prove(struct peer *peer, struct order *message, const char *how, size_t length)
{
	static uint8_t proof[SECRET_PROOF_SIZE];
	struct handshake handshake = peer->handshake;

	if (odd_is(how, length, "replay") || odd_is(how, length, "recorded"))
		odd_other_nonce(&handshake, odd_is(how, length, "replay"));
	if (peer->secret)
		handshake_prove(&handshake, proof);
	if (odd_is(how, length, "flip"))
		proof[0] ^= 1;
	message->text = (const char *)proof;
	message->text_size = odd_is(how, length, "cut") ? SECRET_PROOF_SIZE - 1 : SECRET_PROOF_SIZE;
}

void odd_order_text(struct peer *peer, enum order_type type, const void *text, size_t size)
{
	struct order message;

	peer->orders++;
	message = ours(peer, type);
	message.text = text;
	message.text_size = (uint16_t)size;
	give(peer, &message);
}

void odd_order(struct peer *peer, const char *how)
{
	size_t name_length, length;
	const char *name = odd_word(&how, &name_length), *way = odd_word(&how, &length);
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

/* What an answer to ORDER_END says. */
static void print_tally(const struct order *message)
{
	struct tally tally;

	if (tally_decode(&tally, message->text, message->text_size))
		die("it sent a tally of %u bytes", message->text_size);
	printf("tally: %llu operations, %llu wrong\n", (unsigned long long)tally.operations,
		(unsigned long long)tally.wrong);
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
		if (message.type == ORDER_END && message.status == ORDER_DONE)
			print_tally(&message);
	} else {
		peer->orders = message.number;
		printf("told to %s\n", names[message.type]);
	}
}
