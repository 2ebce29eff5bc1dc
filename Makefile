# The commands of the house.  The work is in CMakeLists.txt (what is built),
# CMakePresets.json (how) and tools/ (the rest).
PREFIX ?= /usr/local
DESTDIR ?=
ARGS ?=
JOBS ?= $(shell nproc)

.PHONY: help build run check test bench prove format lint install clean

help:
	@echo 'make build     the release program, build/release/runnel'
	@echo 'make run       install what is missing, build, run the server;'
	@echo '               ARGS="..." are its arguments'
	@echo 'make check     build with sanitizers and run the unit tests and the'
	@echo '               house rules (a minute or two once built)'
	@echo 'make test      install what is missing, build, run every test'
	@echo 'make bench     measure, beside the baselines'
	@echo 'make prove     the long proofs (hours)'
	@echo 'make format    lay out the sources by .clang-format'
	@echo 'make lint      clang-tidy and the rules of the house'
	@echo 'make install   PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)'
	@echo 'make clean     remove build/'

# A configuration that fails on Debian mostly lacks packages: name them.
configure = cmake --preset $(1) >/dev/null || { tools/deps.sh --check build; exit 1; }

build:
	@$(call configure,release)
	@cmake --build build/release -j $(JOBS)

run:
	@tools/deps.sh build
	@$(MAKE) --no-print-directory build
	@exec build/release/runnel serve $(ARGS)

check:
	@tools/deps.sh build test
	@tools/test.sh check

test:
	@tools/deps.sh build test
	@tools/deps.sh suites || echo 'suites that need these are skipped'
	@tools/test.sh

prove:
	@tools/deps.sh build test suites
	@tools/test.sh prove

bench:
	@tools/deps.sh build test suites bench
	@$(call configure,bench)
	@cmake --build build/bench -j $(JOBS)
	@bench/run.sh $(ARGS)

format:
	@tools/format.sh

lint:
	@tools/deps.sh build test
	@tools/tidy.sh
	@tools/lint.sh

install:
	@$(call configure,release -DCMAKE_INSTALL_PREFIX="$(PREFIX)")
	@cmake --build build/release -j $(JOBS)
	@DESTDIR="$(DESTDIR)" cmake --install build/release

clean:
	rm -rf build
