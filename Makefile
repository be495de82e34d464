# Everything runs unprivileged except the installation of what is missing (scripts/need).

export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)
RELEASE := $(or $(CARGO_TARGET_DIR),target)/release
DEBUG := $(or $(CARGO_TARGET_DIR),target)/debug

SEEDS = PROPTEST_RNG_SEED=$${PROPTEST_RNG_SEED:-20261125} FREEZEFRAME_SECRETS_SEED=$${FREEZEFRAME_SECRETS_SEED:-20261125}
# Around a command: how long it took, and its exit status.
BEGIN = began=$$(date +%s);
END = status=$$?; echo "make $@: $$(( $$(date +%s) - began )) s"; exit $$status

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help build packages demo test test-fleet check lint bench lab accuracy documents recipes fuzz bpf

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

build: ## build the program and its lab: target/release/freezeframe, target/release/freezeframe-lab
	scripts/need build rust
	cargo build --locked --release -p freezeframe -p freezeframe-lab

packages: ## deb, rpm and tar.xz of the program: dist/ (scripts/try-packages tries them in clean systems)
	scripts/need build rust packages
	scripts/packages

# The programs as tests have them are built in a third of the time, and not again where tests were built: the test that
# is built along with them gives their libraries the same features.
demo: ## stall a private server, catch it, name the cause: demo/
	scripts/need server build rust
	cargo build --locked -p freezeframe -p freezeframe-lab --bins --test documents
	$(DEBUG)/freezeframe-lab demo --dir demo

# The same random input each time: what is new is looked for by `make fuzz`, not by whoever changes something else.
# The tests with other servers than the installed one say `skipped:` without them: no network is no failure.
test: ## run every test, with private servers
	scripts/need server build rust
	@scripts/need mysql-5.5 mysql-9 || echo "make test: goes on without the servers that could not be fetched" >&2
	@$(BEGIN) ( export FREEZEFRAME_TEST_JOBS=$$(mktemp -d); $(SEEDS) cargo test --locked --workspace --no-fail-fast \
			--config "target.'cfg(unix)'.runner='scripts/run-test'"; ran=$$?; scripts/run-test --wait && exit $$ran ); $(END)

# What is not there is skipped, and said. The tests make and drop databases `freezeframe_test_…`, on a server of their own
# or on that of FREEZEFRAME_CLICKHOUSE_URL=http://USER:PASSWORD@HOST:8123.
test-fleet: ## the fleet's store in ClickHouse, with a server for development (560 MB), and recorders that are killed
	scripts/need build rust
	@[ -n "$$FREEZEFRAME_CLICKHOUSE_URL" ] || scripts/fleet-server fetch || echo "skipped: the development server could not be fetched" >&2
	@scripts/fleet-server fetch-old || echo "skipped: the old server could not be fetched" >&2
	@[ -n "$$FREEZEFRAME_CLICKHOUSE_URL" ] || echo "skipped: a real server: FREEZEFRAME_CLICKHOUSE_URL names none" >&2
	@$(BEGIN) FREEZEFRAME_FLEET_TESTS=1 cargo test --locked -p freezeframe-fleet --test all clickhouse -- --nocapture && \
		FREEZEFRAME_FLEET_TESTS=1 cargo test --locked -p freezeframe --test cli fleet -- --nocapture && \
		FREEZEFRAME_FLEET_TESTS=1 cargo test --locked -p freezeframe-lab --test fleet -- --nocapture; $(END)

# What needs no server, no kernel feature and little time: 64 cases of a property that usually has 256, a quarter of the
# places where captures are cut.
# LEFT is left to `make test`: servers, long lines and texts, the ways in which a capture is pasted, learning from texts,
# statistics of random series, simulated hours. No examples of documentation either: they are compiled each time.
CHECKED = model lexicon likeness expression sql server-text store detect diagnosis import export report cli live
LEFT = real_tools:: without_meaning a_log_that_never_ends_its_event the_way_of_a_capture_changes_nothing \
	the_weights_are_those_of_the_texts though_seconds_depend_on_each_other though_readings_depend_on_each_other \
	healthy:: recorded:: sweep:: quota:: run_queue:: no_sample_however_odd an_end_is_never_before_work_flows \
	the_number_of_clients_does_not_change what_was_learnt_survives_a_restart
check: ## the tests that need no server: about a minute, when they are built
	scripts/need build rust
	@$(BEGIN) PROPTEST_CASES=64 FREEZEFRAME_CUTS=24 $(SEEDS) cargo test --locked --no-fail-fast --tests \
		$(CHECKED:%=-p freezeframe-%) -- $(LEFT:%=--skip %); $(END)

# Clippy alone. `.ci/run` has it build as well.
LINT_CODE ?= cargo clippy --locked --workspace --all-targets -- -D warnings
# Files that build scripts list: cargo fmt does not see them.
LISTED = crates/import/src/formats/*.rs crates/diagnosis/src/functions/*.rs crates/recorder/src/sources/*.rs
lint: ## formatting, clippy, imports in one direction, licences and sources of dependencies, scripts
	scripts/need build rust
	cargo fmt --all --check
	rustfmt --edition 2024 --check $(LISTED)
	$(LINT_CODE)
	cargo test --locked --quiet --workspace --test house
	scripts/lint-extra

bench: ## measure what freezeframe costs and how fast it is, beside the tools people have
	scripts/need server peers
	@$(MAKE) --no-print-directory build
	$(RELEASE)/freezeframe-lab bench

# Hours on a machine that does nothing else: every scenario on every server that is there, the loads that must stay silent,
# pt-stalk beside it, the cascade and the allocators. What fails does not keep the rest from running.
LAB_TIMES ?= 3
LAB_SWEEP ?= 2h
LAB_SWEEP_AT_ONCE ?= 8
lab: ## every scenario, scored, and every stall noticed: results/lab-score.md, results/lab-peers.md, results/lab-sweep.md (hours)
	scripts/need server build peers
	@scripts/need mysql-5.5 mysql-9 mariadb-11 || echo "make lab: goes on without the servers that could not be fetched" >&2
	@scripts/need allocators || echo "make lab: goes on without the allocators that are missing" >&2
	@$(MAKE) --no-print-directory build
	failed=0; \
	$(RELEASE)/freezeframe-lab score --all --times $(LAB_TIMES) --prove --harm --markdown results/lab-score.md || failed=1; \
	$(RELEASE)/freezeframe-lab healthy --for 0 || failed=1; \
	$(RELEASE)/freezeframe-lab sweep --for $(LAB_SWEEP) --at-once $(LAB_SWEEP_AT_ONCE) --dir lab/sweep --markdown results/lab-sweep.md || failed=1; \
	$(RELEASE)/freezeframe-lab peers --markdown results/lab-peers.md || failed=1; \
	$(RELEASE)/freezeframe-lab cascade || failed=1; \
	$(RELEASE)/freezeframe-lab allocators --html lab/allocators.html || failed=1; \
	exit $$failed

accuracy: ## what is named for the captures: results/accuracy.md, docs/reference/evidence.md
	scripts/need build rust
	FREEZEFRAME_ACCURACY=1 cargo test --locked -p freezeframe-import --test all accuracy
	cargo test --locked -p freezeframe --test cli accuracy
	FREEZEFRAME_EVIDENCE=1 cargo test --locked -p freezeframe --test cli evidence

documents: ## what documents say of sources, signals, functions and formats, and what texts are like, from the code
	scripts/need build rust
	FREEZEFRAME_DOCUMENTS=1 cargo test --locked -p freezeframe-likeness --test learn
	FREEZEFRAME_DOCUMENTS=1 cargo test --locked -p freezeframe --test documents -- --test-threads=1
	FREEZEFRAME_DOCUMENTS=1 cargo test --locked -p freezeframe-fleet --test all documents

recipes: ## follow the recipes of CONTRIBUTING.md in a copy of the project
	scripts/need server build rust
	FREEZEFRAME_RECIPES=1 cargo test --locked -p freezeframe-lab --test recipes -- --nocapture

# Random bytes, statements, logs and packets; what breaks a reader is printed as the smallest case.
FUZZ_CASES ?= 20000
fuzz: ## search longer for input that breaks a reader: FUZZ_CASES=20000
	scripts/need build rust
	PROPTEST_CASES=$(FUZZ_CASES) cargo test --locked --release -p freezeframe-sql -p freezeframe-server -p freezeframe-server-text -p freezeframe-import \
		-p freezeframe-detect -p freezeframe-export \
		--test all --test logs --test wire --test digests_properties

# The objects are committed: nobody else needs clang. A test fails when one is older than its source.
BPF_OBJECTS := $(patsubst %.c,%.o,$(wildcard crates/kernel/bpf/*.bpf.c))
BPF_CLANG ?= clang-14
BPF_STRIP ?= llvm-strip-14
BPF_CFLAGS = -g -O2 -Wall -Wextra -Wno-unused-parameter -Werror -target bpf -mcpu=v3 -fdebug-compilation-dir=. \
	-idirafter /usr/include/$(shell cc -print-multiarch 2>/dev/null)

bpf: $(BPF_OBJECTS) ## build the BPF programs (needs clang, llvm and libbpf-dev; the results are committed)

crates/kernel/bpf/%.bpf.o: crates/kernel/bpf/%.bpf.c
	$(BPF_CLANG) $(BPF_CFLAGS) -c $< -o $@
	$(BPF_STRIP) --strip-debug $@
	cd $(@D) && sha256sum $*.bpf.c $*.bpf.o > $*.bpf.sha256
