# The commands of this repository; `make` lists them. CI runs `make test` and nothing else.
# What the longer ones do is written in tools/ (bootstrap, test), interop/ and tests/lab/ (build, run).
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# Tools that bootstrap had to fetch because the system has none.
export PATH := $(CURDIR)/interop/.cache/tools/bin:$(PATH)
TARGET := $(or $(CARGO_TARGET_DIR),target)
ARGS ?=
# Seconds that `make fuzz` spends on each target.
FUZZ_SECONDS ?= 20

.PHONY: help run test bench lint console pictures interop lab fmt fuzz clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## install what is missing, build, and start a server with a demo agent on this machine
	@tools/bootstrap run
	@$(MAKE) --no-print-directory console/dist/index.html
	@cargo build --profile quick --package muster
	@exec $(TARGET)/quick/muster dev $(ARGS)

test: ## everything that CI runs
	@tools/bootstrap test
	@tools/test

lint: ## formatting, clippy, licences and sources of dependencies, the repository's own rules
	@tools/bootstrap lint
	@tools/test fmt clippy deny tidy

console: ## types, unit tests and build of the console
	@tools/bootstrap run
	@tools/test console

pictures: ## every screen at three widths in two themes into var/pictures, and the guide's pictures
	@tools/bootstrap pictures
	@$(MAKE) --no-print-directory console/dist/index.html
	@cd console && npm run --silent pictures -- ../var/pictures $(ARGS)

interop: ## the tests with other makers' agents and servers (ARGS="word" runs only those with the word in their name)
	@tools/bootstrap test
	@interop/build
	@cargo build --package muster --package opamp-client --bins --examples
	@MUSTER_BIN=$(TARGET)/debug/muster interop/run $(ARGS)

lab: ## the tests on several hosts with their own Docker engines, as root (ARGS="word" as above)
	@tools/bootstrap lab
	@$(MAKE) --no-print-directory console/dist/index.html
	@tests/lab/build
	@cargo build --workspace --bin muster --test engine
	@MUSTER_BIN=$(TARGET)/debug/muster tests/lab/run $(ARGS)

bench: ## measure what agents and hosts cost, beside a stateless server on opamp-go and beside docker run
	@tools/bootstrap bench
	@interop/build bench
	@cargo build --release --package muster
	@$(TARGET)/release/muster bench compare --yardstick interop/.cache/bin/benchserver $(ARGS)
	@[[ "$(ARGS)" == *--only* ]] || { \
	  echo && $(TARGET)/release/muster bench hosts $(filter --quick,$(ARGS)); \
	  echo && MUSTER_BIN=$(TARGET)/release/muster tests/lab/bench $(filter --quick,$(ARGS)); }

fmt: ## format the Rust code
	@cargo fmt --all

fuzz: ## fuzz decoders and sessions, FUZZ_SECONDS (20) each
	@tools/bootstrap fuzz
	@cd fuzz && for target in $$(cargo fuzz list); do \
	  cargo fuzz run --sanitizer none "$$target" -- -max_total_time=$(FUZZ_SECONDS); done

clean: ## remove everything that was built or fetched here
	@cargo clean
	@rm -rf console/dist console/node_modules interop/.cache

# The console's files are compiled into the binary, so they come first.
CONSOLE_SOURCES := $(shell find console -type f -not -path '*/node_modules/*' -not -path 'console/dist/*' 2>/dev/null)

console/node_modules/.package-lock.json: console/package-lock.json
	@cd console && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

console/dist/index.html: console/node_modules/.package-lock.json $(CONSOLE_SOURCES)
	@cd console && npm run --silent build
	@touch $@
