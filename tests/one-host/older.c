/*
 * Linked into older-server and older-client, variants of the programs that behave like an earlier
 * release in an exchange: their hello lacks what such a release does not know, they do not see it
 * in the peer's, and refuse the entries of a tree stream that came later. The linker replaces the
 * functions with these (ld(1), --wrap).
 */
#include <errno.h>

#include "protocol/hello.h"
#include "protocol/tree.h"

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
void __real_hello_encode(const struct hello *hello, uint8_t buffer[HELLO_SIZE]);
void __wrap_hello_encode(const struct hello *hello, uint8_t buffer[HELLO_SIZE]);
int __real_hello_decode(struct hello *hello, const void *data, size_t length);
int __wrap_hello_decode(struct hello *hello, const void *data, size_t length);
int __real_tree_decode(struct tree_entry *entry, const uint8_t header[TREE_HEADER_SIZE]);
int __wrap_tree_decode(struct tree_entry *entry, const uint8_t header[TREE_HEADER_SIZE]);

static void forget(struct hello *hello)
{
	hello->extended = hello->answers = hello->keeps = false;
	/* Release 0.1 took the secrets of later ones for none. */
	hello->secret = false;
}

void __wrap_hello_encode(const struct hello *hello, uint8_t buffer[HELLO_SIZE])
{
	struct hello older = *hello;

	forget(&older);
	__real_hello_encode(&older, buffer);
	/* It announced its own kind of secret. */
	if (hello->secret && !hello->refusal)
		buffer[28] = 1;
}

int __wrap_hello_decode(struct hello *hello, const void *data, size_t length)
{
	int error = __real_hello_decode(hello, data, length);

	forget(hello);
	return error;
}

int __wrap_tree_decode(struct tree_entry *entry, const uint8_t header[TREE_HEADER_SIZE])
{
	int error = __real_tree_decode(entry, header);

	return !error && entry->kind > TREE_LEAVE ? -EPROTO : error;
}
/* NOLINTEND(bugprone-reserved-identifier) */
