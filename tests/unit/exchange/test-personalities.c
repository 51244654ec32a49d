/* Exchanges between two ends on a fake device with each personality. */
#include <string.h>
#include <unistd.h>

#include "tests/unit/common/secret-fixture.h"
#include "tests/unit/exchange/pair.h"

/* Much larger than a ring. */
#define SIZE 50000

/*
 * Checks that this end verified the stream with this digest. With a secret, the digest that it
 * prints is keyed.
 */
static void expect_received(const struct fixture *fixture, const struct digest *sent)
{
	char digest[DIGEST_TEXT_SIZE] = "Poly1305-BLAKE2b";

	if (!fixture->secret)
		digest_text(digest, sent);
	if (failure_is_set(&fixture->outcome))
		fail_msg("%s: %s", fixture->outcome.call, fixture->outcome.evidence);
	if (!strstr(fixture->printed, digest))
		fail_msg("'%s' is missing in '%s'", digest, fixture->printed);
}

static struct pair pair_of(const struct personality *personality, enum mode_number mode)
{
	return (struct pair){
		.active = {.mode = mode, .buffer = 8192, .chunk = 1000, .personality = personality},
		.passive = {.buffer = 4096, .chunk = 1000},
	};
}

/* Each end sends a stream to the other; both verify what arrives. The secret may be NULL. */
static void exchange(
	const struct personality *personality, enum mode_number mode, struct secret *secret)
{
	struct pair pair = pair_of(personality, mode);
	struct digest ours, theirs;
	char our_path[32], their_path[32];
	int our_file = pair_file(SIZE, 1, our_path, &ours);
	int their_file = pair_file(SIZE, 2, their_path, &theirs);

	pair.active.input = our_path;
	pair.passive.input = their_path;
	pair.active.secret = pair.passive.secret = secret;
	pair_start(&pair);
	pair_run(&pair);
	assert_int_equal(fake_resets(), 0);
	pair_close(&pair);
	pair_stop(&pair);
	/* Both ends print to the standard output that the active end captures. */
	expect_received(&pair.active, &theirs);
	expect_received(&pair.active, &ours);
	assert_false(failure_is_set(&pair.passive.outcome));
	close(our_file);
	close(their_file);
}

static void writes(const struct personality *personality)
{
	exchange(personality, MODE_WRITE, NULL);
}

static void reads(const struct personality *personality)
{
	exchange(personality, MODE_READ, NULL);
}

static void authenticated(const struct personality *personality)
{
	struct secret *secret = make_secret('a');

	exchange(personality, MODE_WRITE, secret);
	exchange(personality, MODE_READ, secret);
	secret_free(secret);
}

/* Closing a broken connection, whose work requests have been flushed, waits for no event that the
 * device does not raise, and does not modify the queue pair of an iWARP connection. */
static void closes(const struct personality *personality)
{
	struct pair pair = pair_of(personality, MODE_WRITE);
	char path[32];
	struct digest digest;
	int file = pair_file(SIZE, 1, path, &digest);

	pair.active.input = path;
	pair_start(&pair);
	pair_step(&pair, 20);
	fake_break(pair.active.id);
	fake_break(pair.passive.id);
	fake_settle();
	pair_close(&pair);
	assert_int_equal(fake_resets(), 0);
	pair_stop(&pair);
	close(file);
}

int main(void)
{
	static const struct scenario scenarios[] = {
		{"exchange write", writes},
		{"exchange read", reads},
		{"exchange secret", authenticated},
		{"exchange close", closes},
	};

	return personality_run("exchange", scenarios, COUNT(scenarios));
}
