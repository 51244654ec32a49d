/* `rdma-server status` with servers that answer, do not answer, or answer nonsense. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "serve/status-query.h"
#include "serve/status.h"
#include "tests/unit/base/output-fixture.h"
#include "tests/unit/unit.h"

#define MANY 900

/*
 * Of this process, because servers of the same port are asked together, also those of this test
 * in another tree.
 */
static uint16_t port;

/* What the fake server sends to each client; NULL: it does not answer. */
static const char *says;
static bool json;
static int listener;

/* Answers everyone, until the process ends. */
static void *answer(void *unused)
{
	(void)unused;
	for (;;) {
		int connection = accept(listener, NULL, NULL);

		if (!says)
			continue;
		/* Who is not believed may find the connection closed. */
		if (send(connection, says, strlen(says), MSG_NOSIGNAL) < 0 && errno != EPIPE)
			return NULL;
		close(connection);
	}
}

static int ask(void)
{
	const struct options options = {.port = port, .json = json};
	struct output output = {.program = "prog", .quiet = json};
	pthread_t thread;

	if (listener <= 0)
		listener = status_open(port);
	if (listener < 0 || fcntl(listener, F_SETFL, 0) ||
		pthread_create(&thread, NULL, answer, NULL))
		return 99;
	return (int)output_finish(&output, status_query(&options, &output));
}

/* Also closes its socket. */
static int ask_without_a_server(void)
{
	const struct options options = {.port = port, .json = json};
	const struct output output = {.program = "prog", .quiet = json};

	return (int)output_finish(&output, status_query(&options, &output));
}

/* Runs ask() with a server that says this, and checks what was printed. */
static void check(const char *what, int status, const char *out, const char *error)
{
	says = what;
	run(ask, NULL);
	assert_string_equal(printed.out, out);
	if (*error)
		assert_non_null(strstr(printed.error, error));
	else
		assert_string_equal(printed.error, "");
	assert_int_equal(printed.status, status);
}

static void prints_what_a_server_answers(void **state)
{
	(void)state;
	json = false;
	check("{\"version\":\"0.3.0\",\"pid\":42,\"port\":51,\"mode\":\"any\",\"stopping\":false,"
	      "\"seconds\":3.5,\"memory_used\":29900000,\"memory\":33300000,\"client_count\":1203,"
	      "\"clients\":[{\"peer\":\"192.0.2.7:40312\",\"kind\":\"exchange\",\"state\":"
	      "\"exchanging\",\"mode\":\"write\",\"device\":\"mlx5_0\",\"moved\":1200000000,"
	      "\"total\":4100000000},{\"peer\":\"192.0.2.8:1\",\"kind\":\"exchange\",\"state\":"
	      "\"connecting\",\"mode\":\"read\",\"device\":\"mlx5_0\",\"moved\":0,\"total\":null},"
	      "{\"peer\":\"192.0.2.9:51234\",\"kind\":\"measurement\",\"state\":null,\"mode\":null,"
	      "\"device\":\"mlx5_0\",\"test\":null,\"size\":null,\"moved\":0,\"total\":null},"
	      "{\"peer\":\"192.0.2.9:51235\",\"kind\":\"measurement\",\"state\":null,\"mode\":"
	      "\"read\",\"device\":\"mlx5_0\",\"test\":\"bandwidth\",\"size\":65536,\"moved\":"
	      "1200000000,\"total\":null},{\"peer\":\"192.0.2.9:51236\",\"kind\":\"measurement\","
	      "\"state\":null,\"mode\":\"write\",\"device\":\"mlx5_0\",\"test\":\"latency\","
	      "\"size\":8,\"moved\":0,\"total\":null}],\"totals\":{\"text\":"
	      "\"served 2 exchanges in 3.5 s\"}}",
		STATUS_OK,
		"rdma-server 0.3.0, port 51, pid 42, mode any, up 3.5 s: 1,203 clients.\n"
		"  192.0.2.7:40312        write mlx5_0     exchanging 1.20 GB of 4.10 GB\n"
		"  192.0.2.8:1            read  mlx5_0     connecting 0 B\n"
		"  192.0.2.9:51234        measurement\n"
		"  192.0.2.9:51235        read  mlx5_0     bandwidth  64K, 1.20 GB so far\n"
		"  192.0.2.9:51236        write mlx5_0     latency    8\n"
		"  and 1,198 more\n"
		"served 2 exchanges in 3.5 s.\n"
		"memory for connections: 29.9 MB of 33.3 MB.\n",
		"");
}

/* More sockets than there are likely to be, of servers that have ended. */
static int ask_among_many(void)
{
	for (long pid = 1; pid <= MANY; pid++) {
		struct sockaddr_un address;
		socklen_t length = status_address(&address, port, pid);
		int place = socket(AF_UNIX, SOCK_STREAM, 0);

		if (place < 0 || bind(place, (struct sockaddr *)&address, length))
			return 98;
	}
	return ask();
}

static void finds_one_of_many_servers(void **state)
{
	(void)state;
	json = false;
	says = "{}";
	run(ask_among_many, NULL);
	assert_string_equal(printed.out,
		"rdma-server , port 0, pid 0, mode , up 0 ms: 0 clients.\n.\n"
		"memory for connections: 0 B.\n");
	assert_string_equal(printed.error, "");
	assert_int_equal(printed.status, STATUS_OK);
}

/* Any process can take such an address. */
static void trusts_no_answer(void **state)
{
	(void)state;
	json = false;
	check("{}", STATUS_OK,
		"rdma-server , port 0, pid 0, mode , up 0 ms: 0 clients.\n.\n"
		"memory for connections: 0 B.\n",
		"");
	check("{\"version\":\"\\u001b[31m\",\"clients\":[3,{\"mode\":[],\"peer\":{}}],"
	      "\"totals\":7,\"seconds\":1e300,\"client_count\":-1}",
		STATUS_OK,
		"rdma-server \\x1b[31m, port 0, pid 0, mode , up 0 ms: 0 clients.\n"
		"                         \n"
		"                                                     0 B\n"
		".\nmemory for connections: 0 B.\n",
		"");
	check("[]", STATUS_FAILED, "", "sent no valid answer");
	check("nonsense", STATUS_FAILED, "", "sent no valid answer");
	check("", STATUS_FAILED, "", "answers only root and the user that runs it");
}

static int ask_as_another_user(void)
{
	listener = status_open(port);
	if (listener < 0 || seteuid(65534))
		return 98;
	return ask();
}

/* Only root reads what a process of another user says. */
static void other_users_are_not_believed(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	json = false;
	says = "{}";
	run(ask_as_another_user, NULL);
	assert_string_equal(printed.out, "");
	assert_non_null(strstr(printed.error, "answers only root and the user that runs it"));
	assert_int_equal(printed.status, STATUS_FAILED);
}

static void does_not_wait_for_ever(void **state)
{
	(void)state;
	json = false;
	check(NULL, STATUS_FAILED, "", "does not answer: it is stopped or very busy");
}

static void says_that_there_is_no_server(void **state)
{
	char wanted[128];

	(void)state;
	snprintf(wanted, sizeof(wanted),
		"prog: no rdma-server is running on port %u in this network namespace\n", port);
	json = false;
	run(ask_without_a_server, NULL);
	assert_string_equal(printed.error, wanted);
	assert_int_equal(printed.status, STATUS_CONNECT);
	json = true;
	run(ask_without_a_server, NULL);
	assert_non_null(strstr(printed.out, "\"verdict\":\"absent\""));
	assert_non_null(strstr(printed.out, "\"servers\":[]"));
	assert_int_equal(printed.status, STATUS_CONNECT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_what_a_server_answers),
		cmocka_unit_test(finds_one_of_many_servers),
		cmocka_unit_test(trusts_no_answer),
		cmocka_unit_test(other_users_are_not_believed),
		cmocka_unit_test(does_not_wait_for_ever),
		cmocka_unit_test(says_that_there_is_no_server),
	};

	port = (uint16_t)(1 + getpid() % UINT16_MAX);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
