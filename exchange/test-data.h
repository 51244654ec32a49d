/*
 * Test data: an exchange of two texts also moves 16 KiB in each direction, so that it fails if the
 * path loses large packets, which an MTU mismatch causes and a short text does not show. Both sides
 * must announce it in their hellos. See docs/protocol.md, "Test data".
 *
 * The region that a side exposes then has 4096 bytes, the largest path MTU: the text, and a pattern
 * that fills the rest. Before the data of its text, each side WRITEs the whole region several
 * times; in read mode, the other side READs it. So the data needs little memory at a server with
 * many clients. The text that follows changes none of the bytes, and the receiver verifies both.
 */
#ifndef EXCHANGE_TEST_DATA_H
#define EXCHANGE_TEST_DATA_H

#include "exchange/internal.h"

/*
 * Decides whether the connection offers test data or, on the passive side, accepts the peer's
 * offer: `texts` is true if neither stream can be more than a text. The peer accepts our offer.
 * Main thread.
 */
void test_data_offer(struct connection *connection, bool texts);
void test_data_accepted(struct connection *connection);

/* Fills the rest of our region, which begins with our text. Main thread. */
void test_data_fill(const struct connection *connection);

/* Moves the test data, if both sides have agreed on it. CQ thread. */
enum exchange_event test_data_move(struct connection *connection);

/* True unless test data arrived that was damaged. All of the peer's data has arrived. CQ thread. */
bool test_data_is_intact(const struct connection *connection);

/*
 * Replaces the failure of an exchange by its cause if large packets were lost: devices acknowledge
 * without any program, so a busy peer delays no acknowledgement for seconds. CQ thread, at the
 * end.
 */
void test_data_explain(struct connection *connection);

/*
 * The same for a failure that endpoint_blame() has replaced: soft-RoCE of Linux 6.12 gives up at
 * the first packet larger than its port allows. Main thread, when the connection is released.
 */
void test_data_explain_unsent(struct connection *connection);

#endif
