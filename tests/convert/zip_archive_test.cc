// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/zip_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <stdlib.h>

#include <optional>
#include <set>

#include "tests/convert/zip_bytes.h"

namespace edgewise {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

ZipArchive parse_zip(std::string bytes) { return ZipArchive::parse(std::move(bytes), "test: f.zip"); }

std::vector<std::string> read_entries(const std::string& bytes) {
  const ZipArchive archive = parse_zip(bytes);
  std::vector<std::string> contents;
  for (const ZipEntry& entry : archive.entries()) contents.push_back(archive.read(entry));
  return contents;
}

TEST(ZipArchive, ReadsStoredAndDeflatedEntries) {
  const RawEntry deflated = {
      .name = "b", .bytes = deflated_block("deflated"), .method = 8, .size = 8, .checksum = crc32_of("deflated")};
  const std::string bytes = raw_zip({{.name = "folder/a", .bytes = "stored"}, deflated, {.name = "empty"}});
  const ZipArchive archive = parse_zip(bytes);

  ASSERT_EQ(archive.entries().size(), 3u);
  EXPECT_EQ(archive.entries()[0].name, "folder/a");
  EXPECT_EQ(archive.entries()[1].size, 8u);
  EXPECT_EQ(archive.find("b"), &archive.entries()[1]);
  EXPECT_EQ(archive.find("c"), nullptr);
  EXPECT_EQ(read_entries(bytes), (std::vector<std::string>{"stored", "deflated", ""}));
}

TEST(ZipArchive, ReadsAnEntryAgain) {
  const ZipArchive archive = parse_zip(raw_zip({{.name = "a", .bytes = "one"}, {.name = "b", .bytes = "two"}}));
  EXPECT_EQ(archive.read(archive.entries()[1]), "two");
  EXPECT_EQ(archive.read(archive.entries()[0]), "one");
  EXPECT_EQ(archive.read(archive.entries()[1]), "two");
}

TEST(ZipArchive, StaysOpenWhenMoved) {
  ZipArchive first = parse_zip(raw_zip({{.name = "a", .bytes = "one"}}));
  const ZipArchive second = std::move(first);
  EXPECT_EQ(second.read(*second.find("a")), "one");
}

TEST(ZipArchive, RejectsEntriesThatItCannotKeepExactly) {
  const std::pair<std::vector<RawEntry>, std::string> rows[] = {
      {{{.name = "a"}, {.name = "b"}, {.name = "a"}}, " has two entries of one name, needs a name for each"},
      {{{.name = "a", .bytes = "x", .flags = 1}}, ": entry \"a\" is encrypted, needs plain bytes"},
      {{{.name = "a", .bytes = "x", .method = 12}},
       ": entry \"a\" is compressed by method 12, needs 0 (stored) or 8 (deflated)"},
      {{{.name = "\xFF"}}, " has an entry \"\\xff\", needs UTF-8 without control characters"},
      {{{.name = "a\n"}}, " has an entry \"a\\n\", needs UTF-8 without control characters"},
      {{{.name = ""}}, " has an entry \"\", needs UTF-8 without control characters"},
  };
  for (const auto& [entries, error] : rows) {
    EXPECT_EQ(error_of([&] { parse_zip(raw_zip(entries)); }), "test: f.zip" + error);
  }
}

TEST(ZipArchive, RefusesAZipBombBeforeUnpacking) {
  const RawEntry bomb = {.name = "a", .bytes = "x", .method = 8, .size = 4'000'000'000};
  EXPECT_EQ(error_of([&] { parse_zip(raw_zip({bomb})); }),
            "test: f.zip has 101 bytes, unpacked 4000000000, needs at most 64 times as many");

  // Entries that share their bytes.
  std::vector<RawEntry> overlapping = {{.name = "0", .bytes = std::string(100'000, 'x')}};
  for (int i = 1; i < 200; ++i) {
    overlapping.push_back({.name = std::to_string(i), .bytes = "", .size = 100'000, .offset = 0});
  }
  EXPECT_THAT(error_of([&] { parse_zip(raw_zip(overlapping)); }), StartsWith("test: f.zip"));
}

TEST(ZipArchive, RejectsAnEntryThatIsNotAsItsHeaderSays) {
  const RawEntry rows[] = {
      {.name = "a", .bytes = "abc", .checksum = 1},
      {.name = "a", .bytes = "abc", .size = 4},
      {.name = "a", .bytes = "abc", .size = 2},
      {.name = "a", .bytes = deflated_block("abc"), .method = 8, .size = 2, .checksum = crc32_of("ab")},
      {.name = "a", .bytes = deflated_block("abc"), .method = 8, .size = 4, .checksum = crc32_of("abc")},
      {.name = "a", .bytes = deflated_block("abc").substr(0, 6), .method = 8, .size = 3, .checksum = crc32_of("abc")},
      {.name = "a", .bytes = "\xFF\xFF", .method = 8, .size = 3, .checksum = crc32_of("abc")},
      {.name = "a", .bytes = "", .size = 3, .checksum = crc32_of("abc")},
  };
  for (const RawEntry& row : rows) {
    EXPECT_THAT(error_of([&] { read_entries(raw_zip({row})); }), StartsWith("test: f.zip: entry \"a\" is damaged"));
  }
}

TEST(ZipArchive, RejectsADamagedArchive) {
  const std::string good = raw_zip({{.name = "a", .bytes = "abc"}, {.name = "b", .bytes = "abc"}});
  EXPECT_EQ(error_of([&] { parse_zip(""); }), "test: f.zip has 0 bytes, needs a zip archive; copy it again");
  EXPECT_THAT(error_of([&] { parse_zip("no archive"); }), StartsWith("test: f.zip is no zip archive or damaged ("));
  EXPECT_THAT(error_of([&] { parse_zip("x" + good); }), HasSubstr("needs an undamaged one; copy it again"));
  EXPECT_THAT(error_of([&] { parse_zip(good + "x"); }), HasSubstr("needs an undamaged one; copy it again"));
  const std::vector<RawEntry> entries = {{.name = "a", .bytes = "abc"}};
  for (const int count : {0, 2, 65535}) {
    EXPECT_THAT(error_of([&] { parse_zip(raw_zip(entries, static_cast<std::uint16_t>(count))); }),
                StartsWith("test: f.zip is no zip archive"));
  }
  EXPECT_THAT(error_of([&] { parse_zip(raw_zip({{.name = "a", .bytes = "abc", .offset = 1}})); }),
              StartsWith("test: f.zip is no zip archive"));
  expect_errors_if_cut(good, "test: f.zip", read_entries);
  expect_errors_if_altered(good, "test: f.zip", read_entries);
}

TEST(SerializeZip, WritesEntriesThatZipArchiveReads) {
  EXPECT_TRUE(rc::check([] {
    const auto contents = *rc::gen::nonEmpty<std::vector<std::string>>();
    std::vector<ZipContent> entries;
    for (std::size_t i = 0; i < contents.size(); ++i) entries.push_back({"é/" + std::to_string(i), contents[i]});
    const std::string bytes = serialize_zip(entries, "test");
    RC_ASSERT(read_entries(bytes) == contents);
    RC_ASSERT(parse_zip(bytes).entries().back().name == entries.back().name);
  }));
}

TEST(SerializeZip, WritesEqualBytesForEqualEntriesInEachTimeZone) {
  const std::vector<ZipContent> entries = {{"a", "abc"}, {"b", "d"}};
  const char* zone = ::getenv("TZ");
  const auto zone_before = zone == nullptr ? std::nullopt : std::optional<std::string>(zone);
  std::set<std::string> archives;
  for (const char* name : {"UTC", "Asia/Tokyo", "America/New_York"}) {
    ::setenv("TZ", name, 1);
    archives.insert(serialize_zip(entries, "test"));
  }
  zone_before ? ::setenv("TZ", zone_before->c_str(), 1) : ::unsetenv("TZ");
  EXPECT_EQ(archives.size(), 1u);
}

TEST(SerializeZip, RejectsNoEntriesAndEqualNames) {
  EXPECT_EQ(error_of([] { serialize_zip({}, "test"); }), "test: the zip archive has no entries, needs one or more");
  const std::vector<ZipContent> twins = {{"a", "x"}, {"a", "y"}};
  EXPECT_THAT(error_of([&] { serialize_zip(twins, "test"); }),
              StartsWith("test: \"a\" cannot be added to the zip archive ("));
}

}  // namespace
}  // namespace edgewise
