#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/source.h"
#include "rdma-session.h"

/* How often the progress is shown, in milliseconds, and how long a transfer must last for it. */
#define METER_MS 500

static bool is_standard(const char *name)
{
	return name && strcmp(name, "-") == 0;
}

struct output session_output(const char *program, const struct options *options)
{
	return (struct output){
		.program = program,
		.quiet = options->quiet,
		.verbose = options->verbose,
		.lines_on_stderr = options->json || is_standard(options->output),
	};
}

void session_init(struct session *session, const struct options *options,
	const struct output *output, struct mailbox *mailbox, const char *greeting)
{
	*session = (struct session){
		.output = output,
		.mailbox = mailbox,
		.message = options->message ? options->message : greeting,
		.input = options->input,
		.target = {.output = options->output, .force = options->force},
		.buffer = options->buffer,
		.chunk = options->chunk,
		.depth = options->depth,
		.timeout = options->timeout,
	};
	session->message_size = strlen(session->message) + 1;
}

int session_check(const struct session *session)
{
	char why[WORKER_WHY_SIZE];
	struct source *source;

	if (session->input && !is_standard(session->input)) {
		if (source_open(&source, session->input, NULL, 0, why)) {
			output_error(session->output, "%s", why);
			return -1;
		}
		source_close(source);
	}
	if (session->target.output && target_check(&session->target, why)) {
		output_error(session->output, "%s", why);
		return -1;
	}
	return 0;
}

void meter_init(struct meter *meter, const struct options *options)
{
	*meter = (struct meter){
		.wanted = options->progress == PROGRESS_ALWAYS ||
			  (options->progress == PROGRESS_AUTO && !options->quiet &&
				  isatty(STDERR_FILENO)),
	};
}

int meter_next(struct meter *meter, bool busy)
{
	if (!meter->wanted || !busy) {
		meter->running = false;
		return -1;
	}
	if (!meter->running) {
		meter->running = true;
		meter->next = deadline_in(METER_MS);
		progress_start(&meter->progress, deadline_now());
	}
	return deadline_left(meter->next);
}

void meter_show(struct meter *meter, const struct output *output, uint64_t bytes, uint64_t total)
{
	char line[PROGRESS_COLUMNS_MAX + 1];

	meter->next = deadline_in(METER_MS);
	progress_line(&meter->progress, deadline_now(), bytes, total, line, sizeof(line));
	output_progress(output, line);
}
