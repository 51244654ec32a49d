/* The rungs of a diagnosis that move data: WRITE and READ, the bandwidth, and what was counted. */
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/connection-checks.h"
#include "host/link-speed.h"
#include "protocol/test-pattern.h"

/* How long the bandwidth is measured, each way, in milliseconds. */
#define BANDWIDTH_MS 2000

/* Bytes of one WRITE where the bandwidth is measured. */
#define BANDWIDTH_SIZE 262144

/* What the healthy lose: of so many packets one may be sent again. */
#define LOSS_DIVISOR 1000

/* Either end gave up, though packets came between the gaps that were counted: so some are lost. */
static bool ended_by_loss(const struct failure *failure, const struct counters *counted)
{
	return counters_total(counted, COUNTER_OUT_OF_ORDER) > 0 &&
	       (failure->kind == FAILURE_DEADLINE || failure->kind == FAILURE_GONE ||
		       (failure->kind == FAILURE_COMPLETION &&
			       failure->code == IBV_WC_RETRY_EXC_ERR));
}

/* The same while data was moved: what was done, and what our device counted, say more. */
static int moving_broke(struct diagnosis *diagnosis, enum check check, const char *doing)
{
	struct failure failure = diagnosis->client.probe.failure;
	struct counters after, *counters = &diagnosis->counted_here;
	char counted[120];

	control_client_count_here(&diagnosis->client, &after);
	counters_difference(&diagnosis->our_counters, &after, counters);
	if (ended_by_loss(&failure, counters)) {
		failure.kind = FAILURE_IMPAIRED;
		failure.code = IMPAIRED_LOSS;
	}
	counters_sum_up(counters, counted, sizeof(counted));
	snprintf(failure.evidence, sizeof(failure.evidence), "%.40s%s%.120s; counted here: %s",
		doing, *diagnosis->client.probe.failure.evidence ? ": " : "",
		diagnosis->client.probe.failure.evidence, counted);
	return check_list_fail(&diagnosis->list, check, &failure);
}

/* One way to move data, as it is said, and what is to be ordered for it. */
struct movement {
	const char *name;
	enum command_type before, after; /* COMMAND_TYPES: nothing */
	enum ibv_wr_opcode opcode;       /* what we do between them; IBV_WR_SEND: nothing */
	bool arrives_here;
};

static const struct movement movements[] = {
	{"our WRITE", COMMAND_TYPES, COMMAND_CHECK, IBV_WR_RDMA_WRITE, false},
	{"our READ", COMMAND_FILL, COMMAND_TYPES, IBV_WR_RDMA_READ, true},
	{"its WRITE", COMMAND_WRITE, COMMAND_TYPES, IBV_WR_SEND, true},
	{"its READ", COMMAND_READ, COMMAND_TYPES, IBV_WR_SEND, false},
};

/* Gives an order about so many bytes of a pattern. *wrong is the place of the first wrong byte. */
static int command_data(struct diagnosis *diagnosis, enum command_type type, uint32_t size,
	uint64_t seed, size_t *wrong)
{
	struct command client = {.type = type, .size = size, .seed = seed}, reply;

	if (type == COMMAND_TYPES)
		return 0;
	if (check_command(diagnosis, &client, &reply))
		return -1;
	if (reply.status == COMMAND_WRONG)
		*wrong = reply.offset;
	return 0;
}

/* Moves data in one way. Returns 0 with the place of the first wrong byte, size if there is none. */
static int move(
	struct diagnosis *diagnosis, const struct movement *movement, uint32_t size, size_t *wrong)
{
	struct probe *probe = &diagnosis->client.probe;
	uint64_t seed = diagnosis->client.commands + 1;

	*wrong = size;
	/* What we send lies in the private memory for our WRITE, in what we offer for its READ. */
	if (movement->opcode == IBV_WR_RDMA_WRITE)
		pattern_fill(probe->private.start, size, seed);
	else if (!movement->arrives_here)
		pattern_fill(probe->offered.start, size, seed);
	if (command_data(diagnosis, movement->before, size, seed, wrong))
		return -1;
	if (movement->opcode != IBV_WR_SEND &&
		probe_move(probe, movement->opcode, size, check_deadline(diagnosis, COMMAND_MS, 0)))
		return -1;
	if (movement->arrives_here)
		*wrong = pattern_check(movement->opcode == IBV_WR_RDMA_READ ? probe->private.start
									    : probe->offered.start,
			size, seed);
	return command_data(diagnosis, movement->after, size, seed, wrong);
}

static int try_movement(struct diagnosis *diagnosis, const struct movement *movement, uint32_t size)
{
	char doing[64];
	size_t wrong;

	snprintf(doing, sizeof(doing), "%s of %u bytes", movement->name, size);
	if (move(diagnosis, movement, size, &wrong))
		return moving_broke(diagnosis, CHECK_DATA, doing);
	if (wrong < size)
		return check_failed(diagnosis, CHECK_DATA,
			movement->arrives_here ? FAILURE_DAMAGED : FAILURE_DAMAGED_THERE,
			PHASE_EXCHANGE, 0, "%s: byte %zu is the first wrong one", doing, wrong);
	return 0;
}

int check_data(struct diagnosis *diagnosis)
{
	const char *mtu = facts_value(&diagnosis->ours, "rdma mtu");
	const uint32_t sizes[] = {
		1, mtu ? (uint32_t)strtoul(mtu, NULL, 10) : 4096, 65536, COMMAND_REGION_MIN};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t j = 0; j < sizeof(movements) / sizeof(movements[0]); j++)
			if (try_movement(diagnosis, &movements[j], sizes[i]))
				return -1;
	check_list_ok(&diagnosis->list, CHECK_DATA,
		"WRITE and READ of 1 to %u bytes, both ways: every byte is right",
		COMMAND_REGION_MIN);
	return 0;
}

static double megabytes(uint64_t bytes, uint64_t nanoseconds)
{
	return nanoseconds ? (double)bytes * 1000 / (double)nanoseconds : 0;
}

static void judge_bandwidth(struct diagnosis *diagnosis, double there, double back)
{
	enum impairment why;
	char text[240];

	if (speed_is_good(
		    &diagnosis->ours, &diagnosis->theirs, there, back, &why, text, sizeof(text)))
		check_list_ok(&diagnosis->list, CHECK_BANDWIDTH, "%s", text);
	else
		check_failed(diagnosis, CHECK_BANDWIDTH, FAILURE_IMPAIRED, PHASE_EXCHANGE, (int)why,
			"%s", text);
}

int check_bandwidth(struct diagnosis *diagnosis)
{
	struct command run = {.type = COMMAND_RUN,
			       .size = BANDWIDTH_SIZE,
			       .milliseconds = BANDWIDTH_MS},
		       reply;
	uint64_t bytes, nanoseconds;
	double there, back;

	if (probe_run(&diagnosis->client.probe, BANDWIDTH_SIZE, BANDWIDTH_MS,
		    check_deadline(diagnosis, BANDWIDTH_MS + COMMAND_MS, BANDWIDTH_MS), &bytes,
		    &nanoseconds))
		return moving_broke(diagnosis, CHECK_BANDWIDTH, "our WRITEs");
	if (check_command(diagnosis, &run, &reply))
		return moving_broke(diagnosis, CHECK_BANDWIDTH, "its WRITEs");
	diagnosis->moved = bytes + reply.offset;
	there = megabytes(bytes, nanoseconds);
	back = megabytes(reply.offset, reply.nanoseconds);
	diagnosis->rate_there = (uint64_t)(there * 1e6);
	diagnosis->rate_back = (uint64_t)(back * 1e6);
	judge_bandwidth(diagnosis, there, back);
	return 0;
}

/*
 * How often packets had to be sent again, or came out of order. Not those that came twice: one timer that
 * runs out, as on a host that is busy, repeats a whole window of packets that all have arrived.
 */
static uint64_t lost(const struct counters *difference)
{
	return counters_total(difference, COUNTER_RETRANSMISSION) +
	       counters_total(difference, COUNTER_OUT_OF_ORDER);
}

/*
 * Both ends are one port: then no packet is lost on any way. Soft-RoCE sends some again there all the
 * same, as its timers run out while a busy queue pair gets no time to look at its acknowledgements.
 */
static bool is_one_port(const struct diagnosis *diagnosis)
{
	return diagnosis->route.route.type == RTN_LOCAL && !check_differs(diagnosis, "device") &&
	       !check_differs(diagnosis, "port");
}

static void judge_counters(
	struct diagnosis *diagnosis, const struct counters *ours, const struct counters *theirs)
{
	char here[160], there[160];
	const char *mtu = facts_value(&diagnosis->ours, "rdma mtu");
	uint64_t packet = mtu ? strtoul(mtu, NULL, 10) : 0, again = lost(ours) + lost(theirs);
	uint64_t broken_packets =
		counters_total(ours, COUNTER_LINK) + counters_total(theirs, COUNTER_LINK);

	counters_sum_up(ours, here, sizeof(here));
	counters_sum_up(theirs, there, sizeof(there));
	if (packet && again > diagnosis->moved / packet / LOSS_DIVISOR + 1 &&
		!is_one_port(diagnosis))
		check_failed(diagnosis, CHECK_COUNTERS, FAILURE_IMPAIRED, PHASE_EXCHANGE,
			IMPAIRED_LOSS, "here: %s; there: %s", here, there);
	else if (broken_packets > 0)
		check_failed(diagnosis, CHECK_COUNTERS, FAILURE_IMPAIRED, PHASE_EXCHANGE,
			IMPAIRED_LINK, "here: %s; there: %s", here, there);
	else
		check_list_ok(&diagnosis->list, CHECK_COUNTERS, "here: %s; there: %s", here, there);
}

int check_counters(struct diagnosis *diagnosis)
{
	struct counters *ours = &diagnosis->counted_here, *theirs = &diagnosis->counted_there;
	struct counters after;

	control_client_count_here(&diagnosis->client, &after);
	counters_difference(&diagnosis->our_counters, &after, ours);
	if (control_client_count_there(
		    &diagnosis->client, &after, check_deadline(diagnosis, COMMAND_MS, 0)))
		return check_control_failed(diagnosis, CHECK_COUNTERS);
	counters_difference(&diagnosis->their_counters, &after, theirs);
	if (counters_tell(ours) || counters_tell(theirs))
		judge_counters(diagnosis, ours, theirs);
	else
		check_list_skip(&diagnosis->list, CHECK_COUNTERS,
			"neither device has counters of errors that could be read");
	return 0;
}
