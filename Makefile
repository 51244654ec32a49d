# rdma-server and rdma-client. `make help` lists the targets.
#
# CC, CPPFLAGS, CFLAGS, LDFLAGS and LDLIBS belong to the caller; flags that the sources require are
# separate. Further variables:
#   BUILD     folder for objects and test programs (default: build)
#   BIN       folder for the programs (default: the current folder)
#   UNITDIR   folder for the systemd unit (default: $(PREFIX)/lib/systemd/system)
#   ZSHDIR    folder for the zsh completions (default: $(PREFIX)/share/zsh/site-functions)
#   DOCDIR    folder for the documents (default: $(PREFIX)/share/doc/rdma-pair)
#   EMULATOR  program that runs the unit tests, if they are built for another architecture: qemu-aarch64
#   V         1 to print whole commands
#   SANITIZE  list for -fsanitize=: make BUILD=build/asan BIN=build/asan SANITIZE=address,undefined

BUILD ?= build
BIN ?= .
PREFIX ?= /usr/local
UNITDIR ?= $(PREFIX)/lib/systemd/system
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
DOCDIR ?= $(PREFIX)/share/doc/rdma-pair
DESTDIR ?=
INSTALL ?= install
PKG_CONFIG ?= pkg-config
CFLAGS ?= -O2 -g

PACKAGES := libibverbs librdmacm libxxhash libsodium json-c libnl-route-3.0
SANITIZE ?=

warnings := -Wall -Wextra -Wshadow -Wconversion -Wformat=2 -Wno-format-zero-length \
	-Wmissing-prototypes -Wstrict-prototypes -Wold-style-definition -Wpointer-arith \
	-Wwrite-strings -Wvla
# -isystem suppresses warnings about the libraries' headers.
ours_cppflags := -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I. \
	$(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null))
ours_cflags := -std=gnu17 -pthread $(warnings) $(if $(SANITIZE),-fsanitize=$(SANITIZE) \
	-fno-sanitize-recover=all -fno-omit-frame-pointer)
ours_ldflags := -pthread $(if $(SANITIZE),-fsanitize=$(SANITIZE))
ours_ldlibs := $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null)
# Which of them, if pkg-config does not know them all.
missing := $(if $(ours_ldlibs),,$(strip $(foreach package,$(PACKAGES), \
	$(shell $(PKG_CONFIG) --exists $(package) 2>/dev/null || echo $(package)))))

# Begins a command with `@echo` of a short line instead of the command, unless V=1 or `make -s`.
comma := ,
short := $(if $(filter 1,$(V))$(findstring s,$(firstword -$(MAKEFLAGS))),,yes)
say = $(if $(short),@echo '  $1  $2' && )

folders := base cli control copy diagnose exchange host measure mesh multicast protocol serve stream verbs
library := $(BUILD)/librdma-pair.a
programs := rdma-server rdma-client
unit_tests := $(patsubst %.c,%,$(wildcard tests/unit/*/test-*.c))
peers := tutorial-peer misbehaving-peer load-generator stoppable-files
fuzz_targets := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz-*.c))

everything = $(CC) $(ours_cppflags) $(CPPFLAGS) $(ours_cflags) $(CFLAGS) $(LDFLAGS) $(LDLIBS)
objects = $(addprefix $(BUILD)/,$(1:.c=.o))
link = $(call say,LD,$@)$(CC) $(ours_ldflags) $(CFLAGS) $(LDFLAGS) -o $@ $(filter-out %.a,$^) $(filter %.a,$^) $(ours_ldlibs) -lm $(LDLIBS)

.PHONY: all help unit-tests check fuzz fuzz-targets test-programs lint dist deb rpm-spec rpm-check install uninstall clean
.SECONDARY:

all: $(programs:%=$(BIN)/%)

help:
	@echo 'all (default)      builds rdma-server and rdma-client'
	@echo 'check              runs the unit tests (unit-tests builds them); needs no RDMA'
	@echo 'lint, fuzz         run scripts/lint and scripts/fuzz; all tests: scripts/test'
	@echo 'install, uninstall below PREFIX=$(PREFIX); DESTDIR=FOLDER for packages'
	@echo 'dist, deb          source archive and Debian packages; RPM: rpm-spec, rpm-check'
	@echo 'clean              removes what was built'
	@echo
	@echo 'V=1 prints whole commands; the top of the Makefile describes other variables.'

$(programs:%=$(BIN)/%): $(BIN)/%: $(BUILD)/%.o $(library)
	@mkdir -p $(@D)
	$(link)

# The code that the programs and their tests share. The linker extracts the objects that each uses.
$(library): $(call objects,rdma-common.c $(foreach folder,$(folders),$(wildcard $(folder)/*.c)))
	@rm -f $@
	$(call say,AR,$@)$(AR) rcs $@ $^

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -MMD -MP $(ours_cppflags) $(CPPFLAGS) $(ours_cflags) $(CFLAGS) -c -o $@ $<

$(BUILD)/cli/explanations.o: docs/troubleshooting.md

# Rebuilds everything when the compiler or the flags change.
$(BUILD)/flags: FORCE
	@$(if $(missing),$(error missing: $(missing); run ./scripts/deps build))
	@mkdir -p $(@D)
	@echo '$(everything)' | cmp -s - $@ || echo '$(everything)' > $@
.PHONY: FORCE
FORCE:

# Unit tests need no RDMA device. `make check` runs them without, scripts/test with sanitizers. A
# test is linked with the fixtures of its folder and the common fixtures.
# One with other functions of libibverbs than the rest is named where it is used.
apart := tests/unit/control/operations-device.c tests/unit/common/no-tcp-fixture.c
fixtures = $(call objects,$(filter-out $(unit_tests:%=%.c) $(apart),$(wildcard tests/unit/$1/*.c)))
define unit_tests_in
$(BUILD)/tests/unit/$1/fixtures.a: $(call fixtures,$1)
	@mkdir -p $$(@D) && rm -f $$@
	$$(call say,AR,$$@)$(AR) rcs $$@ $$(filter-out %.a,$$^)
$(filter $(BUILD)/tests/unit/$1/%,$(unit_tests:%=$(BUILD)/%)): %: %.o \
		$(BUILD)/tests/unit/$1/fixtures.a $(BUILD)/tests/unit/common/fixtures.a $(library)
	$$(link) -lcmocka
endef
$(foreach folder,$(notdir $(wildcard tests/unit/*)),$(eval $(call unit_tests_in,$(folder))))

# With -j several tests run at a time; the output of each stays together. All tests run; then the
# summary is printed.
MAKEFLAGS += --output-sync
.PHONY: $(unit_tests:%=run-%)
$(unit_tests:%=run-%): run-%: $(BUILD)/%
	@$(EMULATOR) $< >$<.log 2>&1; echo $$? >$<.status; cat $<.log

unit-tests: $(unit_tests:%=$(BUILD)/%)

check: $(unit_tests:%=run-%)
	@awk -f tests/unit/summary.awk $(unit_tests:%=$(BUILD)/%.log)

# See docs/fuzzing.md. scripts/fuzz builds the targets with clang and libFuzzer's flags.
fuzz:
	./scripts/fuzz

fuzz-targets: $(fuzz_targets:%=$(BUILD)/tests/fuzz/%)

# The linker replaces these functions with the target's: ld(1), --wrap.
wrapped =
$(BUILD)/tests/fuzz/fuzz-%: $(BUILD)/tests/fuzz/fuzz-%.o $(library)
	$(link) -lcmocka -fsanitize=fuzzer $(wrapped:%=-Wl,--wrap=%)

# Test peers for the tests in guests; they are not installed.
$(peers:%=$(BUILD)/tests/one-host/%): $(BUILD)/%: $(BUILD)/%.o \
		$(call objects,tests/one-host/endpoint.c tests/one-host/endpoint-tcp.c) $(library)
	$(link)

# Variants of the programs that corrupt data after computing its digest.
damaging := damaging-server damaging-client
$(damaging:%=$(BUILD)/tests/one-host/%): $(BUILD)/tests/one-host/damaging-%: $(BUILD)/rdma-%.o \
		$(call objects,tests/one-host/damage.c) $(library)
	$(link) -Wl,--wrap=digest_of,--wrap=digest_of_keyed,--wrap=digester_add,--wrap=digester_add_prepared,--wrap=pattern_fill

# Variants of the programs with the hello of an earlier release.
older := older-server older-client
$(older:%=$(BUILD)/tests/one-host/%): $(BUILD)/tests/one-host/older-%: $(BUILD)/rdma-%.o \
		$(call objects,tests/one-host/older.c) $(library)
	$(link) -Wl,--wrap=hello_encode,--wrap=hello_decode,--wrap=tree_decode

# A variant of the client that runs a command before a function of librdmacm.
$(BUILD)/tests/one-host/hooked-client: $(BUILD)/rdma-client.o \
		$(call objects,tests/one-host/hooks.c) $(library)
	$(link) -Wl,--wrap=rdma_resolve_addr,--wrap=rdma_resolve_route,--wrap=rdma_connect

# For tests of the coordinator of a mesh.
$(BUILD)/tests/compare/simulated-agents: %: %.o $(library)
	$(link)

# For scripts/compare.
$(BUILD)/tests/compare/digest-speed: %: %.o $(library)
	$(link)

$(BUILD)/tests/compare/pipeline-speed: $(BUILD)/tests/compare/pipeline-speed.o $(library)
	$(link) $(addprefix -Wl$(comma)--wrap=,digester_add digester_prepare digester_add_prepared holes_write memcpy read pread64 pwrite64 \
		open64 openat64 close ftruncate64 fchmod futimens fsync syncfs sync_file_range fallocate64)

# A file system, if libfuse is there.
fuse := $(shell $(PKG_CONFIG) --exists fuse3 2>/dev/null && echo yes)
$(BUILD)/tests/compare/slow-files.o: ours_cppflags += $(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags fuse3 2>/dev/null))
$(BUILD)/tests/compare/slow-files: $(BUILD)/tests/compare/slow-files.o
	$(link) $(shell $(PKG_CONFIG) --libs fuse3)

test-programs: $(addprefix $(BUILD)/tests/one-host/,$(peers) $(damaging) $(older) hooked-client) \
	$(BUILD)/tests/compare/pipeline-speed $(BUILD)/tests/compare/simulated-agents $(if $(fuse),$(BUILD)/tests/compare/slow-files)

lint:
	./scripts/lint

# What is distributed goes into the folder build.
dist deb:
	./scripts/package $@

rpm-spec:
	./scripts/package spec

rpm-check:
	./scripts/lint packages

manuals_1 := $(wildcard man/*.1)
manuals_7 := $(wildcard man/*.7)
bash_completions := $(programs:%=completions/%)
zsh_completions := $(wildcard completions/_*)
man_folder = $(PREFIX)/share/man
bash_folder = $(PREFIX)/share/bash-completion/completions
prove_folder = $(PREFIX)/share/rdma-pair
unit = $(DESTDIR)$(UNITDIR)/rdma-server@.service

# $(call install_data,FILES,FOLDER), $(call remove,FILES,FOLDER); $(call installed,FILES,FOLDER): their paths
install_data = $(if $1,$(INSTALL) -d "$(DESTDIR)$2" && $(INSTALL) -m 644 $1 "$(DESTDIR)$2")
installed = $(foreach file,$1,"$(DESTDIR)$2/$(file)")
remove = $(if $1,cd "$(DESTDIR)$2" && rm -f $(notdir $1))

install: all
	$(INSTALL) -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(UNITDIR)"
	$(INSTALL) $(programs:%=$(BIN)/%) "$(DESTDIR)$(PREFIX)/bin"
	$(INSTALL) scripts/softroce "$(DESTDIR)$(PREFIX)/bin/rdma-softroce"
	$(call install_data,$(manuals_1),$(man_folder)/man1)
	$(call install_data,$(manuals_7),$(man_folder)/man7)
	$(call install_data,$(bash_completions),$(bash_folder))
	$(call install_data,$(zsh_completions),$(ZSHDIR))
	$(INSTALL) -d "$(DESTDIR)$(prove_folder)"
	$(INSTALL) scripts/prove scripts/prove-far "$(DESTDIR)$(prove_folder)"
	$(INSTALL) -m 644 scripts/prove-report.jq "$(DESTDIR)$(prove_folder)"
	ln -sf ../share/rdma-pair/prove "$(DESTDIR)$(PREFIX)/bin/rdma-prove"
	./scripts/package documents "$(DESTDIR)$(DOCDIR)"
	sed 's|/usr/local/bin|$(PREFIX)/bin|' 'systemd/rdma-server@.service' > "$(unit)"

uninstall:
	$(call remove,$(programs) rdma-softroce rdma-prove,$(PREFIX)/bin)
	rm -f $(call installed,prove prove-far prove-report.jq,$(prove_folder))
	rm -f $(call installed,README.md CHANGELOG.md SECURITY.md $(wildcard docs/*),$(DOCDIR))
	rmdir "$(DESTDIR)$(prove_folder)" "$(DESTDIR)$(DOCDIR)/docs" "$(DESTDIR)$(DOCDIR)" || :
	$(call remove,$(manuals_1),$(man_folder)/man1)
	$(call remove,$(manuals_7),$(man_folder)/man7)
	$(call remove,$(bash_completions),$(bash_folder))
	$(call remove,$(zsh_completions),$(ZSHDIR))
	rm -f "$(unit)"

clean:
	rm -rf $(BUILD) $(programs:%=$(BIN)/%)

-include $(wildcard $(BUILD)/*.d $(BUILD)/*/*.d $(BUILD)/tests/*/*.d $(BUILD)/tests/*/*/*.d)

$(BUILD)/tests/one-host/misbehaving-peer: $(call objects,tests/one-host/misbehaving-measure.c \
	tests/one-host/misbehaving-commands.c tests/one-host/misbehaving-steps.c)

# These look up host names.
$(BUILD)/tests/unit/base/test-address $(BUILD)/tests/unit/diagnose/test-reachability: \
	$(call objects,tests/unit/common/resolver-fixture.c)

$(BUILD)/tests/unit/verbs/test-send-errors: $(call objects,tests/unit/host/sysfs-tree-fixture.c)

$(addprefix $(BUILD)/tests/unit/,copy/test-far-side serve/test-client-log serve/test-listen serve/test-status-query exchange/test-dry-run diagnose/test-screen measure/test-comparison measure/test-screen): $(call objects,tests/unit/base/output-fixture.c)

# These use a fake device instead of libibverbs and librdmacm.
serve_tests := $(addprefix tests/unit/serve/test-,admission isolation service)
on_fake_device := $(serve_tests) $(addprefix tests/unit/control/test-,last-message self-facts) \
	$(filter-out %/test-dry-run %/test-flow-control %/test-report %/test-state-machine, \
	$(filter tests/unit/exchange/%,$(unit_tests)))
$(on_fake_device:%=$(BUILD)/%): $(call objects,$(wildcard tests/unit/verbs/fake-*.c))
$(serve_tests:%=$(BUILD)/%): $(call objects,$(addprefix tests/unit/exchange/, \
	fixture.c pair.c))

$(addprefix $(BUILD)/tests/unit/control/test-operation,s -end -links -table): \
	$(call objects,tests/unit/control/operations-device.c)

# These replace parts of the host that connections without rdmacm need.
$(addprefix $(BUILD)/tests/unit/,verbs/test-dial control/test-gid-in-use): \
	$(call objects,tests/unit/common/no-tcp-fixture.c)

# These use a made-up host instead of host/locality.c.
$(addprefix $(BUILD)/tests/unit/,exchange/test-locality measure/test-threads measure/test-personalities): \
	$(call objects,tests/unit/verbs/locality-fixture.c)

# Objects that the fuzz targets share with the unit tests, and functions that they replace.
$(BUILD)/tests/fuzz/fuzz-control-session: $(call objects,tests/fuzz/library.c)
$(BUILD)/tests/fuzz/fuzz-control-session: wrapped := client_log_failure secret_nonce worker_start
$(BUILD)/tests/fuzz/fuzz-connection: $(call objects,$(addprefix tests/fuzz/,end.c threads.c oracle.c) \
	$(wildcard tests/unit/verbs/fake-*.c) \
	$(addprefix tests/unit/common/,digest-fixture.c secret-fixture.c))
$(BUILD)/tests/fuzz/fuzz-connection: wrapped := poll secret_nonce $(addprefix pthread_, \
	cond_broadcast cond_signal cond_wait create join setname_np)
$(BUILD)/tests/fuzz/fuzz-udp-probe: wrapped := recv recvmsg
$(BUILD)/tests/fuzz/fuzz-handshake: $(call objects,tests/unit/common/secret-fixture.c)
$(BUILD)/tests/fuzz/fuzz-handshake: wrapped := secret_nonce
$(BUILD)/tests/fuzz/fuzz-sysfs: wrapped := access close open64 read readlink scandir64
$(BUILD)/tests/fuzz/fuzz-mesh: wrapped := poll secret_nonce
