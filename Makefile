# Everything here is thin: what a target does is in the script or cargo command it names.
# PROFILE=dev builds faster and runs slower: make demo PROFILE=dev
PROFILE ?= release
CARGO ?= cargo

.DEFAULT_GOAL := build
.PHONY: build test demo bench fuzz lint deny check-docker help toolchain

build: toolchain ## build telamon and telamon-bench (the default)
	$(CARGO) build --locked --profile $(PROFILE) --bins

test: toolchain ## install what is missing, then lint, test and check everything, as CI does
	tests/install.sh test
	tests/run.sh

demo: toolchain ## a throw-away cluster, Telamon on 127.0.0.1:1234, reads and writes split, and what it costs
	tests/install.sh demo
	$(CARGO) build --locked --profile $(PROFILE) --bins
	$(CARGO) run --locked --quiet --profile $(PROFILE) --bin telamon-bench -- demo

bench: toolchain ## the micro benchmarks (criterion); against HAProxy: proxy/benches/throughput.sh
	$(CARGO) bench --locked --workspace

fuzz: toolchain ## look for texts that the router gets wrong, FUZZ_SECONDS long (60)
	tests/install.sh fuzz
	proxy/fuzz/run.sh

lint: toolchain ## format, clippy, documentation and shell scripts
	tests/run.sh lint

deny: toolchain ## licences, sources and duplicates of the dependencies 
	tests/install-cargo-deny.sh
	$(CARGO) deny --locked check --hide-inclusion-graph licenses bans sources

check-docker: ## run the images' scripts as local servers
	tests/install.sh docker
	docker/check.sh

help: ## what there is to make
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22

toolchain:
	@command -v $(CARGO) >/dev/null || { \
	  echo "Telamon is built with Rust 1.95 or later, and there is no cargo here: see https://rustup.rs" >&2; exit 1; }
