/* The secret file, and that proofs, keys and tags depend on the secret and on both hellos. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/handshake.h"
#include "tests/unit/unit.h"

#define SECRET_TEXT "sixteen bytes or"

static char folder[] = "/tmp/test-secret-XXXXXX";
static char path[sizeof(folder) + 16];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/secret", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

/* Replaces the file. */
static void write_file(const void *bytes, size_t size, mode_t mode)
{
	int file;

	unlink(path);
	file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	assert_int_equal(write(file, bytes, size), size);
	assert_int_equal(fchmod(file, mode), 0);
	close(file);
}

static void assert_loads(struct secret **secret)
{
	char why[SECRET_WHY_SIZE] = "";

	if (secret_load(secret, path, why))
		fail_msg("%s", why);
}

static void assert_refused(const char *name, int error, const char *reason)
{
	char why[SECRET_WHY_SIZE] = "", expected[SECRET_WHY_SIZE];
	struct secret *secret = NULL;

	snprintf(expected, sizeof(expected), "cannot use secret file %s: %s", name, reason);
	assert_int_equal(secret_load(&secret, name, why), -error);
	assert_string_equal(why, expected);
	assert_null(secret);
}

static struct secret *secret_of(const void *bytes, size_t size)
{
	struct secret *secret = NULL;

	write_file(bytes, size, 0600);
	assert_loads(&secret);
	return secret;
}

static void accepts_a_private_file(void **state)
{
	static const mode_t good[] = {0600, 0400, 0700};
	static const mode_t bad[] = {0644, 0640, 0604, 0660, 0620, 0602, 0610, 0601, 0777};
	struct secret *secret;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		write_file(SECRET_TEXT, SECRET_MIN, good[i]);
		assert_loads(&secret);
		secret_free(secret);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		write_file(SECRET_TEXT, SECRET_MIN, bad[i]);
		assert_refused(path, EPERM, "accessible by other users; run chmod 600 on it");
	}
	secret_free(NULL);
}

/*
 * systemd passes credentials to a service with mode 0440; no other file may be readable by a group.
 */
static void accepts_a_group_readable_credential(void **state)
{
	static const mode_t bad[] = {0644, 0460, 0450, 0441};
	struct secret *secret;

	(void)state;
	if (geteuid() != 0)
		skip();
	write_file(SECRET_TEXT, SECRET_MIN, 0440);
	assert_int_equal(setenv("CREDENTIALS_DIRECTORY", "/elsewhere", 1), 0);
	assert_refused(path, EPERM, "accessible by other users; run chmod 600 on it");
	assert_int_equal(setenv("CREDENTIALS_DIRECTORY", folder, 1), 0);
	assert_loads(&secret);
	secret_free(secret);
	for (size_t i = 0; i < COUNT(bad); i++) {
		write_file(SECRET_TEXT, SECRET_MIN, bad[i]);
		assert_refused(path, EPERM, "accessible by other users; run chmod 600 on it");
	}
	assert_int_equal(unsetenv("CREDENTIALS_DIRECTORY"), 0);
}

/* The owner of the file could change the secret. */
static void refuses_a_file_of_another_user(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	write_file(SECRET_TEXT, SECRET_MIN, 0600);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_refused(path, EPERM, "owned by another user");
}

static void accepts_regular_files_only(void **state)
{
	(void)state;
	assert_refused("/dev/null", EINVAL, "not a regular file");
	assert_refused("/tmp", EINVAL, "not a regular file");
	assert_refused("/nowhere/at all", ENOENT, "No such file or directory");
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_refused(path, EINVAL, "not a regular file");
}

static void limits_the_size_of_a_secret(void **state)
{
	static uint8_t bytes[SECRET_MAX + 3];
	struct secret *secret;

	(void)state;
	memset(bytes, 's', sizeof(bytes));
	for (size_t size = 0; size < SECRET_MIN; size++) {
		write_file(bytes, size, 0600);
		assert_refused(path, EINVAL, "shorter than 16 bytes");
	}
	secret_free(secret_of(bytes, SECRET_MAX));
	write_file(bytes, SECRET_MAX + 1, 0600);
	assert_refused(path, EINVAL, "longer than 4096 bytes");
	write_file(bytes, sizeof(bytes), 0600);
	assert_refused(path, EINVAL, "longer than 4096 bytes");
	/* One final newline does not count, neither towards the maximum nor towards the minimum. */
	bytes[SECRET_MAX] = '\n';
	write_file(bytes, SECRET_MAX + 1, 0600);
	assert_loads(&secret);
	secret_free(secret);
	bytes[SECRET_MIN - 1] = '\n';
	write_file(bytes, SECRET_MIN, 0600);
	assert_refused(path, EINVAL, "shorter than 16 bytes");
}

/* Everything derived from the secret: proofs, stream keys and verdict tags of both roles. */
enum { PROOF_CLIENT, PROOF_SERVER, KEY_CLIENT, KEY_SERVER, TAG_CLIENT, TAG_SERVER, HASHES };

struct hashes {
	uint8_t bytes[HASHES][32];
};

static const struct handshake example = {
	.hello_bytes =
		{
			"what the client says, and then its nonce: 56 bytes long",
			"what the server says, and then its nonce: as long as th",
		},
};

/* Returns the handshake state of the end that holds the secret in that role, with these hellos. */
static struct handshake side(
	const struct secret *secret, const struct handshake *hellos, unsigned int role)
{
	struct handshake side = *hellos;

	side.secret = secret;
	side.role = role;
	return side;
}

static void prove(const struct secret *secret, const struct handshake *hellos, unsigned int role,
	uint8_t *proof)
{
	struct handshake prover = side(secret, hellos, role);

	handshake_prove(&prover, proof);
}

static bool is_proof(const struct secret *secret, const struct handshake *hellos, unsigned int role,
	const uint8_t *proof)
{
	struct handshake checker = side(secret, hellos, !role);

	return handshake_is_proved(&checker, proof);
}

static void stream_key(const struct secret *secret, const struct handshake *hellos,
	unsigned int role, const char *name, uint8_t *key)
{
	struct handshake handshake = side(secret, hellos, role);

	handshake_stream_key(&handshake, role, name, strlen(name), key);
}

static void make_tag(const struct secret *secret, const struct handshake *hellos, unsigned int role,
	uint32_t verdict, uint8_t *tag)
{
	struct handshake signer = side(secret, hellos, role);

	handshake_sign(&signer, verdict, tag);
}

static bool is_tag(const struct secret *secret, const struct handshake *hellos, unsigned int role,
	uint32_t verdict, const uint8_t *tag)
{
	struct handshake checker = side(secret, hellos, !role);

	return handshake_is_signed(&checker, verdict, tag);
}

static void make_hashes(
	const struct secret *secret, const struct handshake *hellos, struct hashes *all)
{
	memset(all, 0, sizeof(*all));
	for (unsigned int i = 0; i < 2; i++) {
		prove(secret, hellos, i, all->bytes[PROOF_CLIENT + i]);
		stream_key(secret, hellos, i, "name", all->bytes[KEY_CLIENT + i]);
		make_tag(secret, hellos, i, 0, all->bytes[TAG_CLIENT + i]);
	}
}

/* All hashes differ, and none is a prefix of another. */
static void assert_all_differ(const struct hashes *a, const struct hashes *b)
{
	for (unsigned int i = 0; i < HASHES; i++)
		for (unsigned int j = 0; j < HASHES; j++)
			if (a != b || i != j)
				assert_memory_not_equal(a->bytes[i], b->bytes[j], SECRET_TAG_SIZE);
}

static void ignores_a_final_newline(void **state)
{
	struct secret *secrets[] = {
		secret_of(SECRET_TEXT, SECRET_MIN),
		secret_of(SECRET_TEXT "\n", SECRET_MIN + 1),
		secret_of(SECRET_TEXT "\n\n", SECRET_MIN + 2),
		secret_of(SECRET_TEXT " ", SECRET_MIN + 1),
	};
	struct hashes hashes[COUNT(secrets)];

	(void)state;
	for (size_t i = 0; i < COUNT(secrets); i++) {
		make_hashes(secrets[i], &example, &hashes[i]);
		secret_free(secrets[i]);
	}
	assert_memory_equal(&hashes[0], &hashes[1], sizeof(hashes[0]));
	assert_all_differ(&hashes[0], &hashes[2]);
	assert_all_differ(&hashes[0], &hashes[3]);
	assert_all_differ(&hashes[2], &hashes[3]);
}

/* Flips each bit of both hellos, which contain mode and version, and of both nonces. */
static void everything_is_bound_to_the_hellos(void **state)
{
	struct secret *secret = secret_of(SECRET_TEXT, SECRET_MIN);
	struct hashes before, after;

	(void)state;
	make_hashes(secret, &example, &before);
	assert_all_differ(&before, &before);
	for (unsigned int bit = 0; bit < 8 * sizeof(example.hello_bytes); bit++) {
		struct handshake other = example;

		((uint8_t *)other.hello_bytes)[bit / 8] ^= (uint8_t)(1 << bit % 8);
		make_hashes(secret, &other, &after);
		assert_all_differ(&before, &after);
		for (unsigned int role = 0; role < 2; role++)
			assert_false(
				is_proof(secret, &other, role, before.bytes[PROOF_CLIENT + role]));
	}
	secret_free(secret);
}

static void everything_is_bound_to_the_secret(void **state)
{
	struct hashes before, after;
	char hello_bytes[] = SECRET_TEXT;
	struct secret *secret = secret_of(hello_bytes, SECRET_MIN);

	(void)state;
	make_hashes(secret, &example, &before);
	secret_free(secret);
	for (unsigned int byte = 0; byte < SECRET_MIN; byte++) {
		hello_bytes[byte] ^= 1;
		secret = secret_of(hello_bytes, SECRET_MIN);
		hello_bytes[byte] ^= 1;
		make_hashes(secret, &example, &after);
		assert_all_differ(&before, &after);
		for (unsigned int role = 0; role < 2; role++)
			assert_false(is_proof(
				secret, &example, role, before.bytes[PROOF_CLIENT + role]));
		secret_free(secret);
	}
}

/* A proof or tag is bound to the sender's role, even if both hellos are the same. */
static void a_reflected_proof_is_invalid(void **state)
{
	struct secret *secret = secret_of(SECRET_TEXT, SECRET_MIN);
	struct handshake mirror = {.hello_bytes = {"the very same words", "the very same words"}};
	uint8_t proof[SECRET_PROOF_SIZE], tag[SECRET_TAG_SIZE];

	(void)state;
	for (unsigned int role = 0; role < 2; role++) {
		prove(secret, &mirror, role, proof);
		assert_true(is_proof(secret, &mirror, role, proof));
		assert_false(is_proof(secret, &mirror, !role, proof));
		make_tag(secret, &mirror, role, 0, tag);
		assert_true(is_tag(secret, &mirror, role, 0, tag));
		assert_false(is_tag(secret, &mirror, !role, 0, tag));
	}
	secret_free(secret);
}

static void one_flipped_bit_is_detected(void **state)
{
	struct secret *secret = secret_of(SECRET_TEXT, SECRET_MIN);
	uint8_t proof[SECRET_PROOF_SIZE], tag[SECRET_TAG_SIZE];

	(void)state;
	prove(secret, &example, SECRET_CLIENT, proof);
	make_tag(secret, &example, SECRET_CLIENT, 0, tag);
	for (unsigned int bit = 0; bit < 8 * sizeof(proof); bit++) {
		proof[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(is_proof(secret, &example, SECRET_CLIENT, proof));
		proof[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (unsigned int bit = 0; bit < 8 * sizeof(tag); bit++) {
		tag[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(is_tag(secret, &example, SECRET_CLIENT, 0, tag));
		tag[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	/* A tag for "verified" is not valid for "damaged". */
	assert_true(is_tag(secret, &example, SECRET_CLIENT, 0, tag));
	assert_false(is_tag(secret, &example, SECRET_CLIENT, 1, tag));
	secret_free(secret);
}

static void a_stream_key_depends_on_the_name(void **state)
{
	static const char *const names[] = {"", "a", "b", "ab", "name"};
	struct secret *secret = secret_of(SECRET_TEXT, SECRET_MIN);
	uint8_t keys[COUNT(names)][SECRET_KEY_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		stream_key(secret, &example, SECRET_SERVER, names[i], keys[i]);
		for (size_t j = 0; j < i; j++)
			assert_memory_not_equal(keys[i], keys[j], SECRET_KEY_SIZE);
	}
	secret_forget(keys, sizeof(keys));
	for (size_t i = 0; i < sizeof(keys); i++)
		assert_int_equal(((uint8_t *)keys)[i], 0);
	secret_free(secret);
}

static void nonces_differ(void **state)
{
	uint8_t nonces[100][SECRET_NONCE_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(nonces); i++) {
		secret_nonce(nonces[i]);
		for (size_t j = 0; j < i; j++)
			assert_memory_not_equal(nonces[i], nonces[j], SECRET_NONCE_SIZE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepts_a_private_file),
		cmocka_unit_test(accepts_a_group_readable_credential),
		cmocka_unit_test(refuses_a_file_of_another_user),
		cmocka_unit_test(accepts_regular_files_only),
		cmocka_unit_test(limits_the_size_of_a_secret),
		cmocka_unit_test(ignores_a_final_newline),
		cmocka_unit_test(everything_is_bound_to_the_hellos),
		cmocka_unit_test(everything_is_bound_to_the_secret),
		cmocka_unit_test(a_reflected_proof_is_invalid),
		cmocka_unit_test(one_flipped_bit_is_detected),
		cmocka_unit_test(a_stream_key_depends_on_the_name),
		cmocka_unit_test(nonces_differ),
	};

	return cmocka_run_group_tests_name("secret", tests, make_folder, remove_folder);
}
