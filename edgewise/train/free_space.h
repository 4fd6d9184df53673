// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

namespace edgewise {

/// What a run keeps on the disk at most, in bytes and about: see checkpoint.h.
struct CheckpointSizes {
  std::uint64_t model = 0;
  std::uint64_t state = 0;  // of RUN/last, its model included
  std::int64_t models = 0;  // RUN/best and kept checkpoints
};

/// Throws Error when the disk of a run directory, which must exist, has no room for that. What the run has already
/// counts as room.
void require_space(const std::filesystem::path& run, const CheckpointSizes& sizes);

}  // namespace edgewise
