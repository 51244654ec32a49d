/* See exchange/settings.h. The caller owns the settings and the source. */
#include "exchange/settings.h"

/* Opens the input, the inputs or the message. Returns 0, or -errno with a message in why. */
static int open_source(const struct exchange_settings *settings, struct source **source, char *why)
{
	if (settings->plans & HELLO_SENDS_TREE)
		return source_open_tree(source, settings->inputs, settings->input_count, why);
	return source_open(source, settings->input, settings->message, settings->message_size, why);
}

/* Applies the options of the open source. Returns 0, or -errno with a message in why. */
static int set_up_source(const struct exchange_settings *settings, struct source *source, char *why)
{
	if (settings->direct)
		return source_use_direct(source, settings->input, why);
	if (!(settings->plans & HELLO_SENDS_TREE))
		return 0;
	if (settings->kept) {
		int error =
			source_offer_attributes(source, settings->kept, settings->numeric_ids, why);

		if (error)
			return error;
	}
	if (settings->excluded_count > 0)
		return source_exclude(source, settings->excluded, settings->excluded_count, why);
	return 0;
}

int settings_open_source(const struct exchange_settings *settings, struct source **source,
	enum phase phase, struct failure *failure)
{
	char why[WORKER_WHY_SIZE];
	int error = open_source(settings, source, why);

	if (!error) {
		error = set_up_source(settings, *source, why);
		if (error) {
			source_close(*source);
			*source = NULL;
		}
	}
	if (!error)
		return 0;
	failure_set(failure, FAILURE_FILE, phase, -error, "--input", "%s", why);
	failure->path = settings->input;
	return -1;
}
