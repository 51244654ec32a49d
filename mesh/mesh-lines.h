/*
 * The JSON lines of a mesh: docs/mesh.schema.json. The functions return objects that the caller
 * frees with json_object_put(); NULL: out of memory. Main thread.
 */
#ifndef MESH_MESH_LINES_H
#define MESH_MESH_LINES_H

#include "mesh/judgement.h"

struct json_object;

/* The line of a host, or of its device of a rail, once its agent is ready or cannot be. */
struct json_object *mesh_line_host(
	const struct coordinator *coordinator, unsigned int host, const struct mesh_rail *rail);

/* The line of a test that has ended. */
struct json_object *mesh_line_test(const struct coordinator *coordinator,
	const struct mesh_test *test, const struct mesh_outcome *outcome, const char *stage);

/* The line of a finding. */
struct json_object *mesh_line_finding(
	const struct judgement *judgement, const struct finding *finding);

/* The result of one of several rails. */
struct json_object *mesh_line_rail(const struct judgement *judgement, unsigned int rail);

/* The last line. */
struct json_object *mesh_line_summary(const struct judgement *judgement, enum exit_status status,
	const char *word, const char *message, unsigned int rounds);

#endif
