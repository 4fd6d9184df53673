# SPDX-License-Identifier: Apache-2.0
"""Measurements of a server under load (load_client.py). Each returns its figures by name."""
import asyncio
import collections
import gc
import os
import re
import time
import urllib.request

from load_client import NO_ANSWER, Load, quantile, send_at_times, send_in_turn

WARM_UP_S = 2
OVERLOAD = 10  # times the maximum
MEMORY_POINTS = 24  # samples of the memory in the results


def run(server, programs, expected, send, *arguments):
    """Sends load. Returns the Load, all answers, the moment of the beginning, and the figures of each measurement."""
    load = Load(server.port, programs.sentences, expected, programs.source, programs.target)
    gc.disable()
    begin, cpu, server_cpu = time.monotonic(), time.process_time(), server.cpu_seconds()
    answers = asyncio.run(send(load, *arguments))
    seconds, cpu, server_cpu = (time.monotonic() - begin, time.process_time() - cpu,
                                server.cpu_seconds() - server_cpu)
    gc.enable()
    statuses = collections.Counter(answer.status for answer in answers)
    figures = {"seconds": seconds, "cpu_ms": round(1e3 * server_cpu / max(statuses[200], 1), 2),
               "client_cores": round(cpu / seconds, 2), "connections": load.num_connections,
               "requests": len(answers), "wrong": statuses[200] - sum(answer.is_right for answer in answers),
               "refused": statuses[429], "lost": statuses[NO_ANSWER], "unexpected": load.num_unexpected,
               "other_statuses": sum(statuses.values()) - statuses[200] - statuses[429] - statuses[NO_ANSWER]}
    return answers, begin, figures


def translated(answers):
    return [answer for answer in answers if answer.status == 200]


def latencies(answers):
    return {f"p{round(share * 100)}_ms": round(1e3 * quantile(answers, share), 2) if answers else None
            for share in (0.5, 0.99)}


def throughput(answers, begin, end):
    """Returns the translations per second between two moments."""
    return sum(begin <= answer.end < end for answer in translated(answers)) / (end - begin)


def measure_maximum(server, programs, expected, clients, seconds):
    answers, begin, figures = run(server, programs, expected, send_in_turn, clients, WARM_UP_S + seconds)
    counted = [answer for answer in translated(answers) if answer.due >= begin + WARM_UP_S]
    return {"throughput": throughput(answers, begin + WARM_UP_S, begin + WARM_UP_S + seconds), **latencies(counted),
            **figures}


def measure_load(server, programs, expected, rate, seconds):
    answers, begin, figures = run(server, programs, expected, send_at_times, rate, WARM_UP_S + seconds)
    counted = [answer for answer in answers if answer.due >= begin + WARM_UP_S]
    return {"rate": rate, "throughput": len(translated(counted)) / seconds,
            "share_translated": len(translated(counted)) / len(counted), **latencies(translated(counted)),
            **figures}


def counted(server):
    """Returns the numbers of translations and of their output tokens in the server's metrics."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as metrics:
        text = metrics.read().decode()
    names = ('edgewise_requests_total{endpoint="/translate",code="200"}', "edgewise_output_tokens_total")
    matches = [re.search(f"^{re.escape(name)} (\\d+)$", text, re.MULTILINE) for name in names]
    return [int(match[1]) if match else 0 for match in matches]


def measure_overload(server, programs, expected, maximum, seconds):
    """Sends OVERLOAD times the maximum, after a while near the maximum, which shows the memory before. The throughput
    is that of the same time as in measure_maximum: after the warm-up, before the last request."""
    run(server, programs, expected, send_at_times, 0.9 * maximum, WARM_UP_S + seconds / 4)
    before, counted_before = server.samples[-1], counted(server)
    answers, begin, figures = run(server, programs, expected, send_at_times, OVERLOAD * maximum, WARM_UP_S + seconds)
    samples = [sample for sample in server.samples if sample[0] >= begin + WARM_UP_S]
    refused = [answer for answer in answers if answer.status == 429]
    refused_latencies = latencies(refused)
    memory = [round(sample[1], 1) for sample in samples]
    translations, output_tokens = (after - earlier for after, earlier in zip(counted(server), counted_before))
    return {"rate": OVERLOAD * maximum, "maximum": maximum,
            "throughput": throughput(answers, begin + WARM_UP_S, begin + WARM_UP_S + seconds),
            **latencies(translated(answers)), **figures,
            "refused_p50_ms": refused_latencies["p50_ms"], "refused_p99_ms": refused_latencies["p99_ms"],
            "refused_without_retry_after": sum(not answer.has_retry_after for answer in refused),
            "counted_by_server": translations, "translated": len(translated(answers)),
            "tokens_per_core_second": output_tokens / (1e-3 * figures["cpu_ms"] * len(translated(answers))),
            "memory_idle_mb": round(server.samples[0][1], 1), "memory_before_mb": round(before[1], 1),
            "most_memory_mb": max(memory),
            "memory_mb": memory[::max(1, len(memory) // MEMORY_POINTS)],
            "most_descriptors": max(sample[2] for sample in samples),
            "most_threads": max(sample[3] for sample in samples)}
