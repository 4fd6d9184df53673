# SPDX-License-Identifier: Apache-2.0
"""Clients of scripts/soak serve: well-behaved, slow, vanishing and hostile ones. Each function sends one request, or a
few, and checks the answers: it raises WrongAnswer for an answer that no client should get."""
import asyncio
import json
import socket
import time
import urllib.parse

HOST = "127.0.0.1"
ANSWER_S = 100
RECEIVE_S = 2  # time that the server gives clients for a head, and for a body
SMALL_BUFFER = 4096
DRIP_S = 30  # time for which a client reads a stream a little at a time
PROBE_S = 20  # longest time of a probe on a busy machine
JSON, FORM = "application/json", "application/x-www-form-urlencoded"

# Requests whose framing is ambiguous or malformed. Each contains a second request, which a server that reads the first
# one as a proxy might not would answer. A server must answer once, with 4xx, and close the connection.
SMUGGLED = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
HOSTILE_HEADS = {
    "length before chunked": b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
    "chunked before length": b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
    "chunked": b"Transfer-Encoding: chunked\r\n",
    "chunked in disguise": b"Transfer-Encoding : chunked\r\n",
    "unknown coding": b"Transfer-Encoding: xchunked\r\n",
    "two lengths": b"Content-Length: 0\r\nContent-Length: 33\r\n",
    "two equal lengths": b"Content-Length: 0\r\nContent-Length: 0\r\n",
    "list of lengths": b"Content-Length: 0, 0\r\n",
    "negative length": b"Content-Length: -1\r\n",
    "length with a sign": b"Content-Length: +4\r\n",
    "hexadecimal length": b"Content-Length: 0x4\r\n",
    "huge length": b"Content-Length: 99999999999999999999999\r\n",
    "length above the limit": b"Content-Length: 1073741824\r\n",
    "line feed alone": b"X: a\nContent-Length: 0\r\n",
    "carriage return alone": b"X: a\rContent-Length: 0\r\n",
    "NUL": b"X: a\0b\r\n",
    "folded field": b"X: a\r\n b\r\n",
    "space before the colon": b"Content-Length : 4\r\n",
    "field without a name": b": a\r\n",
    "two hosts": b"Host: b\r\n",
    "long field": b"X: " + b"a" * 20_000 + b"\r\n",
}
HOSTILE_REQUESTS = {
    "no host": b"POST /translate HTTP/1.1\r\nContent-Length: 0\r\n\r\n" + SMUGGLED,
    "no version": b"POST /translate\r\n\r\n" + SMUGGLED,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SMUGGLED,
    "bytes": bytes(range(256)) + b"\r\n\r\n" + SMUGGLED,
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 64 + b"\r\n\r\n" + SMUGGLED,
    "CONNECT": b"CONNECT b:80 HTTP/1.1\r\nHost: b:80\r\nContent-Length: x\r\n\r\n" + SMUGGLED,
    **{name: b"POST /translate HTTP/1.1\r\nHost: a\r\n" + head + b"\r\n" + SMUGGLED
       for name, head in HOSTILE_HEADS.items()},
}
# Requests that are well-formed, but that no interface can serve: path, body, and the status.
BAD_BODIES = [
    ("/translate", b"", 400), ("/translate", b"{", 400), ("/translate", b"[" * 100_000, 400),
    ("/translate", b'{"q": 1e999, "source": "en", "target": "fr"}', 400),
    ("/translate", b'{"q": "\xff", "source": "en", "target": "fr"}', 400),
    ("/translate", b'{"q": "\\ud800", "source": "en", "target": "fr"}', 400),
    ("/translate", b'{"q": "a", "source": "en", "target": "zz"}', 400),
    ("/translate", b'{"q": "a", "source": "en", "target": "fr", "alternatives": 10000}', 400),
    ("/translate", json.dumps({"q": "a " * 3000, "source": "en", "target": "fr"}).encode(), 400),
    ("/translate", json.dumps({"q": ["a"] * 65, "source": "en", "target": "fr"}).encode(), 400),
    ("/v2/translate", b'{"text": ["a"]}', 400), ("/v1/translate", b'{"text": "a", "target": "fr", "stream": 7}', 400),
    ("/nowhere", b"{}", 404), ("/health", b"{}", 405)]


class WrongAnswer(Exception):
    pass


class Busy(Exception):
    """The answer is 429 with Retry-After."""


class HungUp(Exception):
    """The server closed the connection without an answer."""


def require(condition, text):
    if not condition:
        raise WrongAnswer(text)


def request_bytes(path, body=b"", content_type=JSON, method="POST"):
    return (f"{method} {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: {content_type}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def json_request(path, fields):
    return request_bytes(path, json.dumps(fields).encode())


def form_request(path, fields):
    return request_bytes(path, urllib.parse.urlencode(fields, doseq=True).encode(), FORM)


class Response:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body

    def json(self):
        """Returns the body of a translation. Raises Busy for 429, WrongAnswer for other statuses."""
        if self.status == 429:
            require("retry-after" in self.fields, "429 without Retry-After")
            raise Busy()
        require(self.status == 200, f"status {self.status}: {self.body[:200]}")
        return json.loads(self.body)


async def read_chunks(reader):
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return body


async def read_response(reader):
    """Returns the next response; None at the end of the connection."""
    status_line = await reader.readline()
    if not status_line:
        return None
    fields = {}
    while (line := await reader.readline()) not in (b"\r\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        fields[name.lower()] = value.strip()
    if fields.get("transfer-encoding") == "chunked":
        body = await read_chunks(reader)
    else:
        body = await reader.readexactly(int(fields.get("content-length", 0)))
    return Response(int(status_line.split()[1]), fields, body)


class Peer:
    """A connection to the server as an asynchronous context."""

    def __init__(self, port, buffer=None):
        self.port, self.buffer = port, buffer

    async def __aenter__(self):
        sock = socket.socket()
        if self.buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.buffer)
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, (HOST, self.port))
        self.reader, self.writer = await asyncio.open_connection(sock=sock, limit=1 << 22)
        return self

    async def __aexit__(self, *_):
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except OSError:
            pass  # the server closed first

    async def send(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def receive(self):
        try:
            response = await asyncio.wait_for(read_response(self.reader), ANSWER_S)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            raise HungUp() from error
        except asyncio.TimeoutError as error:
            raise WrongAnswer(f"no answer in {ANSWER_S} s") from error
        if response is None:
            raise HungUp()
        return response

    def break_off(self):
        self.writer.transport.abort()


class Exchange:
    """A request and the function that checks its answer with the models that may have answered."""

    def __init__(self, kind, data, check):
        self.kind, self.data, self.check = kind, data, check


def events_of(body):
    """Returns name and data of all server-sent events."""
    for event in body.decode().split("\n\n")[:-1]:
        name, data = event.split("\n")
        yield name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


class Requests:
    """Makes random requests of all interfaces for known texts, and functions that check the answers: an answer must be
    the translation by one of the models that may have answered."""

    def __init__(self, texts, random):
        self.texts, self.random = texts, random
        self.makers = [self.text, self.list_of_texts, self.html, self.alternatives, self.form, self.query, self.deepl,
                       self.deepl_form, self.native, self.native_html, self.stream]

    def make(self):
        return self.random.choice(self.makers)()

    def exchange(self, kind, data, got, wanted):
        """`got(response)` and `wanted(model)` must be equal for one of the models."""
        def check(response, models):
            answer, answers = got(response), [wanted(model) for model in models]
            require(answer in answers, f"{kind}: {answer!r} for {data!r}, needs one of {answers!r}")
        return Exchange(kind, data, check)

    def draw(self, kind):
        return self.random.randrange(self.texts.count(kind))

    def some(self, kind, most=6):
        return [self.draw(kind) for _ in range(self.random.randint(1, most))]

    def libre_fields(self, kind, indices, **more):
        texts = [self.texts.inputs(kind)[i] for i in indices]
        return {"q": texts if len(texts) > 1 else texts[0], "source": "en", "target": "fr",
                "format": "html" if kind == "html" else "text", **more}

    def libre(self, name, kind, indices, make=json_request, **more):
        def wanted(model):
            outputs = [self.texts.outputs(model, kind)[i] for i in indices]
            return outputs if len(outputs) > 1 else outputs[0]
        return self.exchange(name, make("/translate", self.libre_fields(kind, indices, **more)),
                             lambda response: response.json()["translatedText"], wanted)

    def text(self):
        return self.libre("text", "text", [self.draw("text")])

    def list_of_texts(self):
        return self.libre("array", "text", self.some("text"))

    def html(self):
        return self.libre("html", "html", self.some("html", 3))

    def form(self):
        return self.libre("form", "sentence", [self.draw("sentence")], form_request)

    def query(self):
        def make(path, fields):
            return request_bytes(f"{path}?{urllib.parse.urlencode(fields)}")
        return self.libre("query", "sentence", [self.draw("sentence")], make)

    def alternatives(self):
        index, count = self.draw("sentence"), self.random.randint(1, 3)

        def got(response):
            fields = response.json()
            return [fields["translatedText"], *fields["alternatives"]]
        data = json_request("/translate", self.libre_fields("sentence", [index], alternatives=count))
        return self.exchange("alternatives", data, got,
                             lambda model: self.texts.alternatives(model, index)[:count + 1])

    def deepl(self, make=json_request):
        indices = self.some("text")
        texts = [self.texts.inputs("text")[i] for i in indices]
        return self.exchange(
            "deepl", make("/v2/translate", {"text": texts, "source_lang": "EN", "target_lang": "FR"}),
            lambda response: [item["text"] for item in response.json()["translations"]],
            lambda model: [self.texts.outputs(model, "text")[i] for i in indices])

    def deepl_form(self):
        return self.deepl(form_request)

    def native_request(self, name, kind, got, **more):
        indices = self.some(kind, 3)
        fields = {"text": [self.texts.inputs(kind)[i] for i in indices], "source": "en", "target": "fr",
                  "format": "html" if kind == "html" else "text", **more}
        return self.exchange(name, json_request("/v1/translate", fields), got,
                             lambda model: [self.texts.outputs(model, kind)[i] for i in indices])

    def native(self):
        return self.native_request("native", "text", lambda response: texts_of(response.json()))

    def native_html(self):
        return self.native_request("native html", "html", lambda response: texts_of(response.json()))

    def stream(self):
        def got(response):
            if response.status != 200:
                return response.json()
            *sentences, (last, result) = events_of(response.body)
            require(last == "result" and all(name == "sentence" for name, _ in sentences), "wrong events of a stream")
            wanted = [(i, sentence["number"]) for i, text in enumerate(result["translations"])
                      for sentence in text["sentences"] if "number" in sentence]
            numbers = sorted((data["text"], data["number"]) for _, data in sentences)
            require(numbers == wanted, f"a stream has the sentences {numbers}, needs {wanted}")
            return texts_of(result)
        return self.native_request("stream", "text", got, stream=True)


def texts_of(fields):
    return [translation["text"] for translation in fields["translations"]]


class Behaviours:
    """What clients do with requests. `models` is a ModelClock: it knows which models may answer."""

    def __init__(self, port, requests, models, random):
        self.port, self.requests, self.models, self.random = port, requests, models, random

    async def checked(self, peer, exchange, begin):
        return self.check(await peer.receive(), exchange, begin)

    def check(self, response, exchange, begin):
        exchange.check(response, self.models.between(begin, time.monotonic()))
        return exchange.kind

    async def ask(self):
        """Sends requests one after another on one connection."""
        kinds = []
        async with Peer(self.port) as peer:
            for _ in range(self.random.randint(1, 8)):
                exchange, begin = self.requests.make(), time.monotonic()
                await peer.send(exchange.data)
                kinds.append(await self.checked(peer, exchange, begin))
        return kinds

    async def ask_much(self):
        """Sends a request that takes long."""
        texts = [self.requests.draw("text") for _ in range(60)]
        exchange, begin = self.requests.libre("long request", "text", texts), time.monotonic()
        async with Peer(self.port) as peer:
            await peer.send(exchange.data)
            return [await self.checked(peer, exchange, begin)]

    async def pipeline(self):
        """Sends several requests before the first answer."""
        exchanges, begin = [self.requests.make() for _ in range(self.random.randint(2, 4))], time.monotonic()
        async with Peer(self.port) as peer:
            await peer.send(b"".join(exchange.data for exchange in exchanges))
            for exchange in exchanges:
                await self.checked(peer, exchange, begin)
        return ["pipelined"] * len(exchanges)

    async def vanish(self):
        """Hangs up before or during the answer, perhaps in the middle of the request."""
        exchange = self.requests.make()
        async with Peer(self.port) as peer:
            sent = len(exchange.data) if self.random.random() < 0.7 else self.random.randrange(len(exchange.data))
            await peer.send(exchange.data[:sent])
            await asyncio.sleep(self.random.choice([0, 0.001, 0.01, 0.1]))
            if self.random.random() < 0.3 and sent == len(exchange.data):
                await peer.reader.read(1)
            if self.random.random() < 0.5:
                peer.break_off()
        return ["hung up"]

    async def send_slowly(self):
        exchange, begin = self.requests.make(), time.monotonic()
        async with Peer(self.port) as peer:
            cuts = sorted(self.random.randrange(len(exchange.data)) for _ in range(6))
            for first, last in zip([0, *cuts], [*cuts, len(exchange.data)]):
                await peer.send(exchange.data[first:last])
                await asyncio.sleep(self.random.uniform(0, 0.1))
            send_s = time.monotonic() - begin  # at most 0.7, and what other programs take
            response = await peer.receive()
        if response.status == 408 and send_s > RECEIVE_S:
            return ["sender that was too slow"]
        self.check(response, exchange, begin)
        return ["slow sender"]

    async def stall(self):
        """Never sends the rest of a request: 408, or the end of the connection before the first byte."""
        exchange = self.requests.make()
        async with Peer(self.port) as peer:
            await peer.send(exchange.data[:self.random.randrange(1, len(exchange.data))])
            require((await peer.receive()).status == 408, "an unfinished request is answered with another status")
        return ["unfinished request"]

    async def read_slowly(self):
        exchange, begin = self.requests.stream(), time.monotonic()
        async with Peer(self.port, SMALL_BUFFER) as peer:
            await peer.send(exchange.data)
            peer.writer.transport.pause_reading()
            await asyncio.sleep(self.random.uniform(0, 3))
            peer.writer.transport.resume_reading()
            await self.checked(peer, exchange, begin)
        return ["slow reader"]

    async def drip(self):
        """Reads a long stream, a little at a time, until it ends or the server cuts it off."""
        fields = {"text": [self.requests.texts.inputs("text")[self.requests.draw("text")] for _ in range(8)],
                  "source": "en", "target": "fr", "alternatives": 3, "attention": True, "stream": True}
        async with Peer(self.port, SMALL_BUFFER) as peer:
            await peer.send(json_request("/v1/translate", fields))
            peer.writer.transport.set_write_buffer_limits(0)
            status = await peer.reader.readexactly(12)
            require(status.endswith((b"200", b"429")), f"a slow reader of a stream gets {status!r}")
            end = time.monotonic() + DRIP_S
            while time.monotonic() < end:
                if not await peer.reader.read(1024):
                    break
                await asyncio.sleep(self.random.uniform(0, 0.2))
            peer.break_off()
        return ["reader of a few bytes"]

    async def probe(self):
        """Asks for the state of the server, which must be answered at all times."""
        path = self.random.choice(["/health", "/ready", "/metrics"])
        async with Peer(self.port) as peer:
            begin = time.monotonic()
            await peer.send(request_bytes(path, method="GET"))
            response = await peer.receive()
            is_full = path == "/ready" and response.status == 503
            require(response.status == 200 or is_full, f"{path}: status {response.status}")
            require(time.monotonic() - begin < PROBE_S, f"{path} took {time.monotonic() - begin:.1f} s")
        return ["probe"]

    async def send_hostile(self):
        name, data = self.random.choice(list(HOSTILE_REQUESTS.items()))
        statuses = []
        async with Peer(self.port) as peer:
            try:
                await peer.send(data)
                while True:
                    statuses.append((await peer.receive()).status)
            except (HungUp, ConnectionError, ValueError):
                pass
        require(len(statuses) <= 1 and all(400 <= status < 500 or status == 505 for status in statuses),
                f"{name}: the answers have the statuses {statuses}, needs one of 4xx")
        return ["malformed"]

    async def send_bad_body(self):
        path, body, status = self.random.choice(BAD_BODIES)
        async with Peer(self.port) as peer:
            await peer.send(request_bytes(path, body))
            response = await peer.receive()
            if response.status == 429:
                raise Busy()
            require(response.status == status, f"{path} {body[:80]}: status {response.status}, needs {status}")
        return ["refused body"]

    async def look_around(self):
        path = self.random.choice(["/languages", "/frontend/settings", "/spec", "/docs", "/v2/usage"])
        async with Peer(self.port) as peer:
            await peer.send(request_bytes(path, method="GET"))
            response = await peer.receive()
            if response.status == 429:
                raise Busy()
            require(response.status == 200, f"{path}: status {response.status}")
        return ["other pages"]
