/*
 * Writes to pipes, FIFOs, sockets and terminals: complete, and stoppable while the reader pauses.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "stream/writer.h"
#include "tests/unit/unit.h"

/* Exceeds the buffer of any pipe, socket or terminal. */
#define PLENTY (8 << 20)

static char folder[] = "/tmp/test-writer.XXXXXX";
static char fifo[64];
static uint8_t data[PLENTY], received[PLENTY];

/* The state of one test, restored by its teardown. */
static int stop_fd, saved_output;

static int set_up(void **state)
{
	(void)state;
	stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	saved_output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	return stop_fd < 0 || saved_output < 0;
}

static int tear_down(void **state)
{
	(void)state;
	dup2(saved_output, STDOUT_FILENO);
	close(saved_output);
	return close(stop_fd);
}

/* Each maker creates two descriptors: data written to [1] is buffered until it is read from [0]. */
static void make_pipe(int ends[2])
{
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
}

static void make_socket(int ends[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
}

static void make_fifo(int ends[2])
{
	ends[0] = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ends[1] = open(fifo, O_WRONLY | O_CLOEXEC);
	assert_int_equal(fcntl(ends[0], F_SETFL, 0), 0);
}

static void make_terminal(int ends[2])
{
	struct termios settings;

	ends[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_int_equal(grantpt(ends[0]), 0);
	assert_int_equal(unlockpt(ends[0]), 0);
	ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_int_equal(tcgetattr(ends[1], &settings), 0);
	cfmakeraw(&settings);
	assert_int_equal(tcsetattr(ends[1], TCSANOW, &settings), 0);
}

static void (*const makers[])(int ends[2]) = {make_pipe, make_socket, make_fifo, make_terminal};

/* Redirects standard output to the write end and opens a writer for it. Returns the read end. */
static int open_kind(struct writer *writer, size_t kind)
{
	int ends[2];

	makers[kind](ends);
	assert_true(ends[0] >= 0 && dup2(ends[1], STDOUT_FILENO) >= 0);
	close(ends[1]);
	assert_int_equal(writer_open_standard_output(writer, stop_fd), 0);
	return ends[0];
}

/* Reads PLENTY bytes, or until end of file. */
static void *read_all(void *argument)
{
	int descriptor = *(int *)argument;
	size_t size = 0;

	while (size < PLENTY) {
		ssize_t got = read(descriptor, received + size, PLENTY - size);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		size += (size_t)got;
	}
	return NULL;
}

/*
 * Stops the writer when the output is full. The loop is bounded: a terminal moves data to its
 * reader's side later and then has space again, but does not wake the writer.
 */
static void *stop_when_full(void *argument)
{
	struct pollfd full = {.fd = *(int *)argument, .events = POLLOUT};

	for (int i = 0; i < 100 && poll(&full, 1, 0) == 1 && (full.revents & POLLOUT); i++)
		poll(NULL, 0, 1);
	eventfd_write(stop_fd, 1);
	return NULL;
}

static void on_alarm(int number)
{
	(void)number;
}

/* Starts, or stops, a signal every 200 microseconds that interrupts system calls. */
static void interrupt(bool on)
{
	struct sigaction action = {.sa_handler = on_alarm};
	struct itimerval every = {0};

	every.it_interval.tv_usec = every.it_value.tv_usec = on ? 200 : 0;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

static void check_delivery(const struct writer *writer, int reader)
{
	pthread_t thread;

	memset(received, 0, sizeof(received));
	assert_int_equal(pthread_create(&thread, NULL, read_all, &reader), 0);
	interrupt(true);
	assert_int_equal(writer_write(writer, data, sizeof(data)), 0);
	interrupt(false);
	pthread_join(thread, NULL);
	assert_memory_equal(received, data, sizeof(data));
}

static void delivers_everything_despite_signals(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < COUNT(makers); kind++) {
		struct writer writer;
		int reader = open_kind(&writer, kind);

		check_delivery(&writer, reader);
		assert_int_equal(writer_close(&writer), 0);
		close(reader);
	}
}

static void check_giving_up(struct writer *writer)
{
	int descriptor = writer->descriptor;
	pthread_t thread;
	eventfd_t count;

	assert_int_equal(pthread_create(&thread, NULL, stop_when_full, &descriptor), 0);
	assert_int_equal(writer_write(writer, data, sizeof(data)), -ECANCELED);
	pthread_join(thread, NULL);
	assert_int_equal(eventfd_read(stop_fd, &count), 0);
}

static void stops_a_write_without_a_reader(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < COUNT(makers); kind++) {
		struct writer writer;
		int reader = open_kind(&writer, kind);

		check_giving_up(&writer);
		assert_int_equal(writer_close(&writer), 0);
		close(reader);
	}
}

/* As on a host without /proc. */
static void works_without_a_second_open_file(void **state)
{
	struct writer writer = {.most = PIPE_BUF, .stop_fd = stop_fd};
	int ends[2];

	(void)state;
	make_pipe(ends);
	writer.descriptor = ends[1];
	check_delivery(&writer, ends[0]);
	check_giving_up(&writer);
	close(ends[0]);
	close(ends[1]);
}

/* Other processes share the open file description of standard output. */
static void leaves_standard_output_unchanged(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < COUNT(makers); kind++) {
		struct writer writer;
		int reader = open_kind(&writer, kind);

		assert_int_equal(fcntl(STDOUT_FILENO, F_GETFL) & O_NONBLOCK, 0);
		assert_int_equal(writer_close(&writer), 0);
		assert_int_equal(write(STDOUT_FILENO, "x", 1), 1);
		close(reader);
	}
}

static void reports_a_closed_reader(void **state)
{
	(void)state;
	/* A terminal reports other errors, so it is not checked. */
	for (size_t kind = 0; kind < 3; kind++) {
		struct writer writer;

		close(open_kind(&writer, kind));
		assert_int_equal(writer_write(&writer, data, sizeof(data)), -EPIPE);
		writer_close(&writer);
	}
}

static void follows_the_offset_of_a_redirection(void **state)
{
	static const int flags[] = {0, O_APPEND};
	char path[64], back[16] = "";

	(void)state;
	snprintf(path, sizeof(path), "%s/redirected", folder);
	for (size_t i = 0; i < COUNT(flags); i++) {
		int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | flags[i], 0600);
		struct writer writer;

		assert_int_equal(write(file, "shell ", 6), 6);
		dup2(file, STDOUT_FILENO);
		assert_int_equal(writer_open_standard_output(&writer, stop_fd), 0);
		assert_int_equal(writer_write(&writer, "data ", 5), 0);
		assert_int_equal(writer_close(&writer), 0);
		/* The shell's next command continues where the writer stopped. */
		assert_int_equal(write(STDOUT_FILENO, "end", 4), 4);
		assert_int_equal(pread(file, back, sizeof(back), 0), 15);
		assert_string_equal(back, "shell data end");
		close(file);
	}
	unlink(path);
}

static void refuses_a_closed_standard_output(void **state)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct writer writer;
	int closed;

	(void)state;
	close(STDOUT_FILENO);
	closed = writer_open_standard_output(&writer, stop_fd);
	/* Opens /dev/null read-only as descriptor 1, as output_start() does. */
	dup2(null, STDOUT_FILENO);
	close(null);
	assert_int_equal(closed, -EBADF);
	assert_int_equal(writer_open_standard_output(&writer, stop_fd), -EBADF);
}

/* Opens the FIFO, blocking until there is a writer, and reads everything. */
static void *open_and_read(void *argument)
{
	int reader = open(fifo, O_RDONLY | O_CLOEXEC);

	(void)argument;
	read_all(&reader);
	close(reader);
	return NULL;
}

static void waits_for_the_reader_of_a_fifo(void **state)
{
	pthread_t thread;
	struct writer writer;

	(void)state;
	memset(received, 0, sizeof(received));
	assert_int_equal(pthread_create(&thread, NULL, open_and_read, NULL), 0);
	assert_int_equal(writer_open(&writer, fifo, stop_fd), 0);
	assert_int_equal(writer_write(&writer, data, sizeof(data)), 0);
	assert_int_equal(writer_close(&writer), 0);
	pthread_join(thread, NULL);
	assert_memory_equal(received, data, sizeof(data));
}

static void does_not_wait_for_a_reader_once_stopped(void **state)
{
	struct writer writer;

	(void)state;
	assert_int_equal(eventfd_write(stop_fd, 1), 0);
	assert_int_equal(writer_open(&writer, fifo, stop_fd), -ECANCELED);
	assert_int_equal(writer.descriptor, -1);
}

/* A socket cannot be opened, so waiting would never end. */
static void does_not_wait_for_the_reader_of_a_socket(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct writer writer;

	(void)state;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);
	assert_int_equal(bind(socket_fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(writer_open(&writer, address.sun_path, stop_fd), -ENXIO);
	unlink(address.sun_path);
	close(socket_fd);
}

static void opens_devices_but_no_regular_files(void **state)
{
	char path[64];
	struct writer writer;
	int file;

	(void)state;
	assert_int_equal(writer_open(&writer, "/dev/null", stop_fd), 0);
	assert_int_equal(writer_write(&writer, data, sizeof(data)), 0);
	assert_int_equal(writer_close(&writer), 0);
	assert_int_equal(writer_open(&writer, "/dev/full", stop_fd), 0);
	assert_int_equal(writer_write(&writer, data, sizeof(data)), -ENOSPC);
	assert_int_equal(writer_close(&writer), 0);
	snprintf(path, sizeof(path), "%s/regular", folder);
	assert_int_equal(writer_open(&writer, path, stop_fd), -ENOENT);
	file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(file);
	assert_int_equal(writer_open(&writer, path, stop_fd), -EEXIST);
	unlink(path);
}

static int prepare(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i ^ i >> 8 ^ i >> 16);
	signal(SIGPIPE, SIG_IGN);
	if (!mkdtemp(folder))
		return -1;
	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	return mkfifo(fifo, 0600);
}

static int clean_up(void **state)
{
	(void)state;
	unlink(fifo);
	return rmdir(folder);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(delivers_everything_despite_signals),
		TEST(stops_a_write_without_a_reader),
		TEST(works_without_a_second_open_file),
		TEST(leaves_standard_output_unchanged),
		TEST(reports_a_closed_reader),
		TEST(follows_the_offset_of_a_redirection),
		TEST(refuses_a_closed_standard_output),
		TEST(waits_for_the_reader_of_a_fifo),
		TEST(does_not_wait_for_a_reader_once_stopped),
		TEST(does_not_wait_for_the_reader_of_a_socket),
		TEST(opens_devices_but_no_regular_files),
	};

	return cmocka_run_group_tests(tests, prepare, clean_up);
}
