// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <future>

#include "edgewise/data/batches.h"

namespace edgewise {

/// The batches of a stream, each prepared by another thread while the one before it is in use. They are the stream's
/// own in its order, so a run can stop and go on as with the stream alone. Nobody else may use the stream meanwhile
/// but for what never changes: plan, pairs and fingerprint. Not for several threads at once.
class BatchesAhead {
 public:
  /// The stream must outlive it.
  explicit BatchesAhead(BatchStream& stream);
  BatchesAhead(const BatchesAhead&) = delete;
  BatchesAhead& operator=(const BatchesAhead&) = delete;
  ~BatchesAhead();

  /// As the stream's. The first one, and one that is not ready yet, is waited for. What went wrong in preparing a batch
  /// comes out here.
  Batch next();

  // Behind the batches that next() gave, whatever is prepared by now.
  Position position() const { return place_.position; }
  std::int64_t batches_per_epoch() const { return place_.batches_per_epoch; }

  /// As the stream's.
  void seek(Position position);

 private:
  struct Place {
    Position position;
    std::int64_t batches_per_epoch = 0;
  };
  struct Prepared {
    Batch batch;
    Place behind_it;
  };

  Place place_of_stream() const;
  void prepare();

  BatchStream& stream_;
  Place place_;
  std::future<Prepared> prepared_;
};

}  // namespace edgewise
