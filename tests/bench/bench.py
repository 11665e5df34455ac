#!/usr/bin/env python3
"""What the program promises about its start: tests/bench/bench.py [--check] [NAME...]

Every figure is the median of many runs, measured in turn so that a busy moment hits all alike. With
--check the exit status says whether all targets were met.
"""
import os
import socket
import statistics
import struct
import sys
import time

from measure import ALISIO, BUILD, Place, cpu, in_turn

ENGINE = os.path.join(BUILD, "libexec/alisio/engine")
JAIL = os.path.join(BUILD, "libexec/alisio/jail")
VERSION = [ALISIO, "--version"]
HELLO = [ALISIO, "run", "--model", "offline", "--quiet", "hello"]


def whole(*argv):
    return lambda place: place.whole(argv)


def answered(argv, fds, request):
    """Milliseconds from the start of a helper to the first byte it answers on descriptor 3, and of its
    processor time."""
    def run(place):
        ours, theirs = socket.socketpair()
        # High numbers first, so that the copies to 3 and 4 do not tread on each other.
        high = os.dup2(theirs.fileno(), 100)
        begin = time.perf_counter()
        pid = place.spawn(argv, [high, *(fd(place) for fd in fds)])
        theirs.close()
        os.close(high)
        ours.sendall(struct.pack("<IB", len(request), 1) + request)
        answer = ours.recv(65536)
        ms = (time.perf_counter() - begin) * 1000
        ours.close()
        _, _, usage = os.wait4(pid, 0)
        if not answer:
            sys.exit(f"{argv} said nothing")
        return ms, cpu(usage)
    return run


# Jobs in one process, each with its milliseconds; the first finds Python and asks what the system offers.
JOBS = """
local alisio, clock = require "alisio", require "std.clock"
for _ = 1, tonumber((...)) do
  local start = clock.monotonic()
  local result = assert(alisio.python { code = "pass" })
  assert(not result.isError, result.text)
  io.write(("%.3f\\n"):format(clock.monotonic() - start))
end
"""
EACH = 5


def overhead(runtime):
    """Milliseconds that a job takes beside those of Python with an empty script, and of processor time."""
    def run(place):
        files = {"jobs.lua": JOBS, "empty.py": "pass\n"}
        for name, text in files.items():
            with open(os.path.join(place.top, name), "w", encoding="utf-8") as f:
                f.write(text)
        place.env["ALISIO_ANALYSIS_RUNTIME"] = runtime
        jobs = [ALISIO, "script", "--allow-analysis", "--python", sys.executable, os.path.join(place.top, "jobs.lua")]
        bare = [sys.executable, "-E", "-s", "-B", "-u", "-X", "utf8", os.path.join(place.top, "empty.py")]
        alone = [place.whole(bare) for _ in range(EACH)]
        _, some = place.whole([*jobs, "1"])
        _, more = place.whole([*jobs, str(1 + EACH)])
        took = [float(line) for line in place.said().split()][1:]
        # A difference of two has the noise of both: the least of each is what nothing disturbed.
        ms, busy = (min(t[i] for t in alone) for i in (0, 1))
        return min(took) - ms, (more - some) / EACH - busy
    return run


def folder(place):
    fd = os.open(place.top, os.O_PATH | os.O_DIRECTORY)
    high = os.dup2(fd, 101)
    os.close(fd)
    return high


# name, how, runs, most milliseconds, most MiB of which command
BENCHES = [
    ("version", whole(*VERSION), 60, 15, 15, VERSION),
    ("hello", whole(*HELLO), 20, 60, None, HELLO),
    ("engine", answered([ENGINE], [folder], b'{"v":1,"op":"none"}'), 60, 6, None, None),
    ("jail", answered([JAIL, "/bin/true"], [], b'{"v":1,"limits":{}}'), 60, 2, None, None),
    ("managed", overhead("managed"), 8, 30, None, None),
    ("sandbox", overhead("sandbox"), 8, 40, None, None),
]


def main():
    names = [a for a in sys.argv[1:] if a != "--check"]
    chosen = [b for b in BENCHES if not names or b[0] in names]
    missing = [b[0] for b in chosen if not os.path.exists({"engine": ENGINE, "jail": JAIL}.get(b[0], ALISIO))]
    if missing:
        sys.exit("not built: " + ", ".join(missing))
    if not chosen:
        return 0
    met = True
    print(f"{'':8} {'median':>9} {'fastest':>9} {'processor':>9} {'target':>9} {'of it':>6} {'memory':>10} {'target':>9}")
    with Place() as place:
        for bench in chosen:
            bench[1](place)  # fills the page cache
        times = in_turn([b[2] for b in chosen], [lambda run=b[1]: run(place) for b in chosen])
        for (name, _, _, most_ms, most_mib, argv), took in zip(chosen, times):
            ms, busy = (statistics.median(t[i] for t in took) for i in (0, 1))
            mib = place.memory(argv) if argv else 0
            good = ms <= most_ms and (not most_mib or mib <= most_mib)
            met = met and good
            print(f"{name:8} {ms:6.1f} ms {min(took)[0]:6.1f} ms {busy:6.1f} ms {most_ms:6} ms {ms / most_ms * 100:5.0f}% "
                  f"{f'{mib:6.1f} MiB' if mib else '':>10} {f'{most_mib:5} MiB' if most_mib else '':>9}"
                  f"{'' if good else '  MISSED'}".rstrip())
    return 0 if met or "--check" not in sys.argv else 1


sys.exit(main())
