// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/directory.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "edgewise/base/descriptor.h"
#include "edgewise/base/error.h"
#include "edgewise/base/file_system.h"
#include "edgewise/base/manifest.h"
#include "edgewise/base/sha256.h"
#include "edgewise/base/utf8.h"
#include "edgewise/base/version.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

// The place in the file system, without symbolic links, "." or a slash at the end.
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

// Whether a DirectoryWriter may replace what is there.
bool is_replaceable(const fs::path& path) {
  return !is_there(path) || is_empty_directory(path) || is_there(path / kManifestName);
}

bool is_running(std::string_view process) {
  pid_t number = 0;
  const auto [end, error] = std::from_chars(process.data(), process.data() + process.size(), number);
  if (error != std::errc() || end != process.data() + process.size() || number <= 0) return true;
  return number != ::getpid() && (::kill(number, 0) == 0 || errno != ESRCH);
}

// `model.tmp-1234` is one.
bool is_leftover(std::string_view name) {
  constexpr std::string_view kMark = ".tmp-";
  const std::size_t mark = name.rfind(kMark);
  return mark != std::string_view::npos && !is_running(name.substr(mark + kMark.size()));
}

fs::path temporary_of(const fs::path& target) { return fmt::format("{}.tmp-{}", target.string(), ::getpid()); }

// Puts a directory in the place of another, which then is where the first was; nothing is there if that was empty.
int put(const fs::path& directory, const fs::path& place) {
  // rename puts a directory where there is none or an empty one.
  const int error = file_system().rename(directory, place) == 0 ? 0 : errno;
  return error == ENOTEMPTY || error == EEXIST ? exchange(directory, place) : error;
}

bool lists_everything(const Manifest& manifest, const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool is_listed = std::any_of(manifest.files.begin(), manifest.files.end(),
                                       [&](const ManifestFile& file) { return file.name == name; });
    if (!is_listed && name != kManifestName) return false;
  }
  return !error;
}

// Whether all that a directory holds was written by a DirectoryWriter.
bool is_all_ours(const fs::path& directory) {
  try {
    return lists_everything(read_manifest(directory), directory);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

bool remove_listed_directory(const fs::path& directory) {
  if (!is_all_ours(directory)) return false;
  const fs::path aside = temporary_of(directory);
  if (file_system().rename(directory, aside) == 0) file_system().remove_all(aside);
  return true;
}

void put_directory(const fs::path& directory, const fs::path& place, std::string_view caller) {
  int error = put(directory, place);
  if (error == 0) error = sync_directory(place.parent_path());
  check(error == 0, "{}: {} cannot be put in the place of {}: {}", caller, directory.string(), place.string(),
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
    : shown_(target.string()), caller_(caller) {
  std::error_code error;
  target_ = real_path(target, error);
  if (!error) fs::create_directories(target_.parent_path(), error);
  check(!error, "{}: {}: {}", caller_, shown_, error.message());
  check(is_replaceable(target_),
        "{}: {} exists without a {}, needs to be absent, empty or written by this program; choose another directory",
        caller_, shown_, kManifestName);
  remove_leftovers(target_.parent_path(), target_.filename().string() + ".tmp-");
  temporary_ = temporary_of(target_);
  const int made = file_system().make_directory(temporary_) == 0 ? 0 : errno;
  check(made == 0, "{}: {}: {}", caller_, shown_, error_text(made));
}

DirectoryWriter::~DirectoryWriter() {
  if (!is_committed_) file_system().remove_all(temporary_);
}

void DirectoryWriter::write(std::string_view name, std::string_view bytes) {
  check(!is_committed_, "{}: {} is committed, needs a new writer for another file", caller_, shown_);
  check(is_plain_name(name) && name != kManifestName, "{}: file name is {}, needs a plain one without folders", caller_,
        in_quotes(name));
  const bool is_new = std::none_of(manifest_.files.begin(), manifest_.files.end(),
                                   [&](const ManifestFile& file) { return file.name == name; });
  check(is_new, "{}: {} was written before, needs to be written once", caller_, in_quotes(name));
  write_durably(name, bytes);
  manifest_.files.push_back({std::string(name), bytes.size(), sha256(bytes)});
}

void DirectoryWriter::commit() {
  complete();
  const int error = put(temporary_, target_);
  check(error == 0, "{}: {}: {}; nothing was replaced", caller_, shown_, error_text(error));
  is_committed_ = true;
  sync_parent();
  discard(temporary_);
}

void DirectoryWriter::commit_and_keep_old_as(std::string_view name) {
  if (!is_there(target_) || is_empty_directory(target_)) return commit();
  complete();
  const fs::path kept = target_.parent_path() / name;
  const int error = rotate(kept);
  check(error == 0, "{}: {}: {}; {}", caller_, shown_, error_text(error),
        is_committed_ ? "it was replaced, but what it was is not kept" : "nothing was replaced");
  sync_parent();
  discard(temporary_);
}

void DirectoryWriter::complete() {
  check(!is_committed_, "{}: {} is committed, needs a new writer to write it again", caller_, shown_);
  manifest_.tool = fmt::format("edgewise {}", version());
  write_durably(kManifestName, manifest_text(manifest_));
  const int error = sync_directory(temporary_);
  check(error == 0, "{}: {}: {}; nothing was replaced", caller_, shown_, error_text(error));
}

void DirectoryWriter::write_durably(std::string_view name, std::string_view bytes) const {
  const int error = write_new_file(temporary_ / name, bytes, 0666);
  check(error == 0, "{}: {}/{}: {}; nothing was replaced", caller_, shown_, name, error_text(error));
}

void DirectoryWriter::sync_parent() const {
  const int error = sync_directory(target_.parent_path());
  check(error == 0, "{}: {}: {}; it was replaced, but a power cut may undo that", caller_, shown_, error_text(error));
}

// Afterwards what was kept before is where the new directory was written.
int DirectoryWriter::rotate(const fs::path& kept) {
  if (file_system().exchange(temporary_, target_) != 0) {
    return cannot_exchange(errno) ? rotate_by_renaming(kept) : errno;
  }
  is_committed_ = true;
  sync_parent();  // the old one is the fallback until the new one is durable
  return put(temporary_, kept);
}

// The target is absent for a moment, but what it was and what it will be are whole.
int DirectoryWriter::rotate_by_renaming(const fs::path& kept) {
  discard(kept);
  if (file_system().rename(target_, kept) != 0) return errno;
  if (file_system().rename(temporary_, target_) == 0) {
    is_committed_ = true;
    return 0;
  }
  const int error = errno;
  file_system().rename(kept, target_);
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
