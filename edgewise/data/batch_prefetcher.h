// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <future>

#include "edgewise/data/batches.h"

namespace edgewise {

/// Prepares the next batch of a stream in a thread while the caller uses the present batch. If the system refuses to
/// start a thread, the calling thread prepares the batch. After the first next(), callers must not use the stream
/// itself. Not thread-safe.
class BatchPrefetcher {
 public:
  /// The stream must outlive the prefetcher.
  explicit BatchPrefetcher(BatchStream& stream);
  ~BatchPrefetcher();

  /// Returns the next batch, and waits until it is ready. Throws the errors of its preparation.
  Batch next();

  /// Returns the position after the batches that next() returned; prefetched batches do not count.
  BatchPosition position() const { return state_.position; }
  std::int64_t batches_per_epoch() const { return state_.batches_per_epoch; }

  /// Continues at a position of the stream; throws Error as BatchStream::seek does.
  void seek(BatchPosition position);

 private:
  struct StreamState {
    BatchPosition position;
    std::int64_t batches_per_epoch = 0;
  };
  struct Prefetched {
    Batch batch;
    StreamState state_after;
  };

  StreamState stream_state() const;
  void prefetch();

  BatchStream& stream_;
  StreamState state_;
  std::future<Prefetched> next_;
};

}  // namespace edgewise
