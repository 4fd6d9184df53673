// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "edgewise/translate/model_paths.h"

namespace edgewise {

inline constexpr std::string_view kDistil = "distil";  // the beginning of errors

/// The folder of a step of distil(), whose file step.txt has the hash of what the step depends on and, when it is done,
/// a second line. A step that began and did not end finds its files as they were.
class StepFolder {
 public:
  /// Opens or creates the folder. Throws Error for a folder with another hash, unless Overwrite::kYes empties it, and
  /// for a folder with files that is not one of a step.
  StepFolder(std::filesystem::path folder, std::string hash, Overwrite overwrite);

  const std::filesystem::path& path() const { return folder_; }
  std::filesystem::path operator/(const char* name) const { return folder_ / name; }
  const std::string& hash() const { return hash_; }
  bool is_done() const { return is_done_; }

  /// Records that the step is done.
  void finish();

 private:
  void write_record(bool is_done);

  std::filesystem::path folder_;
  std::string hash_;
  bool is_done_ = false;
};

/// Returns the SHA-256 of a regular file. Errors begin with "distil".
std::string hash_file(const std::filesystem::path& file);

}  // namespace edgewise
