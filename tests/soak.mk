# Hundreds of kills: what `make test` does 25 times.
.PHONY: soak
soak: all ## kills the program again and again and opens what is left (KILLS=200)
	$(Q)B=$(B) KILLS=$(or $(KILLS),200) PYTHONPATH=tests/lib python3 tests/e2e/test_kill.py
