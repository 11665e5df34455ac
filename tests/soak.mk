# Long runs of what `make test` does a few times.
.PHONY: soak soak-fail soak-grow soak-kill soak-large soak-power soak-race soak-rounds soak-trees
soak: soak-kill soak-trees soak-fail soak-power soak-race soak-rounds soak-large soak-grow ## kills KILLS=200 times, ends TREES=500 process trees, fails every write once, cuts the power CUTS=200 times, publishes RACES=1000000 files while they change, reads ROUNDS=1000 tables of each format and one of more than 1 GiB, works for SOAK_SECONDS=600

soak-kill: all
	$(Q)B=$(B) KILLS=$(or $(KILLS),200) PYTHONPATH=tests/lib python3 tests/e2e/test_kill.py

soak-trees: all
	$(Q)B=$(B) TREES=$(or $(TREES),500) PYTHONPATH=tests/lib python3 tests/e2e/test_trees.py

soak-fail: all
	$(Q)B=$(B) FAULTS=all PYTHONPATH=tests/lib python3 tests/e2e/test_faults.py
	$(Q)B=$(B) FAULTS=all PYTHONPATH=tests/lib python3 tests/e2e/test_publish.py

soak-power: all
	$(Q)B=$(B) CUTS=$(or $(CUTS),200) PYTHONPATH=tests/lib python3 tests/e2e/test_power_cut.py

soak-race: all $(B)/unit/test_race
	$(Q)RACES=$(or $(RACES),1000000) $(B)/unit/test_race
	$(Q)B=$(B) RACES=200 PYTHONPATH=tests/lib python3 tests/e2e/test_publish_input.py Race

soak-grow: all
	$(Q)B=$(B) SOAK_SECONDS=$(or $(SOAK_SECONDS),600) python3 tests/soak/soak.py

soak-rounds: all vendor/bench/node_modules/.package-lock.json
	$(Q)B=$(B) ROUNDS=$(or $(ROUNDS),1000) PYTHONPATH=tests/lib python3 tests/e2e/test_rounds.py

soak-large: all
	$(Q)B=$(B) PYTHONPATH=tests/lib python3 tests/soak/large.py
