// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

#include "edgewise/base/files/file_system.h"
#include "tests/base/support.h"
#include "tests/support/whole_files.h"

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

TEST(ReadFile, ReadsFilesWithoutASize) {
  EXPECT_NE(read_file("/proc/self/cmdline").find("test_base"), std::string::npos);
}

TEST(ReadFile, RefusesWhatMayHaveNoEnd) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  ASSERT_EQ(::mkfifo((path + "/fifo").c_str(), 0600), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  (path + "/socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(socket);
  fs::create_symlink("loop", folder / "loop");

  const auto error = [](const std::string& file) { return error_of([&] { read_file(file, "read_config"); }); };
  EXPECT_EQ(error(path + "/fifo"), "read_config: " + path + "/fifo is a FIFO, needs to be a regular file");
  EXPECT_EQ(error("/dev/zero"), "read_config: /dev/zero is a device, needs to be a regular file");
  EXPECT_EQ(error(path), "read_config: " + path + " is a directory, needs to be a regular file");
  EXPECT_EQ(error(path + "/socket"),
            "read_config: " + path + "/socket is a socket or device, needs to be a regular file");
  EXPECT_EQ(error(path + "/loop"), "read_config: " + path + "/loop: Too many levels of symbolic links");
}

TEST(ReadFile, RefusesMoreBytesThanTheLimitWithoutReadingThem) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  write_file_atomically(path, "12345");
  EXPECT_EQ(read_file(path, "read_config", 5), "12345");
  EXPECT_EQ(error_of([&] { read_file(path, "read_config", 4); }),
            "read_config: " + path + " has 5 bytes, needs at most 4");
  fs::resize_file(path, std::uintmax_t{1} << 40);
  EXPECT_EQ(error_of([&] { read_file(path); }),
            "read_file: " + path + " has 1099511627776 bytes, needs at most 1073741824");
  EXPECT_EQ(error_of([] { read_file("/proc/self/cmdline", "read_config", 3); }),
            "read_config: /proc/self/cmdline has 4 bytes, needs at most 3");
}

TEST(HasEntry, FindsLinksThatLeadNowhereAndReportsNamesThatAreTooLong) {
  const TemporaryFolder folder;
  fs::create_symlink("loop", folder / "loop");
  EXPECT_TRUE(has_entry(folder / "loop", "load_model"));
  EXPECT_FALSE(has_entry(folder / "absent", "load_model"));
  const std::string name(300, 'x');
  EXPECT_EQ(error_of([&] { has_entry(name, "load_model"); }), "load_model: " + name + ": File name too long");
}

TEST(ReadFile, ReportsTheSystemsError) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  EXPECT_EQ(error_of([&] { read_file(folder / "absent"); }),
            "read_file: " + path + "/absent: No such file or directory");
  EXPECT_EQ(error_of([&] { read_file(folder / "absent/file", "read_corpus"); }),
            "read_corpus: " + path + "/absent/file: No such file or directory");
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

TEST(WriteFileAtomically, CreatesTheFileThatALinkNames) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "disk");
  fs::create_symlink("disk/real", folder / "link");
  fs::create_symlink("link", folder / "second");
  write_file_atomically(folder / "second", "new");

  EXPECT_EQ(names_in(folder.path()), "disk link second");
  EXPECT_EQ(names_in(folder / "disk"), "real");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_TRUE(fs::is_symlink(folder / "second"));
  EXPECT_EQ(read_file(folder / "disk/real"), "new");
}

TEST(WriteFileAtomically, ReplacesNoLinkWhoseFileCannotBeWritten) {
  const TemporaryFolder folder;
  fs::create_symlink("loop", folder / "loop");
  fs::create_symlink("absent/file", folder / "link");
  const auto error = [&](const char* name) {
    return error_of([&] { write_file_atomically(folder / name, "new", "write_config"); });
  };
  const auto text = [&](const char* name, const char* reason) {
    return "write_config: " + (folder / name).string() + ": " + reason + "; nothing was replaced";
  };
  EXPECT_EQ(error("loop"), text("loop", "Too many levels of symbolic links"));
  EXPECT_EQ(error("link"), text("link", "No such file or directory"));
  EXPECT_EQ(fs::read_symlink(folder / "loop"), "loop");
  EXPECT_EQ(fs::read_symlink(folder / "link"), "absent/file");
}

TEST(AtomicFile, HasItsOwnTemporaryNameBesideAnotherWriterOfTheSameFile) {
  const TemporaryFolder folder;
  AtomicFile other(folder / "file");
  other.write("another writer's");
  write_file_atomically(folder / "file", "mine");

  EXPECT_EQ(read_file(folder / "file"), "mine");
  other.commit();
  EXPECT_EQ(read_file(folder / "file"), "another writer's");
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
