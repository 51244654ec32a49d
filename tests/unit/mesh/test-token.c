/* The proofs of a mesh: only who has the token makes them, for one connection and one end. */
#include <stdbool.h>
#include <string.h>

#include "mesh/token.h"
#include "tests/unit/unit.h"

static const struct secret one = {{1}}, other = {{2}};

static struct token_greeting greet(const char *name)
{
	struct token_greeting greeting = {.name = name};

	token_greet(&greeting, TOKEN_AGENT);
	token_greet(&greeting, TOKEN_COORDINATOR);
	return greeting;
}

static void test_proof(void **state)
{
	struct token_greeting greeting = greet("h1"), again = greet("h1"), renamed = greeting;
	char proof[TOKEN_PROOF_TEXT];

	(void)state;
	token_prove(&one, &greeting, TOKEN_AGENT, proof);
	assert_true(token_is_proved(&one, &greeting, TOKEN_AGENT, proof));
	assert_false(token_is_proved(&other, &greeting, TOKEN_AGENT, proof));
	assert_false(token_is_proved(&one, &greeting, TOKEN_COORDINATOR, proof));
	assert_false(token_is_proved(&one, &again, TOKEN_AGENT, proof));
	renamed.name = "h2";
	assert_false(token_is_proved(&one, &renamed, TOKEN_AGENT, proof));
	proof[0] = proof[0] == '0' ? '1' : '0';
	assert_false(token_is_proved(&one, &greeting, TOKEN_AGENT, proof));
	assert_false(token_is_proved(&one, &greeting, TOKEN_AGENT, ""));
	assert_false(token_is_proved(&one, &greeting, TOKEN_AGENT, NULL));
}

static void test_nonce(void **state)
{
	struct token_greeting greeting = greet("h1"), taken = {.name = "h1"};
	char wrong[TOKEN_NONCE_TEXT];

	(void)state;
	assert_true(token_take_nonce(&taken, TOKEN_AGENT, greeting.nonces[TOKEN_AGENT]));
	assert_string_equal(taken.nonces[TOKEN_AGENT], greeting.nonces[TOKEN_AGENT]);
	memcpy(wrong, greeting.nonces[TOKEN_AGENT], sizeof(wrong));
	wrong[3] = 'x';
	assert_false(token_take_nonce(&taken, TOKEN_AGENT, wrong));
	wrong[3] = '\0';
	assert_false(token_take_nonce(&taken, TOKEN_AGENT, wrong));
	assert_false(token_take_nonce(&taken, TOKEN_AGENT, NULL));
}

static void test_measuring_secret(void **state)
{
	char first[SECRET_TEXT_SIZE], second[SECRET_TEXT_SIZE];

	(void)state;
	token_measuring_secret(&one, first);
	token_measuring_secret(&one, second);
	assert_string_equal(first, second);
	assert_int_equal(strlen(first), SECRET_TEXT_SIZE - 1);
	token_measuring_secret(&other, second);
	assert_string_not_equal(first, second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_proof),
		cmocka_unit_test(test_nonce),
		cmocka_unit_test(test_measuring_secret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
