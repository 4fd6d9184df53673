#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Translates a text with all machines on which this command is started, at any time and in any number, without a batch
# system. The files are in folders that all machines share. Each process takes the next part that nobody holds:
#
#     translate_queue.sh MODEL INPUT OUT PARTS [PROCESSES]
#
# The command ends on each machine when all parts are complete, those of the other machines too. Then join the parts on
# one machine:
#
#     edgewise-translate --merge PARTS --out OUT INPUT
#
# PROCESSES is 1 by default, and they share the cores of the machine.
set -euo pipefail

if [ $# -lt 4 ] || [ $# -gt 5 ]; then
  echo "usage: translate_queue.sh MODEL INPUT OUT PARTS [PROCESSES]" >&2
  exit 2
fi
processes=${5:-1}
cores=$((($(nproc) + processes - 1) / processes))

pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true' EXIT
trap 'exit 143' INT TERM HUP
for ((i = 0; i < processes; ++i)); do
  "${EDGEWISE_TRANSLATE:-edgewise-translate}" --model "$1" --shard "any/$4" --workers "$cores" --threads "$cores" \
    --out "$3" "$2" &
  pids+=($!)
done

status=0
for pid in "${pids[@]}"; do
  wait "$pid" || status=$?
done
exit "$status"
