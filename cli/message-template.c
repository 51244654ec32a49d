/* Matches messages with templates: see cli/message-template.h. It owns nothing. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/explain.h"
#include "cli/message-template.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The words that stand for any text. */
static const char *const placeholders[] = {"ADDRESS", "CAUSE", "COMMAND", "DEVICE", "EVENT",
	"EVIDENCE", "FILE", "HOST", "INTERFACE", "MESSAGE", "MODE", "N", "NAME", "NAMESPACE",
	"OPTION", "PEER", "PREFIX", "PROGRAM", "TEXT", "WORD"};

/* Part of a template, from which text is taken at the start. */
struct part {
	const char *text, *end;
	char before; /* the character before text, '\0' at the start of the template */
};

static size_t length_of(const struct part *part)
{
	return (size_t)(part->end - part->text);
}

/* True if a word or number of this length ends within the part. */
static bool ends_after(const struct part *part, size_t length)
{
	char next = length < length_of(part) ? part->text[length] : ' ';

	return !isalnum((unsigned char)next) && next != '_';
}

/* Returns the length of the number at the start of the part, without a dot at its end. */
static size_t number_length(const struct part *part)
{
	size_t length = 0;

	while (length < length_of(part) &&
		(isdigit((unsigned char)part->text[length]) || part->text[length] == '.'))
		length++;
	while (length && part->text[length - 1] == '.')
		length--;
	return length;
}

/* Returns the length of the word or number at the start of the part that stands for any text. */
static size_t placeholder_length(const struct part *part)
{
	size_t length;

	/* Most characters are neither; a log is compared with hundreds of templates. */
	if (part->text == part->end || isalnum((unsigned char)part->before) ||
		!(isupper((unsigned char)*part->text) || isdigit((unsigned char)*part->text) ||
			*part->text == '.'))
		return 0;
	length = number_length(part);
	if (length)
		return ends_after(part, length) ? length : 0;
	for (size_t i = 0; i < COUNT(placeholders); i++) {
		length = strlen(placeholders[i]);
		if (length <= length_of(part) && ends_after(part, length) &&
			strncmp(part->text, placeholders[i], length) == 0)
			return length;
	}
	return 0;
}

/* Returns the length of the parentheses at the start of the part, with the blank before them. */
static size_t evidence_length(const struct part *part)
{
	unsigned int depth = 0;

	if (length_of(part) < 2 || part->text[0] != ' ' || part->text[1] != '(')
		return 0;
	for (const char *at = part->text + 1; at < part->end; at++) {
		depth += *at == '(';
		depth -= *at == ')';
		if (depth == 0)
			return (size_t)(at + 1 - part->text);
	}
	return 0;
}

/* Returns the length of what stands for any text at the start of the part, 0 if nothing does. */
static size_t variable_length(const struct part *part)
{
	size_t length = placeholder_length(part);

	return length ? length : evidence_length(part);
}

static void skip(struct part *part, size_t length)
{
	if (length)
		part->before = part->text[length - 1];
	part->text += length;
}

/* Returns the length of the fixed text at the start of the part. */
static size_t fixed_length(struct part part)
{
	const char *start = part.text;

	while (part.text < part.end && !variable_length(&part))
		skip(&part, 1);
	return (size_t)(part.text - start);
}

/* True if the part contains no letter or number outside the variable texts. */
static bool is_variable(struct part part)
{
	while (part.text < part.end) {
		size_t length = variable_length(&part);

		if (length == 0 && isalnum((unsigned char)*part.text))
			return false;
		skip(&part, length ? length : 1);
	}
	return true;
}

/*
 * Looks for the part's fixed texts, one after the other, from *message on. Returns their length,
 * and moves *message past them; returns 0 if one is missing, or if the part has none. The rest of
 * the message may be missing if it is different each time, as after the name in "cannot read FILE:
 * MESSAGE". Stores where the first text is in the message, and its length.
 */
static size_t find(struct part part, const char **message, struct message_match *match)
{
	const char *at = *message;
	size_t found = 0;

	while (part.text < part.end) {
		size_t length = fixed_length(part);

		const char *next = memmem(at, strlen(at), part.text, length);

		if (!next && found && is_variable(part))
			break;
		if (!next)
			return 0;
		if (!found) {
			match->place = next;
			match->prefix = length;
		}
		at = next + length;
		found += length;
		skip(&part, length);
		skip(&part, variable_length(&part));
	}
	if (found)
		*message = at;
	return found;
}

/* Returns where the cause ends: before "; ", but not in parentheses, or before the final ".". */
static const char *end_of_cause(struct part part)
{
	while (part.text < part.end) {
		size_t evidence = evidence_length(&part);

		if (length_of(&part) >= 2 && strncmp(part.text, "; ", 2) == 0)
			break;
		skip(&part, evidence ? evidence : 1);
	}
	return part.text;
}

struct message_match message_template_match(
	const char *template, size_t length, const char *message)
{
	const char *end = template + length;
	struct part attempt = {.text = template}, cause, remedy;
	struct message_match match = {0}, other;
	size_t attempted, caused, remedied;

	if (length && end[-1] == '.')
		end--;
	attempt.end = template + explain_attempt_length(template);
	if (attempt.end > end)
		attempt.end = template;
	cause = (struct part){.text = attempt.end, .end = end};
	cause.end = end_of_cause(cause);
	remedy = (struct part){.text = cause.end, .end = end};
	attempted = find(attempt, &message, &other);
	caused = find(cause, &message, &match);
	remedied = find(remedy, &message, &other);
	if (!is_variable(cause) ? !caused : !is_variable(remedy) ? !remedied : !attempted)
		return (struct message_match){0};
	if (is_variable(cause)) {
		caused = 0;
		match = (struct message_match){0};
	}
	match.score = attempted + MESSAGE_TEMPLATE_CAUSE * caused + remedied;
	return match;
}
