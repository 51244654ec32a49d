/* Text from a peer is escaped for printing: without control characters or loss of information. */
#include <locale.h>
#include <wchar.h>

#include "base/text.h"
#include "tests/fuzz/fuzz.h"

/* NOLINTNEXTLINE(readability-non-const-parameter): libFuzzer's prototype */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	/* mbrtowc(3) decides what is valid UTF-8. */
	fuzz_check(setlocale(LC_CTYPE, "C.UTF-8"));
	return 0;
}

/* Reads the next byte of a text that text_escape() has escaped. */
static uint8_t unescape(const char **text)
{
	unsigned int byte;
	int used = 0;

	if (**text != '\\')
		return (uint8_t) * (*text)++;
	if ((*text)[1] == '\\') {
		*text += 2;
		return '\\';
	}
	fuzz_check(sscanf(*text, "\\x%2x%n", &byte, &used) == 1 && used == 4);
	*text += 4;
	return (uint8_t)byte;
}

static void check_ascii(const char *text, const uint8_t *data, size_t size)
{
	fuzz_check(fuzz_is_printable(text));
	for (size_t i = 0; i < size; i++)
		fuzz_check(unescape(&text) == data[i]);
	fuzz_check(*text == '\0');
}

/* The text is valid UTF-8 without control characters. */
static void check_utf8(const char *text)
{
	mbstate_t state = {0};
	size_t left = strlen(text), length;
	wchar_t character;

	for (; left > 0; text += length, left -= length) {
		length = mbrtowc(&character, text, left, &state);
		fuzz_check(length > 0 && length <= left);
		fuzz_check(character >= 0x20 && (character < 0x7f || character > 0x9f));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(TEXT_ESCAPED_SIZE(size));
	char *again = malloc(TEXT_ESCAPED_SIZE(TEXT_ESCAPED_SIZE(size)));

	fuzz_check(text && again);
	text_escape(text, data, size);
	check_ascii(text, data, size);
	text_escape_utf8(text, data, size);
	check_utf8(text);
	text_escape_utf8(again, text, strlen(text));
	fuzz_check(strcmp(again, text) == 0);
	memcpy(text, data, size);
	text[size] = '\0';
	text_printable(text);
	fuzz_check(fuzz_is_printable(text) && strlen(text) == strnlen((const char *)data, size));
	free(again);
	free(text);
	return 0;
}
