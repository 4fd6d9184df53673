// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/alterations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "edgewise/base/files/manifest.h"
#include "edgewise/base/sha256.h"
#include "tests/apps/forked_program.h"
#include "tests/apps/program.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxMemory = 1'000'000'000;

/// Makes a socket at the path, which may be long: the system limits the path of a socket to 107 bytes.
void make_socket(const fs::path& path) {
  const fs::path before = fs::current_path();
  fs::current_path(path.parent_path());
  const int number = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  path.filename().string().copy(address.sun_path, sizeof(address.sun_path) - 1);
  ::bind(number, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::close(number);
  fs::current_path(before);
}

std::string pseudo_random(std::size_t size) {
  std::string bytes;
  std::uint32_t state = 1;
  while (bytes.size() < size) {
    state = state * 1664525 + 1013904223;
    bytes += static_cast<char>(state >> 24);
  }
  return bytes;
}

using ReplaceFile = std::function<void(const fs::path& file)>;

/// Returns an alteration that puts something else in the place of a file.
Alteration put_instead(std::string name, const std::string& file, const ReplaceFile& make) {
  return {std::move(name), file, [file, make](const fs::path& directory) {
            fs::remove_all(directory / file);
            make(directory / file);
          }};
}

}  // namespace

std::string read_bytes(const fs::path& file) {
  std::ostringstream bytes;
  bytes << std::ifstream(file, std::ios::binary).rdbuf();
  return bytes.str();
}

void write_bytes(const fs::path& file, const std::string& bytes) {
  fs::remove_all(file);
  std::ofstream(file, std::ios::binary) << bytes;
}

Alteration change(std::string name, std::string file, std::function<std::string(std::string)> change, Effect effect,
                  std::string error) {
  const auto apply = [file, change = std::move(change)](const fs::path& directory) {
    write_bytes(directory / file, change(read_bytes(directory / file)));
  };
  return {std::move(name), std::move(file), apply, effect, std::move(error)};
}

Alteration replace(std::string file, const std::string& from, const std::string& to, Effect effect, std::string error) {
  const auto replace_text = [from, to](std::string bytes) {
    const std::size_t begin = bytes.find(from);
    EXPECT_NE(begin, std::string::npos) << from;
    return begin == std::string::npos ? bytes : bytes.replace(begin, from.size(), to);
  };
  return change(from + " becomes " + to, std::move(file), replace_text, effect, std::move(error));
}

std::vector<Alteration> spoil(const std::string& file) {
  const auto cut = [](std::string bytes) { return bytes.substr(0, bytes.size() / 2); };
  const auto flip = [](std::string bytes) {
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x80);
    return bytes;
  };
  return {
      put_instead("missing", file, [](const fs::path&) {}),
      put_instead("a FIFO", file, [](const fs::path& path) { ::mkfifo(path.c_str(), 0600); }),
      put_instead("a socket", file, make_socket),
      put_instead("a directory", file, [](const fs::path& path) { fs::create_directory(path); }),
      put_instead("a loop of links", file, [](const fs::path& path) { fs::create_symlink(path.filename(), path); }),
      put_instead("a link to /dev/zero", file, [](const fs::path& path) { fs::create_symlink("/dev/zero", path); }),
      put_instead("a link to /dev/urandom", file,
                  [](const fs::path& path) { fs::create_symlink("/dev/urandom", path); }),
      put_instead("a link to /dev/stdin", file, [](const fs::path& path) { fs::create_symlink("/dev/stdin", path); }),
      put_instead("a link that leads nowhere", file, [](const fs::path& path) { fs::create_symlink("nowhere", path); }),
      {"a link out of the directory", file,
       [file](const fs::path& directory) {
         fs::rename(directory / file, directory / "../moved");
         fs::create_symlink("../moved", directory / file);
       }},
      {"8 TB long", file,
       [file](const fs::path& directory) { fs::resize_file(directory / file, std::uintmax_t{1} << 43); }},
      change("empty", file, [](const std::string&) { return std::string(); }),
      change("cut in the middle", file, cut),
      change("two bytes shorter", file, [](const std::string& bytes) { return bytes.substr(0, bytes.size() - 2); }),
      change("a byte longer", file, [](const std::string& bytes) { return bytes + "x"; }),
      change(kFlippedBit, file, flip),
      change("zeros", file, [](const std::string& bytes) { return std::string(bytes.size(), '\0'); }),
      change("random bytes", file, [](const std::string& bytes) { return pseudo_random(bytes.size()); }),
      change("a million brackets", file, [](const std::string&) { return std::string(1'000'000, '['); }),
      change("a million braces", file, [](const std::string&) { return std::string(1'000'000, '{'); }),
      change("UTF-16", file,
             [](const std::string& bytes) {
               std::string wide = "\xFF\xFE";
               for (const char byte : bytes) wide += {byte, '\0'};
               return wide;
             }),
      change("gzip", file, [](const std::string& bytes) { return "\x1F\x8B\x08" + bytes; }),
  };
}

void write_manifest(const fs::path& directory, const std::vector<std::string>& names) {
  Manifest manifest{.tool = "test", .files = {}};
  for (const std::string& name : names) {
    const fs::path file = directory / name;
    std::error_code error;
    const bool is_readable = fs::is_regular_file(file, error) && fs::file_size(file) < 100'000'000;
    const std::string bytes = is_readable ? read_bytes(file) : "";
    const bool is_large = fs::is_regular_file(file, error) && !is_readable;
    manifest.files.push_back({name, is_large ? fs::file_size(file) : bytes.size(), sha256(bytes)});
  }
  write_bytes(directory / kManifestName, manifest_text(manifest));
}

ProcessResult run_briefly(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  return wait_or_kill(RunningProcess(arguments, options));
}

void train_run_in(const std::filesystem::path& folder, const std::vector<std::string>& settings) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  write_bytes(folder / "tiny.toml", kTinyConfig);
  std::vector<std::string> command = {"train", "tiny.toml", "--out", "run"};
  for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
  const ProcessResult trained = start_edgewise(command, {.folder = folder.string()}).wait();
  ASSERT_EQ(trained.exit_code, 0) << trained.errors;
}

void expect_refusal(const ProcessResult& result, const Alteration& alteration) {
  EXPECT_EQ(result.exit_code, 2) << result.errors;
  EXPECT_EQ(std::ranges::count(result.errors, '\n'), 1) << result.errors;
  EXPECT_LT(result.errors.size(), 1000U);
  EXPECT_THAT(result.errors, testing::HasSubstr(alteration.file));
  EXPECT_THAT(result.errors, testing::HasSubstr(alteration.error));
  EXPECT_LT(result.peak_memory, kMaxMemory);
}

}  // namespace edgewise
