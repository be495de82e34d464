# Everything runs unprivileged except the installation of what is missing (scripts/need).

export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)
RELEASE := $(or $(CARGO_TARGET_DIR),target)/release

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help build demo test lint bench

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' Makefile

build: ## build the program: target/release/freezeframe
	scripts/need build rust
	cargo build --locked --release -p freezeframe

demo: ## stall a private server, catch it, name the cause: demo/
	scripts/need server
	@$(MAKE) --no-print-directory build
	$(RELEASE)/freezeframe lab demo --dir demo

test: ## run every test, with private servers
	scripts/need server build rust
	cargo test --locked --workspace --no-fail-fast

lint: ## formatting, clippy, licences and sources of dependencies, scripts
	scripts/need build rust
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	scripts/lint-extra

bench: ## measure what freezeframe costs and how fast it is, beside pt-stalk
	scripts/need server peers
	@$(MAKE) --no-print-directory build
	$(RELEASE)/freezeframe lab bench
