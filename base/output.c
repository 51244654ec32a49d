/*
 * Printing: callers append lines to one queue and a detached output thread writes them, so that no
 * other thread blocks on standard output or standard error. The queue owns a line from enqueue()
 * until it is written. Queue and thread live as long as the process.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/address.h"
#include "base/explain.h"
#include "base/output.h"

/* The queue's capacity in bytes; further lines are lost. */
#define WAITING_MAX (1 << 20)

/* The assumed width of a terminal that does not report its width. */
#define PROGRESS_COLUMNS 79

/* How long a reader may stall at the end of main before the remaining lines are lost. */
#define DRAIN_TIMEOUT_SECONDS 5

/* Moves the cursor to the start of the line and erases the line: ECMA-48, 8.3.15 and 8.3.41. */
#define ERASE "\r\033[K"

struct line {
	STAILQ_ENTRY(line) next;
	int descriptor;
	bool progress;  /* a newer progress line may replace it until `begun` */
	bool begun;     /* owned by the output thread from now on */
	size_t written; /* in bytes; used only by the output thread */
	size_t size;
	char *text;
};

/* cppcheck-suppress unusedStructMember ; the macros use it */
STAILQ_HEAD(lines, line);

/* The queue. A process has one of each standard stream, and therefore one queue. */
static struct printer {
	pthread_mutex_t lock; /* guards all members but the last */
	pthread_cond_t moved; /* a line was written */
	struct lines lines;   /* of both streams, oldest first: both may be the same terminal */
	size_t bytes;         /* size of these lines */
	bool running;         /* the output thread was started */
	bool lost;            /* output to standard output was lost */
	int wake;             /* an eventfd that wakes the output thread for a new line */
	bool progress_stands; /* a progress line is on the terminal; output thread only */
} printer = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.moved = PTHREAD_COND_INITIALIZER,
	.lines = STAILQ_HEAD_INITIALIZER(printer.lines),
	.wake = -1,
};

/* Replaces control characters: text from a command line or a peer must not control a terminal. */
static void make_printable(char *line)
{
	for (; *line; line++)
		if ((unsigned char)*line < 0x20 || *line == 0x7f)
			*line = '?';
}

static void free_line(struct line *line)
{
	free(line->text);
	free(line);
}

/* Called with the lock held, like the next two functions. */
static void remove_line(struct line *line)
{
	STAILQ_REMOVE(&printer.lines, line, line, next);
	printer.bytes -= line->size;
}

/* Returns the oldest line for this stream, or NULL. */
static struct line *oldest(int descriptor)
{
	struct line *line;

	STAILQ_FOREACH (line, &printer.lines, next)
		if (line->descriptor == descriptor)
			return line;
	return NULL;
}

/* Returns the oldest line whose stream is writable and marks it as begun; NULL if there is none. */
static struct line *oldest_with_space(bool out, bool error)
{
	struct line *line;

	STAILQ_FOREACH (line, &printer.lines, next) {
		if (line->descriptor == STDOUT_FILENO ? out : error) {
			line->begun = true;
			return line;
		}
	}
	return NULL;
}

/* Waits for a queued line whose stream is writable. Output thread, without the lock. */
static struct line *await_line(void)
{
	struct pollfd waiting[] = {
		{.fd = printer.wake, .events = POLLIN},
		{.events = POLLOUT},
		{.events = POLLOUT},
	};
	struct line *line = NULL;
	eventfd_t lines;

	while (!line) {
		pthread_mutex_lock(&printer.lock);
		waiting[1].fd = oldest(STDOUT_FILENO) ? STDOUT_FILENO : -1;
		waiting[2].fd = oldest(STDERR_FILENO) ? STDERR_FILENO : -1;
		pthread_mutex_unlock(&printer.lock);
		if (poll(waiting, 3, -1) < 0)
			continue;
		if (waiting[0].revents)
			eventfd_read(printer.wake, &lines);
		pthread_mutex_lock(&printer.lock);
		line = oldest_with_space(waiting[1].revents, waiting[2].revents);
		pthread_mutex_unlock(&printer.lock);
	}
	return line;
}

/*
 * Erases the progress line before another line begins on the terminal. Output thread, like the next
 * two functions.
 */
static void erase_progress(const struct line *line)
{
	ssize_t written = 0;

	if (!isatty(line->descriptor))
		return;
	if (printer.progress_stands)
		written = write(STDERR_FILENO, ERASE, strlen(ERASE));
	/* If this failed, writing the line will report why. */
	printer.progress_stands = written >= 0 && line->progress && line->size > 0;
}

/*
 * Writes as much as the stream accepts without blocking: POSIX guarantees that a writable pipe
 * accepts PIPE_BUF bytes. Returns true when the line is finished; *lost reports a failed write.
 */
static bool write_part(struct line *line, bool *lost)
{
	size_t rest = line->size - line->written;
	ssize_t written;

	if (line->written == 0)
		erase_progress(line);
	if (rest == 0)
		return true;
	written = write(
		line->descriptor, line->text + line->written, rest < PIPE_BUF ? rest : PIPE_BUF);
	if (written < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	*lost = written < 0;
	line->written += *lost ? rest : (size_t)written;
	return line->written == line->size;
}

/* The output thread. It never returns: no line before output_finish() is known to be the last. */
static void *print_lines(void *unused)
{
	(void)unused;
	for (;;) {
		struct line *line = await_line();
		bool lost = false, done = write_part(line, &lost);

		if (!done)
			continue;
		pthread_mutex_lock(&printer.lock);
		if (lost && line->descriptor == STDOUT_FILENO)
			printer.lost = true;
		remove_line(line);
		pthread_cond_broadcast(&printer.moved);
		pthread_mutex_unlock(&printer.lock);
		free_line(line);
	}
	return NULL;
}

/*
 * Starts the output thread, unless it is running. With the lock held. All signals are blocked but
 * SIGPIPE: unless a program ignores it (base/signals.h), a closed pipe ends it quietly, as it ends
 * other programs.
 */
static bool start_printing(void)
{
	sigset_t all, before;
	pthread_t thread;

	if (printer.running)
		return true;
	if (printer.wake < 0)
		printer.wake = eventfd(0, EFD_CLOEXEC);
	if (printer.wake < 0)
		return false;
	sigfillset(&all);
	sigdelset(&all, SIGPIPE);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	printer.running = pthread_create(&thread, NULL, print_lines, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (printer.running) {
		pthread_setname_np(thread, "lines");
		pthread_detach(thread);
	}
	return printer.running;
}

/* Returns the queued progress line that can still be replaced, or NULL. With the lock held. */
static struct line *replaceable(void)
{
	struct line *line;

	STAILQ_FOREACH (line, &printer.lines, next)
		if (line->progress && !line->begun)
			return line;
	return NULL;
}

/* Writes a line and blocks as long as necessary; used if the output thread cannot be created. */
static void write_whole(struct line *line)
{
	struct pollfd waiting = {.fd = line->descriptor, .events = POLLOUT};
	bool lost = false;

	while (!write_part(line, &lost))
		poll(&waiting, 1, -1);
	printer.lost |= lost && line->descriptor == STDOUT_FILENO;
}

/*
 * Queues a line; NULL means that it could not be allocated. Returns the line that the caller must
 * free: a replaced progress line, or the line itself if it was not queued.
 */
static struct line *enqueue(int descriptor, struct line *line)
{
	struct line *old = line;

	pthread_mutex_lock(&printer.lock);
	if (line && !start_printing()) {
		write_whole(line);
	} else if (line && printer.bytes + line->size <= WAITING_MAX) {
		old = line->progress ? replaceable() : NULL;
		if (old)
			remove_line(old);
		STAILQ_INSERT_TAIL(&printer.lines, line, next);
		printer.bytes += line->size;
		eventfd_write(printer.wake, 1);
	} else if (descriptor == STDOUT_FILENO) {
		printer.lost = true;
	}
	pthread_mutex_unlock(&printer.lock);
	return old;
}

/* Prints text from malloc() and takes ownership of it; NULL if the allocation failed. */
static void print_text(int descriptor, bool progress, char *text)
{
	struct line *line = text ? malloc(sizeof(*line)) : NULL;

	if (line)
		*line = (struct line){
			.descriptor = descriptor,
			.progress = progress,
			.size = strlen(text),
			.text = text,
		};
	else
		free(text);
	line = enqueue(descriptor, line);
	if (line)
		free_line(line);
}

/* Set by output_start(): what is known about the descriptors 0 to 2. */
static bool was_closed[STDERR_FILENO + 1], is_journal[STDERR_FILENO + 1];

/* Length of the time before a line: "2026-11-27 04:01:02.123 ". */
#define TIME_LENGTH 24

static bool timestamps;

void output_set_timestamps(bool wanted)
{
	timestamps = wanted;
}

/* The length of the time before each line of this stream. The journal records it itself. */
static size_t time_length(int descriptor)
{
	return timestamps && !is_journal[descriptor] ? TIME_LENGTH : 0;
}

/*
 * Writes the local time, or blanks of the same length if the line continues another, or "" if the
 * lines of this stream have none.
 */
static void format_time(int descriptor, bool continues, char text[TIME_LENGTH + 1])
{
	char date[TIME_LENGTH];
	struct timespec now;
	struct tm parts;

	snprintf(text, TIME_LENGTH + 1, "%*s", (int)time_length(descriptor), "");
	if (continues || time_length(descriptor) == 0)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &parts);
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &parts);
	snprintf(text, TIME_LENGTH + 1, "%.19s.%03u ", date,
		(unsigned int)(now.tv_nsec / 1000000) % 1000);
}

/*
 * Returns "TIME PROGRAM: LINE\n", without what is empty: the time or the program's name. NULL: out
 * of memory.
 */
static char *whole_line(
	int descriptor, int priority, bool continues, const char *program, const char *line)
{
	char prefix[sizeof("<0>")] = "", now[TIME_LENGTH + 1];
	char *text;

	if (is_journal[descriptor])
		snprintf(prefix, sizeof(prefix), "<%d>", LOG_PRI(priority));
	format_time(descriptor, continues, now);
	return asprintf(&text, "%s%s%s%s%s\n", prefix, now, program, *program ? ": " : "", line) < 0
		       ? NULL
		       : text;
}

static enum output_coloring coloring;

void output_set_coloring(enum output_coloring wanted)
{
	coloring = wanted;
}

static bool is_colored(int descriptor)
{
	const char *off = getenv("NO_COLOR"), *terminal = getenv("TERM");

	if (coloring != OUTPUT_COLOR_AUTO)
		return coloring == OUTPUT_COLOR_ALWAYS;
	return isatty(descriptor) && !(off && *off) && !(terminal && strcmp(terminal, "dumb") == 0);
}

/*
 * Colors a part of the text, if the stream shows colors. Takes ownership of the text and returns
 * the new one; NULL if out of memory or if text is NULL.
 */
static char *paint(int descriptor, char *text, size_t start, size_t length, enum output_color color)
{
	static const char *const codes[] = {[OUTPUT_GREEN] = "\033[32m",
		[OUTPUT_YELLOW] = "\033[33m",
		[OUTPUT_RED] = "\033[31m"};
	char *painted = NULL;

	if (!text || length == 0 || color == OUTPUT_PLAIN || !is_colored(descriptor))
		return text;
	if (asprintf(&painted, "%.*s%s%.*s\033[m%s", (int)start, text, codes[color], (int)length,
		    text + start, text + start + length) < 0)
		painted = NULL;
	free(text);
	return painted;
}

/* The color of the program's name before a line of this priority. */
static enum output_color color_of(int priority)
{
	return priority == LOG_ERR       ? OUTPUT_RED
	       : priority == LOG_WARNING ? OUTPUT_YELLOW
					 : OUTPUT_PLAIN;
}

unsigned int output_terminal_columns(int descriptor)
{
	struct winsize window;

	return isatty(descriptor) && ioctl(descriptor, TIOCGWINSZ, &window) == 0 ? window.ws_col
										 : 0;
}

/* The blanks before each line that continues another, in addition to those for its time. */
#define CONTINUED_INDENT 2

/* Returns where to break the text, at a blank: the last that fits, or else the first. */
static const char *breaking_place(const char *text, size_t room)
{
	const char *place = NULL, *next = strchr(text, ' ');

	while (next && (!place || (size_t)(next - text) <= room)) {
		place = next;
		next = strchr(next + 1, ' ');
	}
	return place;
}

/*
 * Breaks a line between words if it does not fit the terminal. Takes ownership of the text and
 * returns the new one; NULL if out of memory or if text is NULL.
 */
static char *wrap(int descriptor, char *text)
{
	size_t indent = time_length(descriptor) + CONTINUED_INDENT, blanks = 0, columns;
	const size_t width = output_terminal_columns(descriptor);
	const char *from = text, *place;
	char *wrapped, *to;

	if (!text || width <= indent || strlen(text) - 1 <= width)
		return text;
	for (const char *next = text; *next; next++)
		blanks += *next == ' ';
	to = wrapped = malloc(strlen(text) + blanks * (indent + 1) + 1);
	/* The time itself contains a blank. */
	for (size_t before = time_length(descriptor); wrapped && before > 0; before--)
		*to++ = *from++;
	columns = width - time_length(descriptor);
	while (wrapped && strlen(from) - 1 > columns && (place = breaking_place(from, columns))) {
		to = mempcpy(to, from, (size_t)(place - from));
		to += sprintf(to, "\n%*s", (int)indent, "");
		from = place + strspn(place, " ");
		columns = width - indent;
	}
	if (wrapped)
		strcpy(to, from);
	free(text);
	return wrapped;
}

/* The priority is one of syslog(3). */
static void __attribute__((format(printf, 4, 0)))
print(int descriptor, int priority, const char *program, const char *format, va_list args)
{
	char *line, *text = NULL;

	if (vasprintf(&line, format, args) >= 0) {
		make_printable(line);
		text = wrap(descriptor, whole_line(descriptor, priority, false, program, line));
		if (*program && !is_journal[descriptor])
			text = paint(descriptor, text, time_length(descriptor), strlen(program) + 1,
				color_of(priority));
		free(line);
	}
	print_text(descriptor, false, text);
}

bool output_is_journal(void)
{
	return is_journal[STDOUT_FILENO];
}

/* True if the descriptor is the stream that the journal reads: systemd.exec(5). */
static bool reaches_journal(int descriptor)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat status;
	int length = 0;

	return stream && sscanf(stream, "%llu:%llu%n", &device, &inode, &length) == 2 &&
	       stream[length] == '\0' && fstat(descriptor, &status) == 0 &&
	       status.st_dev == device && status.st_ino == inode;
}

bool output_was_closed(int descriptor)
{
	return was_closed[descriptor];
}

void output_start(void)
{
	int descriptor;

	/* open(2) returns the lowest free number, so this fills gaps; writes to them are lost. */
	while ((descriptor = open("/dev/null", O_RDONLY)) >= 0 && descriptor <= STDERR_FILENO)
		was_closed[descriptor] = true;
	if (descriptor >= 0)
		close(descriptor);
	for (int i = 0; i <= STDERR_FILENO; i++)
		is_journal[i] = reaches_journal(i);
}

bool output_is_standard(const char *path)
{
	/* /dev/stdout may link to a regular file, which must not be replaced. */
	return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

/* The stream of the lines of the exchange. */
static int stream_of(const struct output *output)
{
	return output->lines_on_stderr ? STDERR_FILENO : STDOUT_FILENO;
}

/* Prints a line of the exchange. */
static void __attribute__((format(printf, 3, 0)))
print_line(const struct output *output, int priority, const char *format, va_list args)
{
	print(stream_of(output), priority, "", format, args);
}

void output_line(const struct output *output, const char *format, ...)
{
	va_list args;

	if (output->quiet)
		return;
	va_start(args, format);
	print_line(output, LOG_INFO, format, args);
	va_end(args);
}

/* Prints a line, which may continue the one before it, with a part in this color. */
static void print_colored(const struct output *output, bool continues, const char *line,
	size_t start, size_t length, enum output_color color)
{
	int descriptor = stream_of(output);
	char *copy, *text = NULL;

	if (output->quiet)
		return;
	copy = strdup(line);
	if (copy) {
		make_printable(copy);
		text = whole_line(descriptor, LOG_INFO, continues, "", copy);
		if (!is_journal[descriptor])
			text = paint(
				descriptor, text, time_length(descriptor) + start, length, color);
		free(copy);
	}
	print_text(descriptor, false, text);
}

void output_colored_line(const struct output *output, const char *line, size_t start, size_t length,
	enum output_color color)
{
	print_colored(output, false, line, start, length, color);
}

unsigned int output_columns(const struct output *output)
{
	struct winsize window;
	int descriptor = stream_of(output);

	if (!isatty(descriptor) || ioctl(descriptor, TIOCGWINSZ, &window))
		return 0;
	return window.ws_col > time_length(descriptor) + 1U
		       ? (unsigned int)(window.ws_col - time_length(descriptor))
		       : 1;
}

/* The blanks before each line that continues a result. */
#define RESULT_INDENT 2

/* True if a line may be broken after this many bytes: after a comma, colon or semicolon. */
static bool is_break(const char *line, size_t size)
{
	return size > 0 && line[size] == ' ' && strchr(",:;", line[size - 1]);
}

/*
 * Returns the bytes of the first of the lines into which this line is broken, for a terminal of
 * this many columns: up to the last comma, colon or semicolon that fits, or else to the last word,
 * or to the next one if none fits; 0: there is none. A list that fits a line of its own is broken
 * from what precedes its colon.
 */
static size_t breakable_size(const char *line, size_t columns, int indent)
{
	size_t most = columns - (size_t)indent, size = 0, colon = 0, word = 0;
	size_t length = strlen(line);

	for (size_t i = 1; i <= most && i < length; i++) {
		if (line[i] != ' ')
			continue;
		word = i;
		if (is_break(line, i))
			size = i;
		if (line[i - 1] == ':')
			colon = i;
	}
	if (colon > 0 && length - colon - 1 <= columns - RESULT_INDENT)
		return colon;
	for (size_t i = most + 1; word == 0 && i < length; i++)
		if (line[i] == ' ')
			word = i;
	return size > 0 ? size : word;
}

/*
 * Finds what a part of a result says about verification: at its start or after a comma.
 * Returns its length, 0: nothing, with its place and color.
 */
static size_t find_verdict(const char *part, const char **place, enum output_color *color)
{
	static const struct {
		const char *text;
		enum output_color color;
	} verdicts[] = {{"not verified", OUTPUT_YELLOW}, {"verified", OUTPUT_GREEN},
		{"incomplete", OUTPUT_YELLOW}};
	const char *next = part;

	while (next) {
		for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++)
			if (strncmp(next, verdicts[i].text, strlen(verdicts[i].text)) == 0) {
				*place = next;
				*color = verdicts[i].color;
				return strlen(verdicts[i].text);
			}
		next = strstr(next, ", ");
		if (next)
			next += 2;
	}
	return 0;
}

/* Prints a part of a result, after this many blanks; 0: it is the first. */
static void print_result(const struct output *output, int indent, const char *part, size_t size)
{
	enum output_color color = OUTPUT_PLAIN;
	const char *place;
	char *line;
	size_t length;

	if (asprintf(&line, "%*s%.*s", indent, "", (int)size, part) < 0)
		return;
	length = find_verdict(line + indent, &place, &color);
	print_colored(output, indent > 0, line, length ? (size_t)(place - line) : 0, length, color);
	free(line);
}

/* Orders the steps of all clients, and their results. */
static pthread_mutex_t step_lock = PTHREAD_MUTEX_INITIALIZER;

/* Prints the client's name if the last step was of another. Called with the lock held. */
static void print_peer(const struct output *output, const char *peer)
{
	static char last[ADDRESS_TEXT_SIZE];

	if (!peer || strcmp(peer, last) == 0)
		return;
	snprintf(last, sizeof(last), "%s", peer);
	output_line(output, "client %s:", peer);
}

void output_result(const struct output *output, const char *peer, const char *line)
{
	size_t columns = output_columns(output), size;
	int indent = 0;

	if (output->quiet)
		return;
	pthread_mutex_lock(&step_lock);
	if (!output->brief)
		print_peer(output, peer);
	while (columns > RESULT_INDENT && (size_t)indent + strlen(line) > columns) {
		size = breakable_size(line, columns, indent);
		if (size == 0)
			break;
		print_result(output, indent, line, size);
		line += size + 1;
		indent = RESULT_INDENT;
	}
	print_result(output, indent, line, strlen(line));
	pthread_mutex_unlock(&step_lock);
}

void output_line_warning(const struct output *output, const char *format, ...)
{
	va_list args;

	if (output->quiet)
		return;
	va_start(args, format);
	print_line(output, LOG_WARNING, format, args);
	va_end(args);
}

void output_step(const struct output *output, const char *peer, const char *format, ...)
{
	va_list args;

	if (output->quiet || output->brief)
		return;
	pthread_mutex_lock(&step_lock);
	print_peer(output, peer);
	va_start(args, format);
	print_line(output, LOG_INFO, format, args);
	va_end(args);
	pthread_mutex_unlock(&step_lock);
}

void output_detail(const struct output *output, const char *format, ...)
{
	va_list args;

	if (!output->verbose)
		return;
	va_start(args, format);
	print(STDERR_FILENO, LOG_INFO, output->program, format, args);
	va_end(args);
}

void output_error(const struct output *output, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(STDERR_FILENO, LOG_ERR, output->program, format, args);
	va_end(args);
}

void output_warning(const struct output *output, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(STDERR_FILENO, LOG_WARNING, output->program, format, args);
	va_end(args);
}

const char *output_outcome(const struct output *output, const struct failure *failure,
	const char *peer, char text[OUTPUT_FAILURE_SIZE])
{
	if (!failure_is_set(failure))
		return NULL;
	explain_failure(failure, peer, output->verbose, text, OUTPUT_FAILURE_SIZE);
	output_error(output, "%s", text);
	return text;
}

void output_failure(const struct output *output, const struct failure *failure, const char *peer)
{
	char text[OUTPUT_FAILURE_SIZE];

	explain_failure(failure, peer, output->verbose, text, sizeof(text));
	output_error(output, "%s", text);
}

/* A line as wide as the terminal might wrap, and a wrapped line could not be erased. */
unsigned int output_progress_columns(void)
{
	struct winsize window;

	if (!isatty(STDERR_FILENO))
		return 0;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) || window.ws_col < 2)
		return PROGRESS_COLUMNS;
	return window.ws_col - 1U;
}

/* Returns the bytes of the first characters of a text that may be UTF-8: at most this many. */
static size_t size_of_characters(const char *text, size_t most)
{
	size_t size = 0;

	for (; text[size]; size++)
		if (((unsigned char)text[size] & 0xc0) != 0x80 && most-- == 0)
			break;
	return size;
}

void output_progress(const struct output *output, const char *line)
{
	unsigned int columns = output_progress_columns();
	char *text;

	if (columns == 0 && !line)
		return;
	text = line ? strndup(line, columns ? size_of_characters(line, columns) : SIZE_MAX)
		    : strdup("");
	if (!text)
		return;
	make_printable(text);
	if (columns > 0) {
		print_text(STDERR_FILENO, true, text);
	} else {
		print_text(STDERR_FILENO, true,
			whole_line(STDERR_FILENO, LOG_INFO, false, output->program, text));
		free(text);
	}
}

void output_erase_line(void)
{
	if (output_progress_columns() > 0)
		print_text(STDERR_FILENO, false, strdup(ERASE));
}

void output_progress_note(const struct output *output, const char *line)
{
	const char *program = output_progress_columns() > 0 ? "" : output->program;
	char *text = strdup(line);

	if (!text)
		return;
	make_printable(text);
	print_text(STDERR_FILENO, false,
		wrap(STDERR_FILENO, whole_line(STDERR_FILENO, LOG_INFO, false, program, text)));
	free(text);
}

void output_document(const char *line)
{
	char *text = NULL;

	if (line && asprintf(&text, "%s%s\n", is_journal[STDOUT_FILENO] ? "<6>" : "", line) < 0)
		text = NULL;
	print_text(STDOUT_FILENO, false, text);
}

/*
 * Waits until all lines for this stream are written, or until no line has been written for some
 * seconds.
 */
static bool drain(int descriptor)
{
	struct timespec end;
	bool empty;
	int error = 0;

	pthread_mutex_lock(&printer.lock);
	while (oldest(descriptor) && !error) {
		clock_gettime(CLOCK_MONOTONIC, &end);
		end.tv_sec += DRAIN_TIMEOUT_SECONDS;
		error = pthread_cond_clockwait(
			&printer.moved, &printer.lock, CLOCK_MONOTONIC, &end);
	}
	empty = !oldest(descriptor);
	pthread_mutex_unlock(&printer.lock);
	return empty;
}

bool output_drain(void)
{
	bool out = drain(STDOUT_FILENO);

	return drain(STDERR_FILENO) && out;
}

bool output_is_lost(void)
{
	bool lost;

	pthread_mutex_lock(&printer.lock);
	lost = printer.lost;
	pthread_mutex_unlock(&printer.lock);
	return lost;
}

void output_set_lost(void)
{
	pthread_mutex_lock(&printer.lock);
	printer.lost = true;
	pthread_mutex_unlock(&printer.lock);
}

enum exit_status output_finish(const struct output *output, enum exit_status status)
{
	bool lost;

	output_progress(output, NULL);
	lost = !drain(STDOUT_FILENO) || output_is_lost();
	/* --help and --version print with stdio. */
	if (fflush(stdout) || ferror(stdout))
		lost = true;
	if (lost)
		output_error(
			output, "cannot write to standard output: it is closed, full or blocked");
	drain(STDERR_FILENO);
	return lost && status == STATUS_OK ? STATUS_FAILED : status;
}
