#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "facts.h"
#include "text.h"

/* What two sides of a good connection have in common, or should. */
static const char *const common[] = {"version", "protocol", "link layer", "rate", "rdma mtu",
	"interface mtu", "gid type", "reads answered"};

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

size_t facts_encode(const struct facts *facts, char *text, size_t size)
{
	size_t used = 0;

	for (unsigned int i = 0; i < facts->count; i++) {
		const struct fact *fact = &facts->facts[i];
		size_t more = strlen(fact->name) + strlen(": \n") + strlen(fact->value);

		/* One byte is for the zero of snprintf(). */
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
	/* A zero would end a name or a value early. */
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

struct json_object *facts_json(const struct facts *facts)
{
	struct json_object *object = json_object_new_object();

	for (unsigned int i = 0; object && i < facts->count; i++) {
		struct json_object *value = json_object_new_string(facts->facts[i].value);
		char name[FACT_NAME_SIZE];

		snprintf(name, sizeof(name), "%s", facts->facts[i].name);
		for (char *blank = name; (blank = strchr(blank, ' '));)
			*blank = '_';
		if (!value || json_object_object_add(object, name, value)) {
			json_object_put(value);
			json_object_put(object);
			return NULL;
		}
	}
	return object;
}

static bool is_common(const char *name)
{
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		if (strcmp(common[i], name) == 0)
			return true;
	return false;
}

/* The index-th name: all of ours, then those that only they have. NULL at the end. */
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
	*differ = *our_value && *their_value && is_common(name) &&
		  strcmp(*our_value, *their_value) != 0;
	return name;
}
