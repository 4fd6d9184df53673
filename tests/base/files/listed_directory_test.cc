// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <utility>

#include "edgewise/base/files/directory.h"
#include "edgewise/base/files/file_system.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/manifest.h"
#include "edgewise/base/sha256.h"
#include "tests/base/support.h"
#include "tests/support/whole_files.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxBytes = 1000;

void write_weights(const fs::path& target, const std::string& weights) {
  DirectoryWriter writer(target, "write_model");
  writer.write("config.toml", "size = " + weights);
  writer.write("model.safetensors", weights);
  writer.commit();
}

class ListedDirectoryTest : public testing::Test {
 protected:
  ListedDirectoryTest() : path((folder / "run").string()) { write_weights(path, "weights"); }

  std::string error() const {
    return error_of([&] { verify_manifest(path, "load_model"); });
  }

  std::string error_of_manifest(const std::string& text) const {
    write_file_atomically(path + "/manifest.json", text);
    return error();
  }

  TemporaryFolder folder;
  std::string path;
};

TEST_F(ListedDirectoryTest, ReportsAFileThatChanged) {
  write_file_atomically(path + "/model.safetensors", "weight");
  EXPECT_EQ(error(),
            "load_model: " + path +
                "/model.safetensors has 6 bytes, needs 7 as in manifest.json; the file was cut, copy it again");
  write_file_atomically(path + "/model.safetensors", "weights!");
  EXPECT_EQ(error(),
            "load_model: " + path +
                "/model.safetensors has 8 bytes, needs 7 as in manifest.json; the file was altered, copy it again");
  write_file_atomically(path + "/model.safetensors", "weighty");
  EXPECT_EQ(error(), "load_model: " + path + "/model.safetensors has SHA-256 " + sha256("weighty") + ", needs " +
                         sha256("weights") + " as in manifest.json; the file was altered, copy it again");
  fs::remove(path + "/model.safetensors");
  EXPECT_EQ(error(), "load_model: " + path + "/model.safetensors: No such file or directory; manifest.json lists it");
}

TEST_F(ListedDirectoryTest, FollowsNoLinksAndReadsNoDevices) {
  fs::remove(path + "/model.safetensors");
  write_file_atomically(folder / "elsewhere", "weights");
  fs::create_symlink("../elsewhere", path + "/model.safetensors");
  EXPECT_EQ(error(), "load_model: " + path +
                         "/model.safetensors is a symbolic link, needs to be a regular file; manifest.json lists it");
  fs::remove(path + "/model.safetensors");
  ASSERT_EQ(::mkfifo((path + "/model.safetensors").c_str(), 0600), 0);
  EXPECT_EQ(error(),
            "load_model: " + path + "/model.safetensors is a FIFO, needs to be a regular file; manifest.json lists it");
}

TEST_F(ListedDirectoryTest, ReportsAMissingManifest) {
  fs::remove(path + "/manifest.json");
  EXPECT_EQ(error(), "load_model: " + path + "/manifest.json: No such file or directory");
}

TEST_F(ListedDirectoryTest, SaysThatAManifestWasCut) {
  const std::string manifest =
      manifest_text({.tool = "edgewise", .files = {{"model.safetensors", 7, sha256("weights")}}});
  ASSERT_TRUE(manifest.ends_with("}\n"));
  for (std::size_t size = 0; size + 2 <= manifest.size(); ++size) {
    const std::string cut = manifest.substr(0, size);
    EXPECT_THAT(error_of([&] { parse_manifest(cut, "f"); }), testing::HasSubstr("; the text was cut, copy it again"))
        << cut;
  }
}

TEST_F(ListedDirectoryTest, RejectsAnInvalidManifest) {
  const std::string digits = sha256("weights");
  const auto with_entry = [](const std::string& entry) { return R"({"format": 1, "files": [)" + entry + "]}"; };
  const std::pair<std::string, std::string> rows[] = {
      {"", ", byte 0: the manifest is missing, needs an object; the text was cut, copy it again"},
      {"[]", ", byte 0: the manifest is a list, needs an object"},
      {"{}", " has no format, needs format and files"},
      {R"({"format": 1})", " has no files, needs format and files"},
      {R"({"format": 2, "files": []})", " has format 2, needs 1; use the build that wrote it"},
      {R"({"format": "1", "files": []})", ", byte 11: format is a string, needs a whole number"},
      {R"({"format": 1, "format": 1})", ", byte 14: \"format\" is there twice, needs to be there once"},
      {R"({"format": 1, "tool": 3})", ", byte 22: tool is 3, needs a string"},
      {R"({"format": 1, "tool": "a\u001bb"})", ", byte 22: tool is \"a\\u001bb\", needs no control characters"},
      {R"({"format": 1, "files": {}})", ", byte 23: files is an object, needs a list"},
      {R"({"format": 1, "files": []} x)", ", byte 27: more text follows, needs to end here"},
      {R"({"format": 1, "new": [[[[[1]]]]]})", ", byte 25: values are nested too deep, needs at most 4 levels"},
      {with_entry("3"), ", byte 24: a file's entry is 3, needs an object"},
      {with_entry(R"({"name": "../x"})"), ", byte 33: a file's name is \"../x\", needs a plain one without folders"},
      {with_entry(R"({"name": "a\u0000b"})"),
       ", byte 33: a file's name is \"a\\u0000b\", needs a plain one without folders"},
      {with_entry(R"({"name": "a", "size": -1})"),
       ", byte 46: a file's size is -1, needs a whole number from 0 to 18446744073709551615"},
      {with_entry(R"({"name": "a", "size": 1.5})"),
       ", byte 46: a file's size is 1.5, needs a whole number from 0 to 18446744073709551615"},
      {with_entry(R"({"sha256": "abc"})"), ", byte 35: a file's sha256 is \"abc\", needs 64 hexadecimal digits"},
      {with_entry(R"({"name": "a", "size": 1})"), ", byte 46: a file's entry ends here, needs name, size and sha256"},
      {with_entry(R"({"name": "a", "size": 1, "sha256": ")" + digits + R"("}, {"name": "a", "size": 1, "sha256": ")" +
                  digits + R"("})"),
       ", byte 163: \"a\" is listed twice, needs to be listed once"},
  };
  for (const auto& [text, error] : rows) {
    EXPECT_EQ(error_of_manifest(text), "load_model: " + path + "/manifest.json" + error) << text;
  }
}

TEST_F(ListedDirectoryTest, IgnoresUnknownKeys) {
  EXPECT_EQ(error_of_manifest(R"({"format": 1, "later": {"a": [1]}, "files": []})"), "no error");
}

TEST_F(ListedDirectoryTest, ReadsTheFilesThatTheManifestListsAndNoOthers) {
  write_file_atomically(path + "/vocabulary.txt", "not listed");
  const ListedDirectory files(path, "load_model");

  EXPECT_EQ(files.read("model.safetensors", kMaxBytes), "weights");
  EXPECT_TRUE(files.has("config.toml"));
  EXPECT_FALSE(files.has("vocabulary.txt"));
  EXPECT_EQ(
      error_of([&] { files.read("vocabulary.txt", kMaxBytes); }),
      "load_model: " + path + "/manifest.json does not list vocabulary.txt, needs to; copy the whole directory again");
  EXPECT_EQ(error_of([&] { files.read("model.safetensors", 6); }),
            "load_model: " + path + "/model.safetensors has 7 bytes, needs at most 6");
}

TEST_F(ListedDirectoryTest, ComparesTheBytesThatItReturnsWithTheManifest) {
  const ListedDirectory files(path, "load_model");
  files.verify();
  std::ofstream(path + "/model.safetensors") << "weighty";

  EXPECT_EQ(error_of([&] { files.read("model.safetensors", kMaxBytes); }),
            "load_model: " + path + "/model.safetensors has SHA-256 " + sha256("weighty") + ", needs " +
                sha256("weights") + " as in manifest.json; the file was altered, copy it again");
}

TEST_F(ListedDirectoryTest, ReportsAFileThatIsCutWhileItIsRead) {
  const ListedDirectory files(path, "load_model");
  fs::resize_file(path + "/model.safetensors", 3);

  EXPECT_EQ(error_of([&] { files.read("model.safetensors", kMaxBytes); }),
            "load_model: " + path +
                "/model.safetensors has 3 bytes, needs the 7 that it had when opened; it was cut "
                "while it was read");
}

TEST_F(ListedDirectoryTest, KeepsReadingTheDirectoryThatItOpened) {
  const ListedDirectory files(path, "load_model");
  write_weights(path, "other weights");

  EXPECT_EQ(files.read("model.safetensors", kMaxBytes), "weights");
  EXPECT_EQ(files.read("config.toml", kMaxBytes), "size = weights");
}

TEST_F(ListedDirectoryTest, ReadsOneVersionOfADirectoryThatIsReplacedAgainAndAgain) {
  std::atomic<bool> is_over = false;
  std::thread writer([&] {
    for (int version = 0; !is_over; ++version) write_weights(path, std::to_string(version));
  });
  for (int i = 0; i < 300; ++i) {
    const ListedDirectory files(path, "load_model");
    EXPECT_EQ(files.read("config.toml", kMaxBytes), "size = " + files.read("model.safetensors", kMaxBytes));
  }
  is_over = true;
  writer.join();
}

/// A file system on which a directory is absent at the first attempts to open it, and is replaced after it is opened.
class ReplacedDirectory : public FileSystem {
 public:
  ReplacedDirectory(fs::path directory, int absences, std::function<void()> replace)
      : directory_(std::move(directory)), absences_(absences), replace_(std::move(replace)) {}

  int open(const fs::path& path, int flags, unsigned permissions) override {
    if (path != directory_) return FileSystem::open(path, flags, permissions);
    if (absences_-- > 0) {
      errno = ENOENT;
      return -1;
    }
    const int file = FileSystem::open(path, flags, permissions);
    if (const auto replace = std::exchange(replace_, nullptr)) replace();
    return file;
  }

 private:
  fs::path directory_;
  int absences_;
  std::function<void()> replace_;
};

TEST_F(ListedDirectoryTest, OpensADirectoryThatIsReplacedByRenaming) {
  ReplacedDirectory files(path, 3, [this] { write_weights(path, "other"); });
  const ScopedFileSystem replaced(files);
  EXPECT_EQ(ListedDirectory(path, "load_model").read("model.safetensors", kMaxBytes), "other");
}

TEST_F(ListedDirectoryTest, ReportsADirectoryThatStaysAbsent) {
  ReplacedDirectory files(path, 1000, nullptr);
  const ScopedFileSystem replaced(files);
  EXPECT_EQ(error(), "load_model: " + path + "/manifest.json: No such file or directory");
}

TEST_F(ListedDirectoryTest, LimitsTheNumberOfFiles) {
  DirectoryWriter writer(path, "write_model");
  for (int i = 0; i < 65; ++i) writer.write(std::to_string(i), "x");
  writer.commit();

  EXPECT_EQ(error(), "load_model: " + path + "/manifest.json lists 65 files, needs at most 64");
}

}  // namespace
}  // namespace edgewise
