# rdma-server and rdma-client. Targets: all, check, fuzz, lint, install, uninstall, clean.
#
# The caller's CC, CPPFLAGS, CFLAGS, LDFLAGS and LDLIBS are respected; what the sources need is kept
# apart from them. Variables of our own:
#   BUILD     folder for objects and test programs (default build)
#   BIN       folder for the programs (default: here)
#   SANITIZE  -fsanitize= list, as in: make BUILD=build/asan BIN=build/asan SANITIZE=address,undefined

BUILD ?= build
BIN ?= .
PREFIX ?= /usr/local
DESTDIR ?=
INSTALL ?= install
PKG_CONFIG ?= pkg-config
CFLAGS ?= -O2 -g

PACKAGES := libibverbs librdmacm libxxhash libsodium json-c libmnl
SANITIZE ?=

warnings := -Wall -Wextra -Wshadow -Wconversion -Wformat=2 -Wno-format-zero-length \
	-Wmissing-prototypes -Wstrict-prototypes -Wold-style-definition -Wpointer-arith \
	-Wwrite-strings -Wvla
ours_cppflags := -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I. \
	$(shell $(PKG_CONFIG) --cflags $(PACKAGES))
ours_cflags := -std=gnu17 -pthread $(warnings) $(if $(SANITIZE),-fsanitize=$(SANITIZE) \
	-fno-sanitize-recover=all -fno-omit-frame-pointer)
ours_ldflags := -pthread $(if $(SANITIZE),-fsanitize=$(SANITIZE))
ours_ldlibs := $(shell $(PKG_CONFIG) --libs $(PACKAGES))

modules := $(wildcard lib/*.c)
verbs := rdma-bench.c rdma-common.c rdma-connection.c rdma-events.c rdma-exchange.c rdma-facts.c \
	rdma-memory.c rdma-pingpong.c rdma-probe-wait.c rdma-probe.c rdma-providers.c rdma-report.c \
	rdma-run.c rdma-secret.c rdma-stream.c rdma-tutorial.c
programs := rdma-server rdma-client
server_parts := rdma-admission.c rdma-answer.c rdma-devices.c rdma-service.c
client_parts := rdma-ask.c rdma-climb.c rdma-diagnose.c rdma-measure.c rdma-move.c rdma-team.c \
	rdma-way.c
unit_tests := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test-*.c))
peers := tutorial-peer odd-peer swarm
fuzz_targets := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz-*.c))

everything = $(CC) $(ours_cppflags) $(CPPFLAGS) $(ours_cflags) $(CFLAGS) $(LDFLAGS) $(LDLIBS)
objects = $(addprefix $(BUILD)/,$(1:.c=.o))
link = $(CC) $(ours_ldflags) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(ours_ldlibs) $(LDLIBS)

.PHONY: all check fuzz fuzz-targets test-programs lint install uninstall clean
.SECONDARY:

all: $(programs:%=$(BIN)/%)

$(BIN)/rdma-server: $(call objects,$(server_parts))
$(BIN)/rdma-client: $(call objects,$(client_parts))
$(programs:%=$(BIN)/%): $(BIN)/%: $(BUILD)/%.o \
		$(call objects,rdma-session.c $(verbs) $(modules))
	@mkdir -p $(@D)
	$(link)

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) -MMD -MP $(ours_cppflags) $(CPPFLAGS) $(ours_cflags) $(CFLAGS) -c -o $@ $<

# Rebuilds everything when the compiler or the flags change.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(everything)' | cmp -s - $@ || echo '$(everything)' > $@
.PHONY: FORCE
FORCE:

# Unit tests need no RDMA device. `make check` runs them as built; scripts/test with sanitizers.
$(BUILD)/tests/unit/test-%: $(BUILD)/tests/unit/test-%.o $(call objects,$(verbs) $(modules))
	$(link) -lcmocka

check: $(unit_tests:%=$(BUILD)/tests/unit/%)
	@status=0; for test in $^; do $$test || status=1; done; exit $$status

# docs/fuzzing.md: clang's libFuzzer calls each target. scripts/fuzz makes them with its flags.
fuzz:
	./scripts/fuzz

fuzz-targets: $(fuzz_targets:%=$(BUILD)/tests/fuzz/%)

# The linker puts functions of the target in the place of these: ld(1), --wrap.
wrapped =
$(BUILD)/tests/fuzz/fuzz-%: $(BUILD)/tests/fuzz/fuzz-%.o $(call objects,$(modules))
	$(link) -lcmocka -fsanitize=fuzzer $(wrapped:%=-Wl,--wrap=%)

# Programs that the soft-RoCE tests let loose on the pair; they are not installed.
$(peers:%=$(BUILD)/tests/soft-roce/%): $(BUILD)/%: $(BUILD)/%.o \
		$(call objects,tests/soft-roce/endpoint.c $(verbs) $(modules))
	$(link)

# Variants of the programs whose data is damaged after it was digested.
damaging := damaging-server damaging-client
$(BUILD)/tests/soft-roce/damaging-server: $(call objects,$(server_parts))
$(BUILD)/tests/soft-roce/damaging-client: $(call objects,$(client_parts))
$(damaging:%=$(BUILD)/tests/soft-roce/%): $(BUILD)/tests/soft-roce/damaging-%: $(BUILD)/rdma-%.o \
		$(call objects,tests/soft-roce/damage.c rdma-session.c $(verbs) $(modules))
	$(link) -Wl,--wrap=digest_of,--wrap=digest_of_keyed,--wrap=digester_add,--wrap=pattern_fill

test-programs: $(addprefix $(BUILD)/tests/soft-roce/,$(peers) $(damaging))

lint:
	./scripts/lint

install: all
	$(INSTALL) -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/share/man/man1" \
		"$(DESTDIR)$(PREFIX)/share/bash-completion/completions"
	$(INSTALL) $(programs:%=$(BIN)/%) "$(DESTDIR)$(PREFIX)/bin"
	$(INSTALL) -m 644 $(programs:%=man/%.1) "$(DESTDIR)$(PREFIX)/share/man/man1"
	$(INSTALL) -m 644 $(programs:%=completions/%) \
		"$(DESTDIR)$(PREFIX)/share/bash-completion/completions"
	$(INSTALL) -d "$(DESTDIR)$(PREFIX)/lib/systemd/system"
	sed 's|/usr/local/bin|$(PREFIX)/bin|' 'systemd/rdma-server@.service' \
		> "$(DESTDIR)$(PREFIX)/lib/systemd/system/rdma-server@.service"

uninstall:
	cd "$(DESTDIR)$(PREFIX)/bin" && rm -f $(programs)
	cd "$(DESTDIR)$(PREFIX)/share/man/man1" && rm -f $(programs:%=%.1)
	cd "$(DESTDIR)$(PREFIX)/share/bash-completion/completions" && rm -f $(programs)
	rm -f "$(DESTDIR)$(PREFIX)/lib/systemd/system/rdma-server@.service"

clean:
	rm -rf $(BUILD) $(programs:%=$(BIN)/%)

-include $(wildcard $(BUILD)/*.d $(BUILD)/lib/*.d $(BUILD)/tests/*/*.d)

$(BUILD)/tests/soft-roce/odd-peer: $(call objects,tests/soft-roce/odd-measure.c \
	tests/soft-roce/odd-orders.c tests/soft-roce/odd-steps.c)

# These run the verbs module on a made-up device instead of libibverbs and librdmacm.
on_made_up_device := abandoning aborting admission connection ending hearing isolation limits making memory \
	pieces posting silence stream violations
$(on_made_up_device:%=$(BUILD)/tests/unit/test-%): $(call objects,$(addprefix tests/unit/, \
	fake-control.c fake-device.c fake-verbs.c pair.c rig.c))

# These share what an output is tried with.
$(addprefix $(BUILD)/tests/unit/,test-sink test-sink-failures test-target test-target-failures): \
	$(call objects,tests/unit/target-rig.c)

# These share processes that print, and what becomes of that.
$(addprefix $(BUILD)/tests/unit/,test-output test-output-progress): \
	$(call objects,tests/unit/output-rig.c)

# These share a made-up stream, and what fills or empties its ring.
$(addprefix $(BUILD)/tests/unit/,test-flow test-ring test-worker): \
	$(call objects,tests/unit/stream-rig.c)
$(addprefix $(BUILD)/tests/unit/,test-sink test-sink-failures): \
	$(call objects,$(addprefix tests/unit/,sink-rig.c stream-rig.c))
$(addprefix $(BUILD)/tests/unit/,test-source test-source-failures): \
	$(call objects,$(addprefix tests/unit/,source-rig.c stream-rig.c))

# These share secrets, and peers who may have them.
$(addprefix $(BUILD)/tests/unit/,test-handshake test-admission test-isolation): \
	$(call objects,tests/unit/secret-rig.c)
$(addprefix $(BUILD)/tests/unit/,test-admission test-isolation): \
	$(call objects,tests/unit/admission-rig.c)

# These share both ends of a measurement, on a made-up device of its own.
$(addprefix $(BUILD)/tests/unit/,test-bench test-bench-cost): \
	$(call objects,tests/unit/bench-device.c tests/unit/bench-rig.c)

# These share a validator of JSON documents.
$(addprefix $(BUILD)/tests/unit/,test-findings test-measurement-document test-report): \
	$(call objects,tests/unit/schema-rig.c)

# These share the papers and tests of the tree.
$(addprefix $(BUILD)/tests/unit/,test-documents test-provoked): $(call objects,tests/unit/paper-rig.c)

# These share made-up sysfs trees.
$(addprefix $(BUILD)/tests/unit/,test-counters test-host test-inventory test-sysfs): \
	$(call objects,tests/unit/tree-rig.c)

$(BUILD)/tests/unit/test-flow: $(call objects,tests/unit/flow-model.c)
$(BUILD)/tests/unit/test-exchange: $(call objects,tests/unit/exchange-model.c)

# These share two hosts in network namespaces.
$(addprefix $(BUILD)/tests/unit/,test-netlink test-path test-datagram test-reach): \
	$(call objects,tests/unit/net-rig.c)

# What the fuzz targets share with the unit tests, and what they replace.
$(BUILD)/tests/fuzz/fuzz-answer: $(call objects,rdma-answer.c tests/fuzz/library.c)
$(BUILD)/tests/fuzz/fuzz-answer: wrapped := output_error secret_nonce worker_start
$(BUILD)/tests/fuzz/fuzz-flow: $(call objects,tests/unit/flow-model.c)
$(BUILD)/tests/fuzz/fuzz-connection: $(call objects,$(verbs) $(addprefix tests/fuzz/, \
	end.c threads.c witness.c) $(addprefix tests/unit/,fake-control.c fake-device.c fake-verbs.c \
	secret-rig.c))
$(BUILD)/tests/fuzz/fuzz-connection: wrapped := poll secret_nonce sem_wait $(addprefix pthread_, \
	cond_broadcast cond_signal cond_wait create join setname_np)
$(BUILD)/tests/fuzz/fuzz-datagram: wrapped := recv recvmsg
$(BUILD)/tests/fuzz/fuzz-handshake: $(call objects,tests/unit/secret-rig.c)
$(BUILD)/tests/fuzz/fuzz-handshake: wrapped := secret_nonce
$(BUILD)/tests/fuzz/fuzz-netlink: wrapped := poll $(addprefix mnl_socket_, \
	bind close get_fd open2 recvfrom sendto)
$(BUILD)/tests/fuzz/fuzz-sysfs: wrapped := access close open64 read readlink scandir64
