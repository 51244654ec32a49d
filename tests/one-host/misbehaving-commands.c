/* Sends valid and faulty commands and replies of a control session, and prints received ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/command.h"
#include "protocol/operations.h"
#include "protocol/test-parameters.h"
#include "tests/one-host/misbehaving-commands.h"

static const char *const names[COMMAND_TYPES] = {
	[COMMAND_REGION] = "region",
	[COMMAND_FACTS] = "facts",
	[COMMAND_COUNTERS] = "counters",
	[COMMAND_PROOF] = "proof",
	[COMMAND_QUEUE_PAIRS] = "queue-pairs",
	[COMMAND_BEGIN] = "begin",
	[COMMAND_END] = "end",
	[COMMAND_OPERATIONS] = "operations",
	[COMMAND_OPERATIONS_END] = "operations-end",
	[COMMAND_OPERATIONS_LINK] = "operations-link",
};

static const char *const statuses[] = {
	[COMMAND_DONE] = "done",
	[COMMAND_FAILED] = "failed",
	[COMMAND_REFUSED] = "refused",
};

const char *misbehaving_word(const char **how, size_t *length)
{
	const char *start = *how;

	*length = strcspn(start, ":");
	*how = start + *length + (start[*length] == ':');
	return start;
}

bool misbehaving_is(const char *text, size_t length, const char *name)
{
	return strlen(name) == length && strncmp(text, name, length) == 0;
}

static enum command_type type_named(const char *name, size_t length)
{
	for (unsigned int type = 0; type < COMMAND_TYPES; type++)
		if (names[type] && misbehaving_is(name, length, names[type]))
			return (enum command_type)type;
	return (enum command_type)atoi(name);
}

/* Offers queue pairs that do not exist, with wrong packet sequence numbers, for all operations. */
static void lie(struct command *message)
{
	static uint8_t text[OPERATIONS_OFFER_SIZE];
	struct operations_offer offer = {.wanted = OPERATIONS_ALL};

	for (size_t i = 0; i < OPERATION_QUEUES; i++) {
		offer.queues[i].number = 0xabcdef;
		offer.queues[i].sequence = 0xfedcba;
	}
	operations_offer_encode(&offer, text);
	message->text = (const char *)text;
	message->text_size = sizeof(text);
}

/* Claims that all operations have been done. */
static void claim(struct command *message)
{
	static uint8_t text[OPERATIONS_RESULTS_SIZE];
	struct operation_result results[OPERATIONS] = {0};

	for (size_t i = 0; i < OPERATIONS; i++)
		results[i].state = OPERATION_OK;
	operations_results_encode(results, text);
	message->text = (const char *)text;
	message->text_size = sizeof(text);
}

/* Wants connections for all operations. */
static void want_links(struct command *message)
{
	static const uint8_t none[OPERATIONS_RESULTS_SIZE];

	message->text = (const char *)none;
	message->text_size = sizeof(none);
}

/* Applies the named fault to the message. */
static void distort(struct command *message, const char *how, size_t length)
{
	static const char zeros[TEST_RESULT_SIZE];
	static char ones[TEST_RESULT_SIZE];
	static uint8_t wrong[TEST_RESULT_SIZE];

	memset(ones, 0xff, sizeof(ones));
	if (misbehaving_is(how, length, "wrap"))
		message->address = UINT64_MAX - 10;
	else if (misbehaving_is(how, length, "empty"))
		message->length = 0;
	else if (misbehaving_is(how, length, "long"))
		message->length = COMMAND_REGION_MAX + 1;
	else if (misbehaving_is(how, length, "large"))
		message->length = COMMAND_REGION_MIN;
	else if (misbehaving_is(how, length, "larger"))
		message->length = COMMAND_REGION_MIN + 1;
	else if (misbehaving_is(how, length, "key"))
		message->rkey ^= 0xffff00;
	else if (misbehaving_is(how, length, "answer"))
		message->reply = true;
	else if (misbehaving_is(how, length, "number"))
		message->number += 7;
	else if (misbehaving_is(how, length, "status"))
		message->status = COMMAND_REFUSED + 1;
	else if (misbehaving_is(how, length, "refused"))
		message->status = COMMAND_REFUSED;
	else if (misbehaving_is(how, length, "garbage"))
		message->text = "\xff\x1b[2J:\n\n", message->text_size = 8;
	else if (misbehaving_is(how, length, "zeros"))
		message->text = zeros, message->text_size = TEST_RESULT_SIZE;
	else if (misbehaving_is(how, length, "ones"))
		message->text = ones, message->text_size = TEST_RESULT_SIZE;
	else if (misbehaving_is(how, length, "nowhere"))
		lie(message);
	else if (misbehaving_is(how, length, "claims"))
		claim(message);
	else if (misbehaving_is(how, length, "wanted"))
		want_links(message);
	else if (misbehaving_is(how, length, "wrong")) {
		test_result_encode(&(struct test_result){.operations = 1, .wrong = 1}, wrong);
		message->text = (const char *)wrong, message->text_size = TEST_RESULT_SIZE;
	} else if (length > 0 && message->type != COMMAND_PROOF)
		die("unknown fault '%.*s'", (int)length, how);
}

static void give(struct peer *peer, const struct command *message)
{
	uint8_t bytes[COMMAND_MAX];

	misbehaving_send(peer, bytes, command_encode(message, bytes));
}

/* Returns a message that describes our memory. */
static struct command ours(const struct peer *peer, enum command_type type)
{
	return (struct command){
		.type = type,
		.number = peer->commands,
		.address = (uintptr_t)peer->end.exposed,
		.length = ENDPOINT_REGION,
		.rkey = peer->end.exposed_mr->rkey,
	};
}

/* Adds our proof: valid, with a flipped bit, or for another nonce. Without a secret it is zero. */
static void prove(struct peer *peer, struct command *message, const char *how, size_t length)
{
	static uint8_t proof[SECRET_PROOF_SIZE];
	struct handshake handshake = peer->handshake;

	if (misbehaving_is(how, length, "replay") || misbehaving_is(how, length, "recorded"))
		misbehaving_other_nonce(&handshake, misbehaving_is(how, length, "replay"));
	if (peer->secret)
		handshake_prove(&handshake, proof);
	if (misbehaving_is(how, length, "flip"))
		proof[0] ^= 1;
	message->text = (const char *)proof;
	message->text_size =
		misbehaving_is(how, length, "cut") ? SECRET_PROOF_SIZE - 1 : SECRET_PROOF_SIZE;
}

void misbehaving_command_text(
	struct peer *peer, enum command_type type, const void *text, size_t size)
{
	struct command message;

	peer->commands++;
	message = ours(peer, type);
	message.text = text;
	message.text_size = (uint16_t)size;
	give(peer, &message);
}

void misbehaving_command(struct peer *peer, const char *how)
{
	size_t name_length, length;
	const char *name = misbehaving_word(&how, &name_length),
		   *server = misbehaving_word(&how, &length);
	struct command message;

	peer->commands++;
	message = ours(peer, type_named(name, name_length));
	distort(&message, server, length);
	if (message.type == COMMAND_PROOF)
		prove(peer, &message, server, length);
	give(peer, &message);
}

void misbehaving_reply(struct peer *peer, const char *how)
{
	struct command message = ours(peer, peer->received);

	message.reply = true;
	distort(&message, how, strlen(how));
	give(peer, &message);
}

/* Prints the result in a reply to COMMAND_END. */
static void print_result(const struct command *message)
{
	struct test_result result;

	if (test_result_decode(&result, message->text, message->text_size))
		die("received a result of %u bytes", message->text_size);
	printf("result: %llu operations, %llu wrong\n", (unsigned long long)result.operations,
		(unsigned long long)result.wrong);
}

void misbehaving_receive(struct peer *peer, const char *how)
{
	struct command message;
	const uint8_t *bytes;
	size_t length;

	(void)how;
	if (!misbehaving_next(peer, &bytes, &length))
		return;
	if (command_decode(&message, bytes, length))
		die("received an invalid command");
	peer->received = message.type;
	if (message.type == COMMAND_REGION)
		peer->theirs = (struct message){
			.address = message.address, .length = message.length, .rkey = message.rkey};
	if (message.reply) {
		printf("received %s %s\n", names[message.type], statuses[message.status]);
		if (message.type == COMMAND_END && message.status == COMMAND_DONE)
			print_result(&message);
	} else {
		peer->commands = message.number;
		printf("received command %s\n", names[message.type]);
	}
}
