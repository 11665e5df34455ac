# Long runs. `make test` does 25 of the kills.
.PHONY: soak soak-grow soak-kill
soak: soak-kill soak-grow ## kills the program KILLS=200 times, then watches it work for SOAK_SECONDS=600

soak-kill: all
	$(Q)B=$(B) KILLS=$(or $(KILLS),200) PYTHONPATH=tests/lib python3 tests/e2e/test_kill.py

soak-grow: all
	$(Q)B=$(B) SOAK_SECONDS=$(or $(SOAK_SECONDS),600) python3 tests/soak/soak.py
