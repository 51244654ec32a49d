/* The handshake: hellos with nonces, and proofs that authenticate both peers. */
#include <string.h>

#include "protocol/handshake.h"
#include "tests/unit/common/secret-fixture.h"
#include "tests/unit/unit.h"

static const struct hello example = {
	.version = HELLO_VERSION,
	.mode = 1,
	.size = 4711,
	.timeout = 10000,
};

static void without_a_secret_the_hello_has_no_nonce(void **state)
{
	struct handshake handshake;
	uint8_t expected[HELLO_SIZE], size;
	const uint8_t *hello_bytes;

	(void)state;
	hello_encode(&example, expected);
	for (unsigned int role = 0; role < 2; role++) {
		handshake_init(&handshake, NULL, role);
		hello_bytes = handshake_hello(&handshake, &example, &size);
		assert_int_equal(size, HELLO_SIZE);
		assert_memory_equal(hello_bytes, expected, sizeof(expected));
		handshake_receive_hello(&handshake, NULL);
	}
}

static void with_a_secret_the_hello_has_a_nonce(void **state)
{
	struct secret *secret = make_secret('a');
	struct handshake one, other;
	struct hello received;
	const uint8_t *hello_bytes, *others;
	uint8_t size;

	(void)state;
	assert_true(SECRET_HELLO_SIZE <= 56);
	handshake_init(&one, secret, SECRET_CLIENT);
	handshake_init(&other, secret, SECRET_CLIENT);
	hello_bytes = handshake_hello(&one, &example, &size);
	assert_int_equal(size, SECRET_HELLO_SIZE);
	assert_int_equal(hello_decode(&received, hello_bytes, size), 0);
	assert_true(received.secret);
	assert_int_equal(received.size, example.size);
	others = handshake_hello(&other, &example, &size);
	assert_memory_equal(hello_bytes, others, HELLO_SIZE);
	assert_memory_not_equal(hello_bytes + HELLO_SIZE, others + HELLO_SIZE, SECRET_NONCE_SIZE);
	secret_free(secret);
}

static void both_sides_need_a_secret_or_neither(void **state)
{
	struct secret *secret = make_secret('a');
	const struct hello with = {.secret = true}, without = {0};

	(void)state;
	assert_true(handshake_fits(NULL, &without, 0));
	assert_true(handshake_fits(NULL, &without, 56));
	assert_false(handshake_fits(NULL, &with, 56));
	assert_false(handshake_fits(secret, &without, 56));
	assert_true(handshake_fits(secret, &with, SECRET_HELLO_SIZE));
	assert_true(handshake_fits(secret, &with, 196));
	/* A truncated nonce is not accepted. */
	assert_false(handshake_fits(secret, &with, SECRET_HELLO_SIZE - 1));
	secret_free(secret);
}

/* Exchanges the hellos of both ends. */
static void meet(struct handshake ends[2], const struct secret *client, const struct secret *server)
{
	const uint8_t *hello_bytes[2];
	uint8_t size;

	handshake_init(&ends[0], client, SECRET_CLIENT);
	handshake_init(&ends[1], server, SECRET_SERVER);
	for (unsigned int i = 0; i < 2; i++)
		hello_bytes[i] = handshake_hello(&ends[i], &example, &size);
	for (unsigned int i = 0; i < 2; i++)
		handshake_receive_hello(&ends[i], hello_bytes[!i]);
}

static void the_same_secret_authenticates_both(void **state)
{
	struct secret *secrets[] = {make_secret('a'), make_secret('a'), make_secret('b')};
	uint8_t proof[SECRET_PROOF_SIZE];
	struct handshake ends[2];

	(void)state;
	for (unsigned int same = 0; same < 2; same++) {
		meet(ends, secrets[0], secrets[same ? 1 : 2]);
		for (unsigned int i = 0; i < 2; i++) {
			assert_int_equal(handshake_peer(&ends[i]), !i);
			handshake_prove(&ends[i], proof);
			assert_int_equal(handshake_is_proved(&ends[!i], proof), same);
			/* An end does not accept its own proof. */
			assert_false(handshake_is_proved(&ends[i], proof));
		}
	}
	for (size_t i = 0; i < COUNT(secrets); i++)
		secret_free(secrets[i]);
}

/* A proof is not valid in a later handshake between the same two ends. */
static void a_replayed_proof_is_invalid(void **state)
{
	struct secret *secret = make_secret('a');
	uint8_t proofs[2][SECRET_PROOF_SIZE];
	struct handshake before[2], after[2];

	(void)state;
	meet(before, secret, secret);
	meet(after, secret, secret);
	for (unsigned int i = 0; i < 2; i++) {
		handshake_prove(&before[i], proofs[i]);
		assert_false(handshake_is_proved(&after[!i], proofs[i]));
		/* Even if one end's hello is replayed, the other end's nonce is new. */
		handshake_receive_hello(&after[!i], before[i].hello_bytes[i]);
		assert_false(handshake_is_proved(&after[!i], proofs[i]));
	}
	secret_free(secret);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_secret_the_hello_has_no_nonce),
		cmocka_unit_test(with_a_secret_the_hello_has_a_nonce),
		cmocka_unit_test(both_sides_need_a_secret_or_neither),
		cmocka_unit_test(the_same_secret_authenticates_both),
		cmocka_unit_test(a_replayed_proof_is_invalid),
	};

	return cmocka_run_group_tests_name("handshake", tests, NULL, NULL);
}
