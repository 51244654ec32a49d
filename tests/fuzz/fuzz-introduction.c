/* Private data from whoever connects: ours is told from others', and says the same when sent again. */
#include <errno.h>

#include "fuzz.h"
#include "lib/introduction.h"

/* What begins every introduction. */
#define MAGIC_SIZE 8

static bool is_ours(const uint8_t *data, size_t size)
{
	const struct introduction nothing = {0};
	uint8_t bytes[INTRODUCTION_SIZE];

	introduction_encode(&nothing, bytes);
	return size >= MAGIC_SIZE && memcmp(data, bytes, MAGIC_SIZE) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct introduction introduction, again;
	uint8_t bytes[INTRODUCTION_SIZE], bytes_again[INTRODUCTION_SIZE];
	int error = introduction_decode(&introduction, data, size);

	fuzz_check((error == -ENOMSG) == !is_ours(data, size));
	fuzz_check(error != -EMSGSIZE || size < INTRODUCTION_SIZE);
	fuzz_check(error <= 0);
	if (error)
		return 0;
	fuzz_check(size >= INTRODUCTION_SIZE);
	introduction_encode(&introduction, bytes);
	for (size_t i = 0; i < sizeof(bytes); i++)
		fuzz_check(bytes[i] == data[i] || bytes[i] == 0);
	fuzz_check(introduction_decode(&again, bytes, sizeof(bytes)) == 0);
	introduction_encode(&again, bytes_again);
	fuzz_check(memcmp(bytes, bytes_again, sizeof(bytes)) == 0);
	return 0;
}
