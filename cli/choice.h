/*
 * Choices: a fixed set of words in one string, separated by '|', as shown in the help:
 * "write|read". Any thread.
 */
#ifndef CLI_CHOICE_H
#define CLI_CHOICE_H

#include <stddef.h>

/* Returns the position of the word among the choices, counted from 0, or -1 if it is not found. */
int choice_find(const char *choices, const char *word);

/* The size of the longest choice that choice_nearest() suggests, including the terminator. */
#define CHOICE_SIZE 32

/*
 * Copies the choice that differs from the word by the fewest typing errors (a wrong, missing, extra
 * or transposed character), or the choice that the word abbreviates. `nearest` is empty if no
 * choice is close enough.
 */
void choice_nearest(const char *choices, const char *word, char nearest[CHOICE_SIZE]);

/* Writes the choices as a list for a sentence, truncated to size bytes: "write, read or any". */
void choice_list(const char *choices, const char *conjunction, char *text, size_t size);

#endif
