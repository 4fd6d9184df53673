// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "edgewise/base/config.h"
#include "edgewise/base/listed_directory.h"
#include "edgewise/base/sha256.h"
#include "edgewise/experiment/run_comparison.h"
#include "edgewise/experiment/run_record.h"
#include "edgewise/options/experiment.h"
#include "edgewise/train/training_state.h"
#include "edgewise/translate/model_files.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/readers.h"

namespace edgewise::fuzz {
namespace {

namespace fs = std::filesystem;

/// A folder in memory if the system has one, else in the folder for temporary files. Removed at the end of the program.
class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_((fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path()) /
              ("edgewise-fuzz-" + name + "-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }

  const fs::path& path() const { return path_; }

  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }

 private:
  fs::path path_;
};

/// Splits an archive into files. A file begins with a line "== name"; other lines are its content. A last line feed is
/// part of the content.
std::map<std::string, std::string> split_archive(std::string_view bytes) {
  constexpr std::string_view kMark = "== ";
  std::map<std::string, std::string> files;
  std::string* file = nullptr;
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
    const std::string_view line = bytes.substr(0, size);
    if (line.starts_with(kMark)) {
      const std::string name(line.substr(kMark.size(), line.size() - kMark.size() - 1));
      file = is_plain_name(name) && files.size() < 20 ? &files[name] : nullptr;
    } else if (file != nullptr) {
      *file += line;
    }
    bytes.remove_prefix(size);
  }
  return files;
}

/// Writes the files of an archive, and a manifest that lists all of them unless the archive has one.
void write_archive(const Folder& folder, std::string_view bytes) {
  for (const auto& entry : fs::directory_iterator(folder.path())) fs::remove(entry.path());
  Manifest manifest;
  auto files = split_archive(bytes);
  for (const auto& [name, content] : files) manifest.files.push_back({name, content.size(), sha256(content)});
  files.emplace(std::string(kManifestName), manifest_text(manifest));
  for (const auto& [name, content] : files) folder.write(name, content);
}

}  // namespace

void read_model(std::string_view bytes) {
  static const Folder folder("model");
  write_archive(folder, bytes);
  accept_errors([&] { verify_manifest(folder.path(), "fuzz"); });
  accept_errors([&] {
    const ModelFiles files = read_model_files(folder.path(), "fuzz");
    require(files.experiment.model.input_vocabulary == files.codec.vocabularies.input->size());
    require(!vocabulary_files(files.codec.vocabularies, files.experiment.vocabulary.shared).empty());
  });
}

void read_state(std::string_view bytes) {
  accept_errors([&] {
    const TrainingState state = parse_training_state(bytes, "last/training.toml", "transformer");
    const std::string written = training_state_text(state, "transformer");
    require(training_state_text(parse_training_state(written, "written.toml", "transformer"), "transformer") ==
            written);
  });
}

void read_metrics(std::string_view bytes) {
  static const Folder folder("metrics");
  static const bool is_ready = [] {
    const std::string config = to_toml(Experiment());
    folder.write("config.toml", config);
    folder.write(std::string(kManifestName),
                 manifest_text({.tool = "fuzz", .files = {{"config.toml", config.size(), sha256(config)}}}));
    return true;
  }();
  require(is_ready);
  folder.write("metrics.jsonl", bytes);
  accept_errors([&] {
    const std::vector<RunRecord> runs = {read_run(folder.path(), "fuzz")};
    require(!compare_runs(runs).empty());
    require(!comparison_page(runs).empty());
  });
}

}  // namespace edgewise::fuzz
