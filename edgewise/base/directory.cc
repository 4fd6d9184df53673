// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/directory.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "edgewise/base/error.h"
#include "edgewise/base/file_descriptor.h"
#include "edgewise/base/file_system.h"
#include "edgewise/base/sha256.h"
#include "edgewise/base/utf8.h"
#include "edgewise/base/version.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

// Returns the absolute path without symbolic links, "." or a slash at the end.
fs::path real_path(const fs::path& path, std::error_code& error) {
  const fs::path real = fs::weakly_canonical(fs::absolute(path, error), error);
  return real.has_filename() ? real : real.parent_path();
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool is_empty_directory(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) && fs::is_empty(path, error) && !error;
}

// Whether a DirectoryWriter may replace the path.
bool is_replaceable(const fs::path& path) {
  return !is_there(path) || is_empty_directory(path) || is_there(path / kManifestName);
}

bool is_running(std::string_view process) {
  pid_t number = 0;
  const auto [end, error] = std::from_chars(process.data(), process.data() + process.size(), number);
  if (error != std::errc() || end != process.data() + process.size() || number <= 0) return true;
  return number != ::getpid() && (::kill(number, 0) == 0 || errno != ESRCH);
}

// Whether the name is that of a killed writer's temporary directory: `model.tmp-1234` if no process 1234 runs.
bool is_leftover(std::string_view name) {
  constexpr std::string_view kMark = ".tmp-";
  const std::size_t mark = name.rfind(kMark);
  return mark != std::string_view::npos && !is_running(name.substr(mark + kMark.size()));
}

fs::path temporary_path(const fs::path& target) { return fmt::format("{}.tmp-{}", target.string(), ::getpid()); }

// Renames a directory to `target`, or swaps the two if `target` is a directory with files.
int move_or_swap(const fs::path& directory, const fs::path& target) {
  const int error = file_system().rename(directory, target) == 0 ? 0 : errno;
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

// Whether a DirectoryWriter wrote every file of a directory.
bool is_fully_listed(const fs::path& directory) {
  try {
    return lists_everything(read_manifest(directory), directory);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

bool remove_listed_directory(const fs::path& directory) {
  if (!is_fully_listed(directory)) return false;
  const fs::path aside = temporary_path(directory);
  if (file_system().rename(directory, aside) == 0) file_system().remove_all(aside);
  return true;
}

void put_directory(const fs::path& directory, const fs::path& target, std::string_view caller) {
  int error = move_or_swap(directory, target);
  if (error == 0) error = sync_directory(target.parent_path());
  check(error == 0, "{}: {} cannot be put in the place of {}: {}", caller, directory.string(), target.string(),
        error_text(error));
}

void remove_leftovers(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> leftovers;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(prefix) && is_leftover(name)) leftovers.push_back(entry->path());
  }
  for (const fs::path& path : leftovers) file_system().remove_all(path);
}

DirectoryWriter::DirectoryWriter(const fs::path& target, std::string_view caller)
    : target_text_(target.string()), caller_(caller) {
  std::error_code error;
  target_ = real_path(target, error);
  if (!error) fs::create_directories(target_.parent_path(), error);
  check(!error, "{}: {}: {}", caller_, target_text_, error.message());
  check(is_replaceable(target_),
        "{}: {} exists without a {}, needs to be absent, empty or written by this program; choose another directory",
        caller_, target_text_, kManifestName);
  remove_leftovers(target_.parent_path(), target_.filename().string() + ".tmp-");
  temporary_ = temporary_path(target_);
  const int mkdir_error = file_system().make_directory(temporary_) == 0 ? 0 : errno;
  check(mkdir_error == 0, "{}: {}: {}", caller_, target_text_, error_text(mkdir_error));
}

DirectoryWriter::~DirectoryWriter() {
  if (!is_committed_) file_system().remove_all(temporary_);
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
  const int error = move_or_swap(temporary_, target_);
  check(error == 0, "{}: {}: {}; nothing was replaced", caller_, target_text_, error_text(error));
  is_committed_ = true;
  sync_parent();
  discard(temporary_);
}

void DirectoryWriter::commit_and_keep_old_as(std::string_view name) {
  if (!is_there(target_) || is_empty_directory(target_)) return commit();
  complete();
  const int error = rotate(target_.parent_path() / name);
  check(error == 0, "{}: {}: {}; {}", caller_, target_text_, error_text(error),
        is_committed_ ? "it was replaced, but what it was is not kept" : "nothing was replaced");
  sync_parent();
  discard(temporary_);
}

void DirectoryWriter::complete() {
  check(!is_committed_, "{}: {} is committed, needs a new writer to write it again", caller_, target_text_);
  manifest_.tool = fmt::format("edgewise {}", version());
  write_durably(kManifestName, manifest_text(manifest_));
  const int error = sync_directory(temporary_);
  check(error == 0, "{}: {}: {}; nothing was replaced", caller_, target_text_, error_text(error));
}

void DirectoryWriter::write_durably(std::string_view name, std::string_view bytes) const {
  const int error = write_new_file(temporary_ / name, bytes, 0666);
  check(error == 0, "{}: {}/{}: {}; nothing was replaced", caller_, target_text_, name, error_text(error));
}

void DirectoryWriter::sync_parent() const {
  const int error = sync_directory(target_.parent_path());
  check(error == 0, "{}: {}: {}; it was replaced, but a power cut may undo that", caller_, target_text_,
        error_text(error));
}

// Afterwards `previous` is the old target, and `temporary_` is the former `previous`, if any.
int DirectoryWriter::rotate(const fs::path& previous) {
  if (file_system().exchange(temporary_, target_) != 0) {
    return is_exchange_unsupported(errno) ? rotate_by_renaming(previous) : errno;
  }
  is_committed_ = true;
  sync_parent();  // the old directory is the fallback until the new one is durable
  return move_or_swap(temporary_, previous);
}

// Between the two renames the target does not exist, but the old and the new directory are complete.
int DirectoryWriter::rotate_by_renaming(const fs::path& previous) {
  discard(previous);
  if (file_system().rename(target_, previous) != 0) return errno;
  if (file_system().rename(temporary_, target_) == 0) {
    is_committed_ = true;
    return 0;
  }
  const int error = errno;
  file_system().rename(previous, target_);
  return error;
}

void DirectoryWriter::discard(const fs::path& old) const {
  if (!is_there(old) || remove_listed_directory(old)) return;
  fs::path aside;
  for (int attempt = 0; attempt == 0 || is_there(aside); ++attempt) {
    aside = fmt::format("{}.kept-{}-{}", target_.string(), ::getpid(), attempt);
  }
  file_system().rename(old, aside);
}

}  // namespace edgewise
