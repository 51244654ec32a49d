/*
 * The JSON lines of a mesh: docs/mesh.schema.json. The functions return objects that the caller
 * frees with json_object_put(); NULL: out of memory. Main thread.
 */
#ifndef MESH_MESH_LINES_H
#define MESH_MESH_LINES_H

#include "mesh/verdict.h"

struct json_object;

/* The line of a host, once its agent is ready or cannot be. */
struct json_object *mesh_line_host(const struct coordinator *coordinator, unsigned int host);

/* The line of a test that has ended. */
struct json_object *mesh_line_test(const struct host_list *list, const struct mesh_test *test,
	const struct mesh_outcome *outcome, const char *stage);

/* The line of a finding. */
struct json_object *mesh_line_finding(
	const struct mesh_results *results, const struct finding *finding);

/* The last line. */
struct json_object *mesh_line_summary(const struct coordinator *coordinator,
	const struct verdict *verdict, enum exit_status status, const char *word,
	const char *message, unsigned int rounds);

#endif
