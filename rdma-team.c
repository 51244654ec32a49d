#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rdma-session.h"
#include "rdma-team.h"

/* Address resolution is asked for in short attempts: see rdma-client.c. */
#define RESOLVE_MS 1000

/* READs at a time that are asked for, as many as can be: the devices do what they can. */
#define READS 255

/* What the patterns of two runs differ by: any large odd number but that of lib/pattern.c. */
#define RUN_SEED UINT64_C(0xd1342543de82ef95)

void team_init(struct team *team, const struct options *options, const struct output *output,
	uint32_t depth)
{
	*team = (struct team){
		.options = options,
		.output = output,
		.depth = depth,
		.signals = -1,
	};
	for (uint32_t i = 0; i < options->measure.threads; i++)
		team->members[i].team = team;
}

struct ask *team_ask(struct team *team)
{
	return &team->members[0].ask;
}

size_t team_memory(const struct team *team)
{
	return team->members[0].ask.probe.private.size;
}

deadline_t team_patience(const struct team *team)
{
	return deadline_in(team->options->timeout);
}

/* Keeps the first failure; of what a diagnosis says of silence nothing is true here. */
int team_failed(struct team *team, const struct ask *ask)
{
	struct failure failure = ask->probe.failure;

	if (failure.phase == PHASE_EXCHANGE)
		failure.phase = PHASE_MEASUREMENT;
	if (failure.kind == FAILURE_DEADLINE && failure.code == CODE_DIAGNOSIS)
		failure.code = ETIMEDOUT;
	if (failure.kind == FAILURE_ERRNO && failure.phase == PHASE_ADDRESS)
		way_evidence(&team->way, team->options, failure.code, failure.evidence,
			sizeof(failure.evidence));
	if (failure.kind == FAILURE_DEADLINE && !*failure.evidence)
		snprintf(failure.evidence, sizeof(failure.evidence), "no answer within %g s",
			(double)team->options->timeout / 1000);
	if (!failure_is_set(&team->failure) || failure.kind == FAILURE_INTERRUPTED)
		team->failure = failure;
	return -1;
}

/* Connects at the address that is being tried. */
static int try_address(struct member *member, deadline_t deadline)
{
	struct team *team = member->team;
	const struct options *options = team->options;
	const struct ask_wish wish = {
		.kind = SESSION_MEASUREMENT,
		.timeout = (uint32_t)options->timeout,
		.queue_pairs = options->measure.queue_pairs,
		.depth = team->depth,
		.reads = READS,
	};
	const struct sockaddr *server = team->way.address->ai_addr;
	struct ask *ask = &member->ask;
	struct sockaddr_storage source;
	struct event_copy answer;

	if (session_source(options, team->way.sources, server->sa_family, &source, &team->failure))
		return -1;
	if (ask_open(ask, server, team->secret))
		return team_failed(team, ask);
	ask->probe.stop_fd = team->signals;
	if (ask_resolve(ask, address_or_none(&source), server, deadline_in(RESOLVE_MS)) ||
		session_check_device(options, ask->probe.id, &ask->probe.failure) ||
		ask_connect(ask, &wish, deadline, &answer) ||
		ask_admission(ask, &wish, &answer, deadline))
		return team_failed(team, ask);
	return 0;
}

/* Whether the server has no place. */
static bool is_full(const struct failure *failure)
{
	return failure->kind == FAILURE_REFUSED &&
	       (failure->code == REFUSAL_FULL || failure->code == REFUSAL_ADDRESS);
}

/* Connects the first one at whichever of the server's addresses. */
static int connect_first(struct team *team, deadline_t deadline)
{
	const struct failure *failure = &team->failure;

	while (try_address(&team->members[0], deadline)) {
		ask_close(team_ask(team));
		if (is_full(failure) || failure->kind == FAILURE_INTERRUPTED ||
			deadline_left(deadline) == 0 ||
			!way_next(&team->way, failure->code == ETIMEDOUT))
			return -1;
	}
	team->failure = (struct failure){0}; /* of an address tried before */
	return 0;
}

static int connect_all(struct team *team, deadline_t deadline)
{
	if (connect_first(team, deadline))
		return -1;
	for (uint32_t i = 1; i < team->options->measure.threads; i++)
		if (try_address(&team->members[i], deadline))
			return -1;
	return 0;
}

static void disconnect_all(struct team *team)
{
	for (uint32_t i = 0; i < team->options->measure.threads; i++)
		ask_close(&team->members[i].ask);
}

/* Waits until the server may have places; false if it has some, or the time is over. */
static bool await_places(struct team *team, deadline_t deadline)
{
	struct pollfd signals = {.fd = team->signals, .events = POLLIN};

	if (!is_full(&team->failure) || deadline_left(deadline) <= SESSION_AGAIN_MS)
		return false;
	if (!team->told_full)
		session_tell_full(team->output);
	team->told_full = true;
	/* A signal ends the next attempt. */
	poll(&signals, 1, SESSION_AGAIN_MS);
	return true;
}

int team_connect(struct team *team)
{
	deadline_t deadline = team_patience(team);

	if (way_find(&team->way, team->options, deadline, &team->failure))
		return -1;
	/* Not before the lookups: until here a signal just ends the process. */
	team->signals = signals_open();
	if (team->signals < 0)
		return failure_set(&team->failure, FAILURE_ERRNO, PHASE_ADDRESS, -team->signals,
			"signalfd", "%s", strerror(-team->signals));
	/* Nobody holds a place while he waits for another one: two clients would wait for each other. */
	while (connect_all(team, deadline)) {
		disconnect_all(team);
		if (!await_places(team, deadline))
			return -1;
		team->failure = (struct failure){0};
	}
	return 0;
}

bool team_is_iwarp(const struct team *team)
{
	return team->members[0].ask.probe.id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

/* iWARP cannot do everything. */
static int check_transport(struct team *team)
{
	const struct options_measure *measure = &team->options->measure;
	const char *option = measure->queue_pairs > 1 ? "--qps" : NULL;

	if (measure->latency && measure->poll == POLL_EVENT)
		option = "--poll event";
	if (!option || !team_is_iwarp(team))
		return 0;
	return failure_set(&team->failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, EOPNOTSUPP, "iWARP",
		"iWARP cannot do %s", option);
}

/* Memory, and the queue pairs beside the first one. */
static int prepare_member(struct member *member)
{
	struct team *team = member->team;
	const struct options_measure *measure = &team->options->measure;
	struct ask *ask = &member->ask;
	struct bench *bench = &member->bench;
	uint8_t numbers[4 * PLAN_QUEUE_PAIRS_MAX];
	struct order lanes = {.type = ORDER_LANES, .text = (char *)numbers}, answer;

	bench_init(bench, &ask->probe, team->depth, false);
	if (probe_enlarge(&ask->probe, options_measure_memory(measure)) ||
		ask_region(ask, team_patience(team)) ||
		bench_make_lanes(bench, measure->queue_pairs))
		return team_failed(team, ask);
	lanes.text_size = (uint16_t)bench_lanes_tell(bench, numbers);
	if (ask_order(ask, &lanes, &answer, team_patience(team)) ||
		bench_lanes_meet(bench, answer.text, answer.text_size))
		return team_failed(team, ask);
	return 0;
}

int team_prepare(struct team *team)
{
	if (check_transport(team))
		return -1;
	for (uint32_t i = 0; i < team->options->measure.threads; i++)
		if (prepare_member(&team->members[i]))
			return -1;
	return 0;
}

/* Tells the server what is to be done, and gets ready for it. */
static int begin(struct member *member, const struct plan *plan)
{
	struct team *team = member->team;
	struct plan own = *plan;
	uint8_t text[PLAN_SIZE];
	struct order order = {.type = ORDER_BEGIN, .text = (char *)text, .text_size = PLAN_SIZE};
	struct order answer;

	/* Data of another run, or another thread's, is wrong in this one. */
	own.seed = ++team->runs * RUN_SEED;
	plan_encode(&own, text);
	bench_begin(&member->bench, &own, team->options->timeout);
	return ask_order(&member->ask, &order, &answer, team_patience(team))
		       ? team_failed(team, &member->ask)
		       : 0;
}

/* Hears what the server has done. */
static int end(struct member *member)
{
	struct team *team = member->team;
	struct ask *ask = &member->ask;
	struct order order = {.type = ORDER_END}, answer;

	if (ask_order(ask, &order, &answer, team_patience(team)))
		return team_failed(team, ask);
	if (tally_decode(&member->theirs, answer.text, answer.text_size) == 0)
		return 0;
	failure_set(&ask->probe.failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO, "tally_decode",
		"what it says of the run makes no sense");
	return team_failed(team, ask);
}

/* Lets this thread stay on a processor. pthread_setaffinity_np(3). */
static void stay(int processor)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET((unsigned int)processor, &here);
	pthread_setaffinity_np(pthread_self(), sizeof(here), &here);
}

static void *carry_out(void *argument)
{
	struct member *member = argument;
	struct course *course = &member->team->course;

	if (member->processor >= 0)
		stay(member->processor);
	member->result = bench_run(&member->bench, course, &member->ours, member->latency);
	if (member->result && !atomic_exchange(&course->broken, true))
		member->team->failed = member;
	return NULL;
}

/*
 * Chooses the processors: the one that we are on for us, and for the others the next ones of those that we
 * may use, which become *allowed. Soft-RoCE works on that of whoever posts, and the other ones look idle:
 * so a busy thread would be moved to and fro, with all that work behind it. pthread_getaffinity_np(3).
 */
static bool choose_processors(struct team *team, cpu_set_t *allowed)
{
	int processor = sched_getcpu();
	bool known = processor >= 0 &&
		     !pthread_getaffinity_np(pthread_self(), sizeof(*allowed), allowed) &&
		     CPU_ISSET((unsigned int)processor, allowed);

	for (uint32_t i = 0; i < team->options->measure.threads; i++) {
		team->members[i].processor = known ? processor : -1;
		if (known)
			do
				processor = (processor + 1) % CPU_SETSIZE;
			while (!CPU_ISSET((unsigned int)processor, allowed));
	}
	return known;
}

/* Lets all threads carry out what has been begun. */
static int measure_together(struct team *team)
{
	uint32_t count = team->options->measure.threads, started;
	cpu_set_t allowed;
	bool stays = choose_processors(team, &allowed);
	int error = 0;

	course_init(&team->course, probe_now());
	for (started = 1; started < count; started++) {
		error = pthread_create(
			&team->members[started].thread, NULL, carry_out, &team->members[started]);
		if (error)
			break;
	}
	if (error)
		atomic_store(&team->course.broken, true);
	carry_out(&team->members[0]);
	for (uint32_t i = 1; i < started; i++)
		pthread_join(team->members[i].thread, NULL);
	if (stays)
		pthread_setaffinity_np(pthread_self(), sizeof(allowed), &allowed);
	if (error)
		return failure_set(&team->failure, FAILURE_ERRNO, PHASE_MEMORY, error,
			"pthread_create", "%s", strerror(error));
	return team->failed ? team_failed(team, &team->failed->ask) : 0;
}

int team_run(struct team *team, const struct plan *plan, struct measured *measured,
	struct latency *latency)
{
	uint32_t count = team->options->measure.threads;
	struct intervals intervals;

	*measured = (struct measured){.plan = *plan, .threads = count};
	if (plan->kind == PLAN_LATENCY) {
		latency_init(latency);
		measured->latency = team->members[0].latency = latency;
	}
	for (uint32_t i = 0; i < count; i++)
		if (begin(&team->members[i], plan))
			return -1;
	if (measure_together(team))
		return -1;
	for (uint32_t i = 0; i < count; i++)
		if (end(&team->members[i]))
			return -1;
	measured->ours = team->members[0].ours;
	measured->theirs = team->members[0].theirs;
	for (uint32_t i = 1; i < count; i++) {
		tally_add(&measured->ours, &team->members[i].ours);
		tally_add(&measured->theirs, &team->members[i].theirs);
	}
	intervals = course_intervals(&team->course);
	measured->ours.worst = intervals.worst;
	measured->ours.best = intervals.best;
	return 0;
}

void team_close(struct team *team)
{
	for (uint32_t i = 0; i < team->options->measure.threads; i++)
		bench_free(&team->members[i].bench);
	disconnect_all(team);
	way_free(&team->way);
	if (team->signals >= 0)
		close(team->signals);
}
