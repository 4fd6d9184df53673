#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Trains in processes that torchrun, a program of PyTorch's package, starts on one or several machines. The config's
# train.virtual_ranks is at least the number of all processes, a power of two. Start the same command on each machine;
# the run directory is in a folder that the first machine has:
#
#     train_torchrun.sh CONFIG RUN MACHINES PROCESSES ADDRESS
#
# PROCESSES is the number on each machine, and ADDRESS that of the first machine. A run that exists goes on. After the
# loss of a process, all start again from the last checkpoint, at most three times.
set -euo pipefail

if [ $# -ne 5 ]; then
  echo "usage: train_torchrun.sh CONFIG RUN MACHINES PROCESSES ADDRESS" >&2
  exit 2
fi
resume=()
if [ -e "$2/last" ]; then resume=(--resume); fi
threads=$(($(nproc) / $4))

exec torchrun --no-python --nnodes="$3" --nproc-per-node="$4" --max-restarts=3 \
  --rdzv-backend=c10d --rdzv-endpoint="$5:29400" --rdzv-id="$2" \
  "${EDGEWISE:-edgewise}" train "$1" --out "$2" --threads "$((threads > 0 ? threads : 1))" "${resume[@]}"
