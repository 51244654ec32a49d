/* See exchange/settings.h. The caller owns the settings and the source. */
#include "exchange/settings.h"

int settings_open_source(const struct exchange_settings *settings, struct source **source,
	enum phase phase, struct failure *failure)
{
	char why[WORKER_WHY_SIZE];
	int error = settings->plans & HELLO_SENDS_TREE
			    ? source_open_tree(source, settings->inputs, settings->input_count, why)
			    : source_open(source, settings->input, settings->message,
				      settings->message_size, why);

	if (!error && settings->direct) {
		error = source_use_direct(*source, settings->input, why);
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
