/* What all exchanges of a process have in common, from its options: see exchange/settings.h. */
#include <string.h>

#include "base/worker.h"
#include "cli/startup.h"
#include "exchange/settings.h"
#include "stream/source.h"

void exchange_settings_init(struct exchange_settings *settings, const struct options *options,
	const struct output *output, struct wakeup_queue *wakeups, const char *greeting)
{
	*settings = (struct exchange_settings){
		.output = output,
		.wakeups = wakeups,
		.message = options->message ? options->message : greeting,
		.input = options->input,
		.output_file = {.output = options->output, .force = options->force},
		.buffer = options->buffer,
		.chunk = options->chunk,
		.depth = options->depth,
		.timeout = options->timeout,
		.secret_file = options->secret_file,
		.handshake_timeout = options->handshake_timeout,
		.max_size = options->max_size,
	};
	settings->message_size = strlen(settings->message) + 1;
}

int exchange_settings_prepare(struct exchange_settings *settings)
{
	char why[WORKER_WHY_SIZE];
	struct source *source;

	if (startup_secret(&settings->secret, settings->secret_file, settings->output))
		return -1;
	if (settings->input && !output_file_is_shared(settings->input)) {
		if (source_open(&source, settings->input, NULL, 0, why)) {
			output_error(settings->output, "%s", why);
			return -1;
		}
		source_close(source);
	}
	if (settings->output_file.output && output_file_check(&settings->output_file, why)) {
		output_error(settings->output, "%s", why);
		return -1;
	}
	return 0;
}

void exchange_settings_end(struct exchange_settings *settings)
{
	secret_free(settings->secret);
	settings->secret = NULL;
}
