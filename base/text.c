/* Escapes and quotes untrusted text. All functions write into the caller's buffers. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

void text_escape(char *text, const void *bytes, size_t length)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *from = bytes;

	for (size_t i = 0; i < length; i++) {
		if (from[i] == '\\') {
			*text++ = '\\';
			*text++ = '\\';
		} else if (from[i] >= 0x20 && from[i] < 0x7f) {
			*text++ = (char)from[i];
		} else {
			*text++ = '\\';
			*text++ = 'x';
			*text++ = digits[from[i] >> 4];
			*text++ = digits[from[i] & 0xf];
		}
	}
	*text = '\0';
}

/* Returns the length of the UTF-8 character at `bytes`, 0 if it is invalid: RFC 3629, section 4. */
static size_t character_length(const uint8_t *bytes, size_t length)
{
	/*
	 * The range of the second byte excludes overlong forms, surrogates and code points above
	 * U+10FFFF.
	 */
	uint8_t low = bytes[0] == 0xe0 ? 0xa0 : bytes[0] == 0xf0 ? 0x90 : 0x80;
	uint8_t high = bytes[0] == 0xed ? 0x9f : bytes[0] == 0xf4 ? 0x8f : 0xbf;
	size_t size;

	if (bytes[0] < 0x80)
		return 1;
	if (bytes[0] < 0xc2 || bytes[0] > 0xf4)
		return 0;
	size = bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
	if (size > length || bytes[1] < low || bytes[1] > high)
		return 0;
	for (size_t i = 2; i < size; i++)
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
	return size;
}

/* True for C0, DEL and C1, which a terminal may interpret. */
static bool is_control(const uint8_t *character)
{
	return character[0] < 0x20 || character[0] == 0x7f ||
	       (character[0] == 0xc2 && character[1] < 0xa0);
}

void text_escape_utf8(char *text, const void *bytes, size_t length)
{
	const uint8_t *from = bytes, *end = from + length;

	while (from < end) {
		size_t size = character_length(from, (size_t)(end - from));

		if (size && !is_control(from)) {
			memcpy(text, from, size);
			text += size;
			from += size;
			continue;
		}
		/*
		 * Continuation bytes of a C1 character are invalid on their own, so they are
		 * escaped next.
		 */
		text_escape(text, from++, 1);
		text += strlen(text);
	}
	*text = '\0';
}

void text_quote(char *text, const char *word)
{
	static const char harmless[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:%_-";
	const char *end = word + strlen(word);

	if (*word && strspn(word, harmless) == strlen(word)) {
		stpcpy(text, word);
		return;
	}
	*text++ = '\'';
	while (word < end) {
		size_t size = strcspn(word, "'");

		text_escape_utf8(text, word, size);
		text += strlen(text);
		word += size;
		/* A quote inside quotes needs '\'': close, escaped quote, reopen. */
		if (word < end) {
			text = stpcpy(text, "'\\''");
			word++;
		}
	}
	stpcpy(text, "'");
}

void text_append(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + used, size - used, format, arguments);
	va_end(arguments);
}

size_t text_fit(const char *text, size_t room)
{
	size_t length = strlen(text), end = room;

	if (length <= room)
		return length;
	while (end > 0 && text[end] != ' ')
		end--;
	return end > 0 ? end : room;
}

void text_printable(char *text)
{
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			*text = '?';
}
