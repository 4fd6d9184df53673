// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// Directories that are there as a whole or not at all: a model, a checkpoint. Each holds a manifest.json with the size
// and the SHA-256 of every other file.

namespace edgewise {

struct ManifestFile {
  std::string name;
  std::uint64_t size = 0;
  std::string sha256;  // 64 hexadecimal digits, lower case
};

struct Manifest {
  std::string tool;  // who wrote it, as in "edgewise 0.1.0"
  std::vector<ManifestFile> files;
};

/// Reads a directory's manifest.json without looking at the files it lists.
Manifest read_manifest(const std::filesystem::path& directory, std::string_view caller = "read_manifest");

/// Reads a directory's manifest.json and checks that each file it lists is there with that size and SHA-256; reads
/// every byte once. Symbolic links and names that lead out of the directory are errors.
Manifest verify_manifest(const std::filesystem::path& directory, std::string_view caller = "verify_manifest");

/// Removes a directory if its manifest.json lists all that is in it, in one step as others see it; leaves any other,
/// and says false.
bool remove_listed_directory(const std::filesystem::path& directory);

/// Puts a directory in the place of another, which then is where the first was. Errors begin with `caller`.
void put_directory(const std::filesystem::path& directory, const std::filesystem::path& place, std::string_view caller);

/// Removes what writers that were killed left in a folder: `<prefix>….tmp-<pid>` of processes that no longer run.
void remove_leftovers(const std::filesystem::path& folder, std::string_view prefix = "");

/// Writes a directory's files beside it, into `<target>.tmp-<pid>`, and puts them in its place in one step:
///
///     DirectoryWriter writer("run/last", "write_model");
///     writer.write("config.toml", toml);
///     writer.write("model.safetensors", serialize_safetensors(tensors, {}));
///     writer.commit();
///
/// At each moment, also after a crash or a power cut, the target is whole: the old one or the new one. Without commit,
/// and upon an error, what was there stays and the temporary files go. One writer a target at a time.
///
/// A target that exists must be empty or have a manifest.json. commit deletes the files which that lists; if others are
/// beside them, nothing of the old directory is deleted: it becomes `<target>.kept-<pid>`.
class DirectoryWriter {
 public:
  explicit DirectoryWriter(const std::filesystem::path& target, std::string_view caller = "write_directory");
  DirectoryWriter(const DirectoryWriter&) = delete;
  DirectoryWriter& operator=(const DirectoryWriter&) = delete;
  ~DirectoryWriter();

  /// Adds a file; its name is a single plain component.
  void write(std::string_view name, std::string_view bytes);

  /// Writes manifest.json and replaces the target; nothing can be added after it.
  void commit();

  /// The same, but what the target was becomes `name` beside it, and only what that was goes: should the new target be
  /// damaged one day, there is the one before. At each moment the newer of those that were committed is whole, under
  /// one of the two names; under the target's own where the file system can swap directories.
  void commit_and_keep_old_as(std::string_view name);

 private:
  void write_durably(std::string_view name, std::string_view bytes) const;
  void complete();
  void sync_parent() const;
  int rotate(const std::filesystem::path& kept);
  int rotate_by_renaming(const std::filesystem::path& kept);
  void discard(const std::filesystem::path& old) const;

  std::string shown_;  // the target as the caller named it, for errors
  std::string caller_;
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  Manifest manifest_;
  bool is_committed_ = false;
};

}  // namespace edgewise
