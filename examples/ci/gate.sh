#!/usr/bin/env bash
# A CI job: train a little, then hold the run to the budgets of pytscope.toml.
#
#   bash gate.sh                  exit code 0 when the gate is passed, 1 when it is not
#   bash gate.sh --slow-loader    options are those of train.py
#   UPDATE_BASELINE=1 bash gate.sh    make the run the baseline; commit baseline.json
set -euo pipefail
cd "$(dirname "$0")"

rm -rf runs/ci reports
mkdir -p reports
python train.py "$@"

formats=(--format text --format junit:reports/junit.xml --format sarif:reports/pytscope.sarif
  --format json:reports/check.json)
if [ -n "${GITHUB_ACTIONS:-}" ]; then
  formats+=(--format github)  # annotations, and a table in the step's summary
fi
pytscope check "${formats[@]}" ${UPDATE_BASELINE:+--update-baseline}
