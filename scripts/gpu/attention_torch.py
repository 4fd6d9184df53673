#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times attention of PyTorch on a GPU, forward and with its backward pass, on the relations of `edgewise bench
attention`, and prints JSON: milliseconds by case and function. --list prints the cases and functions only."""
import argparse
import json

HEADS, HEAD_SIZE, LENGTH, BATCH, WINDOW = 8, 64, 2048, 8, 128
WINDOW_LENGTH = 4096
CASES = {"long": ("flash", "flex"), "long-causal": ("flash", "flex"), "window": ("flex",)}


def inputs(torch, batch, length):
    shape = (batch, HEADS, length, HEAD_SIZE)
    return [torch.randn(shape, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]


def make_flash(torch, case, q, k, v):
    from torch.nn.attention import SDPBackend, sdpa_kernel  # pylint: disable=import-outside-toplevel

    def run():
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=case == "long-causal")

    return run


def make_flex(torch, case, q, k, v):
    from torch.nn.attention.flex_attention import (  # pylint: disable=import-outside-toplevel
        create_block_mask, flex_attention)
    rules = {"long-causal": lambda b, h, row, source: row >= source,
             "window": lambda b, h, row, source: (row - source).abs() <= WINDOW}
    length = q.shape[2]
    mask = create_block_mask(rules[case], None, None, length, length) if case in rules else None
    compiled = torch.compile(flex_attention, dynamic=False)
    return lambda: compiled(q, k, v, block_mask=mask)


def milliseconds(torch, run, calls=20):
    for _ in range(3):
        run()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(calls):
        run()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / calls


def measure(torch, case, function):
    batch, length = (1, WINDOW_LENGTH) if case == "window" else (BATCH, LENGTH)
    q, k, v = inputs(torch, batch, length)
    run = {"flash": make_flash, "flex": make_flex}[function](torch, case, q, k, v)
    grad_out = torch.randn_like(run())
    with torch.no_grad():
        forward = milliseconds(torch, run)
    return {"forward_ms": forward, "total_ms": milliseconds(torch, lambda: run().backward(grad_out))}


def main():
    parser = argparse.ArgumentParser(description="Times attention of PyTorch on a GPU.")
    parser.add_argument("--list", action="store_true", help="print the cases, and measure nothing")
    if parser.parse_args().list:
        print(json.dumps(CASES))
        return
    import torch  # pylint: disable=import-outside-toplevel
    results = {"torch": torch.__version__}
    for case, functions in CASES.items():
        for function in functions:
            try:
                results[f"{case} {function}"] = measure(torch, case, function)
            except Exception as error:  # pylint: disable=broad-exception-caught  # not every GPU has every kernel
                results[f"{case} {function}"] = {"error": str(error).splitlines()[0]}
    print(json.dumps(results))


if __name__ == "__main__":
    main()
