// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <vector>

#include "edgewise/train/checkpoint.h"

namespace edgewise {

/// Writes snapshots while training goes on, those of one step at a time. Its end waits for what is being written.
class SnapshotWriter {
 public:
  struct Written {
    std::int64_t step = 0;
    std::filesystem::path directory;
  };

  /// Begins to write these, one after the other. Needs what was begun before to have been taken.
  void start(std::vector<Snapshot> snapshots);

  /// Takes what was begun, if it is written by now; nothing otherwise. Throws what writing it threw.
  std::vector<Written> written();

  /// The same, once it is written.
  std::vector<Written> wait();

 private:
  std::future<std::vector<Written>> writing_;
};

}  // namespace edgewise
