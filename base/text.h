/* Text that came from a peer or names a file, made safe to print. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>

/* The room that text_escape() needs for length bytes, with the terminator. */
#define TEXT_ESCAPED_SIZE(length) (4 * (length) + 1)

/*
 * Copies length bytes into text, printing ASCII as it is, a backslash as \\ and every other byte as
 * \xHH, so that no peer can send control sequences to a terminal. text has room for
 * TEXT_ESCAPED_SIZE(length). Any thread.
 */
void text_escape(char *text, const void *bytes, size_t length);

/*
 * Like text_escape(), for text that may be UTF-8, such as a file name: valid characters are copied
 * unchanged; control characters and invalid bytes (RFC 3629) become \xHH. A backslash is not
 * escaped, so escaping twice is harmless.
 */
void text_escape_utf8(char *text, const void *bytes, size_t length);

/* The room that text_quote() needs for a word of length bytes, with the terminator. */
#define TEXT_QUOTED_SIZE(length) (4 * (length) + 3)

/*
 * Copies the word so that a shell takes it for one, whatever is in it: as it is, if it has letters,
 * digits and .:%_- only; else between single quotes (POSIX.1-2017, 2.2.2) and escaped as by
 * text_escape_utf8(). text has room for TEXT_QUOTED_SIZE(strlen(word)). Any thread.
 */
void text_quote(char *text, const char *word);

/*
 * Appends to the text in an array of that size, as printf(3) would print it; what does not fit is
 * cut. The text has a terminator before and after. Any thread.
 */
void text_append(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Replaces every byte that is not printable ASCII by '?', for text that is not read back. */
void text_printable(char *text);

#endif
