/*
 * Authentication on a fake device: what an unauthenticated peer can learn or access, and which
 * proofs, digests and verdicts are accepted.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/explain.h"
#include "exchange/internal.h"
#include "tests/unit/common/digest-fixture.h"
#include "tests/unit/common/secret-fixture.h"
#include "tests/unit/exchange/pair.h"
#include "tests/unit/serve/admission-fixture.h"

static const struct message verified = {.type = MSG_VERDICT, .verdict = VERDICT_VERIFIED};

/*
 * Each end sends MSG_PROOF first, and registers remotely accessible memory only after the peer's
 * proof.
 */
static void check_order(struct pair *pair)
{
	struct fixture *ends[] = {&pair->active, &pair->passive};

	assert_false(fixture_is_reachable(ends[0]) || fixture_is_reachable(ends[1]));
	assert_int_equal(fake_sends(ends[0]->id), 1);
	assert_int_equal(fake_sends(ends[1]->id), 0);
	pair_run(pair);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(fixture_find(ends[i], MSG_PROOF), 0);
		assert_int_equal(fixture_find(ends[i], MSG_MR), 1);
		assert_int_equal(fixture_count(ends[i], MSG_PROOF), 1);
		assert_true(fixture_events(ends[i]) & CONNECTION_AUTHENTICATED);
	}
}

static void peers_with_the_secret_exchange(void **state)
{
	struct secret *secret = make_secret('a'), *same = make_secret('a');

	(void)state;
	for (unsigned int i = 0; i < 16; i++) {
		struct pair pair = {.chance = i,
			.active = {.mode = i & 1, .secret = secret},
			.passive = {.secret = same}};
		struct digest digests[2];
		char paths[2][32];
		int files[2];

		pair.active.transport = i & 2 ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
		files[0] = pair_file(i & 4 ? 300000 : 0, i, paths[0], &digests[0]);
		files[1] = pair_file(100000, ~i, paths[1], &digests[1]);
		if (i & 4)
			pair.active.input = paths[0];
		if (i & 8)
			pair.passive.input = paths[1];
		pair_start(&pair);
		check_order(&pair);
		pair_close(&pair);
		pair_stop(&pair);
		close(files[0]);
		close(files[1]);
		assert_false(failure_is_set(&pair.active.outcome));
		assert_false(failure_is_set(&pair.passive.outcome));
		if (i & 12)
			assert_non_null(strstr(pair.active.printed, "bytes, Poly1305-BLAKE2b "));
		assert_null(strstr(pair.active.printed, "XXH3"));
	}
	secret_free(secret);
	secret_free(same);
}

/* Neither end announces its memory; the client reports the same error as for any refused secret. */
static void unauthenticated_peers_are_refused(void **state)
{
	struct secret *secret = make_secret('a'), *other = make_secret('b');

	(void)state;
	for (unsigned int mode = 0; mode < MODE_COUNT; mode++) {
		struct pair pair = {
			.active = {.mode = mode, .secret = secret}, .passive = {.secret = other}};
		struct failure refused = {0};
		char text[512], expected[512];

		pair_start(&pair);
		pair_run(&pair);
		assert_false(
			fixture_is_reachable(&pair.active) || fixture_is_reachable(&pair.passive));
		assert_int_equal(fixture_count(&pair.active, MSG_MR), 0);
		assert_int_equal(fixture_count(&pair.passive, MSG_MR), 0);
		assert_int_equal(fixture_count(&pair.passive, MSG_PROOF), 0);
		assert_int_equal(fixture_last(&pair.passive, MSG_ABORT).refusal, REFUSAL_SECRET);
		assert_false((fixture_events(&pair.active) | fixture_events(&pair.passive)) &
			     CONNECTION_AUTHENTICATED);
		pair_close(&pair);
		pair_stop(&pair);
		assert_int_equal(pair.passive.outcome.kind, FAILURE_PROTOCOL);
		assert_int_equal(explain_status(&pair.passive.outcome), STATUS_PEER);
		explain_failure(&pair.passive.outcome, "host", false, text, sizeof(text));
		assert_non_null(strstr(text, "the peer does not have the same secret"));
		secret_refused(&refused);
		explain_failure(&refused, "host", true, expected, sizeof(expected));
		explain_failure(&pair.active.outcome, "host", true, text, sizeof(text));
		assert_string_equal(text, expected);
		assert_int_equal(explain_status(&pair.active.outcome), STATUS_CONNECT);
	}
	secret_free(secret);
	secret_free(other);
}

static void expect_refused(struct fixture *fixture)
{
	fixture_complete_all(fixture);
	assert_int_equal(fixture_count(fixture, MSG_MR), 0);
	assert_int_equal(fixture_count(fixture, MSG_ABORT), 1);
	assert_false(fixture_is_reachable(fixture));
	if (fixture->active)
		fixture_expect_failure(fixture, FAILURE_REFUSED, STATUS_CONNECT);
	else
		fixture_expect_failure(fixture, FAILURE_PROTOCOL, STATUS_PEER);
}

/* A proof recorded from another connection is invalid. */
static void a_replayed_proof_is_refused(void **state)
{
	struct secret *secret = make_secret('a');
	struct message recorded;

	(void)state;
	for (unsigned int mode = 0; mode < MODE_COUNT; mode++) {
		struct fixture before = {.mode = mode, .secret = secret};
		struct fixture after = {.mode = mode, .secret = secret};
		struct handshake peer, replayer;

		fixture_start_passive(&before, &peer, secret);
		recorded = fixture_proof(&peer);
		fixture_receive(&before, &recorded);
		assert_true(fixture_events(&before) & CONNECTION_AUTHENTICATED);
		fixture_end(&before);
		fixture_start_passive(&after, &replayer, secret);
		fixture_receive(&after, &recorded);
		/* After a wrong proof, even a correct proof is rejected. */
		recorded = fixture_proof(&replayer);
		fixture_receive(&after, &recorded);
		assert_false(fixture_events(&after) & CONNECTION_AUTHENTICATED);
		expect_refused(&after);
	}
	secret_free(secret);
}

/* A server without the secret can only replay what it receives. */
static void a_reflected_proof_is_refused(void **state)
{
	struct secret *secret = make_secret('a'), *none = make_secret('b');

	(void)state;
	for (unsigned int mode = 0; mode < MODE_COUNT; mode++) {
		struct fixture fixture = {.mode = mode, .secret = secret};
		struct failure failure = {0};
		struct handshake peer;
		struct message ours;

		assert_int_equal(
			fixture_start_active(&fixture, &peer, none, UINT8_MAX, &failure), 0);
		ours = fixture_last(&fixture, MSG_PROOF);
		fixture_receive(&fixture, &ours);
		expect_refused(&fixture);
	}
	secret_free(secret);
	secret_free(none);
}

/* A client with a secret sends nothing to a server without one; it disconnects. */
static void a_server_without_the_secret_gets_nothing(void **state)
{
	struct secret *secret = make_secret('a');

	(void)state;
	for (unsigned int i = 0; i < 6; i++) {
		struct fixture fixture = {.mode = i & 1, .secret = secret};
		struct failure failure = {0};
		struct handshake peer;
		/* no secret; a truncated nonce; no hello at all */
		uint8_t length = i < 2 ? UINT8_MAX : i < 4 ? SECRET_HELLO_SIZE - 1 : 0;

		assert_int_equal(fixture_start_active(
					 &fixture, &peer, i < 2 ? NULL : secret, length, &failure),
			-1);
		assert_int_equal(failure.kind, FAILURE_REFUSED);
		assert_int_equal(failure.code, REFUSAL_SECRET);
		assert_int_equal(fake_sends(fixture.id), 0);
		fixture_close(&fixture, &failure);
		fixture_stop(&fixture);
	}
	secret_free(secret);
}

/* Any other message before MSG_PROOF ends the connection without a reply. */
static void nothing_precedes_the_proof(void **state)
{
	static const struct message messages[] = {
		{.type = MSG_MR, .length = 1, .depth = 1},
		{.type = MSG_DONE},
		{.type = MSG_VERDICT},
		{.type = MSG_DATA, .length = 1},
		{.type = MSG_CREDIT},
	};
	struct secret *secret = make_secret('a');

	(void)state;
	for (size_t i = 0; i < COUNT(messages); i++) {
		struct fixture fixture = {.mode = MODE_WRITE, .secret = secret};
		struct handshake peer;

		fixture_start_passive(&fixture, &peer, secret);
		fixture_receive(&fixture, &messages[i]);
		assert_int_equal(fake_sends(fixture.id), 0);
		assert_false(fixture_is_reachable(&fixture));
		fixture_expect_failure(&fixture, FAILURE_PROTOCOL, STATUS_PEER);
	}
	secret_free(secret);
}

/* Without a secret, MSG_PROOF is a protocol violation. */
static void an_unexpected_proof_breaks_the_protocol(void **state)
{
	(void)state;
	for (unsigned int mode = 0; mode < MODE_COUNT; mode++) {
		struct fixture fixture = {.mode = mode};

		fixture_exchange_regions(&fixture, 1024);
		fixture_receive(&fixture, &(struct message){.type = MSG_PROOF});
		fixture_expect_violation(&fixture, "an unexpected MSG_PROOF");
	}
}

/*
 * Runs a passive end until its data and MSG_DONE are posted; the peer's text has not arrived yet.
 */
static void exchange_up_to_data(struct fixture *fixture, struct handshake *peer,
	const struct secret *secret, const char *name)
{
	struct message message;

	fixture_start_passive(fixture, peer, secret);
	message = fixture_proof(peer);
	fixture_receive(fixture, &message);
	fixture_complete_all(fixture);
	message = fixture_last(fixture, MSG_PROOF);
	assert_true(handshake_is_proved(peer, message.proof));
	message = fixture_peer_region(fixture, 1024);
	fixture->peer_ring = 1024;
	message_set_text(&message, name);
	fixture_receive(fixture, &message);
	fixture_complete_all(fixture);
}

/* Delivers the peer's text and MSG_DONE, with the keyed digest for a stream of that name. */
static void receive_text(struct fixture *fixture, const struct handshake *peer, const char *name)
{
	struct message done = fixture_peer_done(fixture, PEER_TEXT, sizeof(PEER_TEXT));
	uint8_t key[SECRET_KEY_SIZE];

	handshake_stream_key(peer, SECRET_CLIENT, name, strlen(name), key);
	done.digest = reference_digest(key, PEER_TEXT, sizeof(PEER_TEXT), DIGEST_STREAM);
	fixture_receive_data(fixture, PEER_TEXT, sizeof(PEER_TEXT));
	fixture_complete_all(fixture);
	fixture_receive(fixture, &done);
	fixture_complete_all(fixture);
}

static struct message verdict_of(const struct handshake *peer, uint32_t verdict)
{
	struct message message = {.type = MSG_VERDICT, .verdict = verdict};

	handshake_sign(peer, verdict, message.digest.bytes);
	return message;
}

static void a_signed_verdict_is_accepted(void **state)
{
	struct secret *secret = make_secret('a');

	(void)state;
	for (unsigned int mode = 0; mode < MODE_COUNT; mode++) {
		struct fixture fixture = {.mode = mode, .secret = secret};
		struct handshake peer;
		struct message ours, theirs;

		exchange_up_to_data(&fixture, &peer, secret, "name");
		receive_text(&fixture, &peer, "name");
		ours = fixture_last(&fixture, MSG_VERDICT);
		assert_int_equal(ours.verdict, VERDICT_VERIFIED);
		assert_true(handshake_is_signed(&peer, VERDICT_VERIFIED, ours.digest.bytes));
		theirs = verdict_of(&peer, VERDICT_VERIFIED);
		fixture_receive(&fixture, &theirs);
		fixture_end(&fixture);
		assert_false(failure_is_set(&fixture.outcome));
		assert_non_null(strstr(fixture.printed, "remote buffer: " PEER_TEXT "\n"));
	}
	secret_free(secret);
}

/*
 * An attacker on the path can change data, digest and name, but cannot compute a matching keyed
 * digest.
 */
static void data_changed_in_transit_is_damaged(void **state)
{
	static const char *const names[] = {"name", "other"};
	struct secret *secret = make_secret('a');

	(void)state;
	for (unsigned int i = 0; i < 2 * MODE_COUNT; i++) {
		struct fixture fixture = {.mode = i & 1, .secret = secret};
		struct message ours, theirs;
		struct handshake peer;

		exchange_up_to_data(&fixture, &peer, secret, names[0]);
		if (i & 2) {
			receive_text(&fixture, &peer, names[1]);
		} else {
			/* An unkeyed digest, which anyone can compute. */
			struct message done =
				fixture_peer_done(&fixture, PEER_TEXT, sizeof(PEER_TEXT));

			fixture_receive_data(&fixture, PEER_TEXT, sizeof(PEER_TEXT));
			fixture_complete_all(&fixture);
			fixture_receive(&fixture, &done);
			fixture_complete_all(&fixture);
		}
		ours = fixture_last(&fixture, MSG_VERDICT);
		assert_int_equal(ours.verdict, VERDICT_DAMAGED);
		assert_true(handshake_is_signed(&peer, VERDICT_DAMAGED, ours.digest.bytes));
		theirs = verdict_of(&peer, VERDICT_VERIFIED);
		fixture_receive(&fixture, &theirs);
		fixture_end(&fixture);
		assert_int_equal(explain_status(&fixture.outcome), STATUS_DAMAGED);
		assert_null(strstr(fixture.printed, "remote buffer"));
	}
	secret_free(secret);
}

/* An attacker on the path cannot forge a verdict either. */
static void a_forged_verdict_is_refused(void **state)
{
	struct secret *secret = make_secret('a');

	(void)state;
	for (unsigned int i = 0; i < 3 * MODE_COUNT; i++) {
		struct fixture fixture = {.mode = i & 1, .secret = secret};
		struct handshake peer;
		struct message theirs = verified;

		exchange_up_to_data(&fixture, &peer, secret, "");
		receive_text(&fixture, &peer, "");
		if (i / 2 == 1) /* the signature of "damaged" */
			theirs.digest = verdict_of(&peer, VERDICT_DAMAGED).digest;
		else if (i / 2 == 2) /* our own message, reflected */
			theirs = fixture_last(&fixture, MSG_VERDICT);
		fixture_receive(&fixture, &theirs);
		fixture_expect_violation(
			&fixture, "received MSG_VERDICT with an invalid signature");
	}
	secret_free(secret);
}

/* With a secret, damage on the wire is reported at both ends. */
static void both_ends_report_damage_with_a_secret(void **state)
{
	struct secret *secret = make_secret('a');

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct pair pair = {.chance = i,
			.active = {.mode = i & 1, .secret = secret, .chunk = 1000},
			.passive = {.secret = secret, .chunk = 1000}};
		struct digest digest;
		char path[32];
		int file = pair_file(50000, i, path, &digest);

		if (i & 2)
			pair.active.input = path;
		pair_start(&pair);
		fake_damage(i & 2 ? 7 : 0);
		pair_run(&pair);
		pair_close(&pair);
		pair_stop(&pair);
		close(file);
		assert_int_equal(explain_status(&pair.active.outcome), STATUS_DAMAGED);
		assert_int_equal(explain_status(&pair.passive.outcome), STATUS_DAMAGED);
	}
	secret_free(secret);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(peers_with_the_secret_exchange),
		with_fixture(unauthenticated_peers_are_refused),
		with_fixture(a_replayed_proof_is_refused),
		with_fixture(a_reflected_proof_is_refused),
		with_fixture(a_server_without_the_secret_gets_nothing),
		with_fixture(nothing_precedes_the_proof),
		with_fixture(an_unexpected_proof_breaks_the_protocol),
		with_fixture(a_signed_verdict_is_accepted),
		with_fixture(data_changed_in_transit_is_damaged),
		with_fixture(a_forged_verdict_is_refused),
		with_fixture(both_ends_report_damage_with_a_secret),
	};

	return cmocka_run_group_tests_name("admission", tests, NULL, NULL);
}
