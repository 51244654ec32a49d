/*
 * Measurements and diagnoses on a fake device with each personality: the client's functions against
 * a session of the server (serve/control-sessions.c), which runs on its own thread.
 */
#include <linux/rtnetlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diagnose/diagnosis.h"
#include "measure/test-run.h"
#include "serve/control-sessions.h"
#include "tests/unit/common/personality.h"
#include "tests/unit/common/secret-fixture.h"
#include "tests/unit/measure/perf-test-device.h"
#include "tests/unit/verbs/locality-fixture.h"
#include "verbs/channel.h"

#define TIMEOUT_MS  60000
#define READS       255 /* as measure/threads.c asks for */
#define QUEUE_PAIRS 4
#define DEPTH       PERF_TEST_OUTSTANDING_MAX

/* The evidence of a failure that an event explains. */
#define PORT_ERROR "fake0 port 1: port error "

/* The counters of the two ends, and whether they have increased. */
static struct {
	const char *client, *server;
	_Atomic bool increased;
} counted;

/* Stands in for control/self-facts.c, which reads the counters of a real device. */
void control_counters(const struct control *control, struct counters *counters)
{
	const char *text = control->request ? counted.client : counted.server;

	assert_int_equal(counters_decode(text, strlen(text), counters), 0);
	for (size_t i = 0; !counted.increased && i < counters->count; i++)
		counters->list[i].value = 0;
}

void control_facts(const struct control *control, struct facts *facts)
{
	*facts = (struct facts){0};
	facts_add(facts, "device", "%s", control->request ? "client" : "server");
	facts_add(facts, "rdma mtu", "4096");
}

/* Both ends: the client's, a diagnosis or a measurement, and the server's. */
struct ends {
	const struct personality *personality;
	struct diagnosis diagnosis;
	struct control *client; /* in the diagnosis */
	struct control_request request;
	struct output output;
	struct wakeup_queue wakeups;
	struct exchange_settings settings;
	struct client_log log;
	struct totals totals;
	struct control_sessions sessions;
};

static deadline_t soon(void)
{
	return deadline_in(TIMEOUT_MS);
}

static void connect_client(struct ends *ends)
{
	struct cm_channel *events;
	struct rdma_conn_param parameters;
	struct failure failure = {0};

	assert_int_equal(channel_create(CHANNEL_RDMACM, &events), 0);
	ends->client->request = &ends->request;
	assert_int_equal(control_client_prepare(ends->client, events, perf_test_manager_id(events),
				 &parameters, &failure),
		0);
	assert_int_equal(rdma_connect(ends->client->id, &parameters), 0);
}

static void accept_client(struct ends *ends)
{
	static const struct control_server server = {.mode = "any", .most = 1};
	struct rdma_cm_event request = perf_test_manager_request(ends->client->id);
	struct hello theirs;

	assert_int_equal(hello_decode(&theirs, request.param.conn.private_data, HELLO_SIZE), 0);
	assert_int_equal(
		control_sessions_take(&ends->sessions, &ends->settings, &server, &request, &theirs),
		REFUSAL_NONE);
}

/* With a secret, which belongs to the caller, neither end can access memory before the proof. */
static struct ends *connect_with(const struct personality *personality, enum hello_kind kind,
	uint32_t queue_pairs, struct secret *secret)
{
	struct ends *ends = calloc(1, sizeof(*ends));

	assert_non_null(ends);
	perf_test_device_start(personality);
	ends->personality = personality;
	ends->client = &ends->diagnosis.control;
	ends->output.program = "rdma-server";
	ends->output.quiet = true;
	ends->request = (struct control_request){
		.kind = kind,
		.timeout = TIMEOUT_MS,
		.queue_pairs = queue_pairs,
		.depth = kind == HELLO_DIAGNOSIS ? TEST_DIAGNOSIS_DEPTH : DEPTH,
		.reads = READS,
		.receives = kind == HELLO_MEASUREMENT,
		.secret = secret,
		.stop_fd = -1,
	};
	assert_int_equal(wakeup_queue_open(&ends->wakeups), 0);
	ends->settings = (struct exchange_settings){
		.output = &ends->output,
		.wakeups = &ends->wakeups,
		.secret = secret,
		.timeout = TIMEOUT_MS,
		.handshake_timeout = TIMEOUT_MS,
	};
	client_log_init(&ends->log, &ends->output);
	control_sessions_init(&ends->sessions, 0, &ends->log, &ends->totals);
	connect_client(ends);
	accept_client(ends);
	return ends;
}

/* Waits for the server's acceptance. Afterwards, the server may lack memory. */
static int admit(struct ends *ends, bool exhaust)
{
	struct event_copy reply = {.event = perf_test_manager_reply(ends->client->id)};

	assert_true(!ends->settings.secret || perf_test_device.reachable == 0);
	perf_test_device.no_memory = exhaust;
	return control_client_admission(ends->client, &reply, soon());
}

static struct ends *start_with(const struct personality *personality, enum hello_kind kind,
	uint32_t queue_pairs, struct secret *secret)
{
	struct ends *ends = connect_with(personality, kind, queue_pairs, secret);

	assert_int_equal(admit(ends, false), 0);
	assert_int_equal(control_client_region(ends->client, soon()), 0);
	return ends;
}

static struct ends *start(
	const struct personality *personality, enum hello_kind kind, uint32_t queue_pairs)
{
	return start_with(personality, kind, queue_pairs, NULL);
}

/* Neither end resets the connection. */
static void finish(struct ends *ends)
{
	struct pollfd ended = {.fd = ends->wakeups.eventfd, .events = POLLIN};
	struct wakeup *wakeup;
	unsigned int events;

	control_close(ends->client);
	assert_int_equal(poll(&ended, 1, -1), 1);
	wakeup = wakeup_queue_take(&ends->wakeups, &events);
	assert_true(control_sessions_take_event(&ends->sessions, wakeup, events));
	assert_true(perf_test_device.reminders > 0 || !ends->personality->wakes_late);
	assert_int_equal(perf_test_device.resets, 0);
	assert_int_equal(perf_test_device.queue_pair_count, 0);
	assert_int_equal(perf_test_device.resources, 0);
	wakeup_queue_close(&ends->wakeups);
	free(ends);
}

/* Nor does it wait for anything that does not happen. */
static void stop(struct ends *ends)
{
	finish(ends);
	assert_int_equal(perf_test_device.timeouts, 0);
}

static void run_both(struct perf_test *test, const struct test_parameters *parameters)
{
	static struct histogram histogram;
	struct test_result ours, theirs;
	struct test_shared shared;

	memset(&histogram, 0, sizeof(histogram));
	assert_int_equal(test_run_begin_both(test, parameters, TIMEOUT_MS), 0);
	test_shared_init(&shared, test_now());
	assert_int_equal(test_run(test, &shared, &ours, &histogram), 0);
	assert_int_equal(test_run_end(test, &ours, &theirs, soon()), 0);
	assert_int_equal(ours.operations, parameters->operations * parameters->queue_pairs);
	assert_int_equal(ours.wrong, 0);
	assert_int_equal(theirs.wrong, 0);
}

/*
 * Measures WRITEs and READs on several queue pairs, or one if that is all that iWARP has; bandwidth
 * also in both directions at once.
 */
static void measure(const struct personality *personality, enum test_kind kind, bool verify)
{
	uint32_t count = personality->transport == IBV_TRANSPORT_IB ? QUEUE_PAIRS : 1;
	struct ends *ends = start(personality, HELLO_MEASUREMENT, count);
	struct perf_test *test = &ends->diagnosis.test;
	struct test_parameters parameters = {
		.kind = kind,
		.wait = TEST_SPIN,
		.direction = TEST_CLIENT,
		.verify = verify,
		.size = 1000,
		.operation = &test_operations[TEST_WRITE],
		.queue_pairs = kind == TEST_LATENCY ? 1 : count,
		.depth = kind == TEST_LATENCY ? 1 : DEPTH,
		.slots = verify ? DEPTH : 1,
		.operations = 60,
		.seed = 42,
	};

	perf_test_init(test, ends->client, DEPTH, false);
	if (test_run_connect(test, count, soon()))
		fail_msg("%s: %s", ends->client->failure.call, ends->client->failure.evidence);
	run_both(test, &parameters);
	parameters.operation = &test_operations[TEST_READ];
	run_both(test, &parameters);
	if (kind == TEST_BANDWIDTH) {
		parameters.direction = TEST_BOTH;
		run_both(test, &parameters);
		parameters.operation = &test_operations[TEST_WRITE];
		run_both(test, &parameters);
		parameters.direction = TEST_CLIENT;
	}
	for (unsigned int i = TEST_FETCH_ADD; i < TEST_OPERATIONS; i++) {
		const struct test_operation *operation = &test_operations[i];

		if ((operation->atomic && !device_has_atomics(&ends->client->device)) ||
			(operation->immediate && !ends->client->device.traits->immediate))
			continue;
		parameters.operation = operation;
		parameters.size = operation->atomic ? TEST_ATOMIC_SIZE : 1000;
		parameters.slots = operation->receives || !verify ? 1 : DEPTH;
		run_both(test, &parameters);
	}
	stop(ends);
}

static void bandwidth(const struct personality *personality)
{
	measure(personality, TEST_BANDWIDTH, true);
}

static void latency(const struct personality *personality)
{
	measure(personality, TEST_LATENCY, false);
}

/*
 * With a secret, no memory can be accessed before the proof: neither `offered` nor, on iWARP,
 * `private`, whose key READ requests contain. Afterwards, READs work as without a secret.
 */
static void secret(const struct personality *personality)
{
	bool is_iwarp = personality->transport == IBV_TRANSPORT_IWARP;
	struct secret *shared = make_secret('a');
	struct ends *ends = start_with(personality, HELLO_MEASUREMENT, 1, shared);
	const struct test_parameters parameters = {
		.operation = &test_operations[TEST_READ],
		.verify = true,
		.size = 1000,
		.queue_pairs = 1,
		.depth = DEPTH,
		.slots = DEPTH,
		.operations = 60,
		.seed = 42,
	};

	assert_int_equal(perf_test_device.reachable, is_iwarp ? 4 : 2);
	perf_test_init(&ends->diagnosis.test, ends->client, DEPTH, false);
	assert_int_equal(test_run_connect(&ends->diagnosis.test, 1, soon()), 0);
	run_both(&ends->diagnosis.test, &parameters);
	stop(ends);
	secret_free(shared);
}

static int take_receive(struct perf_test *test, const struct completion *completion)
{
	struct notice notice;

	return completion->kind == ENDPOINT_RECEIVE
		       ? perf_test_take_receive(test, completion, &notice)
		       : 0;
}

/*
 * In each test in which only the client is busy, it sends one keepalive after another once the
 * previous one has been answered. The answer to the last one precedes the reply to COMMAND_END.
 */
static void keepalives(const struct personality *personality)
{
	struct ends *ends = start(personality, HELLO_MEASUREMENT, 1);
	struct perf_test *test = &ends->diagnosis.test;
	struct test_parameters parameters = {.operation = &test_operations[TEST_READ],
		.size = 1,
		.queue_pairs = 1,
		.depth = 1,
		.slots = 1,
		.operations = 1};
	const struct fixture_qp *qp = (const struct fixture_qp *)ends->client->id->qp;
	struct test_result theirs, none = {0};

	perf_test_init(test, ends->client, DEPTH, false);
	assert_int_equal(test_run_connect(test, 1, soon()), 0);
	for (unsigned int kind = 0; kind < 4; kind++) {
		uint64_t now = PERF_TEST_KEEPALIVE_NS;
		unsigned int posted;

		parameters.kind = kind & 1 ? TEST_LATENCY : TEST_BANDWIDTH;
		parameters.wait = kind & 2 ? TEST_SPIN : TEST_EVENT;
		assert_int_equal(test_run_begin_both(test, &parameters, TIMEOUT_MS), 0);
		if (parameters.kind == TEST_BANDWIDTH)
			assert_int_equal(perf_test_send_empty(test), 0);
		test->keepalive_sent = 0;
		test->next_check = 0;
		for (posted = qp->posted + 1; now < 20 * PERF_TEST_KEEPALIVE_NS; posted++) {
			for (deadline_t end = soon(); ends->client->unanswered;) {
				assert_true(deadline_left(end) > 0);
				assert_true(perf_test_take_completed(test, take_receive) >= 0);
			}
			for (unsigned int i = 0; i < 10; i++, now += PERF_TEST_CHECK_NS)
				assert_int_equal(perf_test_check_due(test, now), 1);
			assert_int_equal(qp->posted, posted);
		}
		assert_true(ends->client->unanswered);
		assert_int_equal(test_run_end(test, &none, &theirs, soon()), 0);
		assert_false(ends->client->unanswered);
	}
	stop(ends);
}

static void expect(struct ends *ends, enum check check, enum check_state state)
{
	if (ends->diagnosis.list.checks[check].state != state)
		fail_msg("%s", ends->diagnosis.list.checks[check].failure.evidence);
}

static void expect_ok(struct ends *ends, enum check check)
{
	expect(ends, check, CHECK_OK);
}

/* Starts a diagnosis whose counters increase by these values. */
static struct ends *start_diagnosis(
	const struct personality *personality, const char *client, const char *server)
{
	static const struct inventory_device device = {.type = "CA"};
	struct ends *ends = start(personality, HELLO_DIAGNOSIS, 1);

	ends->diagnosis.device = &device;
	counted.client = client;
	counted.server = server;
	counted.increased = false;
	ends->diagnosis.end = soon();
	/* Packets can be lost: this is not a connection from a port to itself. */
	ends->diagnosis.route.route.type = RTN_UNICAST;
	assert_int_equal(check_ends(&ends->diagnosis), 0);
	expect_ok(ends, CHECK_ENDS);
	return ends;
}

static void diagnose_data(const struct personality *personality)
{
	struct ends *ends = start_diagnosis(personality, personality->healthy, "");

	assert_int_equal(check_message(&ends->diagnosis), 0);
	expect_ok(ends, CHECK_MESSAGE);
	check_data(&ends->diagnosis);
	expect_ok(ends, CHECK_DATA);
	stop(ends);
}

/*
 * The counters of a healthy path are no loss; those of a path that loses packets are. Without
 * counters, there is nothing to check.
 */
static void diagnose_counters(const struct personality *personality)
{
	struct ends *ends =
		start_diagnosis(personality, personality->healthy, personality->healthy);
	const struct failure *failure;

	counted.increased = true;
	assert_int_equal(check_counters(&ends->diagnosis), 0);
	expect(ends, CHECK_COUNTERS, *personality->healthy ? CHECK_OK : CHECK_SKIPPED);
	stop(ends);
	if (!*personality->receiver)
		return;
	ends = start_diagnosis(personality, personality->receiver, personality->sender);
	counted.increased = true;
	assert_int_equal(check_counters(&ends->diagnosis), 0);
	failure = &ends->diagnosis.list.checks[CHECK_COUNTERS].failure;
	assert_int_equal(ends->diagnosis.list.checks[CHECK_COUNTERS].state, CHECK_FAILED);
	assert_int_equal(failure->kind, FAILURE_IMPAIRED);
	assert_true(failure->code == IMPAIRED_LOSS || failure->code == IMPAIRED_LOSS_FROM);
	stop(ends);
}

/* Raises an event, and breaks the queue pair of the client or of the server. */
static void fail_port(const struct ends *ends, bool server)
{
	struct fixture_qp *qp = (struct fixture_qp *)ends->client->id->qp;

	perf_test_device_raise(IBV_EVENT_PORT_ERR);
	pthread_mutex_lock(&perf_test_device.lock);
	perf_test_device_break(server ? qp->peer : qp);
	pthread_mutex_unlock(&perf_test_device.lock);
}

/* A failure of the client is explained by an event of its port. */
static void expect_explained(struct ends *ends, enum check check)
{
	const struct failure *failure = &ends->diagnosis.list.checks[check].failure;

	expect(ends, check, CHECK_FAILED);
	if (!strstr(failure->evidence, PORT_ERROR))
		fail_msg("%s", failure->evidence);
}

static void diagnose_events(const struct personality *personality)
{
	struct ends *ends = start_diagnosis(personality, "", "");

	check_data(&ends->diagnosis);
	fail_port(ends, false);
	assert_int_equal(check_bandwidth(&ends->diagnosis), -1);
	expect_explained(ends, CHECK_BANDWIDTH);
	assert_int_equal(check_counters(&ends->diagnosis), -1);
	expect_explained(ends, CHECK_COUNTERS);
	stop(ends);
}

/* So is a failure of the server, which is printed on standard error. */
static void session_events(const struct personality *personality)
{
	struct ends *ends = start(personality, HELLO_DIAGNOSIS, 1);
	struct pollfd ended = {.fd = ends->wakeups.eventfd, .events = POLLIN};
	int before = dup(STDERR_FILENO);
	FILE *printed = tmpfile();
	char text[2 * OUTPUT_FAILURE_SIZE];
	size_t length;

	assert_non_null(printed);
	dup2(fileno(printed), STDERR_FILENO);
	fail_port(ends, true);
	assert_int_equal(poll(&ended, 1, -1), 1);
	output_drain();
	dup2(before, STDERR_FILENO);
	close(before);
	rewind(printed);
	length = fread(text, 1, sizeof(text) - 1, printed);
	text[length] = '\0';
	fclose(printed);
	if (!strstr(text, PORT_ERROR))
		fail_msg("%s", text);
	stop(ends);
}

/* The server learns of a client that leaves while it waits for a command. */
static void close_session(const struct personality *personality)
{
	stop(start(personality, HELLO_DIAGNOSIS, 1));
}

/* The server's thread and the memory of the regions are on the NUMA node of the device. */
static void bind_session(const struct personality *personality)
{
	struct ends *ends;
	const struct region *regions[3];

	locality_fixture_start();
	ends = start(personality, HELLO_DIAGNOSIS, 1);
	regions[0] = &ends->client->messages;
	regions[1] = &ends->client->offered;
	regions[2] = &ends->client->private;
	assert_true(locality_fixture_binds("control"));
	for (size_t i = 0; i < COUNT(regions); i++)
		assert_true(locality_fixture_places(regions[i]->start, regions[i]->mapped));
	stop(ends);
	locality_fixture_stop();
}

static void expect_failure(const struct ends *ends, enum failure_kind kind, int code)
{
	if (ends->client->failure.kind != kind || ends->client->failure.code != code)
		fail_msg("%s: %s", ends->client->failure.call, ends->client->failure.evidence);
}

/*
 * A server that is stopped in the middle of a test says so. It need not be fast enough for the
 * client to disconnect while it waits.
 */
static void stop_server(const struct personality *personality)
{
	struct test_parameters parameters = {.direction = TEST_CLIENT,
		.size = 1000,
		.queue_pairs = 1,
		.depth = 1,
		.slots = 1,
		.milliseconds = TIMEOUT_MS};

	for (unsigned int i = 0; i < 8; i++) {
		struct ends *ends = start(personality, HELLO_MEASUREMENT, 1);
		struct perf_test *test = &ends->diagnosis.test;
		static struct histogram histogram;
		struct test_shared shared;
		struct test_result ours;

		perf_test_init(test, ends->client, DEPTH, false);
		assert_int_equal(test_run_connect(test, 1, soon()), 0);
		parameters.kind = i & 1 ? TEST_LATENCY : TEST_BANDWIDTH;
		parameters.operation = &test_operations[i >> 1 & 1];
		/* iWARP has no immediate data, which waking for a WRITE takes. */
		parameters.wait = i & 4 && personality->transport == IBV_TRANSPORT_IB ? TEST_EVENT
										      : TEST_SPIN;
		assert_int_equal(test_run_begin_both(test, &parameters, TIMEOUT_MS), 0);
		control_sessions_stop(&ends->sessions);
		test_shared_init(&shared, test_now());
		histogram_init(&histogram);
		assert_int_equal(test_run(test, &shared, &ours, &histogram), -1);
		expect_failure(ends, FAILURE_ABORTED, 0);
		assert_string_equal(ends->client->failure.evidence,
			"the peer aborted: interrupted by a signal");
		finish(ends);
	}
}

/* So does one that is stopped between two commands: the client learns it with a later one. */
static void stop_idle_server(const struct personality *personality)
{
	struct ends *ends = start(personality, HELLO_DIAGNOSIS, 1);
	struct facts facts;

	control_sessions_stop(&ends->sessions);
	while (control_client_facts(ends->client, &facts, soon()) == 0)
		;
	expect_failure(ends, FAILURE_ABORTED, 0);
	finish(ends);
}

/* A server without memory or queue pairs says so, as it does in a refusal. */
static void exhausted(const struct personality *personality)
{
	bool is_iwarp = personality->transport == IBV_TRANSPORT_IWARP;
	struct secret *shared = make_secret('a');
	struct ends *ends = connect_with(personality, HELLO_MEASUREMENT, 1, shared);

	assert_int_equal(admit(ends, true), -1);
	expect_failure(ends, FAILURE_REFUSED, REFUSAL_RESOURCES);
	finish(ends);
	secret_free(shared);

	/* On iWARP, nothing is created later. */
	if (is_iwarp)
		return;
	ends = start(personality, HELLO_MEASUREMENT, QUEUE_PAIRS);
	perf_test_device.queue_pair_limit = 2 + QUEUE_PAIRS - 1;
	perf_test_init(&ends->diagnosis.test, ends->client, DEPTH, false);
	assert_int_equal(test_run_connect(&ends->diagnosis.test, QUEUE_PAIRS, soon()), -1);
	expect_failure(ends, FAILURE_REFUSED, REFUSAL_RESOURCES);
	finish(ends);
}

int main(void)
{
	static const struct scenario scenarios[] = {
		{"bandwidth", bandwidth},
		{"latency", latency},
		{"diagnose data", diagnose_data},
		{"diagnose counters", diagnose_counters},
		{"diagnose events", diagnose_events},
		{"keepalives", keepalives},
		{"secret", secret},
		{"session close", close_session},
		{"session locality", bind_session},
		{"session events", session_events},
		{"server stopped in a test", stop_server},
		{"server stopped between commands", stop_idle_server},
		{"server exhausted", exhausted},
	};

	return personality_run("measure and diagnose", scenarios, COUNT(scenarios));
}
