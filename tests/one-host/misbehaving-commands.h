/* The steps of a misbehaving peer in a control session, listed at the top of misbehaving-peer.c. */
#ifndef TESTS_ONE_HOST_MISBEHAVING_COMMANDS_H
#define TESTS_ONE_HOST_MISBEHAVING_COMMANDS_H

#include "tests/one-host/misbehaving-steps.h"

/* `how` is the part of the step after the colon. */
void misbehaving_command(struct peer *peer, const char *how);
void misbehaving_reply(struct peer *peer, const char *how);
void misbehaving_receive(struct peer *peer, const char *how);

/* Sends a command with this text. */
void misbehaving_command_text(
	struct peer *peer, enum command_type type, const void *text, size_t size);

/* Returns the next word of `how`, up to a colon or the end, and advances `how` past it. */
const char *misbehaving_word(const char **how, size_t *length);

/* True if the text equals the name. */
bool misbehaving_is(const char *text, size_t length, const char *name);

#endif
