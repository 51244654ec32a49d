/*
 * The steps of a misbehaving peer in a control session: the head of misbehaving-peer.c lists them.
 */
#ifndef TESTS_SOFT_ROCE_MISBEHAVING_COMMANDS_H
#define TESTS_SOFT_ROCE_MISBEHAVING_COMMANDS_H

#include "tests/soft-roce/misbehaving-steps.h"

/* What follows the step's colon is in `how`. */
void misbehaving_command(struct peer *peer, const char *how);
void misbehaving_reply(struct peer *peer, const char *how);
void misbehaving_receive(struct peer *peer, const char *how);

/* Sends a command with that text. */
void misbehaving_command_text(
	struct peer *peer, enum command_type type, const void *text, size_t size);

/* The next word of how, which ends at a colon or with it. */
const char *misbehaving_word(const char **how, size_t *length);

/* Whether it is that name. */
bool misbehaving_is(const char *text, size_t length, const char *name);

#endif
