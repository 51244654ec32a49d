/* Prints the text that the peer sent, which the connection owns. Runs on the CQ thread. */
#include "exchange/internal.h"

void connection_print_text(const struct connection *connection, const char *text, bool greeting)
{
	const struct output *output = connection->settings->output;

	if (!output->brief)
		output_step(output, connection_client(connection), "remote buffer: %s", text);
	else if (!greeting)
		output_line(output, "message from %s: %s", connection->peer, text);
}
