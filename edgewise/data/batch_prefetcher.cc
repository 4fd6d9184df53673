// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/batch_prefetcher.h"

#include <utility>

#include "edgewise/base/background.h"
#include "edgewise/base/threads.h"

namespace edgewise {

BatchPrefetcher::BatchPrefetcher(BatchStream& stream) : stream_(stream), state_(stream_state()) {}

BatchPrefetcher::~BatchPrefetcher() {
  if (next_.valid()) next_.wait();
}

BatchPrefetcher::StreamState BatchPrefetcher::stream_state() const {
  return {.position = stream_.position(), .batches_per_epoch = stream_.batches_per_epoch()};
}

void BatchPrefetcher::prefetch() {
  next_ = run_in_background([this] {
    const NumThreadsScope one_thread(1);  // the other threads compute with the present batch
    Batch batch = stream_.next();
    return Prefetched{.batch = std::move(batch), .state_after = stream_state()};
  });
}

Batch BatchPrefetcher::next() {
  if (!next_.valid()) prefetch();
  Prefetched next = next_.get();
  state_ = next.state_after;
  prefetch();
  return std::move(next.batch);
}

void BatchPrefetcher::seek(BatchPosition position) {
  if (next_.valid()) next_.wait();
  stream_.seek(position);
  next_ = {};
  state_ = stream_state();
}

}  // namespace edgewise
