// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/batches_ahead.h"

#include <utility>

namespace edgewise {

BatchesAhead::BatchesAhead(BatchStream& stream) : stream_(stream), place_(place_of_stream()) {}

// The stream is its owner's again where this object's last batch left it.
BatchesAhead::~BatchesAhead() {
  if (prepared_.valid()) prepared_.wait();
}

BatchesAhead::Place BatchesAhead::place_of_stream() const {
  return {.position = stream_.position(), .batches_per_epoch = stream_.batches_per_epoch()};
}

void BatchesAhead::prepare() {
  prepared_ = std::async(std::launch::async, [this] {
    Prepared prepared;
    prepared.batch = stream_.next();
    prepared.behind_it = place_of_stream();
    return prepared;
  });
}

Batch BatchesAhead::next() {
  if (!prepared_.valid()) prepare();
  Prepared prepared = prepared_.get();
  place_ = prepared.behind_it;
  prepare();
  return std::move(prepared.batch);
}

void BatchesAhead::seek(Position position) {
  if (prepared_.valid()) prepared_.wait();
  stream_.seek(position);
  prepared_ = {};
  place_ = place_of_stream();
}

}  // namespace edgewise
