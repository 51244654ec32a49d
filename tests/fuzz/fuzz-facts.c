/*
 * Accepted facts about the peer are safe to print, and survive encoding and decoding again. The
 * facts of two sides, separated by a zero byte, are also compared.
 */
#include <errno.h>

#include "host/facts.h"
#include "tests/fuzz/fuzz.h"

/* All lines at their maximum length. */
#define TEXT_MAX (FACTS_MAX * (FACT_NAME_SIZE + FACT_VALUE_SIZE + sizeof(": \n")))

static void check_texts(const struct facts *facts)
{
	fuzz_check(facts->count <= FACTS_MAX);
	for (unsigned int i = 0; i < facts->count; i++) {
		const struct fact *fact = &facts->facts[i];

		fuzz_check(memchr(fact->name, '\0', sizeof(fact->name)));
		fuzz_check(memchr(fact->value, '\0', sizeof(fact->value)));
		fuzz_check(*fact->name && !strchr(fact->name, ':'));
		fuzz_check(fuzz_is_printable(fact->name) && fuzz_is_printable(fact->value));
		fuzz_check(facts_value(facts, fact->name));
	}
}

/* Encoding into a buffer of exactly `room` bytes writes as many whole lines as fit, and a zero. */
static void check_cut(const struct facts *facts, const char *text, size_t size, size_t room)
{
	char *cut = malloc(room);
	size_t used;

	fuzz_check(cut);
	used = facts_encode(facts, cut, room);
	fuzz_check(used < room && used <= size && memcmp(cut, text, used) == 0);
	fuzz_check(used == 0 || cut[used - 1] == '\n');
	fuzz_check(room <= size || used == size);
	free(cut);
}

static void check_encoding(const struct facts *facts)
{
	static char text[TEXT_MAX];
	struct facts again;
	size_t size = facts_encode(facts, text, sizeof(text));
	char *copy = fuzz_copy(text, size);

	fuzz_check(facts_decode(&again, copy, size) == 0);
	free(copy);
	fuzz_check(again.count == facts->count);
	for (unsigned int i = 0; i < facts->count; i++) {
		fuzz_check(strcmp(again.facts[i].name, facts->facts[i].name) == 0);
		fuzz_check(strcmp(again.facts[i].value, facts->facts[i].value) == 0);
	}
	for (size_t less = 0; less < 3 && less < size; less++)
		check_cut(facts, text, size, size + 1 - less);
	check_cut(facts, text, size, size / 2 + 1);
}

static void check_comparison(const struct facts *ours, const struct facts *theirs)
{
	const char *our_value, *their_value, *name;
	bool differ;
	unsigned int index = 0;

	while ((name = facts_compare(ours, theirs, index, &our_value, &their_value, &differ))) {
		fuzz_check(our_value == facts_value(ours, name));
		fuzz_check(their_value == facts_value(theirs, name));
		fuzz_check(our_value || their_value);
		fuzz_check(!differ ||
			   (our_value && their_value && strcmp(our_value, their_value) != 0));
		index++;
	}
	fuzz_check(index >= ours->count && index <= ours->count + theirs->count);
}

/* Decodes facts from a buffer of exactly this size. Returns false if they are invalid. */
static bool read_facts(struct facts *facts, const uint8_t *data, size_t size)
{
	char *copy = fuzz_copy(data, size);
	int error = facts_decode(facts, copy, size);
	struct json_object *json;

	free(copy);
	fuzz_check(error == 0 || error == -EPROTO);
	if (error)
		return false;
	check_texts(facts);
	check_encoding(facts);
	json = facts_json(facts);
	/* The rate becomes two members. */
	fuzz_check(json && json_object_object_length(json) <= (int)facts->count + 1);
	json_object_put(json);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = size ? memchr(data, '\0', size) : NULL;
	size_t first = zero ? (size_t)(zero - data) : size;
	struct facts ours = {0}, theirs = {0};

	/* Also decode the input including the zero byte. */
	read_facts(&ours, data, size);
	if (read_facts(&ours, data, first) && read_facts(&theirs, data + first, size - first) &&
		theirs.count > 0)
		check_comparison(&ours, &theirs);
	if (zero && read_facts(&theirs, zero + 1, size - first - 1) &&
		read_facts(&ours, data, first))
		check_comparison(&ours, &theirs);
	return 0;
}
