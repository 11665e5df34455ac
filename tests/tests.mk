# Tests, checks and measurements. A part of `make test` is a folder tests/NAME with a program `run`;
# tests/run says what it may expect and has to print.

.PHONY: deps-test test unit lint
deps-test: deps ## installs what the tests need
	@sh vendor/deps.sh test
	@$(MAKE) --no-print-directory vendor/node_modules/.package-lock.json vendor/python/venv/.installed

# npm's packages, by the lock file with its hashes. Without a network the tests of them are skipped.
vendor/node_modules/.package-lock.json: vendor/package-lock.json
vendor/bench/node_modules/.package-lock.json: vendor/bench/package-lock.json
%/node_modules/.package-lock.json: %/package-lock.json
	@npm ci --prefix $* --ignore-scripts --no-audit --no-fund --silent && touch $@ || \
	  echo "$*: npm could not fetch the packages; what needs them will be skipped" >&2

# The same for packages of Python.
vendor/python/venv/.installed: vendor/python/requirements.txt
	@python3 -m venv --clear $(@D) && $(@D)/bin/python -m pip install --quiet --disable-pip-version-check \
	  --require-hashes --only-binary=:all: -r $< && touch $@ || \
	  { rm -rf $(@D); echo "vendor/python: pip could not fetch the packages; what needs them will be skipped" >&2; }

.PHONY: locks locks-check
locks: vendor/python/venv/.installed ## pins the optional packages of scripts anew, from the package index
	@vendor/python/venv/bin/python vendor/python/lock.py

locks-check: vendor/python/venv/.installed ## looks for the wheels of every platform in the package index
	@vendor/python/venv/bin/python vendor/python/lock.py --check

test: deps-test ## builds and runs all tests; T=unit runs one part (T="unit spec" two)
	@echo "Building"
	@$(MAKE) --no-print-directory $(JOBS) all unit
	@B=$(B) CC='$(CC)' SAN=$(SAN) PORTABLE=$(PORTABLE) python3 tests/run $(T)

lint: ## checks style, layers, annotations and formatting
	@sh tests/lint/run

# Unit tests: one program a file, linked with everything but the mains.
UNIT := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/test_*.c))
unit: $(UNIT)

$(B)/unit/%.o: tests/unit/%.c $(B)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -Itests/unit -c $< -o $@

$(B)/unit/%: $(B)/unit/%.o $(OBJ_host) $(OBJ_data) $(OBJ_jail)
	$(call link,$(PIE),$(LIBS_all) $(LIBS_cmocka))

# Fuzzers: tests/fuzz/fuzz_NAME.c each, built at -O0 and at -O1, for optimizing may fold away the very
# branch that is wrong. FUZZ says which; tests/fuzz/run builds and runs both.
.PHONY: fuzz fuzzers
fuzz: deps-test ## fuzzes every parser that has a harness, FUZZ_SECONDS=60 each
	@FUZZ_SECONDS=$(or $(FUZZ_SECONDS),60) tests/fuzz/run

fuzzers: $(patsubst tests/fuzz/%.c,$(B)/%,$(wildcard tests/fuzz/fuzz_*.c))

$(B)/fuzz_%.o: tests/fuzz/fuzz_%.c $(B)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -c $< -o $@

$(B)/fuzz_%: $(B)/fuzz_%.o $(OBJ_base) $(OBJ_data) $(OBJ_jail) $(call obj,prim)
	$(call link,-fsanitize=fuzzer,$(LIBS_all))

.PHONY: bench
bench: deps all $(B)/peak vendor/bench/node_modules/.package-lock.json ## measures what is promised of times and sizes; BENCH=sales-1m one file
	@B=$(B) python3 tests/bench/bench.py $(BENCH)
	@B=$(B) python3 tests/bench/data.py $(BENCH)
	@B=$(B) python3 tests/bench/questions.py $(BENCH)

$(B)/peak: tests/bench/peak.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $<

LIBS_cmocka = $(call once,LIBS_cmocka,$(PKG_CONFIG) --libs cmocka)
.PRECIOUS: $(B)/unit/%.o $(B)/fuzz_%.o

include $(filter-out tests/tests.mk,$(wildcard tests/*.mk))
