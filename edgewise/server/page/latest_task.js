// SPDX-License-Identifier: Apache-2.0

/// Runs one task at a time: a newer task cancels the older one. A task is an asynchronous function of an AbortSignal.
export class LatestTask {
  #controller = new AbortController();
  #timer = 0;

  /// Starts the task after a pause, in which a newer task may replace the task.
  start(task, milliseconds = 0) {
    this.cancel();
    const { signal } = this.#controller;
    this.#timer = setTimeout(() => task(signal), milliseconds);
  }

  cancel() {
    clearTimeout(this.#timer);
    this.#controller.abort();
    this.#controller = new AbortController();
  }
}
