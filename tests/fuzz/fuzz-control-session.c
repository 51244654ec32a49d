/*
 * The server's half of a diagnosis or a measurement (serve/control-sessions.c), with a client that
 * sends arbitrary commands. Replaces the connection (control/control.h) with stubs that read
 * commands from the input and check how they are executed, and the tests (measure/perf-test.h) with
 * stubs that check their parameters. The linker makes the worker thread run at once (ld(1),
 * --wrap).
 */
#include <errno.h>

#include "base/worker.h"
#include "control/control.h"
#include "control/operations.h"
#include "measure/test-run.h"
#include "protocol/little-endian.h"
#include "serve/control-sessions.h"
#include "tests/fuzz/fuzz.h"
#include "verbs/channel.h"

/* The longest test in a diagnosis. */
#define MS_MAX         5000
#define OPERATIONS_MAX 16

/* Maximum number of commands per input. */
#define COMMANDS_MAX 16

/* READs that the client offers and asks for, as an event reports them. */
#define INITIATOR_DEPTH     3
#define RESPONDER_RESOURCES 5

static struct fuzz_input input;
static struct command last; /* the last command */
static char last_text[COMMAND_TEXT_MAX];
static bool unanswered, sensible;         /* `last` has no reply yet; `last` must be accepted */
static bool starved, broken;              /* out of memory; the next operation must fail */
static uint32_t queue_pairs, depth;       /* requested queue limits */
static bool gone;                         /* the connection has failed */
static bool operations_begun;             /* and not ended */
static bool has_queue_pairs, due;         /* created; a test follows the reply */
static bool receives, unreliable;         /* asked for; the queue pairs are not the first */
static struct test_parameters parameters; /* of the current test */
static struct test_result result;         /* of the last test */
static bool measures;                     /* a measurement, not a diagnosis */
static struct device_traits traits;       /* of the device; with additional queue pairs or not */
static bool with_secret, right, opened;   /* authentication; valid proof; our memory is offered */
static uint8_t offered[COMMAND_REGION_MAX], private[COMMAND_REGION_MAX];
static struct ibv_mr offered_mr = {.addr = offered, .length = sizeof(offered), .rkey = 7};

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
int __wrap_worker_start(struct worker *worker, const char *name, void (*run)(void *argument),
	void *argument, const struct worker_listener *listener);

int __wrap_worker_start(struct worker *worker, const char *name, void (*run)(void *argument),
	void *argument, const struct worker_listener *listener)
{
	(void)name;
	worker->listener = listener;
	run(argument);
	listener->ended(listener->about);
	return 0;
}

void __wrap_secret_nonce(uint8_t nonce[SECRET_NONCE_SIZE]);

/* Deterministic, so that runs are reproducible. */
void __wrap_secret_nonce(uint8_t nonce[SECRET_NONCE_SIZE])
{
	memset(nonce, 'n', SECRET_NONCE_SIZE);
}

const char *__wrap_client_log_failure(struct client_log *log, const struct failure *failure,
	const char *peer, char text[OUTPUT_FAILURE_SIZE], deadline_t now);

/* The only possible failures are a client without the secret, and a lack of memory. */
/* cppcheck-suppress constParameter ; serve/client-log.h defines the signature */
const char *__wrap_client_log_failure(struct client_log *log, const struct failure *failure,
	const char *peer, char text[OUTPUT_FAILURE_SIZE], deadline_t now)
{
	(void)now;
	fuzz_check(log && failure_is_set(failure) && peer);
	fuzz_check(starved || (with_secret && !opened && last.number == 1));
	text[0] = '\0';
	return text;
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* The connection. */

void control_init(struct control *control, struct cm_channel *events, struct rdma_cm_id *id,
	const struct sockaddr *peer, const struct secret *secret, enum secret_role role)
{
	fuzz_check(peer && role == SECRET_SERVER);
	*control = (struct control){.events = events,
		.id = id,
		.stop_fd = -1,
		.device = {.traits = &traits, .attributes.atomic_cap = IBV_ATOMIC_HCA}};
	handshake_init(&control->handshake, secret, role);
}

static void give_memory(struct control *control, size_t size)
{
	control->offered = (struct region){.start = offered, .size = size, .mr = &offered_mr};
	control->private = (struct region){.start = private, .size = size};
}

int control_prepare(struct control *control, uint32_t wanted, uint32_t deep)
{
	fuzz_check(wanted == queue_pairs && deep == depth);
	give_memory(control, COMMAND_REGION_MIN);
	return 0;
}

/* Fails the connection without a protocol violation. */
static int go_away(struct control *control)
{
	control->disconnected = gone = true;
	return -1;
}

/* Lacks memory, which must end the session. */
static int starve(struct control *control)
{
	starved = gone = true;
	return failure_errno(&control->failure, PHASE_MEMORY, "fuzz", ENOMEM);
}

int control_enlarge(struct control *control, size_t size)
{
	fuzz_check(sensible && last.type == COMMAND_REGION && size == last.length);
	if (broken && size > control->private.size)
		return starve(control);
	if (size > control->private.size)
		give_memory(control, size);
	return 0;
}

/*
 * Reads a size, either a limit or an arbitrary value. Few sizes are large, because every byte of
 * the memory is accessed.
 */
static uint32_t read_size(void)
{
	static const uint32_t limits[] = {0, 1, 64, COMMAND_REGION_MIN, COMMAND_REGION_MIN + 1,
		COMMAND_REGION_MAX, COMMAND_REGION_MAX + 1, UINT32_MAX};
	uint8_t which = fuzz_byte(&input);

	return which < FUZZ_COUNT(limits) ? limits[which] : (uint32_t)fuzz_number(&input, 2);
}

/* Reads test parameters, mostly valid. */
static void read_parameters(uint8_t text[TEST_PARAMETERS_SIZE])
{
	uint8_t how = fuzz_byte(&input);
	struct test_parameters some = {
		.kind = how & 1,
		.wait = how >> 1 & 1,
		.operation = test_operation_by_number(how % TEST_OPERATIONS),
		.direction = how >> 3 & 3,
		.verify = how & 4,
		.size = read_size(),
		.queue_pairs = fuzz_byte(&input),
		.depth = (uint32_t)fuzz_number(&input, 2),
		.slots = fuzz_byte(&input),
		.operations = how & 32 ? fuzz_byte(&input) : 0,
		.milliseconds = how & 64 ? (uint32_t)fuzz_number(&input, 2) : 0,
		.seed = how,
	};

	test_parameters_encode(&some, text);
}

/* Reads the text of a command: nothing, test parameters, queue pair numbers, or any bytes. */
static size_t read_text(enum command_type type, char text[COMMAND_TEXT_MAX])
{
	uint8_t how = fuzz_byte(&input);
	size_t size = how;

	if (type == COMMAND_BEGIN && how >= 128) {
		read_parameters((uint8_t *)text);
		return TEST_PARAMETERS_SIZE;
	}
	if (type == COMMAND_OPERATIONS && how >= 128)
		size = OPERATIONS_OFFER_SIZE;
	if ((type == COMMAND_OPERATIONS_END || type == COMMAND_OPERATIONS_LINK) && how >= 128)
		size = OPERATIONS_RESULTS_SIZE;
	if (type == COMMAND_QUEUE_PAIRS && how >= 128)
		size = (size_t)4 * (queue_pairs - 1 + (how & 1));
	memset(text, 0, COMMAND_TEXT_MAX);
	fuzz_bytes(&input, text, size);
	/* A type of queue pairs, at the end. */
	if (type == COMMAND_QUEUE_PAIRS && how >= 128 && how & 1)
		le_put32((uint8_t *)text + size - 4, how >> 1 & 3);
	return size;
}

/* True if the server must accept the command, decided independently of serve/control-sessions.c. */
static bool is_sensible(const struct command *command)
{
	struct operation_result results[OPERATIONS];
	struct operations_offer offer;

	if (with_secret && !opened)
		return command->type == COMMAND_PROOF && !command->reply && right;
	if (command->reply || command->type == COMMAND_PROOF)
		return false;
	/* The memory must be announced first, and the queue pairs only once. iWARP has only one. */
	if (command->type == COMMAND_QUEUE_PAIRS)
		return !has_queue_pairs && (traits.own_queue_pairs || queue_pairs == 1);
	if (command->type == COMMAND_REGION)
		return !has_queue_pairs && (measures || command->length <= COMMAND_REGION_MIN);
	if (command->type == COMMAND_OPERATIONS)
		return !measures &&
		       operations_offer_decode(&offer, command->text, command->text_size) == 0;
	if (command->type == COMMAND_OPERATIONS_END || command->type == COMMAND_OPERATIONS_LINK)
		return !measures && operations_begun &&
		       operations_results_decode(results, command->text, command->text_size) == 0;
	/* test_run_can() below checks the rest. */
	if (command->type == COMMAND_BEGIN)
		return test_parameters_decode(&parameters, command->text, command->text_size) ==
			       0 &&
		       has_queue_pairs && !broken &&
		       (measures || (parameters.operations ? parameters.operations <= OPERATIONS_MAX
							   : parameters.milliseconds <= MS_MAX));
	return true;
}

int control_receive_message(struct control *control, struct command *message, deadline_t deadline)
{
	static uint8_t bytes[COMMAND_MAX];
	static const enum command_type types[] = {COMMAND_REGION, COMMAND_FACTS, COMMAND_COUNTERS,
		COMMAND_PROOF, COMMAND_QUEUE_PAIRS, COMMAND_BEGIN, COMMAND_END, COMMAND_OPERATIONS,
		COMMAND_OPERATIONS_END, COMMAND_OPERATIONS_LINK};
	struct command command = {
		.type = types[fuzz_byte(&input) % FUZZ_COUNT(types)], .text = last_text};
	uint8_t how = fuzz_byte(&input);

	/* The previous command has been answered, and its test has run. */
	fuzz_check(!unanswered && !due && !gone && deadline > deadline_now());
	/* After a wrong proof nothing is received. */
	fuzz_check(!with_secret || opened || last.number == 0);
	command.reply = (how & 7) == 7;
	command.status = how & 8 ? COMMAND_REFUSED : COMMAND_DONE;
	command.number = last.number + 1;
	command.length = command.type == COMMAND_REGION ? read_size() : 0;
	command.address = fuzz_number(&input, how & 0x20 ? 8 : 1);
	command.text_size = (uint16_t)read_text(command.type, last_text);
	broken = how & 0x40;
	right = how & 0x80;
	control->disconnected = input.left == 0 || command.number > COMMANDS_MAX ||
				command_decode(message, bytes, command_encode(&command, bytes));
	if (control->disconnected)
		return -1;
	last = *message;
	sensible = is_sensible(&last);
	unanswered = true;
	return 0;
}

void control_limit_reads(const struct control *control, struct rdma_conn_param *accepted,
	uint8_t asks, uint8_t answers)
{
	(void)control;
	/* The values of an event are already those of its receiver. */
	fuzz_check(asks == INITIATOR_DEPTH && answers == RESPONDER_RESOURCES);
	accepted->initiator_depth = asks;
	accepted->responder_resources = answers;
}

bool control_is_proved(const struct control *control, const struct command *command)
{
	fuzz_check(control->handshake.secret && !opened && command->number == 1);
	return command->type == COMMAND_PROOF && right;
}

int control_register(struct control *control)
{
	fuzz_check(control->handshake.secret && sensible && !opened);
	opened = true;
	return 0;
}

void control_prove(
	const struct control *control, struct command *command, uint8_t text[SECRET_PROOF_SIZE])
{
	fuzz_check(control->handshake.secret && opened && command->type == COMMAND_PROOF);
	memset(text, 'p', SECRET_PROOF_SIZE);
	command->text = (char *)text;
	command->text_size = SECRET_PROOF_SIZE;
}

void control_set_peer_region(struct control *control, const struct command *command)
{
	fuzz_check(sensible && command->type == COMMAND_REGION);
	control->peer_length = command->length;
}

void control_describe_region(const struct control *control, struct command *command)
{
	command->address = (uintptr_t)control->offered.start;
	command->length = (uint32_t)control->offered.size;
	command->rkey = control->offered.mr->rkey;
}

/* The tests. */

void perf_test_init(struct perf_test *test, struct control *control, uint32_t deep, bool server)
{
	fuzz_check(server && deep == depth);
	*test = (struct perf_test){.control = control, .depth = deep};
}

/* The transport that the command asks for, decided independently of serve/control-sessions.c. */
static enum test_transport wanted_transport(void)
{
	size_t size = last.text_size;
	uint32_t transport;

	if (!receives || queue_pairs == 1 || size != (size_t)4 * queue_pairs)
		return TEST_RC;
	transport = le_get32((const uint8_t *)last_text + size - 4);
	return transport < TEST_TRANSPORTS ? (enum test_transport)transport : TEST_RC;
}

int perf_test_make_queue_pairs(struct perf_test *test, uint32_t count)
{
	fuzz_check(sensible && last.type == COMMAND_QUEUE_PAIRS);
	fuzz_check(test->control->transport == wanted_transport());
	unreliable = test->control->transport != TEST_RC;
	fuzz_check(!has_queue_pairs && count == queue_pairs - unreliable);
	if (broken)
		return starve(test->control);
	has_queue_pairs = true;
	test->queue_pair_count = count;
	return 0;
}

int perf_test_connect_queue_pairs(struct perf_test *test, const void *text, size_t size)
{
	fuzz_check(sensible && last.type == COMMAND_QUEUE_PAIRS && has_queue_pairs);
	fuzz_check(size == last.text_size - (unreliable ? 4u : 0) &&
		   memcmp(text, last_text, size) == 0);
	return size == (size_t)4 * (queue_pairs - 1) ? 0 : go_away(test->control);
}

size_t perf_test_encode_numbers(const struct perf_test *test, uint8_t *text)
{
	fuzz_check(text == test->control->private.start &&
		   test->queue_pair_count == queue_pairs - unreliable);
	memset(text, 'q', (size_t)4 * (queue_pairs - 1));
	return (size_t)4 * (queue_pairs - 1);
}

bool test_run_can(const struct perf_test *test, const struct test_parameters *wanted)
{
	fuzz_check(unanswered && last.type == COMMAND_BEGIN && test->depth == depth);
	fuzz_check(wanted->size > 0 && wanted->slots > 0 && wanted->slots <= wanted->depth);
	fuzz_check(test_shape_is_possible(wanted->queue_pairs, wanted->depth));
	fuzz_check(wanted->operations > 0 || wanted->milliseconds > 0);
	return has_queue_pairs && !broken;
}

/* Not called: every message of the fuzzed client is a command. */
int perf_test_take_empty(struct perf_test *test)
{
	return failure_set(&test->control->failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, 0, "", "");
}

/* Called only for an accepted test, before the reply. */
void test_run_begin(
	struct perf_test *test, const struct test_parameters *wanted, int64_t idle_timeout)
{
	fuzz_check(unanswered && sensible && last.type == COMMAND_BEGIN && !due);
	fuzz_check(memcmp(&wanted->seed, &parameters.seed, sizeof(parameters.seed)) == 0);
	fuzz_check(
		wanted->size == parameters.size && idle_timeout >= 5000 && idle_timeout <= 30000);
	test->parameters = *wanted;
	due = true;
}

/* Called only for a prepared test, after the reply. */
int test_run(
	/* cppcheck-suppress constParameter ; the header's prototype */
	struct perf_test *test, struct test_shared *shared, struct test_result *reported,
	/* cppcheck-suppress constParameter ; likewise */
	struct histogram *latency)
{
	fuzz_check(shared->start > 0 && shared->bytes == 0);
	fuzz_check(due && !unanswered && !latency && test->parameters.size == parameters.size);
	due = false;
	memset(&result, last.number & 0xff, sizeof(result));
	*reported = result;
	return right ? go_away(test->control) : 0;
}

void control_facts(const struct control *control, struct facts *facts)
{
	(void)control;
	facts_add(facts, "version", "%s", "1");
}

/* Returns the maximum number of counters. */
void control_counters(const struct control *control, struct counters *counters)
{
	(void)control;
	*counters = (struct counters){.count = COUNTERS_MAX};
	for (size_t i = 0; i < COUNTERS_MAX; i++)
		memset(counters->list[i].name, 'x', sizeof(counters->list[i].name) - 1);
}

/* The operations (control/operations.h), which have tests of their own. */

/* cppcheck-suppress constParameter ; control/operations.h defines the signature */
int operations_begin(struct operation_end *end, struct control *control, const char *text,
	size_t size, uint8_t reply[OPERATIONS_OFFER_SIZE])
{
	struct operations_offer offer;

	fuzz_check(!measures && last.type == COMMAND_OPERATIONS && control);
	operation_end_close(end);
	if (operations_offer_decode(&offer, text, size))
		return -EPROTO;
	operations_begun = true;
	operations_offer_encode(&offer, reply);
	return 0;
}

/* cppcheck-suppress constParameter ; control/operations.h defines the signature */
int operations_link(struct operation_end *end, const char *text, size_t size,
	uint8_t reply[OPERATIONS_OFFER_SIZE])
{
	static const struct operations_offer offer;
	struct operation_result results[OPERATIONS];

	fuzz_check(end && !measures && last.type == COMMAND_OPERATIONS_LINK);
	if (!operations_begun || operations_results_decode(results, text, size))
		return -EPROTO;
	operations_offer_encode(&offer, reply);
	return 0;
}

int operations_end(struct operation_end *end, const char *text, size_t size,
	uint8_t reply[OPERATIONS_RESULTS_SIZE])
{
	struct operation_result results[OPERATIONS];

	fuzz_check(!measures && last.type == COMMAND_OPERATIONS_END);
	if (!operations_begun || operations_results_decode(results, text, size))
		return -EPROTO;
	operations_results_encode(results, reply);
	operation_end_close(end);
	return 0;
}

/* cppcheck-suppress constParameter ; control/operation-end.h defines the signature */
void operation_end_close(struct operation_end *end)
{
	fuzz_check(end);
	operations_begun = false;
}

/* Checks the reply to the last command. */
static void check_result(const struct command *message)
{
	uint8_t text[TEST_RESULT_SIZE];

	if (!sensible) {
		fuzz_check(message->status == COMMAND_REFUSED && !due);
		return;
	}
	/* Out of memory: this is the last message of the server. */
	fuzz_check((message->status == COMMAND_FAILED) == starved);
	if (starved)
		return;
	fuzz_check(message->status == COMMAND_DONE);
	fuzz_check(!with_secret || opened);
	if (last.type == COMMAND_PROOF)
		fuzz_check(message->text_size == SECRET_PROOF_SIZE);
	if (last.type == COMMAND_REGION)
		fuzz_check(message->rkey == offered_mr.rkey && message->length >= last.length);
	if (last.type == COMMAND_QUEUE_PAIRS)
		fuzz_check(has_queue_pairs && message->text_size == 4 * (queue_pairs - 1));
	if (last.type == COMMAND_OPERATIONS || last.type == COMMAND_OPERATIONS_LINK)
		fuzz_check(operations_begun && message->text_size == OPERATIONS_OFFER_SIZE);
	if (last.type == COMMAND_OPERATIONS_END)
		fuzz_check(!operations_begun && message->text_size == OPERATIONS_RESULTS_SIZE);
	fuzz_check(due == (last.type == COMMAND_BEGIN));
	if (last.type != COMMAND_END)
		return;
	test_result_encode(&result, text);
	fuzz_check(message->text_size == TEST_RESULT_SIZE);
	fuzz_check(memcmp(message->text, text, TEST_RESULT_SIZE) == 0);
}

int control_send_message(
	struct control *control, const struct command *message, deadline_t deadline)
{
	static uint8_t bytes[COMMAND_MAX];
	struct command again;

	fuzz_check(unanswered && deadline > deadline_now() && control->private.start == private);
	fuzz_check(message->reply && message->type == last.type);
	fuzz_check(message->number == last.number);
	/* All texts except a proof are in our private memory. */
	fuzz_check(message->text_size <= COMMAND_TEXT_MAX);
	fuzz_check(message->text_size == 0 || last.type == COMMAND_PROOF ||
		   message->text == (char *)private);
	fuzz_check(command_decode(&again, bytes, command_encode(message, bytes)) == 0);
	check_result(message);
	unanswered = false;
	return 0;
}

/* A reply that ends the session: nothing follows it. */
void control_send_last(struct control *control, const struct command *message)
{
	fuzz_check(failure_is_set(&control->failure) && message->status != COMMAND_DONE);
	control_send_message(control, message, INT64_MAX);
	control->disconnected = gone = true;
}

void control_close(struct control *control)
{
	channel_destroy(control->events);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct output output = {.quiet = true};
	struct wakeup_queue wakeups;
	struct exchange_settings settings = {
		.output = &output, .wakeups = &wakeups, .timeout = 1000, .handshake_timeout = 1000};
	struct ibv_device device = {.name = "fuzz0"};
	struct ibv_context context = {.device = &device};
	struct rdma_cm_id id = {.verbs = &context};
	static const uint8_t hello_bytes[SECRET_HELLO_SIZE] = {0};
	static const struct control_server server = {.mode = "any", .clients = 1, .most = 2};
	struct rdma_cm_event request = {.id = &id};
	struct hello theirs = {.kind = HELLO_DIAGNOSIS};
	struct control_sessions control_sessions;
	static struct client_log log;
	static struct totals totals;
	unsigned int events = 0;

	request.param.conn = (struct rdma_conn_param){.private_data = hello_bytes,
		.initiator_depth = INITIATOR_DEPTH,
		.responder_resources = RESPONDER_RESOURCES};
	input = (struct fuzz_input){data, size};
	last = (struct command){0};
	unanswered = opened = has_queue_pairs = receives = unreliable = due = starved = gone =
		measures = operations_begun = false;
	result = (struct test_result){0};
	with_secret = fuzz_byte(&input) & 1;
	queue_pairs = 1;
	depth = TEST_DIAGNOSIS_DEPTH;
	traits.own_queue_pairs = !(data && size > 0 && data[0] & 4);
	if (data && size > 0 && data[0] & 2) {
		theirs.kind = HELLO_MEASUREMENT;
		measures = true;
		queue_pairs = fuzz_byte(&input);
		depth = (uint32_t)fuzz_number(&input, 2);
		theirs.size = hello_shape(queue_pairs, depth);
		receives = data[0] & 8;
		theirs.flags = receives ? HELLO_RECEIVES : 0;
	}
	/* Never dereferenced. */
	settings.secret = with_secret ? (void *)&id : NULL;
	fuzz_check(wakeup_queue_open(&wakeups) == 0);
	client_log_init(&log, &output);
	control_sessions_init(&control_sessions, 0, &log, &totals);
	if (test_shape_is_possible(queue_pairs, depth)) {
		fuzz_check(control_sessions_take(&control_sessions, &settings, &server, &request,
				   &theirs) == REFUSAL_NONE);
		fuzz_check(control_sessions_take_event(
			&control_sessions, wakeup_queue_take(&wakeups, &events), events));
	} else {
		fuzz_check(control_sessions_take(&control_sessions, &settings, &server, &request,
				   &theirs) == REFUSAL_MALFORMED);
	}
	fuzz_check(TAILQ_EMPTY(&control_sessions.all) && control_sessions.slots.taken == 0);
	fuzz_check(!unanswered || gone);
	wakeup_queue_close(&wakeups);
	client_log_end(&log);
	return 0;
}
