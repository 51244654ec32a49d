/*
 * The hellos of two sides in rdmacm's private data, one of them arbitrary bytes: only a side that
 * has the secret and received the same hello has a valid proof, and only for its own role.
 */
#include "protocol/handshake.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/common/secret-fixture.h"

/* The maximum size of private data: that of an InfiniBand reply. */
#define PRIVATE_MAX 196

static struct secret *ours, *another;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
void __wrap_secret_nonce(uint8_t nonce[SECRET_NONCE_SIZE]);

/* Deterministic, so that runs are reproducible. */
void __wrap_secret_nonce(uint8_t nonce[SECRET_NONCE_SIZE])
{
	memset(nonce, 'n', SECRET_NONCE_SIZE);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* NOLINTNEXTLINE(readability-non-const-parameter): libFuzzer's prototype */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	ours = make_secret('a');
	another = make_secret('b');
	return 0;
}

/* True if a peer with this hello is accepted, in which case all required parts are present. */
static bool is_let_on(const struct secret *secret, const void *bytes, size_t size)
{
	struct hello theirs;

	if (hello_decode(&theirs, bytes, size))
		return false;
	if (!handshake_fits(secret, &theirs, size))
		return false;
	fuzz_check(theirs.secret == (secret != NULL));
	fuzz_check(!secret || size >= SECRET_HELLO_SIZE);
	return true;
}

/* Our own hello contains a nonce and the flag for it if there is a secret. */
static void check_hello(
	const struct hello *said, const uint8_t *hello_bytes, uint8_t size, bool secret)
{
	struct hello received;

	fuzz_check(size == (secret ? SECRET_HELLO_SIZE : HELLO_SIZE));
	fuzz_check(hello_decode(&received, hello_bytes, size) == 0);
	fuzz_check(received.secret == secret && received.size == said->size);
	fuzz_check(received.mode == said->mode && received.timeout == said->timeout);
}

/* True if the other side accepts the first side's proof. */
static bool convinces(const struct handshake *one, const struct handshake *other)
{
	uint8_t proof[SECRET_PROOF_SIZE];

	handshake_prove(one, proof);
	return handshake_is_proved(other, proof);
}

/* The two sides of a connection; the second has sent the hello from the input. */
struct sides {
	struct handshake first, second;
};

static void meet(struct sides *sides, const struct secret *secret, const void *hello_bytes,
	const struct hello *hello)
{
	enum secret_role role = handshake_peer(&sides->first);
	uint8_t size;

	handshake_init(&sides->second, secret, role);
	memcpy(sides->second.hello_bytes[role], hello_bytes, SECRET_HELLO_SIZE);
	handshake_receive_hello(&sides->first, hello_bytes);
	handshake_receive_hello(&sides->second, handshake_hello(&sides->first, hello, &size));
}

static void check_proofs(struct sides *sides, struct fuzz_input *input)
{
	size_t byte = fuzz_byte(input) % sizeof(sides->first.hello_bytes);
	uint8_t bit = (uint8_t)(1U << (fuzz_byte(input) & 7)), proof[SECRET_PROOF_SIZE];
	uint8_t any[SECRET_PROOF_SIZE] = {0};
	struct handshake unauthenticated = sides->second;

	fuzz_check(convinces(&sides->first, &sides->second));
	fuzz_check(convinces(&sides->second, &sides->first));
	/* Our own proof, reflected. */
	fuzz_check(!convinces(&sides->first, &sides->first));
	/* A side that has received a different hello, or has a different secret. */
	((uint8_t *)unauthenticated.hello_bytes)[byte] ^= bit;
	fuzz_check(!convinces(&unauthenticated, &sides->first) &&
		   !convinces(&sides->first, &unauthenticated));
	unauthenticated = sides->second;
	unauthenticated.secret = another;
	fuzz_check(!convinces(&unauthenticated, &sides->first) &&
		   !convinces(&sides->first, &unauthenticated));
	/* Arbitrary bytes, and a valid proof with a flipped bit. */
	fuzz_bytes(input, any, sizeof(any));
	fuzz_check(!handshake_is_proved(&sides->first, any));
	handshake_prove(&sides->second, proof);
	proof[byte % sizeof(proof)] ^= bit;
	fuzz_check(!handshake_is_proved(&sides->first, proof));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	uint8_t kind = fuzz_byte(&input), hello_size, length = fuzz_byte(&input);
	const struct secret *secret = kind & 1 ? ours : NULL;
	struct hello hello = {
		.version = HELLO_VERSION,
		.mode = kind >> 2 & 1,
		.size = fuzz_number(&input, 8),
		.timeout = (uint32_t)fuzz_number(&input, 4),
	};
	struct sides sides;
	uint8_t bytes[PRIVATE_MAX], *theirs;
	size_t taken;

	handshake_init(&sides.first, secret, kind & 2 ? SECRET_SERVER : SECRET_CLIENT);
	fuzz_check(handshake_peer(&sides.first) != sides.first.role);
	check_hello(&hello, handshake_hello(&sides.first, &hello, &hello_size), hello_size, secret);
	taken = fuzz_bytes(&input, bytes, length % (sizeof(bytes) + 1));
	/* A buffer of exactly this size. */
	theirs = fuzz_copy(bytes, taken);
	if (is_let_on(secret, theirs, taken)) {
		if (secret) {
			meet(&sides, secret, theirs, &hello);
			check_proofs(&sides, &input);
		} else {
			handshake_receive_hello(&sides.first, theirs);
		}
	}
	free(theirs);
	return 0;
}
