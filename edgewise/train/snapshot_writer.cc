// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/snapshot_writer.h"

#include <chrono>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {

void SnapshotWriter::start(std::vector<Snapshot> snapshots) {
  check(!writing_.valid(), "SnapshotWriter::start: a step is being written, needs to be waited for");
  writing_ = std::async(std::launch::async, [snapshots = std::move(snapshots)] {
    std::vector<Written> written;
    for (const Snapshot& snapshot : snapshots) {
      write_snapshot(snapshot);
      written.push_back({snapshot.step, snapshot.directory});
    }
    return written;
  });
}

std::vector<SnapshotWriter::Written> SnapshotWriter::written() {
  const bool is_done = writing_.valid() && writing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  return is_done ? writing_.get() : std::vector<Written>();
}

std::vector<SnapshotWriter::Written> SnapshotWriter::wait() {
  return writing_.valid() ? writing_.get() : std::vector<Written>();
}

}  // namespace edgewise
