# SPDX-License-Identifier: Apache-2.0
import json
import math
import statistics

import torch

from peak_memory import peak_memory


def check_loss(step, loss):
    """Ends the program if the loss of a step, counted from 0, is not finite: the time of such steps is worthless."""
    if not math.isfinite(loss):
        raise SystemExit(f"loss of step {step + 1} is {loss}, needs a finite number")


def print_report(output_tokens, times):
    """Prints the speed of training as a line of JSON. `output_tokens` are those of all timed steps."""
    print(json.dumps({
        "output_tokens_per_second": output_tokens / sum(times),
        "median_ms": 1e3 * statistics.median(times),
        "mean_ms": 1e3 * statistics.mean(times),
        "peak_memory_bytes": peak_memory(),
        "version": f"torch {torch.__version__}",
    }))
