// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/text_shards.h"
#include "edgewise/translate/part_file.h"
#include "edgewise/translate/shard_lines.h"

namespace edgewise {

/// Gives each test a folder with a text, and "translates" its shards: puts each line into brackets.
class PartsTest : public testing::Test {
 protected:
  PartsTest() : folder_(std::filesystem::temp_directory_path() / ("edgewise-parts-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::string text;
    for (int i = 0; i < 60; ++i) text += "line " + std::to_string(i) + std::string(i % 7, '.') + "\n";
    write("in", text);
  }
  ~PartsTest() override { std::filesystem::remove_all(folder_); }

  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  std::string out() const { return path("out"); }

  void write(std::string_view name, std::string_view bytes) const {
    std::filesystem::remove(path(name));
    std::ofstream(path(name), std::ios::binary) << bytes;
  }

  std::string read(std::string_view name) const {
    std::ostringstream bytes;
    bytes << std::ifstream(path(name), std::ios::binary).rdbuf();
    return bytes.str();
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

  /// Returns the translation of the whole text.
  std::string translated() const {
    std::string text;
    std::istringstream lines(read("in"));
    for (std::string line; std::getline(lines, line);) text += "[" + line + "]\n";
    return text;
  }

  /// Returns the record of a shard without lines.
  PartRecord record(const ShardedText& text, std::int64_t shard, std::int64_t shards) const {
    const TextShard bytes = text.shard(shard, shards);
    PartRecord record;
    record.program = "edgewise 1";
    record.shard = shard;
    record.shards = shards;
    record.inputs = part_inputs(text);
    record.begin = bytes.begin;
    record.end = bytes.end;
    record.models = {std::string(64, 'a')};
    record.options = {{"beam", "4"}, {"precision", "fp32"}};
    record.kernels = "avx2";
    return record;
  }

  PartFile part(const PartRecord& needed) {
    return PartFile(out(), needed, {.caller = "test", .report = [&](const std::string& report) { reports += report; }});
  }

  /// Translates at most `most` lines of a claimed part, and saves after every second of the first hundred.
  static void translate_some(PartFile& part, const ShardedText& text, std::int64_t most) {
    const TextShard shard = text.shard(part.record().shard, part.record().shards);
    part.begin(text.read(shard));
    ShardLines lines(text, shard, {.caller = "test"});
    lines.skip(part.record().lines);
    for (std::int64_t i = 0; i < most; ++i) {
      const std::optional<std::string> line = lines.next();
      if (!line) return;
      part.write("[" + *line + "]\n");
      if (i % 2 == 1 && i < 100) part.save();
    }
  }

  /// Translates a shard as a process does, which may find it complete.
  PartFile::Claim translate_shard(std::int64_t shard, std::int64_t shards) {
    const ShardedText text({path("in")}, "test");
    PartFile file = part(record(text, shard, shards));
    const PartFile::Claim claim = file.claim();
    if (claim == PartFile::Claim::kWritable) {
      translate_some(file, text, /*most=*/1'000'000);
      file.complete();
    }
    return claim;
  }

  std::string reports;

 private:
  std::filesystem::path folder_;
};

}  // namespace edgewise
