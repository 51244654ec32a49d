/* Makes text from a peer and file names safe to print. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>

/* Buffer size that text_escape() needs for length bytes, including the terminator. */
#define TEXT_ESCAPED_SIZE(length) (4 * (length) + 1)

/*
 * Copies length bytes into text: printable ASCII unchanged, a backslash as \\ and every other byte
 * as \xHH, so that a peer cannot send control sequences to a terminal. text holds at least
 * TEXT_ESCAPED_SIZE(length) bytes. Any thread.
 */
void text_escape(char *text, const void *bytes, size_t length);

/*
 * Like text_escape(), for text that may be UTF-8, such as a file name: valid characters are copied
 * unchanged; control characters and invalid bytes (RFC 3629) become \xHH. A backslash is not
 * escaped, so escaping twice is harmless.
 */
void text_escape_utf8(char *text, const void *bytes, size_t length);

/* Buffer size that text_quote() needs for a word of length bytes, including the terminator. */
#define TEXT_QUOTED_SIZE(length) (4 * (length) + 3)

/*
 * Copies the word so that a shell reads it as one word: unchanged if it contains only letters,
 * digits and .:%_-, otherwise in single quotes (POSIX.1-2017, 2.2.2) and escaped as by
 * text_escape_utf8(). text holds at least TEXT_QUOTED_SIZE(strlen(word)) bytes. Any thread.
 */
void text_quote(char *text, const char *word);

/*
 * Formats text as printf(3) does and appends it to the string in an array of this size, truncated
 * to fit. The result is terminated. Any thread.
 */
void text_append(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Returns how many bytes of the text fit into this room: all, or whole words with a blank after
 * them; if not even a word fits, as much as fits. To print the rest, skip its leading blanks. Any
 * thread.
 */
size_t text_fit(const char *text, size_t room);

/* Replaces every byte that is not printable ASCII by '?', for text that is only displayed. */
void text_printable(char *text);

#endif
