// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/directory.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "edgewise/base/descriptor.h"
#include "edgewise/base/error.h"
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

// Whether a DirectoryWriter may replace what is there.
bool is_replaceable(const fs::path& path) {
  std::error_code error;
  const bool is_empty = fs::is_directory(path, error) && fs::is_empty(path, error) && !error;
  return !is_there(path) || is_empty || is_there(path / kManifestName);
}

bool is_running(std::string_view process) {
  pid_t number = 0;
  const auto [end, error] = std::from_chars(process.data(), process.data() + process.size(), number);
  if (error != std::errc() || end != process.data() + process.size() || number <= 0) return true;
  return number != ::getpid() && (::kill(number, 0) == 0 || errno != ESRCH);
}

// What writers of this target left when their process was killed.
void remove_leftovers(const fs::path& target) {
  const std::string prefix = target.filename().string() + ".tmp-";
  std::vector<fs::path> leftovers;
  std::error_code error;
  for (fs::directory_iterator entry(target.parent_path(), error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(prefix) && !is_running(std::string_view(name).substr(prefix.size()))) {
      leftovers.push_back(entry->path());
    }
  }
  for (const auto& path : leftovers) fs::remove_all(path, error);
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

DirectoryWriter::DirectoryWriter(const fs::path& target, std::string_view caller)
    : shown_(target.string()), caller_(caller) {
  std::error_code error;
  target_ = real_path(target, error);
  if (!error) fs::create_directories(target_.parent_path(), error);
  check(!error, "{}: {}: {}", caller_, shown_, error.message());
  check(is_replaceable(target_),
        "{}: {} exists without a {}, needs to be absent, empty or written by this program; choose another directory",
        caller_, shown_, kManifestName);
  remove_leftovers(target_);
  temporary_ = fmt::format("{}.tmp-{}", target_.string(), ::getpid());
  fs::create_directory(temporary_, error);
  check(!error, "{}: {}: {}", caller_, shown_, error.message());
}

DirectoryWriter::~DirectoryWriter() {
  std::error_code error;
  if (!is_committed_) fs::remove_all(temporary_, error);
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
  check(!is_committed_, "{}: {} is committed, needs a new writer to write it again", caller_, shown_);
  manifest_.tool = fmt::format("edgewise {}", version());
  write_durably(kManifestName, manifest_text(manifest_));
  const int error = sync_directory(temporary_);
  check(error == 0, "{}: {}: {}; nothing was replaced", caller_, shown_, error_text(error));
  replace_target();
  is_committed_ = true;
  const int parent_error = sync_directory(target_.parent_path());
  check(parent_error == 0, "{}: {}: {}; it was replaced, but a power cut may undo that", caller_, shown_,
        error_text(parent_error));
  if (is_there(temporary_)) discard_old(temporary_);
}

void DirectoryWriter::write_durably(std::string_view name, std::string_view bytes) const {
  const int error = write_new_file(temporary_ / name, bytes, 0666);
  check(error == 0, "{}: {}/{}: {}; nothing was replaced", caller_, shown_, name, error_text(error));
}

// Afterwards the old directory, if there was one, is where the new one was written.
void DirectoryWriter::replace_target() const {
  // rename puts a directory where there is none or an empty one.
  int error = std::rename(temporary_.c_str(), target_.c_str()) == 0 ? 0 : errno;
  if (error == ENOTEMPTY || error == EEXIST) error = exchange(temporary_, target_);
  check(error == 0, "{}: {}: {}; nothing was replaced", caller_, shown_, error_text(error));
}

void DirectoryWriter::discard_old(const fs::path& old) const {
  std::error_code error;
  if (is_all_ours(old)) {
    fs::remove_all(old, error);
    return;
  }
  for (int attempt = 0; attempt < 1000; ++attempt) {
    fs::rename(old, fmt::format("{}.kept-{}-{}", target_.string(), ::getpid(), attempt), error);
    if (!error) return;
  }
}

}  // namespace edgewise
