/*
 * The peer's counters are sorted after decoding, and survive encoding and decoding again. The
 * increase from the text before a zero byte to the text after it is correct.
 */
#include <errno.h>

#include "host/counters.h"
#include "tests/fuzz/fuzz.h"

static void check_list(const struct counters *counters)
{
	fuzz_check(counters->count <= COUNTERS_MAX);
	for (size_t i = 0; i < counters->count; i++) {
		const char *name = counters->list[i].name;

		fuzz_check(memchr(name, '\0', COUNTER_NAME_SIZE) && *name);
		fuzz_check(name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					     "0123456789_")] == '\0');
		fuzz_check(i == 0 || strcmp(counters->list[i - 1].name, name) < 0);
	}
}

static void check_encoding(const struct counters *counters, size_t size)
{
	static char text[COUNTERS_TEXT_MAX];
	struct counters again;
	size_t length = counters_encode(counters, text, sizeof(text));
	char *copy = fuzz_copy(text, length);

	/* The encoding is not longer than the received text. */
	fuzz_check(length <= size);
	fuzz_check(counters_decode(copy, length, &again) == 0);
	fuzz_check(again.count == counters->count);
	for (size_t i = 0; i < again.count; i++) {
		fuzz_check(strcmp(again.list[i].name, counters->list[i].name) == 0);
		fuzz_check(again.list[i].value == counters->list[i].value);
	}
	free(copy);
	for (size_t room = 0; room <= length; room += length / 4 + 1) {
		size_t used = counters_encode(counters, text, room);

		fuzz_check(used <= room && (used == 0 || text[used - 1] == '\n'));
	}
}

/* Writes the difference to a buffer of exactly this size. */
static void check_text(const struct counters *difference, size_t size)
{
	char *text = calloc(1, size);

	fuzz_check(text);
	counters_describe(difference, text, size);
	fuzz_check(memchr(text, '\0', size) && fuzz_is_printable(text));
	fuzz_check(size == 1 || *text);
	free(text);
}

static uint64_t value_of(const struct counters *counters, const char *name, bool *found)
{
	*found = true;
	for (size_t i = 0; i < counters->count; i++)
		if (strcmp(counters->list[i].name, name) == 0)
			return counters->list[i].value;
	*found = false;
	return 0;
}

static void check_difference(const struct counters *before, const struct counters *after)
{
	struct counters difference;
	bool had, has;

	counters_difference(before, after, &difference);
	check_list(&difference);
	for (size_t i = 0; i < difference.count; i++) {
		const struct counter *counter = &difference.list[i];
		uint64_t then = value_of(before, counter->name, &had);
		uint64_t now = value_of(after, counter->name, &has);

		fuzz_check(had && has && counter->value == (now >= then ? now - then : now));
	}
	check_text(&difference, 2 + after->count % 200);
	check_text(&difference, COUNTERS_TEXT_MAX);
	for (unsigned int class = 0; class < COUNTER_CLASSES; class ++)
		for (size_t i = 0; i < difference.count; i++)
			if (counter_class(difference.list[i].name) == class)
				fuzz_check(counters_total(&difference, class) >=
					   difference.list[i].value);
}

static bool read_counters(struct counters *counters, const uint8_t *data, size_t size)
{
	char *copy = fuzz_copy(data, size);
	int error = counters_decode(copy, size, counters);

	free(copy);
	fuzz_check(error == 0 || (error == -EBADMSG && counters->count == 0));
	if (error)
		return false;
	fuzz_check(size <= COUNTERS_TEXT_MAX);
	check_list(counters);
	check_encoding(counters, size);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = size ? memchr(data, '\0', size) : NULL;
	static struct counters before, after;
	size_t first = zero ? (size_t)(zero - data) : size;

	if (read_counters(&before, data, first) && zero &&
		read_counters(&after, zero + 1, size - first - 1)) {
		check_difference(&before, &after);
		check_difference(&after, &before);
	}
	return 0;
}
