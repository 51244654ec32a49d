/* See cli/places.h. */
#include <stdio.h>
#include <string.h>

#include "cli/option-table.h"
#include "cli/places.h"

/* Fixed ones: a long path might leave no room for them in the message. */
#define EXAMPLE_FROM "rdma-client copy host:/data/big.iso ."
#define EXAMPLE_TO   "rdma-client copy big.iso host:/data/"

/*
 * Returns PATH of [USER@]HOST:PATH, or NULL if the place is at this host. The colons of an address
 * in brackets do not end HOST.
 */
static const char *far_path(const char *place)
{
	const char *colon = strchr(place, ':'), *slash = strchr(place, '/');
	const char *host = strchr(place, '@');

	host = host && (!colon || host < colon) ? host + 1 : place;
	if (*host == '[' && strchr(host, ']'))
		colon = strchr(strchr(host, ']'), ':');
	return colon && (!slash || colon < slash) ? colon + 1 : NULL;
}

/* The length of [USER@]HOST. */
static size_t host_length(const char *place)
{
	return (size_t)(far_path(place) - place) - 1;
}

static bool are_at_same_host(const char *place, const char *other)
{
	size_t length = host_length(place);

	return length == host_length(other) && strncmp(place, other, length) == 0;
}

/* Stores [USER@]HOST without the brackets, which ssh(1) does not take. */
static enum options_result take_host(struct options *options, const char *place)
{
	char *remote = options->copy.remote, *host;
	size_t length = host_length(place);
	bool fits = length < sizeof(options->copy.remote);

	snprintf(remote, sizeof(options->copy.remote), "%.*s", (int)length, place);
	host = strrchr(remote, '@');
	host = host ? host + 1 : remote;
	length = strlen(host);
	if (*host == '[' && host[length - 1] == ']') {
		host[length - 1] = '\0';
		memmove(host, host + 1, length - 1);
	}
	/* A dash would begin an option of ssh(1). */
	if (!fits || *remote == '-' || *host == '\0' || strpbrk(host, "[]") ||
		!options_is_host(host))
		return options_advise(options,
			"invalid HOST in '%s'; for example: host:/data/, user@192.0.2.1: or "
			"[2001:db8::1]:x; a file of this name is ./%s",
			place, place);
	return OPTIONS_RUN;
}

/* Takes files of this host, and a place at the other one. */
static enum options_result take_push(struct options *options, const char **words, int last)
{
	for (int i = 0; i < last; i++) {
		if (far_path(words[i]))
			return options_advise(options,
				"'%s' and '%s' are both at other hosts; copy moves files between this "
				"host and another one, for example: " EXAMPLE_FROM,
				words[i], words[last]);
		if (options_add_input(options, words[i]) != OPTIONS_RUN)
			return OPTIONS_WRONG;
	}
	if (take_host(options, words[last]) != OPTIONS_RUN)
		return OPTIONS_WRONG;
	words[last] = far_path(words[last]);
	/* As with scp: the home directory. */
	if (*words[last] == '\0')
		words[last] = "./";
	options->copy.paths = words + last;
	options->copy.path_count = 1;
	return OPTIONS_RUN;
}

/* Checks that all sources of a copy to words[last], at this host, are at one other host. */
static enum options_result check_sources(struct options *options, const char **words, int last)
{
	const char *far = NULL, *near = NULL;

	for (int i = 0; i < last; i++) {
		const char **first = far_path(words[i]) ? &far : &near;

		if (!*first)
			*first = words[i];
		else if (first == &far && !are_at_same_host(far, words[i]))
			return options_advise(options,
				"'%s' and '%s' are at different hosts; copy from one host at a time, for "
				"example: " EXAMPLE_FROM,
				far, words[i]);
	}
	if (far && near)
		return options_advise(options,
			"'%s' is at another host, but '%s' at this one, as is DESTINATION; copy from one "
			"host at a time, for example: " EXAMPLE_FROM,
			far, near);
	if (near)
		return options_advise(options,
			"'%s' is at this host, as is DESTINATION '%s'; one of them needs HOST:, for "
			"example: " EXAMPLE_TO,
			near, words[last]);
	return OPTIONS_RUN;
}

/* Takes files of the other host, and a place at this one. */
static enum options_result take_pull(struct options *options, const char **words, int last)
{
	if (check_sources(options, words, last) != OPTIONS_RUN)
		return OPTIONS_WRONG;
	options->copy.pulls = true;
	options->output = words[last];
	for (int i = 0; i < last; i++)
		if (*far_path(words[i]) == '\0')
			return options_advise(
				options, "PATH is missing; for example: %s.", words[i]);
	if (take_host(options, words[0]) != OPTIONS_RUN)
		return OPTIONS_WRONG;
	for (int i = 0; i < last; i++)
		words[i] = far_path(words[i]);
	options->copy.paths = words;
	options->copy.path_count = (unsigned int)last;
	return OPTIONS_RUN;
}

enum options_result places_take(struct options *options, const char **words, int count)
{
	for (int i = 0; i < count; i++)
		if (*words[i] == '\0')
			return options_wrong(options, "SOURCE and DESTINATION must not be empty");
	if (count == 1)
		return options_advise(options,
			"DESTINATION is missing; for example: rdma-client copy %s %s", words[0],
			far_path(words[0]) ? "." : "host:/data/");
	return far_path(words[count - 1]) ? take_push(options, words, count - 1)
					  : take_pull(options, words, count - 1);
}
