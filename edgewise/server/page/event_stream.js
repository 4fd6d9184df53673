// SPDX-License-Identifier: Apache-2.0

function parseEvent(text) {
  const event = { name: "message", data: null };
  for (const line of text.split("\n")) {
    if (line.startsWith("event: ")) event.name = line.slice("event: ".length);
    if (line.startsWith("data: ")) event.data = JSON.parse(line.slice("data: ".length));
  }
  return event;
}

/// Yields the server-sent events of a response as {name, data}, until the response or the connection ends. The data of
/// each event is one line of JSON.
export async function* readEvents(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let received = "";
  while (true) {
    const { done, value } = await reader.read().catch(() => ({ done: true }));
    if (done) return;
    received += value;
    const events = received.split("\n\n");
    received = events.pop();
    yield* events.map(parseEvent);
  }
}
