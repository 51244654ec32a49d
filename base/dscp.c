/* Parses code points. Nothing is allocated. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/dscp.h"

#define DSCP_MAX 63
#define DSCP_EF  46

/* Returns the digit if it is in this range, otherwise -1. */
static int digit(char c, char least, char most)
{
	return c >= least && c <= most ? c - '0' : -1;
}

/* A class selector is the class followed by three zero bits. */
static int class_selector(const char *name)
{
	int class = digit(name[2], '0', '7');

	return class >= 0 && name[3] == '\0' ? class * 8 : -1;
}

/* Assured forwarding: four classes with three drop precedences each. */
static int assured_forwarding(const char *name)
{
	int class = digit(name[2], '1', '4');
	int precedence = class > 0 ? digit(name[3], '1', '3') : -1;

	return precedence > 0 && name[4] == '\0' ? class * 8 + precedence * 2 : -1;
}

int dscp_parse(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	if (strncasecmp(text, "CS", 2) == 0)
		return class_selector(text);
	if (strncasecmp(text, "AF", 2) == 0)
		return assured_forwarding(text);
	if (strcasecmp(text, "EF") == 0)
		return DSCP_EF;
	if (digits == 0 || digits > 2 || text[digits] || atoi(text) > DSCP_MAX)
		return -1;
	return atoi(text);
}
