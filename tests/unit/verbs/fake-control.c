/* The test's control of the fake device: injects events and failures, inspects state, moves the
 * clock. */
#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host/locked-memory.h"
#include "tests/unit/verbs/fake-internal.h"
#include "verbs/memory.h"

/* Overrides the libc function. CLOCK_MONOTONIC, which base/deadline.c reads, advances only in
 * fake_pass(). */
int clock_gettime(clockid_t clock, struct timespec *time)
{
	int64_t now;

	if (clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, time);
	now = atomic_load(&fake.now);
	*time = (struct timespec){now / 1000, now % 1000 * 1000000};
	return 0;
}

/* Overrides the libc function. RLIMIT_MEMLOCK is what the test sets, regardless of the host. */
int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
	int error = prlimit(0, resource, NULL, limit);

	if (!error && resource == RLIMIT_MEMLOCK)
		limit->rlim_cur = RLIM_INFINITY;
	if (!error && resource == RLIMIT_MEMLOCK && fake.announced)
		limit->rlim_cur = fake.announced;
	return error;
}

/* Overrides host/locked-memory.c: no capabilities, unless the test grants CAP_IPC_LOCK. */
bool locked_memory_is_exempt(const char *root)
{
	(void)root;
	return fake.may_lock;
}

/* Sleeps on the fake clock until a descriptor is readable or fake_pass() wakes the thread. */
static int sleep_of_cq_thread(struct pollfd *waiting, int milliseconds)
{
	struct pollfd all[3] = {waiting[0], waiting[1], {.fd = fake.tick, .events = POLLIN}};
	const struct timespec none = {0};
	eventfd_t ignored;
	int result;

	fake_lock();
	memcpy(fake.watched, all, sizeof(all));
	fake.wake = milliseconds < 0 ? INT64_MAX : atomic_load(&fake.now) + milliseconds;
	fake.asleep = milliseconds != 0;
	fake.turn = 0;
	fake_unlock();
	result = ppoll(all, 3, milliseconds == 0 ? &none : NULL, NULL);
	fake_lock();
	fake.asleep = false;
	fake_unlock();
	if (result > 0 && all[2].revents) {
		eventfd_read(fake.tick, &ignored);
		result--;
	}
	waiting[0].revents = all[0].revents;
	waiting[1].revents = all[1].revents;
	return result;
}

/* The system header declares the argument of poll() as write-only, but poll() also reads it. */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

static _Thread_local bool is_cq_thread;

bool fake_is_cq_thread(void)
{
	return is_cq_thread;
}

int poll(struct pollfd *waiting, nfds_t count, int milliseconds)
{
	const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};

	/* Only the CQ thread polls the completion channel, or -1 in its place once it is closed. */
	is_cq_thread = is_cq_thread || (count == 2 && waiting[1].fd == fake.channel);
	if (is_cq_thread)
		return sleep_of_cq_thread(waiting, milliseconds);
	return ppoll(waiting, count, milliseconds < 0 ? NULL : &time, NULL);
}

/* Only the CQ thread reads these descriptors. If it sleeps and none is readable, it has no work. */
static bool cq_thread_sleeps(void)
{
	struct pollfd watched[3];
	bool asleep;

	fake_lock();
	memcpy(watched, fake.watched, sizeof(watched));
	asleep = fake.asleep && ppoll(watched, 3, &(struct timespec){0}, NULL) == 0;
	fake_unlock();
	return asleep;
}

/*
 * Returns how many times the thread has gone to sleep, or -1 if it is awake or has exited. See
 * proc(5).
 */
static long sleeps_of(int thread)
{
	char path[64], line[128], thread_state = '?';
	long sleeping = 0, count;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", thread);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status)) {
		sscanf(line, "State: %c", &thread_state);
		if (sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1 ||
			sscanf(line, "nonvoluntary_ctxt_switches: %ld", &count) == 1)
			sleeping += count;
	}
	if (status)
		fclose(status);
	return thread_state == 'S' ? sleeping : -1;
}

/* Returns the sum over all other threads, or -1 if any of them is awake. */
static long sleeps_of_all(void)
{
	DIR *threads = opendir("/proc/self/task");
	struct dirent *thread;
	long all = 0, sleeping;

	fake_rule(threads, "no /proc");
	while (all >= 0 && (thread = readdir(threads))) {
		if (thread->d_name[0] == '.' || atoi(thread->d_name) == gettid())
			continue;
		sleeping = sleeps_of(atoi(thread->d_name));
		all = sleeping < 0 ? -1 : all + sleeping + 1;
	}
	closedir(threads);
	return all;
}

/* If every thread sleeps in both scans and none has woken between them, there was a moment at which
 * all slept, so none was left to wake another. */
void fake_settle(void)
{
	const struct timespec moment = {0, 10000};

	for (unsigned int tries = 0; tries < 1000000; tries++) {
		long sleeping = sleeps_of_all();

		if (sleeping >= 0 && cq_thread_sleeps() && sleeps_of_all() == sleeping)
			return;
		nanosleep(&moment, NULL);
	}
	fake_rule(false, "the threads do not come to rest");
}

static int64_t wake_of_cq_thread(void)
{
	int64_t wake;

	fake_lock();
	wake = fake.wake;
	fake_unlock();
	return wake;
}

void fake_pass(int64_t milliseconds)
{
	int64_t end = atomic_load(&fake.now) + milliseconds, wake;

	fake_settle();
	while ((wake = wake_of_cq_thread()) <= end) {
		atomic_store(&fake.now, wake);
		eventfd_write(fake.tick, 1);
		fake_settle();
	}
	atomic_store(&fake.now, end);
}

void fake_advance(int64_t milliseconds)
{
	atomic_fetch_add(&fake.now, milliseconds);
}

void fake_start(enum ibv_transport_type transport)
{
	fake_lock();
	fake_rule(fake.objects == 0, "something is left of the test before");
	if (fake.tick < 0)
		fake.tick = eventfd(0, EFD_CLOEXEC);
	atomic_store(&fake.now, 1000000);
	fake.device = (struct ibv_device){.transport_type = transport, .name = "fake0"};
	fake.context = (struct ibv_context){
		.device = &fake.device,
		.ops = fake_ops,
		.async_fd = -1,
		.num_comp_vectors = FAKE_VECTORS,
	};
	fake.attributes = (struct ibv_device_attr){
		.vendor_id = FAKE_SOFT_VENDOR,
		.max_qp = 1000,
		.max_qp_wr = 16384,
		.max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16,
	};
	memset(fake.cqs, 0, sizeof(fake.cqs));
	memset(fake.regions, 0, sizeof(fake.regions));
	memset(&fake.failure, 0, sizeof(fake.failure));
	memset(&fake.peer, 0, sizeof(fake.peer));
	fake.registered = fake.registered_most = fake.announced = 0;
	fake.damage = fake.turn = fake.longest_turn = 0;
	fake.flush_on_disconnect = true;
	fake.posts_set_errno = false;
	fake.traffic_class = 0;
	fake.port_mtu = fake.path_mtu = 0;
	fake.port_width = fake.port_speed = 0;
	fake.may_lock = false;
	fake.held = 0;
	fake.asleep = false;
	fake.personality = NULL;
	fake.resets = 0;
	fake_unlock();
}

void fake_start_as(const struct personality *personality)
{
	fake_start(personality->transport);
	fake.personality = personality;
	fake.attributes.vendor_id = personality->vendor;
	fake.attributes.max_qp_rd_atom = personality->reads_answered;
	fake.attributes.max_qp_init_rd_atom = personality->reads_asked;
}

struct ibv_context *fake_context(void)
{
	return &fake.context;
}

void fake_open_events(void)
{
	if (fake.events_fd == 0)
		fake.events_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	fake.context.async_fd = fake.events_fd;
}

static void raise_event(const struct ibv_async_event *event)
{
	fake_lock();
	fake.events[fake.events_raised++ % EVENT_MAX] = *event;
	fake_unlock();
	eventfd_write(fake.context.async_fd, 1);
}

void fake_raise(enum ibv_event_type type, unsigned int port)
{
	raise_event(&(struct ibv_async_event){.element.port_num = (int)port, .event_type = type});
}

void fake_raise_for(enum ibv_event_type type, struct ibv_qp *qp)
{
	raise_event(&(struct ibv_async_event){.element.qp = qp, .event_type = type});
}

void fake_raise_limit(struct ibv_srq *srq)
{
	raise_event(&(struct ibv_async_event){
		.element.srq = srq, .event_type = IBV_EVENT_SRQ_LIMIT_REACHED});
}

unsigned int fake_unacknowledged_events(void)
{
	unsigned int count;

	fake_lock();
	count = fake.events_raised - fake.events_acknowledged;
	fake_unlock();
	return count;
}

unsigned int fake_destroyed_armed(void)
{
	return fake.destroyed_armed;
}

struct ibv_device_attr *fake_attributes(void)
{
	return &fake.attributes;
}

struct rdma_cm_id *fake_id(void)
{
	struct fake_connection *connection = calloc(1, sizeof(*connection));
	struct sockaddr_in *peer;

	if (!connection)
		abort();
	fake_rule(fake_make("rdma_create_id", 1), "no memory");
	connection->id.verbs = &fake.context;
	connection->id.port_num = 1;
	peer = &connection->id.route.addr.dst_sin;
	peer->sin_family = AF_INET;
	peer->sin_port = htons(7471);
	inet_pton(AF_INET, "192.0.2.9", &peer->sin_addr);
	return &connection->id;
}

void fake_limit_inline(uint32_t bytes)
{
	fake_lock();
	fake.inline_most = bytes + 1;
	fake_unlock();
}

void fake_fail(const char *function, unsigned int after, int error)
{
	fake_lock();
	fake.failure.function = function;
	fake.failure.after = after;
	fake.failure.error = error;
	fake_unlock();
}

bool fake_fail_is_due(void)
{
	bool due;

	fake_lock();
	due = fake.failure.function;
	fake_unlock();
	return due;
}

void fake_limit_memory(size_t bytes)
{
	fake_lock();
	fake.registered_most = bytes;
	fake_unlock();
}

void fake_hold_registrations(size_t bytes)
{
	fake_lock();
	fake.held = bytes;
	pthread_cond_broadcast(&fake.unheld);
	fake_unlock();
}

void fake_announce_limit(size_t bytes)
{
	fake_lock();
	fake.announced = bytes;
	fake_unlock();
}

void fake_grant_locking(void)
{
	fake_lock();
	fake.may_lock = true;
	fake_unlock();
}

size_t fake_registered(void)
{
	size_t registered;

	fake_lock();
	registered = fake.registered;
	fake_unlock();
	return registered;
}

unsigned int fake_unused_entries(void)
{
	return fake.unused_entries;
}

unsigned int fake_objects(void)
{
	unsigned int objects;

	fake_lock();
	objects = fake.objects;
	fake_unlock();
	return objects;
}

void fake_expose(void *memory, size_t length, uint32_t rkey)
{
	fake_lock();
	fake.peer.start = (uintptr_t)memory;
	fake.peer.length = length;
	fake.peer.rkey = rkey;
	fake_unlock();
}

void fake_set_rate(uint8_t width, uint8_t speed)
{
	fake_lock();
	fake.port_width = width;
	fake.port_speed = speed;
	fake_unlock();
}

void fake_set_mtus(enum ibv_mtu port, enum ibv_mtu path)
{
	fake_lock();
	fake.port_mtu = port;
	fake.path_mtu = path;
	fake_unlock();
}

void fake_set_traffic_class(uint8_t traffic_class)
{
	fake_lock();
	fake.traffic_class = traffic_class;
	fake_unlock();
}

void fake_agree(struct rdma_cm_id *id, uint8_t reads)
{
	fake_lock();
	fake_of_id(id)->reads = reads;
	fake_unlock();
}

unsigned int fake_sends(struct rdma_cm_id *id)
{
	unsigned int posted;

	fake_lock();
	posted = fake_of_id(id)->posted - fake_of_id(id)->drains;
	fake_unlock();
	return posted;
}

struct fake_send fake_send(struct rdma_cm_id *id, unsigned int index)
{
	struct fake_send send;

	fake_lock();
	fake_rule(index < fake_of_id(id)->posted, "no such work request was posted");
	send = fake_of_id(id)->sends[index];
	fake_unlock();
	return send;
}

unsigned int fake_waiting(struct rdma_cm_id *id)
{
	unsigned int waiting;

	fake_lock();
	waiting = fake_of_id(id)->posted - fake_of_id(id)->completed;
	fake_unlock();
	return waiting;
}

int fake_vector(struct rdma_cm_id *id)
{
	return fake_of_id(id)->cq->vector;
}

unsigned int fake_receives(struct rdma_cm_id *id)
{
	unsigned int waiting;

	fake_lock();
	waiting = fake_of_id(id)->receives_posted - fake_of_id(id)->received;
	fake_unlock();
	return waiting;
}

void fake_complete(struct rdma_cm_id *id, enum ibv_wc_status status)
{
	struct fake_connection *connection = fake_of_id(id);
	unsigned int number;

	fake_lock();
	fake_rule(connection->completed < connection->posted, "nothing is there to complete");
	number = fake_next_send(connection);
	if (status == IBV_WC_SUCCESS)
		fake_execute(connection, number);
	fake_complete_send(connection, number, status);
	fake_unlock();
}

void fake_damage(unsigned int after)
{
	fake_lock();
	fake.damage = after + 1;
	fake_unlock();
}

void fake_join(struct rdma_cm_id *a, struct rdma_cm_id *b)
{
	fake_lock();
	fake_of_id(a)->peer = fake_of_id(b);
	fake_of_id(b)->peer = fake_of_id(a);
	fake_unlock();
}

void fake_arrive(struct rdma_cm_id *id, const void *bytes, size_t length)
{
	const struct ibv_wc completion = {
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_RECV,
		.byte_len = (uint32_t)length,
	};

	fake_lock();
	fake_deliver(fake_of_id(id), bytes, &completion);
	fake_unlock();
}

void fake_flood(struct rdma_cm_id *id, unsigned int messages)
{
	fake_lock();
	fake_of_id(id)->flood = messages;
	fake_pour(fake_of_id(id));
	fake_unlock();
}

unsigned int fake_longest_turn(void)
{
	unsigned int longest;

	fake_lock();
	longest = fake.longest_turn;
	fake_unlock();
	return longest;
}

void fake_arrive_immediate(struct rdma_cm_id *id, uint32_t length, uint32_t immediate)
{
	const struct ibv_wc completion = {
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_RECV_RDMA_WITH_IMM,
		.byte_len = length,
		.imm_data = htonl(immediate),
		.wc_flags = IBV_WC_WITH_IMM,
	};

	fake_lock();
	fake_deliver(fake_of_id(id), NULL, &completion);
	fake_unlock();
}

void fake_fail_receive(struct rdma_cm_id *id, enum ibv_wc_status status)
{
	fake_lock();
	fake_complete_receive(
		fake_of_id(id), &(struct ibv_wc){.status = status, .opcode = IBV_WC_RECV});
	fake_unlock();
}

void fake_break(struct rdma_cm_id *id)
{
	fake_lock();
	fake_flush(fake_of_id(id));
	fake_unlock();
}

void fake_posts_set_errno(void)
{
	fake_lock();
	fake.posts_set_errno = true;
	fake_unlock();
}

void fake_flush_on_disconnect(bool flushes)
{
	fake_lock();
	fake.flush_on_disconnect = flushes;
	fake_unlock();
}

unsigned int fake_resets(void)
{
	unsigned int resets;

	fake_lock();
	resets = fake.resets;
	fake_unlock();
	return resets;
}

struct fake_requests fake_requests(struct rdma_cm_id *id)
{
	struct fake_requests requests;

	fake_lock();
	requests = fake_of_id(id)->requests;
	fake_unlock();
	return requests;
}

const struct ibv_mr *fake_region(uint32_t key, int *access)
{
	const struct fake_mr *region;

	fake_lock();
	region = fake_find(key);
	fake_unlock();
	if (!region)
		return NULL;
	*access = region->access;
	return &region->mr;
}

bool fake_is_exposed(void)
{
	bool exposed = false;

	fake_lock();
	for (size_t i = 0; i < OBJECT_MAX; i++)
		exposed |=
			fake.regions[i].used &&
			fake.regions[i].access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
							 IBV_ACCESS_REMOTE_ATOMIC);
	fake_unlock();
	return exposed;
}
