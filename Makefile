# The commands of the house.  The work is in CMakeLists.txt (what is built),
# CMakePresets.json (how) and tools/ (the rest).
PREFIX ?= /usr/local
DESTDIR ?=
ARGS ?=
JOBS ?= $(shell nproc)

.PHONY: help build run test bench prove format lint install clean

help:
	@echo 'make build     the release program, build/release/runnel'
	@echo 'make run       install what is missing, build, run the server;'
	@echo '               ARGS="..." are its arguments'
	@echo 'make test      install what is missing, build, run every test'
	@echo 'make bench     measure, beside the baselines'
	@echo 'make prove     the long proofs (hours)'
	@echo 'make format    lay out the sources by .clang-format'
	@echo 'make lint      clang-tidy and the rules of the house'
	@echo 'make install   PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)'
	@echo 'make clean     remove build/'

build:
	@cmake --preset release >/dev/null
	@cmake --build build/release -j $(JOBS)

run:
	@tools/deps.sh build
	@$(MAKE) --no-print-directory build
	@exec build/release/runnel serve $(ARGS)

test:
	@tools/deps.sh build test
	@tools/test.sh

prove:
	@tools/deps.sh build test
	@tools/test.sh prove

bench:
	@tools/deps.sh build test bench
	@cmake --preset bench >/dev/null
	@cmake --build build/bench -j $(JOBS)
	@bench/run.sh $(ARGS)

format:
	@tools/format.sh

lint:
	@tools/deps.sh build test
	@tools/tidy.sh
	@tools/lint.sh

install:
	@cmake --preset release -DCMAKE_INSTALL_PREFIX="$(PREFIX)" >/dev/null
	@cmake --build build/release -j $(JOBS)
	@DESTDIR="$(DESTDIR)" cmake --install build/release

clean:
	rm -rf build
