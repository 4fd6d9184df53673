// SPDX-License-Identifier: Apache-2.0
import { kNoAnswer, ServerError } from "./server.js";

const kLongestWait = 30; // seconds, unless the server says how long

const inSeconds = (seconds) => (seconds === 1 ? "in 1 second" : `in ${seconds} seconds`);

/// Waits twice as long after each attempt.
const backOff = (attempt) => Math.min(2 ** attempt, kLongestWait);

function temporary(text, error, attempt) {
  const seconds = Math.max(1, error.retryAfter ?? backOff(attempt));
  return { text: `${text} The page tries again ${inSeconds(seconds)}.`, seconds };
}

const lasting = (text) => ({ text, seconds: null });

/// Says in words what went wrong, and after how many seconds a request should be sent again; null: only if the person
/// asks for it. `attempt` is the number of failures before this one.
export function describeError(error, attempt) {
  if (!(error instanceof ServerError)) return lasting(`The page has an error: ${error.message}.`);
  switch (error.status) {
    case kNoAnswer:
      return temporary("The server does not answer.", error, attempt);
    case 400:
      return lasting(`The server refuses this request: ${error.message}.`);
    case 403:
      return lasting(`The server refuses the API key: ${error.message}.`);
    case 413:
      return lasting("The text is too long for this server.");
    case 429:
      return temporary("The server is busy.", error, attempt);
    case 502:
    case 503:
      return temporary("The server takes no texts at the moment.", error, attempt);
    case 504:
      return lasting("The translation took too long. A shorter text may help.");
    default:
      return lasting(`The server has an error (status ${error.status}).`);
  }
}

/// Waits. Rejects if the signal aborts.
export function wait(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
