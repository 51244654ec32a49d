/*
 * Templates of messages: a message in which words such as FILE or PEER, in capitals, and numbers
 * stand for what differs each time. docs/troubleshooting.md consists of them. Any thread; nothing
 * is allocated.
 */
#ifndef CLI_MESSAGE_TEMPLATE_H
#define CLI_MESSAGE_TEMPLATE_H

#include <stddef.h>

/* The weight of the cause in a score: more than all other text. */
#define MESSAGE_TEMPLATE_CAUSE 10000

/* How a message matches a template. */
struct message_match {
	size_t score;      /* 0: it does not match */
	const char *place; /* of the cause in the message; NULL: recognized by its other parts */
	size_t prefix;     /* length of the template's fixed text at this place */
};

/*
 * Compares a message with a template of this length. Both have the form "ATTEMPT: CAUSE (EVIDENCE);
 * REMEDY.", in which everything but the cause may be missing; the message may be part of a longer
 * line. It matches if it contains the cause; if the cause is a single placeholder, the remedy; if
 * there is none, the attempt. The score is the number of characters of the template's fixed text
 * that the message contains, so that the best of several templates can be selected; those of the
 * cause count MESSAGE_TEMPLATE_CAUSE times.
 */
struct message_match message_template_match(
	const char *template, size_t length, const char *message);

#endif
