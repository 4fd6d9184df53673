// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/manifest.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <set>
#include <thread>

#include "edgewise/base/error.h"
#include "edgewise/base/files/file_system.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/files/json_scanner.h"
#include "edgewise/base/sha256.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr std::uint64_t kFormat = 1;

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

ManifestEntry read_entry(JsonScanner& json) {
  ManifestEntry file;
  bool has_size = false;
  json.read_object("a file's entry", [&](const std::string& key) {
    if (key == "name") {
      file.name = json.read_string("a file's name");
      json.check_value(is_plain_name(file.name), "a file's name is {}, needs a plain one without folders",
                       quote(file.name));
    } else if (key == "size") {
      file.size = json.read_whole_number("a file's size");
      has_size = true;
    } else if (key == "sha256") {
      file.sha256 = json.read_string("a file's sha256");
      json.check_value(is_sha256(file.sha256), "a file's sha256 is {}, needs 64 hexadecimal digits",
                       quote(file.sha256));
    } else {
      json.skip();
    }
  });
  const bool is_whole = !file.name.empty() && !file.sha256.empty() && has_size;
  json.check_value(is_whole, "a file's entry ends here, needs name, size and sha256");
  return file;
}

std::vector<ManifestEntry> read_entries(JsonScanner& json) {
  std::vector<ManifestEntry> files;
  std::set<std::string> names;
  json.read_array("files", [&] {
    files.push_back(read_entry(json));
    const auto& [name, is_new] = names.insert(files.back().name);
    json.check_value(is_new, "{} is listed twice, needs to be listed once", quote(*name));
  });
  return files;
}

// Attempts to open a directory that is replaced meanwhile. On a file system that cannot swap directories, the directory
// is absent between two renames.
constexpr int kMaxAttempts = 10;
constexpr std::chrono::milliseconds kPause(1);

constexpr std::size_t kMaxFiles = 64;  // each has a descriptor

/// A directory that is open, or could not be opened.
class Folder {
 public:
  explicit Folder(const std::filesystem::path& path)
      : path_(path),
        file_(file_system().open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)),
        error_(file_.is_open() ? 0 : errno) {}

  void require_open(std::string_view caller) const {
    if (error_ == 0) return;
    const std::string text = fmt::format("{}: {}: {}", caller, (path_ / kManifestName).string(), error_text(error_));
    if (error_ == ENOENT || error_ == ENOTDIR) throw Error(text);
    throw UnreadableFile(text);
  }

  const FileDescriptor& file() const { return file_; }

  /// Returns whether the path was absent, or now leads to another directory or nowhere.
  bool is_replaced() const {
    if (!file_.is_open()) return error_ == ENOENT;
    struct stat opened {};
    struct stat present {};
    return ::fstat(file_.number(), &opened) == 0 &&
           (::stat(path_.c_str(), &present) != 0 || opened.st_ino != present.st_ino || opened.st_dev != present.st_dev);
  }

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  int error_;
};

Manifest read_manifest_of(const Folder& folder, const std::filesystem::path& directory, std::string_view caller) {
  const RegularFile file(folder.file(), directory, kManifestName, caller);
  const std::string where = fmt::format("{}: {}", caller, file.path().string());
  Manifest manifest = parse_manifest(file.read(kMaxManifestBytes), where);
  check(manifest.files.size() <= kMaxFiles, "{} lists {} files, needs at most {}", where, manifest.files.size(),
        kMaxFiles);
  return manifest;
}

RegularFile open_file(const Folder& folder, const std::filesystem::path& directory, std::string_view name,
                      std::string_view caller) {
  try {
    return {folder.file(), directory, name, caller};
  } catch (const UnreadableFile&) {
    throw;
  } catch (const Error& error) {
    fail("{}; {} lists it", error.what(), kManifestName);
  }
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && !has_control_character(name);
}

std::string manifest_text(const Manifest& manifest) {
  std::string files;
  for (const auto& file : manifest.files) {
    files += files.empty() ? "\n    " : ",\n    ";
    files += JsonObject().add("name", file.name).add("size", file.size).add("sha256", file.sha256).text();
  }
  return fmt::format("{{\n  \"format\": {},\n  \"tool\": {},\n  \"files\": [{}\n  ]\n}}\n", kFormat,
                     quote_json(manifest.tool), files);
}

Manifest parse_manifest(std::string_view text, const std::string& where) {
  JsonScanner json(text, where);
  Manifest manifest;
  bool has_format = false;
  bool has_files = false;
  json.read_object("the manifest", [&](const std::string& key) {
    if (key == "format") {
      const std::uint64_t format = json.read_whole_number("format");
      check(format == kFormat, "{} has format {}, needs {}; use the build that wrote it", where, format, kFormat);
      has_format = true;
    } else if (key == "tool") {
      manifest.tool = json.read_string("tool");
      json.check_value(!has_control_character(manifest.tool), "tool is {}, needs no control characters",
                       quote(manifest.tool));
    } else if (key == "files") {
      manifest.files = read_entries(json);
      has_files = true;
    } else {
      json.skip();
    }
  });
  json.expect_end();
  check(has_format && has_files, "{} has no {}, needs format and files", where, has_format ? "files" : "format");
  return manifest;
}

Manifest read_manifest(const std::filesystem::path& directory, std::string_view caller) {
  const std::filesystem::path path = directory / kManifestName;
  return parse_manifest(read_file(path, caller, kMaxManifestBytes), fmt::format("{}: {}", caller, path.string()));
}

ListedDirectory::ListedDirectory(const std::filesystem::path& directory, std::string_view caller)
    : directory_(directory), caller_(caller) {
  for (int attempt = 1;; ++attempt) {
    const Folder folder(directory_);
    try {
      folder.require_open(caller_);
      manifest_ = read_manifest_of(folder, directory_, caller_);
      for (const ManifestEntry& entry : manifest_.files) {
        files_.emplace(entry.name, File{entry, open_file(folder, directory_, entry.name, caller_)});
      }
      return;
    } catch (const Error&) {
      if (attempt == kMaxAttempts || !folder.is_replaced()) throw;
      files_.clear();
      std::this_thread::sleep_for(kPause);
    }
  }
}

std::string ListedDirectory::read(std::string_view name, std::uint64_t max_bytes) const {
  const File& file = find(name);
  check_size(file);
  std::string bytes = file.file.read(max_bytes);
  check_sum(file, sha256(bytes));
  return bytes;
}

void ListedDirectory::verify() const {
  for (const auto& [name, file] : files_) {
    check_size(file);
    Sha256 sum;
    file.file.for_each_chunk([&sum](std::string_view bytes) { sum.update(bytes); });
    check_sum(file, sum.finish());
  }
}

const ListedDirectory::File& ListedDirectory::find(std::string_view name) const {
  const auto found = files_.find(name);
  check(found != files_.end(), "{}: {} does not list {}, needs to; copy the whole directory again", caller_,
        path(kManifestName), name);
  return found->second;
}

void ListedDirectory::check_size(const File& file) const {
  const std::uint64_t size = file.file.size();
  check(size == file.expected.size, "{}: {} has {} bytes, needs {} as in {}; the file was {}, copy it again", caller_,
        file.file.path().string(), size, file.expected.size, kManifestName,
        size < file.expected.size ? "cut" : "altered");
}

void ListedDirectory::check_sum(const File& file, const std::string& sum) const {
  check(sum == file.expected.sha256, "{}: {} has SHA-256 {}, needs {} as in {}; the file was altered, copy it again",
        caller_, file.file.path().string(), sum, file.expected.sha256, kManifestName);
}

}  // namespace edgewise
