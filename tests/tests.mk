# Tests, checks and measurements. A part of `make test` is a folder tests/NAME with a program `run`;
# tests/run says what it may expect and has to print.

.PHONY: deps-test test unit lint
deps-test: deps ## installs what the tests need
	@sh tools/deps.sh test

test: deps-test ## builds and runs all tests; T=unit runs one part (T="unit spec" two)
	@$(MAKE) --no-print-directory -j2 all unit
	@B=$(B) CC='$(CC)' SAN=$(SAN) PORTABLE=$(PORTABLE) python3 tests/run $(T)

lint: ## checks style, layers, annotations and formatting
	@sh tests/lint/run

# Unit tests: one program a file, linked with everything but the mains.
UNIT := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/test_*.c))
unit: $(UNIT)

$(B)/unit/%.o: tests/unit/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -Itests/unit -c $< -o $@

$(B)/unit/%: $(B)/unit/%.o $(OBJ_host) $(OBJ_data) $(OBJ_jail)
	$(call link,$(PIE),$(LIBS_all) $(LIBS_cmocka))

.PHONY: bench
bench: deps all $(B)/peak ## measures the times and sizes that are promised
	@B=$(B) python3 tests/bench/bench.py $(BENCH)

$(B)/peak: tests/bench/peak.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $<

LIBS_cmocka = $(call once,LIBS_cmocka,$(PKG_CONFIG) --libs cmocka)
.PRECIOUS: $(B)/unit/%.o

include $(filter-out tests/tests.mk,$(wildcard tests/*.mk))
