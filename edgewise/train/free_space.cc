// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/free_space.h"

#include <system_error>

#include "edgewise/base/error.h"
#include "edgewise/base/file_system.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

std::uint64_t bytes_in(const fs::path& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code no_file;
    const std::uint64_t size = entry->file_size(no_file);
    if (!no_file) bytes += size;
  }
  return bytes;
}

double megabytes(std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

}  // namespace

void require_space(const fs::path& run, const CheckpointSizes& sizes) {
  constexpr std::uint64_t kStates = 3;  // the last, the one before, and the next while it is written
  const std::uint64_t needed = kStates * sizes.state + static_cast<std::uint64_t>(sizes.models) * sizes.model;
  const std::uint64_t had = bytes_in(run);
  if (had >= needed) return;
  const std::uint64_t free = file_system().free_bytes(run);
  check(free >= needed - had,
        "train: the disk of {} has {:.1f} MB left, needs {:.1f} MB for checkpoints; make room, or choose another "
        "directory",
        run.string(), megabytes(free), megabytes(needed - had));
}

}  // namespace edgewise
