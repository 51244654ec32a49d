/*
 * Linked into hooked-client, a variant of rdma-client that runs a command before it calls a
 * function of librdmacm, so that a test can change this host between two steps of connecting. The
 * environment variables BEFORE_ADDRESS, BEFORE_ROUTE and BEFORE_CONNECT are commands of the shell;
 * if one is unset, nothing is run. The linker replaces the functions with these (ld(1), --wrap).
 */
#include <rdma/rdma_cma.h>
#include <stdlib.h>

#include "host/tcp-probe.h"

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
int __real_rdma_resolve_addr(
	struct rdma_cm_id *id, struct sockaddr *source, struct sockaddr *address, int timeout);
int __wrap_rdma_resolve_addr(
	struct rdma_cm_id *id, struct sockaddr *source, struct sockaddr *address, int timeout);
int __real_rdma_resolve_route(struct rdma_cm_id *id, int timeout);
int __wrap_rdma_resolve_route(struct rdma_cm_id *id, int timeout);
int __real_rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *parameters);
int __wrap_rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *parameters);
int __real_tcp_probe(const struct sockaddr *source, const struct sockaddr *address,
	deadline_t deadline, int stop_fd);
int __wrap_tcp_probe(const struct sockaddr *source, const struct sockaddr *address,
	deadline_t deadline, int stop_fd);

/* Runs the command in this variable, once. The test checks what it has changed. */
static void run(const char *variable)
{
	const char *command = getenv(variable);

	/* NOLINTNEXTLINE(cert-env33-c): a test's own command */
	if (command && system(command) != 0)
		abort();
	unsetenv(variable);
}

int __wrap_rdma_resolve_addr(
	struct rdma_cm_id *id, struct sockaddr *source, struct sockaddr *address, int timeout)
{
	run("BEFORE_ADDRESS");
	return __real_rdma_resolve_addr(id, source, address, timeout);
}

int __wrap_rdma_resolve_route(struct rdma_cm_id *id, int timeout)
{
	run("BEFORE_ROUTE");
	return __real_rdma_resolve_route(id, timeout);
}

/* Over software iWARP, the first step of a connection. */
int __wrap_tcp_probe(const struct sockaddr *source, const struct sockaddr *address,
	deadline_t deadline, int stop_fd)
{
	run("BEFORE_CONNECT");
	return __real_tcp_probe(source, address, deadline, stop_fd);
}

int __wrap_rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *parameters)
{
	run("BEFORE_CONNECT");
	return __real_rdma_connect(id, parameters);
}
/* NOLINTEND(bugprone-reserved-identifier) */
