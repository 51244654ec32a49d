#include <stdint.h>

#include "text.h"

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
