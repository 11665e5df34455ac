# Specs: Lua tests, run by busted inside the program.
.PHONY: spec
spec: all
	$(Q)$(B)/alisio script tests/spec/run.lua $(SPEC)
