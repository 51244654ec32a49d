/* Differentiated services code points (DSCP), by which networks classify packets. RFC 2474. */
#ifndef BASE_DSCP_H
#define BASE_DSCP_H

/*
 * Parses a code point: a number from 0 to 63, or one of the names CS0 to CS7, AF11 to AF43 and EF,
 * in either case. Returns -1 for other text. RFC 2474, RFC 2597, RFC 3246. Any thread.
 */
int dscp_parse(const char *text);

#endif
