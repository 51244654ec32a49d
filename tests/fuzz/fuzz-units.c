/*
 * Parsing of sizes, compared with a second implementation of the rules in base/units.h; and
 * formatting of amounts and times, read back.
 */
#include <errno.h>

#include "base/units.h"
#include "tests/fuzz/fuzz.h"

/* Stands for any value larger than 64 bits. */
#define TOO_MUCH ((unsigned __int128)1 << 64)

/* Returns the bytes of a unit, or 0 if the name is invalid. */
static uint64_t unit_of(const char *name)
{
	static const struct {
		uint64_t base;
		const char *names[4]; /* to the power of 1 to 4 */
	} systems[] = {
		{1024, {"K", "M", "G", "T"}},
		{1024, {"k", "m", "g", "t"}},
		{1024, {"KiB", "MiB", "GiB", "TiB"}},
		{1000, {"KB", "MB", "GB", "TB"}},
		{1000, {"kB", "MB", "GB", "TB"}},
	};

	for (size_t i = 0; i < FUZZ_COUNT(systems); i++) {
		uint64_t bytes = 1;

		for (size_t power = 0; power < FUZZ_COUNT(systems[i].names); power++) {
			bytes *= systems[i].base;
			if (strcmp(systems[i].names[power], name) == 0)
				return bytes;
		}
	}
	return *name == '\0';
}

/* Returns the size, at most TOO_MUCH. Sets *error if the text is invalid. */
static unsigned __int128 size_of(const char *text, bool *error)
{
	unsigned __int128 bytes = 0;
	size_t digits = strspn(text, "0123456789");
	uint64_t unit = unit_of(text + digits);

	*error = digits == 0 || unit == 0;
	for (size_t i = 0; i < digits; i++) {
		bytes = bytes * 10 + (unsigned int)(text[i] - '0');
		if (bytes > TOO_MUCH)
			bytes = TOO_MUCH;
	}
	bytes *= unit;
	return bytes > TOO_MUCH ? TOO_MUCH : bytes;
}

static void check_parse(const char *text, uint64_t minimum, uint64_t maximum)
{
	uint64_t bytes = 42;
	bool wrong;
	unsigned __int128 wanted = size_of(text, &wrong);
	int error = units_parse(text, minimum, maximum, &bytes);

	if (wrong)
		fuzz_check(error == -EINVAL);
	else if (wanted < minimum || wanted > maximum)
		fuzz_check(error == -ERANGE);
	else
		fuzz_check(error == 0 && bytes == wanted);
	fuzz_check(error == 0 || bytes == 42);
}

/* The formatted number is accurate to half a unit in its last digit. */
static void check_format(uint64_t bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
	char text[UNITS_TEXT], rate[UNITS_TEXT], unit[3];
	unsigned long long whole;
	unsigned __int128 scale = 1, shown, off;
	unsigned int part = 0;
	int parts = 1, from = 0, to = 0;

	units_format(text, bytes);
	fuzz_check(sscanf(text, "%llu", &whole) == 1);
	if (sscanf(text, "%*u.%n%u%n", &from, &part, &to) == 1)
		parts = to - from == 1 ? 10 : 100;
	fuzz_check(sscanf(strchr(text, ' '), " %2s", unit) == 1);
	for (size_t i = 0; strcmp(units[i], unit) != 0; i++, scale *= 1000)
		fuzz_check(i + 1 < FUZZ_COUNT(units));
	fuzz_check(whole < 1000);
	shown = (whole * (unsigned int)parts + part) * scale / (unsigned int)parts;
	off = shown > bytes ? shown - bytes : bytes - shown;
	fuzz_check(off <= (scale == 1 ? 0 : scale / (unsigned int)parts / 2));
	units_format_rate(rate, bytes);
	fuzz_check(strncmp(rate, text, strlen(text)) == 0);
	fuzz_check(strcmp(rate + strlen(text), "/s") == 0);
}

static void check_duration(int64_t milliseconds)
{
	char text[UNITS_TEXT];
	unsigned long long a, b, c = 0, shown;
	uint64_t wanted = milliseconds < 0 ? 0 : (uint64_t)milliseconds;
	int parts;

	units_format_duration(text, milliseconds);
	fuzz_check(memchr(text, '\0', sizeof(text)));
	if (wanted < 1000) {
		fuzz_check(sscanf(text, "%llu ms", &a) == 1 && a == wanted);
		return;
	}
	if (sscanf(text, "%llu.%1llu s", &a, &b) == 2) {
		shown = a * 1000 + b * 100;
		fuzz_check((shown > wanted ? shown - wanted : wanted - shown) <= 50);
		return;
	}
	parts = sscanf(text, "%llu:%2llu:%2llu", &a, &b, &c);
	fuzz_check(parts >= 2 && b < 60 && c < 60);
	shown = parts == 2 ? a * 60 + b : a * 3600 + b * 60 + c;
	fuzz_check(shown == wanted / 1000 + (wanted % 1000 >= 500));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	uint64_t one = fuzz_number(&input, 8), other = fuzz_number(&input, 8);
	char *text = calloc(1, input.left + 1);

	fuzz_check(text);
	check_format(one);
	check_duration((int64_t)other);
	text[fuzz_bytes(&input, text, input.left)] = '\0';
	check_parse(text, 0, UINT64_MAX);
	check_parse(text, one < other ? one : other, one < other ? other : one);
	free(text);
	return 0;
}
