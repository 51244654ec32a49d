/* The socket that answers `rdma-server status`, with a service that has no clients. */
#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "serve/status.h"
#include "tests/unit/unit.h"

static struct options options = {.max_clients = 2, .handshake_timeout = 1000};
static const struct output output = {.program = "prog", .quiet = true};
static struct service service = {.options = &options, .output = &output};
static uint16_t port;

/* Connects to this process's socket. Returns the connection. */
static int connect_here(void)
{
	struct sockaddr_un address;
	socklen_t length = status_address(&address, port, getpid());
	int connection = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_true(connection >= 0);
	assert_int_equal(connect(connection, (struct sockaddr *)&address, length), 0);
	return connection;
}

/* Receives up to the end of the stream, and closes the connection. Returns the size. */
static size_t receive(int connection, char text[STATUS_SIZE_MAX])
{
	size_t used = 0;
	ssize_t received;

	while ((received = recv(connection, text + used, STATUS_SIZE_MAX - 1 - used, 0)) > 0)
		used += (size_t)received;
	assert_int_equal(received, 0);
	text[used] = '\0';
	close(connection);
	return used;
}

static void answers_with_one_object(void **state)
{
	static char text[STATUS_SIZE_MAX];
	int listener = status_open(port), first = connect_here(), second = connect_here();
	struct json_object *answer, *value;

	(void)state;
	assert_true(listener >= 0);
	status_answer(listener, &service, port);
	assert_in_range(receive(first, text), 2, STATUS_SIZE_MAX - 1);
	answer = json_tokener_parse(text);
	assert_non_null(answer);
	assert_true(json_object_object_get_ex(answer, "port", &value));
	assert_int_equal(json_object_get_int(value), port);
	assert_true(json_object_object_get_ex(answer, "client_count", &value));
	assert_int_equal(json_object_get_int(value), 0);
	json_object_put(answer);
	assert_true(receive(second, text) > 0);
	/* No connection is waiting. */
	status_answer(listener, &service, port);
	close(listener);
}

static void an_address_is_used_once(void **state)
{
	int listener = status_open(port);

	(void)state;
	assert_true(listener >= 0);
	assert_int_equal(status_open(port), -EADDRINUSE);
	close(listener);
}

/* Neither a client that does not read nor one that has disconnected blocks the server. */
static void waits_for_nobody(void **state)
{
	int listener = status_open(port), stalled = connect_here(), gone = connect_here();

	(void)state;
	close(gone);
	status_answer(listener, &service, port);
	close(stalled);
	close(listener);
}

/* Root may ask any server, others only their own. */
static void others_get_nothing(void **state)
{
	int listener = status_open(port), status = -1;
	char text[STATUS_SIZE_MAX];
	pid_t child;

	(void)state;
	if (geteuid() != 0) {
		close(listener);
		skip();
	}
	child = fork();
	if (child == 0) {
		struct sockaddr_un address;
		socklen_t length = status_address(&address, port, getppid());
		int connection = socket(AF_UNIX, SOCK_STREAM, 0);

		if (setuid(65534) || connect(connection, (struct sockaddr *)&address, length) ||
			recv(connection, text, sizeof(text), 0) != 0)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(poll(&(struct pollfd){.fd = listener, .events = POLLIN}, 1, 10000), 1);
	status_answer(listener, &service, port);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(listener);
}

static int set_up(void **state)
{
	(void)state;
	/* Concurrent test programs have their own process ids. */
	port = 7471;
	service_init(&service);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_with_one_object),
		cmocka_unit_test(an_address_is_used_once),
		cmocka_unit_test(waits_for_nobody),
		cmocka_unit_test(others_get_nothing),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
