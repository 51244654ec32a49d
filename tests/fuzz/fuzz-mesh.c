/*
 * Two agents of a mesh send anything to its coordinator: the first before its proof, the second
 * after a valid one, separated by a zero byte. The coordinator survives, reports each of its tests
 * exactly once, and lets no host, or with --together no device, take part in two at a time. Nonces
 * are constant and poll(2) does not wait, which the Makefile arranges.
 */
#include <arpa/inet.h>
#include <json-c/json.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mesh/coordinator.h"
#include "mesh/rails.h"
#include "tests/fuzz/fuzz.h"

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
int __real_poll(struct pollfd *polled, nfds_t count, int milliseconds);
int __wrap_poll(struct pollfd *polled, nfds_t count, int milliseconds);
void __wrap_secret_nonce(uint8_t nonce[SECRET_NONCE_SIZE]);

int __wrap_poll(struct pollfd *polled, nfds_t count, int milliseconds)
{
	(void)milliseconds;
	return __real_poll(polled, count, 0);
}

void __wrap_secret_nonce(uint8_t nonce[SECRET_NONCE_SIZE])
{
	memset(nonce, 7, SECRET_NONCE_SIZE);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* What happened to the tests. */
struct seen {
	unsigned int finished;
	const struct coordinator *coordinator;
};

static void take_outcome(
	void *user, const struct mesh_test *test, const struct mesh_outcome *outcome)
{
	struct seen *seen = user;

	seen->finished++;
	fuzz_check(test->from < 3 && test->to < 3);
	fuzz_check(test->rail < seen->coordinator->rail_count);
	fuzz_check(!outcome->good || outcome->measured);
	fuzz_check(outcome->end_ms >= outcome->start_ms);
	fuzz_check(memchr(outcome->message, '\0', sizeof(outcome->message)));
	fuzz_check(fuzz_is_printable(outcome->message));
	fuzz_check(!outcome->good ||
		   (test->latency ? outcome->median_ns : outcome->bytes_per_second) > 0);
}

static void do_nothing(void *user)
{
	const struct seen *seen = user;

	for (unsigned int i = 0; i < seen->coordinator->list->count; i++)
		fuzz_check(!seen->coordinator->hosts[i].peer ||
			   seen->coordinator->hosts[i].state != MESH_HOST_ABSENT);
}

/* Connects to the coordinator and sends the bytes. Returns the socket. */
static int say(uint16_t port, const char *first, const uint8_t *bytes, size_t size)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int created = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	fuzz_check(connect(created, (struct sockaddr *)&address, sizeof(address)) == 0);
	fuzz_check(send(created, first, strlen(first), MSG_NOSIGNAL) == (ssize_t)strlen(first));
	if (size > 0)
		fuzz_check(send(created, bytes, size, MSG_NOSIGNAL) == (ssize_t)size);
	shutdown(created, SHUT_WR);
	return created;
}

/* The greeting and the proof of host h2, as an agent would send them. */
static void write_proof(const struct secret *token, char text[512])
{
	struct token_greeting greeting = {.name = "h2"};
	char proof[TOKEN_PROOF_TEXT];

	token_greet(&greeting, TOKEN_AGENT);
	token_greet(&greeting, TOKEN_COORDINATOR);
	token_prove(token, &greeting, TOKEN_AGENT, proof);
	snprintf(text, 512, "{\"mesh\":1,\"name\":\"h2\",\"nonce\":\"%s\"}\n{\"proof\":\"%s\"}\n",
		greeting.nonces[TOKEN_AGENT], proof);
}

static struct secret *make_token(void)
{
	char path[SECRET_PATH_SIZE], why[SECRET_WHY_SIZE];
	int file = secret_keep("0123456789abcdef", path);
	struct secret *token;

	fuzz_check(file >= 0 && secret_load(&token, path, why) == 0);
	close(file);
	return token;
}

static void check_line(void *context, const char *line)
{
	(void)context;
	fuzz_check(fuzz_is_printable(line));
}

/* Chooses the rails by what the agents said, and runs some tests on the first and the last one. */
static void run_tests(struct coordinator *coordinator, const struct seen *seen, struct rails *rails)
{
	struct mesh_test tests[] = {
		{1, 2, true, 0}, {2, 1, false, 0}, {0, 1, false, 0}, {1, 0, false, 0}};

	fuzz_check(rails_choose(rails, coordinator) == 0);
	fuzz_check(coordinator_set_rails(coordinator, rails->list, rails->count) == 0);
	rails_print_left_out(rails, coordinator, check_line, NULL);
	tests[1].rail = tests[3].rail = rails->count - 1;
	coordinator_run(coordinator, tests, FUZZ_COUNT(tests), 0);
	fuzz_check(seen->finished == FUZZ_COUNT(tests) && coordinator->running_count == 0);
	for (unsigned int i = 0; i < coordinator->list->count; i++)
		fuzz_check(coordinator->hosts[i].busy == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct options options = {.timeout = 1,
		.bind = "127.0.0.1",
		.mesh = {.start_timeout = 1, .together = size & 1, .cross_rail = size & 2},
		.measure = {.duration = 1, .smallest = 1, .largest = 1}};
	const uint8_t *zero = size ? memchr(data, '\0', size) : NULL;
	size_t first = zero ? (size_t)(zero - data) : size;
	struct host_list list = {0};
	struct output output = {.program = "fuzz", .quiet = true};
	char why[MESH_REASON_SIZE], proved[512];
	struct coordinator coordinator = {.options = &options, .output = &output, .list = &list};
	struct seen seen = {0, &coordinator};
	struct rails rails;
	int agents[2];

	if (size > 60000)
		return 0;
	fuzz_check(host_list_expand(&list, "h[1-3]", why) == 0);
	coordinator.token = make_token();
	coordinator.listener = (struct mesh_listener){take_outcome, do_nothing, &seen};
	write_proof(coordinator.token, proved);
	fuzz_check(coordinator_open(&coordinator, why) == 0);
	agents[0] = say(coordinator.port, "", data, first);
	agents[1] =
		say(coordinator.port, proved, zero ? zero + 1 : NULL, zero ? size - first - 1 : 0);
	coordinator_gather(&coordinator);
	run_tests(&coordinator, &seen, &rails);
	coordinator_close(&coordinator);
	rails_free(&rails);
	close(agents[0]);
	close(agents[1]);
	host_list_free(&list);
	return 0;
}
