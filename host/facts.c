/*
 * The facts of one end of a connection: a list of names and values, its text encoding, and the
 * comparison of two ends. The caller owns each list, which has a fixed size.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json-document.h"
#include "base/text.h"
#include "host/facts.h"
#include "host/inventory.h"
#include "host/sysfs.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Facts that should be equal at both ends. */
static const char *const common[] = {"version", "protocol", "link layer", "rate", "rdma mtu",
	"interface mtu", "gid type", "reads answered"};

/* Facts that are numbers in a JSON document; `megabits` is derived from the rate. */
static const char *const numbers[] = {"port", "rdma mtu", "interface mtu", "reads answered",
	"reads asked", "max size", "megabits", "dscp", "numa node", "thread numa node",
	"completion vector"};

void facts_add(struct facts *facts, const char *name, const char *format, ...)
{
	struct fact *fact = &facts->facts[facts->count];
	va_list args;

	if (facts->count == FACTS_MAX)
		return;
	snprintf(fact->name, sizeof(fact->name), "%s", name);
	va_start(args, format);
	vsnprintf(fact->value, sizeof(fact->value), format, args);
	va_end(args);
	text_printable(fact->name);
	text_printable(fact->value);
	facts->count++;
}

const char *facts_value(const struct facts *facts, const char *name)
{
	for (unsigned int i = 0; i < facts->count; i++)
		if (strcmp(facts->facts[i].name, name) == 0)
			return facts->facts[i].value;
	return NULL;
}

const char *facts_shown(const struct facts *facts, const char *name)
{
	const char *value = facts_value(facts, name);

	return value ? value : "unknown";
}

unsigned long facts_number(const struct facts *facts, const char *name)
{
	const char *value = facts_value(facts, name);

	return value ? strtoul(value, NULL, 10) : 0;
}

size_t facts_encode(const struct facts *facts, char *text, size_t size)
{
	size_t used = 0;

	for (unsigned int i = 0; i < facts->count; i++) {
		const struct fact *fact = &facts->facts[i];
		size_t more = strlen(fact->name) + strlen(": \n") + strlen(fact->value);

		/* One byte is reserved for the terminator of snprintf(). */
		if (used + more >= size)
			break;
		snprintf(text + used, size - used, "%s: %s\n", fact->name, fact->value);
		used += more;
	}
	return used;
}

int facts_decode(struct facts *facts, const char *text, size_t size)
{
	const char *rest = text, *end = text + size;

	facts->count = 0;
	/* A NUL byte would truncate a name or value. */
	if (memchr(text, '\0', size))
		return -EPROTO;
	while (rest < end) {
		const char *line = memchr(rest, '\n', (size_t)(end - rest));
		const char *stop = line ? line : end;
		const char *colon = memchr(rest, ':', (size_t)(stop - rest));
		char name[FACT_NAME_SIZE];
		const char *value;

		if (!colon || colon == rest || facts->count == FACTS_MAX)
			return -EPROTO;
		value = colon + 1 < stop && colon[1] == ' ' ? colon + 2 : colon + 1;
		snprintf(name, sizeof(name), "%.*s", (int)(colon - rest), rest);
		facts_add(facts, name, "%.*s", (int)(stop - value), value);
		rest = line ? line + 1 : end;
	}
	return 0;
}

static bool is_one_of(const char *name, const char *const names[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

struct json_object *facts_json(const struct facts *facts)
{
	struct json_object *object = json_object_new_object();
	const char *rate = facts_value(facts, "rate");

	for (unsigned int i = 0; i < facts->count; i++) {
		const struct fact *fact = &facts->facts[i];
		uint64_t number = 0;
		bool known = sysfs_decimal(fact->value, strlen(fact->value), &number);
		char key[FACT_NAME_SIZE];

		snprintf(key, sizeof(key), "%s", fact->name);
		for (char *blank = key; (blank = strchr(blank, ' '));)
			*blank = '_';
		/* The peer is not trusted: the value may not be a number. */
		if (is_one_of(fact->name, numbers, COUNT(numbers)))
			document_add_number_if(object, key, known, number);
		else
			document_add_text(object, key, fact->value);
	}
	if (rate)
		document_add_known(object, "megabits", inventory_megabits(rate));
	return document_filled(object);
}

/*
 * Returns the name at this index: first the local facts, then the facts that only the peer has.
 * NULL at the end.
 */
static const char *name_at(const struct facts *ours, const struct facts *theirs, unsigned int index)
{
	if (index < ours->count)
		return ours->facts[index].name;
	index -= ours->count;
	for (unsigned int i = 0; i < theirs->count; i++)
		if (!facts_value(ours, theirs->facts[i].name) && index-- == 0)
			return theirs->facts[i].name;
	return NULL;
}

const char *facts_compare(const struct facts *ours, const struct facts *theirs, unsigned int index,
	const char **our_value, const char **their_value, bool *differ)
{
	const char *name = name_at(ours, theirs, index);

	if (!name)
		return NULL;
	*our_value = facts_value(ours, name);
	*their_value = facts_value(theirs, name);
	*differ = *our_value && *their_value && is_one_of(name, common, COUNT(common)) &&
		  strcmp(*our_value, *their_value) != 0;
	return name;
}
