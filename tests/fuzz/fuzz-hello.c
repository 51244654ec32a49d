/* Private data from any peer: hellos are recognised, and survive encoding and decoding again. */
#include <errno.h>

#include "protocol/hello.h"
#include "tests/fuzz/fuzz.h"

/* Every hello begins with the same bytes. */
#define MAGIC_SIZE 8

static bool is_ours(const uint8_t *data, size_t size)
{
	const struct hello nothing = {0};
	uint8_t bytes[HELLO_SIZE];

	hello_encode(&nothing, bytes);
	return size >= MAGIC_SIZE && memcmp(data, bytes, MAGIC_SIZE) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hello hello, again;
	uint8_t bytes[HELLO_SIZE], bytes_again[HELLO_SIZE];
	int error = hello_decode(&hello, data, size);

	fuzz_check((error == -ENOMSG) == !is_ours(data, size));
	fuzz_check(error != -EMSGSIZE || size < HELLO_SIZE);
	fuzz_check(error <= 0);
	if (error)
		return 0;
	fuzz_check(size >= HELLO_SIZE);
	hello_encode(&hello, bytes);
	for (size_t i = 0; i < sizeof(bytes); i++)
		fuzz_check(bytes[i] == data[i] || bytes[i] == 0);
	fuzz_check(hello_decode(&again, bytes, sizeof(bytes)) == 0);
	hello_encode(&again, bytes_again);
	fuzz_check(memcmp(bytes, bytes_again, sizeof(bytes)) == 0);
	return 0;
}
