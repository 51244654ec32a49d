/* See copy/far-command.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "copy/far-command.h"
#include "protocol/attributes.h"

/* The length of "~" or "~user", which the shell replaces by a home directory; 0: there is none. */
static size_t tilde_length(const char *path)
{
	static const char names[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = *path == '~' ? 1 + strspn(path + 1, names) : 0;

	return length > 0 && (path[length] == '/' || path[length] == '\0') ? length : 0;
}

/* Appends the argument in single quotes. */
static void quote(FILE *command, const char *argument)
{
	fputc('\'', command);
	for (; *argument; argument++)
		if (*argument == '\'')
			fputs("'\\''", command);
		else
			fputc(*argument, command);
	fputc('\'', command);
}

/* Appends a path, of which the shell replaces a tilde-prefix. "-" would be standard input. */
static void quote_path(FILE *command, const char *path)
{
	size_t tilde = tilde_length(path);

	fprintf(command, "%.*s%s", (int)tilde, path, *path == '-' ? "./" : "");
	if (path[tilde] == '/' && tilde > 0)
		fputc(path[tilde++], command);
	if (path[tilde])
		quote(command, path + tilde);
}

char *far_command_of(const struct options *options)
{
	const struct options_copy *copy = &options->copy;
	char *text = NULL;
	size_t size;
	FILE *command = open_memstream(&text, &size);

	if (!command)
		return NULL;
	if (copy->server_path)
		quote_path(command, copy->server_path);
	else
		fputs("rdma-server", command);
	fprintf(command, " --stdio --timeout %g", (double)options->timeout / 1000);
	if (options->workers)
		fprintf(command, " --workers %" PRIu32, options->workers);
	if (options->direct)
		fputs(" --direct", command);
	if (options->kept) {
		char kept[ATTRIBUTES_OPTIONS_SIZE];

		attributes_options(options->kept, kept);
		/* Without the commas between them. */
		for (char *comma = strchr(kept, ','); comma; comma = strchr(comma, ','))
			memmove(comma, comma + 1, strlen(comma));
		fprintf(command, " %s", kept);
	}
	if (options->numeric_ids)
		fputs(" --numeric-ids", command);
	if (options->update && !copy->pulls)
		fputs(" --update", command);
	for (unsigned int i = 0; copy->pulls && i < options->excluded_count; i++) {
		fputs(" --exclude ", command);
		quote(command, options->excluded[i]);
	}
	for (unsigned int i = 0; i < copy->path_count; i++) {
		fputs(copy->pulls ? " --input " : " --force --output ", command);
		quote_path(command, copy->paths[i]);
	}
	fprintf(command, " %s", options->mode->name);
	return fclose(command) ? NULL : text;
}
