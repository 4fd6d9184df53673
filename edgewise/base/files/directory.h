// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "edgewise/base/files/manifest.h"
#include "edgewise/base/files/temporary.h"
#include "edgewise/base/files/unfinished_files.h"

// Writes directories with a manifest.json (models, checkpoints). A reader finds a complete directory or none.

namespace edgewise {

/// Creates a directory and its missing parents, and syncs the new names to the disk. Errors begin with `caller`.
void create_directories(const std::filesystem::path& directory, std::string_view caller);

/// Removes a directory in one step if its manifest.json lists every file in it. Otherwise leaves it and returns false.
/// Throws Error if the directory cannot be removed. After a power cut, the directory stays absent.
bool remove_listed_directory(const std::filesystem::path& directory, std::string_view caller);

/// Removes a directory if its manifest.json lists every file in it; otherwise renames it to
/// `<directory>.kept-<pid>-<n>`. An absent directory is no error. Throws Error if the directory stays.
void discard_directory(const std::filesystem::path& directory, std::string_view caller);

/// Moves a directory to `target`, or swaps the two directories if `target` exists. Errors begin with `caller`.
void put_directory(const std::filesystem::path& directory, const std::filesystem::path& target,
                   std::string_view caller);

/// Removes the temporary files and directories that killed processes left in a folder (temporary.h), and puts a
/// directory back that one of them moved aside in order to replace it.
void remove_leftovers(const std::filesystem::path& folder);

/// Writes a directory's files into a temporary directory (temporary.h) and then replaces the target in one step:
///
///     DirectoryWriter writer("run/last", "write_model");
///     writer.write("config.toml", toml);
///     writer.write("model.safetensors", serialize_safetensors(tensors, {}));
///     writer.commit();
///
/// At each moment, also after a crash or a power cut, the target is complete: the old directory or the new one. Without
/// commit() the old directory stays, and the temporary files are removed, also by remove_unfinished_files(). An error
/// says "nothing was replaced" if the old directory stays, and otherwise what replaced it: when only the last sync
/// fails, the new directory is in place, and the old one stays under the temporary name until the next writer of this
/// target. If the target is a symbolic link, the link stays and the directory that it names is replaced. A target may
/// have only one writer at a time.
///
/// On a file system that cannot swap directories, the target is absent for a moment; the next writer of the target, or
/// remove_leftovers(), puts the old directory back if the process was killed in that moment.
///
/// A target that exists must be empty or have a manifest.json. If the manifest lists all files of the old directory,
/// commit() deletes the old directory; otherwise commit() first renames it to `<target>.kept-<pid>-<n>`, and the target
/// is absent for a moment.
class DirectoryWriter {
 public:
  explicit DirectoryWriter(const std::filesystem::path& target, std::string_view caller = "write_directory");
  ~DirectoryWriter();

  /// Throws the errors of the constructor, and leaves nothing: for callers whose work takes long before they write.
  static void check_target(const std::filesystem::path& target, std::string_view caller);

  /// Adds a file. `name` must be a plain name (is_plain_name).
  void write(std::string_view name, std::string_view bytes);

  /// Writes manifest.json and replaces the target. No file can be added afterwards.
  void commit();

  /// Commits, and renames the old target to `name` in the parent folder, where it replaces the former directory `name`.
  /// The old target is complete at each moment, under its own name or under `name`. For a moment the new directory may
  /// have the name `name` and, if the file system cannot swap directories, the target may be absent.
  void commit_and_keep_old_as(std::string_view name);

 private:
  void write_durably(std::string_view name, std::string_view bytes) const;
  void complete();
  void finish(int error);
  int replace_target();
  int rotate(const std::filesystem::path& previous);
  int rotate_by_renaming(const std::filesystem::path& previous);

  std::string target_text_;  // the target as the caller wrote it, for errors
  std::string caller_;
  std::filesystem::path target_;
  std::optional<TemporaryPath> temporary_;
  std::optional<UnfinishedFile> registration_;  // registers `temporary_`
  FileDescriptor old_lock_{-1};                 // the lock of the old target, which has the temporary name for a moment
  Manifest manifest_;
  bool is_committed_ = false;
};

}  // namespace edgewise
