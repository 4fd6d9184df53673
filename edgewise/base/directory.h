// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "edgewise/base/manifest.h"

// Writes directories with a manifest.json (models, checkpoints). A reader finds a complete directory or none.

namespace edgewise {

/// Removes a directory in one step if its manifest.json lists every file in it. Otherwise leaves it and returns false.
bool remove_listed_directory(const std::filesystem::path& directory);

/// Moves a directory to `target`, or swaps the two directories if `target` exists. Errors begin with `caller`.
void put_directory(const std::filesystem::path& directory, const std::filesystem::path& target,
                   std::string_view caller);

/// Removes the temporary directories of killed writers from a folder: `<prefix>….tmp-<pid>` if no process <pid> runs.
void remove_leftovers(const std::filesystem::path& folder, std::string_view prefix = "");

/// Writes a directory's files into `<target>.tmp-<pid>` and then replaces the target in one step:
///
///     DirectoryWriter writer("run/last", "write_model");
///     writer.write("config.toml", toml);
///     writer.write("model.safetensors", serialize_safetensors(tensors, {}));
///     writer.commit();
///
/// At each moment, also after a crash or a power cut, the target is complete: the old directory or the new one. Without
/// commit() and after an error the old directory stays and the temporary files are removed. A target may have only one
/// writer at a time.
///
/// A target that exists must be empty or have a manifest.json. If the manifest lists all files of the old directory,
/// commit() deletes the old directory; otherwise commit() renames it to `<target>.kept-<pid>-<n>`.
class DirectoryWriter {
 public:
  explicit DirectoryWriter(const std::filesystem::path& target, std::string_view caller = "write_directory");
  DirectoryWriter(const DirectoryWriter&) = delete;
  DirectoryWriter& operator=(const DirectoryWriter&) = delete;
  ~DirectoryWriter();

  /// Adds a file. `name` must be a plain name (is_plain_name).
  void write(std::string_view name, std::string_view bytes);

  /// Writes manifest.json and replaces the target. No file can be added afterwards.
  void commit();

  /// Commits, and renames the old target to `name` in the parent folder, where it replaces the former directory `name`.
  /// At each moment, the last committed directory is complete under the target's name or, if the file system cannot
  /// swap directories, under one of the two names.
  void commit_and_keep_old_as(std::string_view name);

 private:
  void write_durably(std::string_view name, std::string_view bytes) const;
  void complete();
  void sync_parent() const;
  int rotate(const std::filesystem::path& previous);
  int rotate_by_renaming(const std::filesystem::path& previous);
  void discard(const std::filesystem::path& old) const;

  std::string target_text_;  // the target as the caller wrote it, for errors
  std::string caller_;
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  Manifest manifest_;
  bool is_committed_ = false;
};

}  // namespace edgewise
