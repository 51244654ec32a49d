/*
 * Authentication of an exchange: both sides prove that they hold the shared secret, and use it to
 * key the stream digests and sign the verdicts (protocol/handshake.h). Without a secret, these
 * functions do nothing.
 *
 * The main thread maps all regions, including the one that the mover exposes. With a secret, the
 * exposed region is registered (exchange/registration.c) only when our MSG_MR is due, after the
 * peer's proof has been verified, so an unauthenticated peer cannot access any memory. Runs on the
 * CQ thread.
 */
#include <errno.h>
#include <string.h>

#include "exchange/internal.h"

_Static_assert(DIGEST_KEY_SIZE == SECRET_KEY_SIZE, "digest keys and secret keys are the same size");
_Static_assert(DIGEST_SIZE == SECRET_TAG_SIZE, "a tag has the size of a digest");

/*
 * The server records which message failed to authenticate the client. The client records the same
 * refusal as for any other secret mismatch.
 */
static void record_unauthenticated(struct connection *connection)
{
	if (connection->settings->active)
		secret_refused(&connection->failure);
	else
		failure_set_unauthenticated(&connection->failure, message_name(MSG_PROOF));
}

enum exchange_event authentication_send_proof(struct connection *connection)
{
	struct message message = {.type = MSG_PROOF};

	handshake_prove(&connection->handshake, message.proof);
	return connection_send(connection, OPERATION_PROOF, &message, IBV_SEND_SIGNALED);
}

enum exchange_event authentication_take_proof(
	struct connection *connection, const struct message *message)
{
	if (!handshake_is_proved(&connection->handshake, message->proof)) {
		record_unauthenticated(connection);
		return EVENT_UNAUTHENTICATED;
	}
	output_detail(connection->settings->output, "%s is authenticated", connection->peer);
	wakeup_queue_post(
		connection->settings->wakeups, &connection->to_main, CONNECTION_AUTHENTICATED);
	return EVENT_RECEIVED_PROOF;
}

bool authentication_is_refusal(const struct connection *connection, const struct message *message)
{
	return connection->handshake.secret && connection->settings->active &&
	       connection->exchange.received == RECEIVED_NOTHING &&
	       message->refusal == REFUSAL_SECRET;
}

void authentication_key_source(struct connection *connection)
{
	const struct handshake *handshake = &connection->handshake;
	const char *name = source_name(connection->source);
	uint8_t key[SECRET_KEY_SIZE];

	if (!handshake->secret)
		return;
	handshake_stream_key(
		handshake, handshake->role, name, strnlen(name, MESSAGE_TEXT_MAX), key);
	source_set_key(connection->source, key);
	secret_forget(key, sizeof(key));
}

void authentication_key_sink(struct connection *connection)
{
	const struct handshake *handshake = &connection->handshake;
	const struct message *peer = &connection->peer_mr;
	uint8_t key[SECRET_KEY_SIZE];

	if (!handshake->secret)
		return;
	handshake_stream_key(
		handshake, handshake_peer(handshake), peer->text, peer->text_size, key);
	sink_set_key(connection->sink, key);
	secret_forget(key, sizeof(key));
}

void authentication_sign(struct connection *connection, struct message *verdict)
{
	const struct handshake *handshake = &connection->handshake;

	if (handshake->secret)
		handshake_sign(handshake, verdict->verdict, verdict->digest.bytes);
}

bool authentication_is_signed(struct connection *connection, const struct message *verdict)
{
	const struct handshake *handshake = &connection->handshake;

	return !handshake->secret ||
	       handshake_is_signed(handshake, verdict->verdict, verdict->digest.bytes);
}
