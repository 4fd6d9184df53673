// SPDX-License-Identifier: Apache-2.0
// Requests to the server. The paths are relative, so that the page also works behind a proxy that adds a prefix.
import { readEvents } from "./event_stream.js";

/// The status of a ServerError if there is no complete answer.
export const kNoAnswer = 0;

/// An answer of the server that is no translation. `retryAfter` is a number of seconds, or null.
export class ServerError extends Error {
  constructor(status, message, retryAfter = null) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

async function errorOf(response) {
  const body = await response.json().catch(() => ({}));
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  return new ServerError(response.status, body.error ?? response.statusText, Number.isNaN(seconds) ? null : seconds);
}

async function request(path, options) {
  const response = await fetch(path, options).catch((error) => {
    throw new ServerError(kNoAnswer, error.message);
  });
  if (!response.ok) throw await errorOf(response);
  return response;
}

export async function fetchJson(path) {
  return (await request(path)).json();
}

/// Adds to the sentences of a stream's result what the events of the sentences have.
function joinSentences(result, sentences) {
  result.translations.forEach((translation, text) => {
    for (const sentence of translation.sentences) Object.assign(sentence, sentences.get(`${text} ${sentence.number}`));
  });
  return result;
}

/// Translates with the fields of /v1/translate. Calls `onSentence(sentence)` for each sentence, and returns
/// the whole response.
export async function translate(fields, { key, signal, onSentence }) {
  const headers = { "Content-Type": "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  const body = JSON.stringify({ ...fields, stream: true });
  const response = await request("v1/translate", { method: "POST", headers, body, signal });
  const sentences = new Map();
  for await (const { name, data } of readEvents(response)) {
    if (name === "sentence") {
      sentences.set(`${data.text} ${data.number}`, data);
      onSentence(data);
    }
    if (name === "error") throw new ServerError(data.status, data.error);
    if (name === "result") return joinSentences(data, sentences);
  }
  throw new ServerError(kNoAnswer, "The response has no end.");
}
