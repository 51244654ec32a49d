/* Connects two fixtures: executes the work requests of each end against the other. Owns both
 * ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/exchange/pair.h"

/* Converts one end's rdmacm parameters to what the other end receives: the depths are swapped. */
static struct rdma_conn_param seen_by_the_other(const struct fake_requests *requests)
{
	struct rdma_conn_param seen = requests->connect;

	seen.initiator_depth = requests->connect.responder_resources;
	seen.responder_resources = requests->connect.initiator_depth;
	seen.private_data = requests->private_data;
	return seen;
}

static struct request request_of(const struct fake_requests *requests)
{
	struct rdma_conn_param seen = seen_by_the_other(requests);
	struct request request = {
		.initiator_depth = seen.initiator_depth,
		.responder_resources = seen.responder_resources,
	};

	assert_int_equal(hello_decode(&request.theirs, seen.private_data, HELLO_SIZE), 0);
	memcpy(request.hello_bytes, seen.private_data, sizeof(request.hello_bytes));
	return request;
}

void pair_make(struct pair *pair)
{
	struct fixture *active = &pair->active, *passive = &pair->passive;
	struct fake_requests requests;
	struct request request;
	struct failure failure = {0};

	active->active = true;
	passive->mode = active->mode;
	passive->transport = active->transport;
	fixture_start_device(active);
	fake_limit_memory(pair->limit);
	fixture_start_connection(active);
	fixture_start_settings(passive);
	assert_int_equal(fixture_connect(active), 0);
	requests = fake_requests(active->id);
	request = request_of(&requests);
	request.counted = passive->counted;
	passive->device = active->device;
	passive->id = fake_id();
	fake_join(active->id, passive->id);
	assert_int_equal(
		connection_create(&passive->settings, mode_by_number(passive->mode), passive->id,
			passive->device, &request, &passive->connection, &failure),
		0);
	assert_int_equal(connection_accept(passive->connection, &failure), 0);
}

void pair_establish(struct pair *pair)
{
	const struct fake_requests answered = fake_requests(pair->passive.id);
	struct rdma_conn_param reply = seen_by_the_other(&answered);
	struct failure failure = {0};

	/* The kernel takes over both depths in the reply; the driver refuses what is too deep. */
	fake_agree(pair->active.id, reply.initiator_depth);
	assert_true(reply.responder_resources <= fake_attributes()->max_qp_rd_atom);
	assert_int_equal(connection_established(pair->active.connection, &reply, &failure), 0);
	assert_int_equal(connection_established(pair->passive.connection, &reply, &failure), 0);
	fake_settle();
}

void pair_start(struct pair *pair)
{
	pair_make(pair);
	pair_establish(pair);
}

unsigned int pair_dice(unsigned int *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 16 & 0x7fff;
}

bool pair_step(struct pair *pair, unsigned int sends)
{
	struct rdma_cm_id *ids[] = {pair->active.id, pair->passive.id};

	while (sends > 0) {
		unsigned int batch = pair_dice(&pair->chance) % 8 + 1;
		unsigned int end = pair_dice(&pair->chance) % 2;

		fake_settle();
		if (fake_waiting(ids[end]) == 0)
			end = !end;
		if (fake_waiting(ids[end]) == 0)
			return false;
		for (; batch > 0 && sends > 0 && fake_waiting(ids[end]) > 0; batch--, sends--)
			fake_complete(ids[end], IBV_WC_SUCCESS);
	}
	fake_settle();
	return true;
}

void pair_run(struct pair *pair)
{
	while (pair_step(pair, 1000))
		;
}

void pair_close(struct pair *pair)
{
	fixture_close(&pair->active, NULL);
	connection_disconnected(pair->passive.connection);
	fixture_close(&pair->passive, NULL);
}

void pair_stop(struct pair *pair)
{
	connection_destroy(pair->passive.connection);
	wakeup_queue_close(&pair->passive.wakeups);
	fixture_stop(&pair->active);
}

void pair_age(int file)
{
	static const struct timespec long_ago[2];

	assert_int_equal(futimens(file, long_ago), 0);
}

int pair_file(uint64_t size, unsigned int seed, char path[32], struct digest *digest)
{
	int file = memfd_create("input", MFD_CLOEXEC);
	uint8_t *bytes = malloc((size_t)size + 1);

	assert_true(file >= 0 && bytes);
	for (uint64_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)pair_dice(&seed);
	assert_int_equal(write(file, bytes, (size_t)size), size);
	pair_age(file);
	*digest = digest_of(bytes, (size_t)size);
	free(bytes);
	snprintf(path, 32, "/proc/self/fd/%d", file);
	return file;
}
