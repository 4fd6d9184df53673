// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/directory.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "edgewise/base/error.h"
#include "edgewise/base/files/file_system.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/sha256.h"
#include "edgewise/base/utf8.h"
#include "edgewise/base/version.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

fs::path without_slash_at_end(const fs::path& path) { return path.has_filename() ? path : path.parent_path(); }

/// Whether a path is in use, even by a symbolic link that leads nowhere.
bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

bool is_real_directory(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error));
}

bool is_empty_directory(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) && fs::is_empty(path, error) && !error;
}

int rename_directory(const fs::path& from, const fs::path& to) {
  return file_system().rename(from, to) == 0 ? 0 : errno;
}
int swap_directories(const fs::path& left, const fs::path& right) {
  return file_system().exchange(left, right) == 0 ? 0 : errno;
}

/// Renames a directory to `target`, or swaps the two if `target` is a directory with files.
int move_or_swap(const fs::path& directory, const fs::path& target) {
  const int error = rename_directory(directory, target);
  return error == ENOTEMPTY || error == EEXIST ? exchange(directory, target) : error;
}

bool lists_everything(const Manifest& manifest, const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool is_listed = std::ranges::find(manifest.files, name, &ManifestEntry::name) != manifest.files.end();
    if (!is_listed && name != kManifestName) return false;
  }
  return !error;
}

/// Whether a DirectoryWriter wrote every file of a directory.
bool is_fully_listed(const fs::path& directory) {
  try {
    return lists_everything(read_manifest(directory), directory);
  } catch (const Error&) {
    return false;
  }
}

/// Whether a path has files that no DirectoryWriter wrote, or none of its files can be relied on. A symbolic link, or a
/// file in the place of a directory, is such a file too.
bool has_foreign_files(const fs::path& path) {
  if (!is_real_directory(path)) return is_there(path);
  return !is_empty_directory(path) && !is_fully_listed(path);
}

/// Returns the first path `<target>.kept-<pid>-<n>` that does not exist.
fs::path kept_path(const fs::path& target) {
  fs::path kept;
  for (int attempt = 0; attempt == 0 || is_there(kept); ++attempt) {
    kept = fmt::format("{}.kept-{}-{}", target.string(), ::getpid(), attempt);
  }
  return kept;
}

/// Renames a directory to a kept path of `target` if it has foreign files.
int keep_foreign_files(const fs::path& directory, const fs::path& target) {
  return has_foreign_files(directory) ? rename_directory(directory, kept_path(target)) : 0;
}

/// Puts a directory back that exchange() moved aside, or removes it if its former path is in use.
void remove_aside(const fs::path& aside, const fs::path& former) {
  if (!is_there(former)) {
    file_system().rename(aside, former);
  } else if (has_foreign_files(aside)) {
    keep_foreign_files(aside, former);
  } else {
    file_system().remove_all(aside);
  }
}

void remove_leftover(const Leftover& leftover) {
  std::error_code error;
  if (fs::is_regular_file(fs::symlink_status(leftover.path, error))) {
    file_system().remove(leftover.path);
  } else if (leftover.target.extension() == kAside) {
    remove_aside(leftover.path, fs::path(leftover.target).replace_extension());
  } else {
    file_system().remove_all(leftover.path);  // has no foreign files: see DirectoryWriter
  }
}

/// Creates a directory and its missing parents.
int create_with_parents(const fs::path& directory) {
  std::error_code error;
  if (directory.empty() || fs::is_directory(directory, error)) return 0;
  if (const int parent_error = create_with_parents(directory.parent_path()); parent_error != 0) return parent_error;
  if (file_system().make_directory(directory) == 0) return sync_directory(directory.parent_path());
  const int create_error = errno;
  if (create_error != EEXIST) return create_error;
  return fs::is_directory(directory, error) ? 0 : ENOTDIR;  // another process created it, or it is a file
}

/// Refuses a directory that is, or lies below, a link to nothing: the system's error for it names no cause.
void check_links(const fs::path& directory, std::string_view caller) {
  std::error_code ignored;
  for (fs::path path = directory; path.has_relative_path(); path = path.parent_path()) {
    check(!fs::is_symlink(path, ignored) || fs::exists(path, ignored),
          "{}: {} is a link to {}, which does not exist, needs a directory or a new name", caller, path.string(),
          fs::read_symlink(path, ignored).string());
  }
}

}  // namespace

void create_directories(const fs::path& directory, std::string_view caller) {
  check_links(directory, caller);
  const int error = create_with_parents(directory);
  check(error == 0, "{}: {}: {}", caller, directory.string(), error_text(error));
}

/// Syncs the new name before the files are removed: otherwise a power cut may leave a part of them under the old name.
bool remove_listed_directory(const fs::path& directory, std::string_view caller) {
  if (!is_fully_listed(directory)) return false;
  const fs::path aside = unused_temporary_path(directory);
  int error = rename_directory(directory, aside);
  if (error == 0) error = sync_directory(directory.parent_path());
  check(error == 0, "{}: {} cannot be removed: {}", caller, directory.string(), error_text(error));
  const UnfinishedFile unfinished(aside);
  file_system().remove_all(aside);
  return true;
}

void discard_directory(const fs::path& directory, std::string_view caller) {
  const int error = keep_foreign_files(directory, directory);
  check(error == 0, "{}: {} cannot be moved: {}", caller, directory.string(), error_text(error));
  remove_listed_directory(directory, caller);
}

void put_directory(const fs::path& directory, const fs::path& target, std::string_view caller) {
  int error = move_or_swap(directory, target);
  if (error == 0) error = sync_directory(target.parent_path());
  check(error == 0, "{}: {} cannot be put in the place of {}: {}", caller, directory.string(), target.string(),
        error_text(error));
}

void remove_leftovers(const fs::path& folder) { for_each_leftover(folder, "", remove_leftover); }

DirectoryWriter::DirectoryWriter(const fs::path& target, std::string_view caller)
    : target_text_(target.string()), caller_(caller) {
  std::error_code error;
  target_ = without_slash_at_end(real_path(without_slash_at_end(target), error));
  check(!error, "{}: {}: {}", caller_, target_text_, error.message());
  const int create_error = create_with_parents(target_.parent_path());
  check(create_error == 0, "{}: {}: {}", caller_, target_text_, error_text(create_error));
  for (const std::string_view end : {kAside, std::string_view()}) {
    for_each_leftover(target_.parent_path(), target_.filename().string() + std::string(end), remove_leftover);
  }
  check(!is_there(target_) || is_empty_directory(target_) || is_there(target_ / kManifestName),
        "{}: {} exists without a {}, needs to be absent, empty or written by this program; choose another directory",
        caller_, target_text_, kManifestName);
  temporary_.emplace(target_, [this](const fs::path& path) {
    registration_.emplace(path);
    return file_system().make_directory(path) == 0 ? 0 : errno;
  });
  check(temporary_->error() == 0, "{}: {}: {}", caller_, target_text_, error_text(temporary_->error()));
}

DirectoryWriter::~DirectoryWriter() {
  if (!is_committed_) file_system().remove_all(temporary_->path());
}

void DirectoryWriter::check_target(const fs::path& target, std::string_view caller) {
  const DirectoryWriter writer(target, caller);
}

void DirectoryWriter::write(std::string_view name, std::string_view bytes) {
  check(!is_committed_, "{}: {} is committed, needs a new writer for another file", caller_, target_text_);
  check(is_plain_name(name) && name != kManifestName, "{}: file name is {}, needs a plain one without folders", caller_,
        quote(name));
  const bool is_new = std::ranges::find(manifest_.files, name, &ManifestEntry::name) == manifest_.files.end();
  check(is_new, "{}: {} was written before, needs to be written once", caller_, quote(name));
  write_durably(name, bytes);
  manifest_.files.push_back({std::string(name), bytes.size(), sha256(bytes)});
}

void DirectoryWriter::commit() {
  complete();
  finish(replace_target());
}

void DirectoryWriter::commit_and_keep_old_as(std::string_view name) {
  if (!is_there(target_) || is_empty_directory(target_)) return commit();
  complete();
  finish(rotate(target_.parent_path() / name));
}

/// Never gives the temporary name to a directory with foreign files, because leftovers are removed.
int DirectoryWriter::replace_target() {
  if (!has_foreign_files(target_)) return move_or_swap(temporary_->path(), target_);
  const fs::path kept = kept_path(target_);
  if (const int error = rename_directory(target_, kept); error != 0) return error;
  const int error = rename_directory(temporary_->path(), target_);
  if (error != 0) rename_directory(kept, target_);
  return error;
}

void DirectoryWriter::complete() {
  check(!is_committed_, "{}: {} is committed, needs a new writer to write it again", caller_, target_text_);
  old_lock_ = lock_against_removal(target_);
  manifest_.tool = fmt::format("edgewise {}", version());
  write_durably(kManifestName, manifest_text(manifest_));
  const int error = sync_directory(temporary_->path());
  check(error == 0, "{}: {}: {}; nothing was replaced", caller_, target_text_, error_text(error));
  // The temporary name will have the old directory, whose files must stay until the new names are synced.
  registration_.reset();
}

/// `error` is the result of replacing the target.
void DirectoryWriter::finish(int error) {
  check(error == 0, "{}: {}: {}; nothing was replaced", caller_, target_text_, error_text(error));
  is_committed_ = true;
  const int sync_error = sync_directory(target_.parent_path());
  check(sync_error == 0, "{}: {}: {}; it was replaced, but a power cut may undo that", caller_, target_text_,
        error_text(sync_error));
  registration_.emplace(temporary_->path());
  file_system().remove_all(temporary_->path());
}

void DirectoryWriter::write_durably(std::string_view name, std::string_view bytes) const {
  const int error = write_new_file(temporary_->path() / name, bytes, 0666);
  check(error == 0, "{}: {}/{}: {}; nothing was replaced", caller_, target_text_, name, error_text(error));
}

/// Swaps the new directory with `previous`, and then with the target. The old target never has the temporary name,
/// under which the next process would remove it. Afterwards the temporary directory is the former `previous`, if any.
int DirectoryWriter::rotate(const fs::path& previous) {
  if (const int error = keep_foreign_files(previous, target_); error != 0) return error;
  if (has_foreign_files(target_)) return rotate_by_renaming(previous);
  const bool has_previous = is_there(previous);
  int error =
      has_previous ? swap_directories(temporary_->path(), previous) : rename_directory(temporary_->path(), previous);
  if (error == 0) {
    error = swap_directories(previous, target_);
    if (error == 0) return 0;
    has_previous ? swap_directories(temporary_->path(), previous) : rename_directory(previous, temporary_->path());
  }
  return is_exchange_unsupported(error) ? rotate_by_renaming(previous) : error;
}

/// Between the two renames the target does not exist, but the old and the new directory are complete.
int DirectoryWriter::rotate_by_renaming(const fs::path& previous) {
  remove_listed_directory(previous, caller_);
  if (const int error = rename_directory(target_, previous); error != 0) return error;
  const int error = rename_directory(temporary_->path(), target_);
  if (error != 0) rename_directory(previous, target_);
  return error;
}

}  // namespace edgewise
