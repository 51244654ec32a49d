#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/address.h"
#include "base/version.h"
#include "cli/help.h"
#include "host/device-address.h"
#include "rdma-session.h"
#include "stream/source.h"

/* How often the progress is shown, in milliseconds, and how long a transfer must last for it. */
#define METER_MS 500

bool startup_options(struct options *options, enum program program, int argc, char *argv[],
	const struct output *output, enum exit_status *status)
{
	switch (parse_command_line(options, program, argc, argv)) {
	case OPTIONS_HELP:
		help_print(stdout, program);
		break;
	case OPTIONS_VERSION:
		printf("%s %s\n", output->program, PROJECT_VERSION);
		break;
	case OPTIONS_WRONG:
		output_error(output, "%s; see %s --help", options->error, output->program);
		*status = output_finish(output, STATUS_USAGE);
		return true;
	case OPTIONS_RUN:
		return false;
	}
	*status = output_finish(output, STATUS_OK);
	return true;
}

int server_addresses_find_source(const struct options *options, deadline_t deadline,
	struct addrinfo **sources, struct failure *failure)
{
	int error = 0;

	*sources = NULL;
	if (options->source)
		error = address_find(
			options->source, 0, AF_UNSPEC, deadline_left(deadline), sources);
	return error ? failure_set(failure, FAILURE_NAME, PHASE_ADDRESS, error, "getaddrinfo",
			       "--source %s: %s", options->source, gai_strerror(error))
		     : 0;
}

int server_addresses_source(const struct options *options, const struct addrinfo *sources,
	int family, struct sockaddr_storage *source, struct failure *failure)
{
	enum readiness lacking;

	source->ss_family = AF_UNSPEC;
	if (options->source) {
		while (sources && sources->ai_family != family)
			sources = sources->ai_next;
		if (!sources)
			return failure_set(failure, FAILURE_ERRNO, PHASE_ADDRESS, EINVAL,
				"--source", "--source %s", options->source);
		memcpy(source, sources->ai_addr, sources->ai_addrlen);
	} else if (options->device) {
		lacking = device_address_find("", options->device, family, source);
		if (lacking != HOST_READY)
			return failure_set(failure, FAILURE_HOST, PHASE_ADDRESS, (int)lacking,
				"--device", "--device %s", options->device);
	}
	return 0;
}

int server_addresses_check_device(
	const struct options *options, const struct rdma_cm_id *id, struct failure *failure)
{
	const char *name = ibv_get_device_name(id->verbs->device);

	if (!options->device || strcmp(options->device, name) == 0)
		return 0;
	return failure_set(failure, FAILURE_HOST, PHASE_ADDRESS, HOST_OTHER_DEVICE, "--device",
		"it leads through %s", name);
}

void server_name(const struct options *options, char text[SERVER_NAME_SIZE])
{
	/* An IPv6 address has colons of its own. */
	snprintf(text, SERVER_NAME_SIZE, strchr(options->host, ':') ? "[%s]:%u" : "%s:%u",
		options->host, options->port);
}

struct output startup_output(const char *program, const struct options *options)
{
	return (struct output){
		.program = program,
		.quiet = options->quiet,
		.verbose = options->verbose,
		.lines_on_stderr =
			options->json || (options->output && output_is_standard(options->output)),
	};
}

void report_server_full(const struct output *output)
{
	output_line(output, "there is no place at the server; trying again.");
}

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

bool output_file_is_shared(const char *path)
{
	struct stat status;

	if (strcmp(path, "-") == 0 || output_is_standard(path))
		return true;
	if (stat(path, &status))
		return false;
	/* Major number 1: /dev/null, /dev/zero and their like, which have enough for all. */
	return S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) ||
	       (S_ISCHR(status.st_mode) && major(status.st_rdev) != 1);
}

int load_secret(struct secret **secret, const char *path, const struct output *output)
{
	char why[SECRET_WHY_SIZE];

	if (!path || secret_load(secret, path, why) == 0)
		return 0;
	output_error(output, "%s", why);
	return -1;
}

int exchange_settings_prepare(struct exchange_settings *settings)
{
	char why[WORKER_WHY_SIZE];
	struct source *source;

	if (load_secret(&settings->secret, settings->secret_file, settings->output))
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

void exchange_settings_report(const struct exchange_settings *settings, const struct mode *mode,
	const char *peer, enum exit_status status, const char *error)
{
	const struct report report = {
		.program = settings->output->program,
		.mode = mode->name,
		.peer = peer,
		.secret = settings->secret_file,
		.status = status,
		.error = error,
	};

	report_print(&report);
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
