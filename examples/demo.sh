#!/bin/sh
# The first run: demo.sh BUILD. A folder with one sales file, a request, the built-in offline model; a
# state folder of its own, so that nobody's sessions or configuration have a part in it.
set -eu
program=$PWD/$1/alisio
demo=$PWD/build/demo

rm -rf "$demo" build/demo-state
mkdir -p "$demo" build/demo-state
cp examples/data/sales.csv "$demo"
ALISIO_STATE_HOME=$PWD/build/demo-state/state
ALISIO_CONFIG_HOME=$PWD/build/demo-state/config
export ALISIO_STATE_HOME ALISIO_CONFIG_HOME

cd "$demo"
echo "$ cd build/demo"
echo "$ alisio run --allow-analysis \"Summarize sales.csv into report.md and a bar chart\""
# The steps go to standard error as they happen; the answer comes last, with the paths of the files.
status=0
"$program" run --allow-analysis "Summarize sales.csv into report.md and a bar chart" \
    </dev/null >../demo-state/answer || status=$?
echo
cat ../demo-state/answer
exit $status
