// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "edgewise/base/file_descriptor.h"
#include "tests/base/support.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

TEST(ReadFile, ReadsEveryByte) {
  const TemporaryFolder folder;
  for (const std::size_t size : {0, 1, 4095, 4096, 1'000'003}) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(i * 7);
    write_file_atomically(folder / "file", bytes);
    EXPECT_EQ(read_file(folder / "file"), bytes);
  }
}

TEST(ReadFile, ReadsPipesAndFilesWithoutASize) {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] {
    const FileDescriptor file(::open(pipe.c_str(), O_WRONLY));
    write_all(file, std::string(100'000, 'x'));
  });
  EXPECT_EQ(read_file(pipe), std::string(100'000, 'x'));
  writer.join();

  EXPECT_NE(read_file("/proc/self/cmdline").find("test_base"), std::string::npos);
}

TEST(ReadFile, ReportsTheSystemsError) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  EXPECT_EQ(error_of([&] { read_file(folder / "absent"); }),
            "read_file: " + path + "/absent: No such file or directory");
  EXPECT_EQ(error_of([&] { read_file(folder.path(), "read_corpus"); }), "read_corpus: " + path + ": Is a directory");
}

TEST(WriteFileAtomically, AcceptsANameWithoutAFolder) {
  const TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  const std::string error = error_of([] { write_file_atomically("file", "bytes"); });
  fs::current_path(before);

  EXPECT_EQ(error, "no error");
  EXPECT_EQ(read_file(folder / "file"), "bytes");
}

TEST(WriteFileAtomically, ReplacesTheFileAndLeavesNothingElse) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "old");
  write_file_atomically(folder / "file", "new");

  EXPECT_EQ(read_file(folder / "file"), "new");
  EXPECT_EQ(names_in(folder.path()), "file");
}

TEST(WriteFileAtomically, KeepsPermissionsAndSymbolicLinks) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "real", "old");
  fs::permissions(folder / "real", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real", folder / "link");
  write_file_atomically(folder / "link", "new");

  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "real"), "new");
  EXPECT_EQ(fs::status(folder / "real").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(WriteFileAtomically, SkipsTemporaryNamesInUse) {
  const TemporaryFolder folder;
  const std::string taken = fmt::format("file.tmp-{}-0", ::getpid());
  write_file_atomically(folder / taken, "another writer's");
  write_file_atomically(folder / "file", "mine");

  EXPECT_EQ(read_file(folder / "file"), "mine");
  EXPECT_EQ(read_file(folder / taken), "another writer's");
}

TEST(WriteFileAtomically, RejectsPathsThatAreNoRegularFile) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  EXPECT_EQ(error_of([&] { write_file_atomically(folder.path(), "x"); }),
            "write_file: " + path + " is not a regular file, needs one to replace");
  EXPECT_EQ(error_of([&] { write_file_atomically("/dev/full", "x"); }),
            "write_file: /dev/full is not a regular file, needs one to replace");
  EXPECT_EQ(error_of([&] { write_file_atomically(folder / "absent/file", "x", "write_config"); }),
            "write_config: " + path + "/absent/file: No such file or directory; nothing was replaced");
}

// Limits the size of files in this process, so that a write fails in the middle.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_;
};

TEST(WriteFileAtomically, KeepsTheOldFileWhenAWriteFails) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "old");
  std::string error;
  {
    const FileSizeLimit limit(1000);
    error = error_of([&] { write_file_atomically(folder / "file", std::string(2000, 'x'), "write_metrics"); });
  }
  EXPECT_EQ(error, "write_metrics: " + folder.path().string() + "/file: File too large; nothing was replaced");
  EXPECT_EQ(read_file(folder / "file"), "old");
  EXPECT_EQ(names_in(folder.path()), "file");
}

TEST(WriteAll, ReportsAFullDevice) {
  const FileDescriptor full(::open("/dev/full", O_WRONLY));
  ASSERT_TRUE(full.is_open());
  EXPECT_EQ(error_text(write_all(full, "x")), "No space left on device");
}

}  // namespace
}  // namespace edgewise
