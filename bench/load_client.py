# SPDX-License-Identifier: Apache-2.0
"""Puts load on a server of LibreTranslate's interface, one sentence a request, and checks every answer.

wrk, which Debian has, cannot do this: its scripts see an answer without the request, so that they cannot compare the
two, and each of its connections sends a request when the last one is answered, so that a server that becomes slow gets
less load. Here, `send_at_times` sends requests at given times, and a latency begins when the request is due."""
import asyncio
import collections
import dataclasses
import json
import random
import time

HOST = "127.0.0.1"
MOST_CONNECTIONS = 1000  # a request that is due waits for one of them
DRAIN_S = 75  # how long the last requests may take; a server gives up after 65 s
NO_ANSWER = 0  # the status of a request whose connection ended


@dataclasses.dataclass
class Answer:
    """The answer to a request; times are of time.monotonic()."""
    due: float
    end: float
    status: int
    is_right: bool  # whether the translation is the expected one; False for other statuses than 200
    has_retry_after: bool = False

    def latency(self):
        return self.end - self.due


@dataclasses.dataclass
class Request:
    due: float
    sentence: int
    answer: asyncio.Future


class Connection(asyncio.Protocol):
    """A connection that stays open, with at most one request at a time."""

    def __init__(self, load):
        self.load, self.buffer, self.request, self.transport = load, b"", None, None

    def connection_made(self, transport):
        self.transport = transport

    def send(self, request):
        self.request = request
        self.transport.write(self.load.requests[request.sentence])

    def data_received(self, data):
        self.buffer += data
        head_end = self.buffer.find(b"\r\n\r\n")
        if head_end < 0:
            return
        head = self.buffer[:head_end].lower()
        size = int(head.partition(b"content-length:")[2].split(None, 1)[0])
        end = head_end + 4 + size
        if len(self.buffer) < end:
            return
        body, self.buffer = self.buffer[head_end + 4:end], self.buffer[end:]
        self.finish(int(head[9:12]), body, b"\r\nretry-after:" in head)
        if b"\r\nconnection: close" in head:
            self.transport.close()

    def finish(self, status, body, has_retry_after=False):
        request, self.request = self.request, None
        if request is None:
            self.load.num_unexpected += 1
            return
        is_right = status == 200 and json.loads(body)["translatedText"] == self.load.expected[request.sentence]
        request.answer.set_result(Answer(request.due, time.monotonic(), status, is_right, has_retry_after))

    def connection_lost(self, _):
        if self.buffer:
            self.load.num_unexpected += 1
        if self.request is not None:
            self.finish(NO_ANSWER, b"")

    def is_open(self):
        return not self.transport.is_closing()


class Load:
    """Sentences as requests to a port, and their expected translations."""

    def __init__(self, port, sentences, expected, source, target):
        self.port, self.expected = port, expected
        self.requests = [self.request_of(sentence, source, target) for sentence in sentences]
        self.num_unexpected = 0  # answers that no request has asked for, or that are incomplete
        self.num_connections = 0  # opened so far
        self.idle = collections.deque()
        self.free = asyncio.Semaphore(MOST_CONNECTIONS)
        self.order = random.Random(1)

    def request_of(self, sentence, source, target):
        body = json.dumps({"q": sentence, "source": source, "target": target}).encode()
        return (f"POST /translate HTTP/1.1\r\nHost: {HOST}:{self.port}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode() + body

    async def take_connection(self):
        while self.idle:
            connection = self.idle.pop()
            if connection.is_open():
                return connection
        self.num_connections += 1
        _, connection = await asyncio.get_running_loop().create_connection(lambda: Connection(self), HOST, self.port)
        return connection

    async def send(self, due):
        """Sends a request on a connection without one, and returns its answer."""
        async with self.free:
            try:
                connection = await self.take_connection()
            except OSError:
                return Answer(due, time.monotonic(), NO_ANSWER, False)
            request = Request(due, self.order.randrange(len(self.requests)), asyncio.get_running_loop().create_future())
            connection.send(request)
            answer = await request.answer
            self.idle.append(connection)
        return answer

    def close(self):
        while self.idle:
            self.idle.pop().transport.close()


async def send_in_turn(load, clients, seconds):
    """Lets each of `clients` send its next request when the last one is answered. Returns all answers."""
    end = time.monotonic() + seconds
    answers = []

    async def run_client():
        while time.monotonic() < end:
            answers.append(await load.send(time.monotonic()))

    await asyncio.gather(*(run_client() for _ in range(clients)))
    load.close()
    return answers


async def send_at_times(load, rate, seconds):
    """Sends requests at the times of a Poisson process with `rate` requests a second, whether earlier ones are answered
    or not. Returns all answers; requests that are unanswered after DRAIN_S have none."""
    intervals = random.Random(2)
    begin = due = time.monotonic()
    tasks = set()
    while (due := due + intervals.expovariate(rate)) < begin + seconds:
        wait = due - time.monotonic()
        if wait > 0 or len(tasks) % 16 == 0:  # answers must be read even if the client is late
            await asyncio.sleep(max(wait, 0))
        tasks.add(asyncio.create_task(load.send(due)))
    done, late = await asyncio.wait(tasks, timeout=DRAIN_S)
    for task in late:
        task.cancel()
    load.close()
    return [task.result() for task in done] + [Answer(due, float("inf"), NO_ANSWER, False) for _ in late]


def quantile(answers, share):
    """Returns a quantile of the latencies in seconds."""
    latencies = sorted(answer.latency() for answer in answers)
    return latencies[min(int(share * len(latencies)), len(latencies) - 1)]
