/* See exchange/settings.h. The caller owns the settings and the source. */
#include "exchange/settings.h"

int settings_open_source(
	const struct exchange_settings *settings, struct source **source, char why[WORKER_WHY_SIZE])
{
	if (settings->plans & HELLO_SENDS_TREE)
		return source_open_tree(source, settings->inputs, settings->input_count, why);
	return source_open(source, settings->input, settings->message, settings->message_size, why);
}
