/* Encodes and decodes the entries of a tree stream. Received headers are validated here. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "protocol/attributes.h"
#include "protocol/little-endian.h"
#include "protocol/tree.h"

enum {
	AT_KIND = 0,
	AT_NAME_SIZE = 1,
	AT_MODE = 2,
	AT_NANOSECONDS = 4,
	AT_SECONDS = 8,
	AT_SIZE = 16,
};

void tree_encode(const struct tree_entry *entry, uint8_t header[TREE_HEADER_SIZE])
{
	header[AT_KIND] = (uint8_t)entry->kind;
	header[AT_NAME_SIZE] = entry->name_size;
	le_put16(header + AT_MODE, entry->mode);
	le_put32(header + AT_NANOSECONDS, entry->nanoseconds);
	le_put64(header + AT_SECONDS, (uint64_t)entry->seconds);
	le_put64(header + AT_SIZE, entry->size);
}

static bool is_valid(const struct tree_entry *entry)
{
	if (entry->mode > 0777 || entry->nanoseconds >= 1000000000 || entry->size > INT64_MAX)
		return false;
	switch (entry->kind) {
	case TREE_START:
		return entry->name_size == 0;
	case TREE_FOLDER:
		return entry->name_size > 0 && entry->size == 0;
	case TREE_FILE:
		return entry->name_size > 0;
	case TREE_SPARSE:
	case TREE_CONTINUED:
	case TREE_KEPT:
		return entry->name_size > 0 && entry->size > 0;
	case TREE_LINK:
	case TREE_HARD_LINK:
		return entry->name_size > 0 && entry->size > 0 && entry->size <= TREE_LINK_MAX;
	case TREE_LEAVE:
	case TREE_ASKED:
	case TREE_WITHDRAWN:
		return entry->name_size == 0 && entry->size == 0;
	case TREE_ASK:
		return entry->name_size == 0 && entry->size > TREE_ASK_SIZE &&
		       entry->size <= TREE_ASK_MAX;
	case TREE_ATTRIBUTES:
		return entry->name_size == 0 && entry->size > 0 && entry->size <= ATTRIBUTES_MAX;
	}
	return false;
}

int tree_decode(struct tree_entry *entry, const uint8_t header[TREE_HEADER_SIZE])
{
	*entry = (struct tree_entry){
		.kind = header[AT_KIND],
		.mode = le_get16(header + AT_MODE),
		.nanoseconds = le_get32(header + AT_NANOSECONDS),
		.seconds = (int64_t)le_get64(header + AT_SECONDS),
		.size = le_get64(header + AT_SIZE),
		.name_size = header[AT_NAME_SIZE],
	};
	return is_valid(entry) ? 0 : -EPROTO;
}

void tree_run_encode(const struct tree_run *run, uint8_t bytes[TREE_RUN_SIZE])
{
	le_put64(bytes, run->hole);
	le_put64(bytes + 8, run->data);
}

int tree_run_decode(struct tree_run *run, const uint8_t bytes[TREE_RUN_SIZE], uint64_t left)
{
	*run = (struct tree_run){.hole = le_get64(bytes), .data = le_get64(bytes + 8)};
	if (run->hole > left || run->data > left - run->hole)
		return -EPROTO;
	return run->data > 0 || run->hole == left ? 0 : -EPROTO;
}

/* With the number: the answer is by time. */
#define BY_TIME (UINT64_C(1) << 63)

void tree_answer_encode(const struct tree_answer *answer, uint8_t bytes[TREE_ANSWER_SIZE])
{
	le_put64(bytes, answer->number | (answer->by_time ? BY_TIME : 0));
	le_put64(bytes + 8, answer->size);
	memcpy(bytes + 16, answer->digest.bytes, DIGEST_SIZE);
}

void tree_answer_decode(struct tree_answer *answer, const uint8_t bytes[TREE_ANSWER_SIZE])
{
	uint64_t number = le_get64(bytes);

	answer->number = number & ~BY_TIME;
	answer->by_time = number & BY_TIME;
	answer->size = le_get64(bytes + 8);
	memcpy(answer->digest.bytes, bytes + 16, DIGEST_SIZE);
}

/* More files than this are unknown: see is_valid(). */
#define FILES_MAX 999999999

void tree_start_count(struct tree_entry *start, uint64_t total, uint64_t files)
{
	start->seconds = total <= INT64_MAX ? (int64_t)total : 0;
	start->nanoseconds = files <= FILES_MAX ? (uint32_t)files : 0;
}

uint64_t tree_start_total(const struct tree_entry *start)
{
	return start->seconds > 0 ? (uint64_t)start->seconds : 0;
}

uint64_t tree_start_files(const struct tree_entry *start)
{
	return start->nanoseconds;
}

int tree_check_name(const char *name, size_t size)
{
	bool dots = size <= 2 && name[0] == '.' && name[size - 1] == '.';

	return size == 0 || dots || memchr(name, '/', size) || memchr(name, '\0', size) ? -EPROTO
											: 0;
}
