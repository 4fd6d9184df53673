// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "edgewise/base/config/nearest_name.h"
#include "edgewise/base/sha256.h"
#include "edgewise/base/utf8.h"
#include "edgewise/base/version.h"
#include "tests/base/support.h"

namespace edgewise {
namespace {

const std::vector<std::string> kNames = {"steps", "learning_rate", "batch_tokens", "seed", "x"};

TEST(NearestName, FindsANameWithOneTypingError) {
  EXPECT_EQ(nearest_name("step", kNames), "steps");
  EXPECT_EQ(nearest_name("setps", kNames), "steps");
  EXPECT_EQ(nearest_name("sead", kNames), "seed");
  EXPECT_EQ(nearest_name("learningrate", kNames), "learning_rate");
  EXPECT_EQ(nearest_name("batchtoken", kNames), "batch_tokens");
}

TEST(NearestName, ReturnsTheFirstOfEquallyNearNames) {
  EXPECT_EQ(nearest_name("head", std::vector<std::string>{"heads", "heard"}), "heads");
}

TEST(NearestName, ReturnsNothingForDistantNames) {
  EXPECT_EQ(nearest_name("colour", kNames), std::nullopt);
  EXPECT_EQ(nearest_name("y", kNames), std::nullopt);
  EXPECT_EQ(nearest_name("", kNames), std::nullopt);
  EXPECT_EQ(nearest_name("steps", {}), std::nullopt);
}

TEST(NearestName, CountsALetterOfSeveralBytesOnce) {
  EXPECT_EQ(nearest_name("sëed", kNames), "seed");
  EXPECT_EQ(nearest_name("größe", std::vector<std::string>{"große"}), "große");
  EXPECT_EQ(nearest_name("日本", std::vector<std::string>{"中国"}), std::nullopt);
  EXPECT_EQ(nearest_name("se\xFF\x80", kNames), std::nullopt);
}

// NIST's example messages for FIPS 180-4, and the empty message.
TEST(Sha256, ReturnsThePublishedDigests) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 in_parts;
  in_parts.update("abcdbcdecdefdefgefghfghighijh");
  in_parts.update("ijkijkljklmklmnlmnomnopnopq");
  EXPECT_EQ(in_parts.finish(), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_EQ(find_bad_utf8("plain, é, 漢, \U0001F600"), std::nullopt);
  EXPECT_EQ(find_bad_utf8("\xEF\xBF\xBF\xF4\x8F\xBF\xBF"), std::nullopt);  // U+FFFF, U+10FFFF
  EXPECT_EQ(find_bad_utf8("ab\x80"), 2u);                                  // no lead byte
  EXPECT_EQ(find_bad_utf8("a\xC0\xAF"), 1u);                               // overlong
  EXPECT_EQ(find_bad_utf8("\xE0\x80\xAF"), 0u);                            // overlong
  EXPECT_EQ(find_bad_utf8("\xF0\x80\x80\xAF"), 0u);                        // overlong
  EXPECT_EQ(find_bad_utf8("\xED\xA0\x80"), 0u);                            // surrogate
  EXPECT_EQ(find_bad_utf8("\xF4\x90\x80\x80"), 0u);                        // above U+10FFFF
  EXPECT_EQ(find_bad_utf8("\xFF"), 0u);
  EXPECT_EQ(find_bad_utf8("abc\xE6\xBC"), 3u);  // cut off
}

TEST(Utf8, AppendsWellFormedCodePoints) {
  for (std::uint32_t code_point = 0; code_point < 0x110000; code_point += code_point < 0x900 ? 1 : 0xFF) {
    if (code_point >= 0xD800 && code_point < 0xE000) continue;
    std::string text;
    append_utf8(text, code_point);
    ASSERT_EQ(find_bad_utf8(text), std::nullopt) << code_point;
  }
}

TEST(Utf8, ReplacesEachBadByte) { EXPECT_EQ(replace_bad_utf8("a\xFF\xC3(é"), "a\uFFFD\uFFFD(é"); }

TEST(Utf8, DetectsControlCharacters) {
  EXPECT_FALSE(has_control_character("encoder.0.weight é"));
  EXPECT_TRUE(has_control_character(std::string_view("a\0b", 3)));
  EXPECT_TRUE(has_control_character("a\nb"));
  EXPECT_TRUE(has_control_character("a\x7F"));
  EXPECT_TRUE(has_control_character("a\u0085"));
  EXPECT_TRUE(has_control_character("a\xFF"));
}

TEST(Quote, EscapesCharactersThatGarbleATerminal) {
  EXPECT_EQ(quote("four"), "\"four\"");
  EXPECT_EQ(quote("a \"b\" \\"), "\"a \\\"b\\\" \\\\\"");
  EXPECT_EQ(quote("\x1B[31m\n\t"), "\"\\u001b[31m\\n\\t\"");
  EXPECT_EQ(quote("abc\u202Edef"), "\"abc\\u202edef\"");
  EXPECT_EQ(quote("\xFF"), "\"\\xff\"");
}

TEST(Quote, EscapesInvisibleCharacters) {
  for (const auto& [character, escaped] : std::vector<std::pair<std::string, std::string>>{
           {"\u00AD", "\\u00ad"},
           {"\u061C", "\\u061c"},
           {"\u200B", "\\u200b"},
           {"\u200C", "\\u200c"},
           {"\u200D", "\\u200d"},
           {"\u200E", "\\u200e"},
           {"\u2028", "\\u2028"},
           {"\u2060", "\\u2060"},
           {"\u2066", "\\u2066"},
           {"\u3164", "\\u3164"},
           {"\uFEFF", "\\ufeff"},
           {"\U000E0001", "\\U000e0001"},
           {"\U000E007F", "\\U000e007f"},
       }) {
    EXPECT_EQ(quote("a" + character + "b"), "\"a" + escaped + "b\"");
    EXPECT_EQ(printable("a" + character + "b"), "a" + escaped + "b");
    EXPECT_EQ(quote_unless_plain("a" + character), "\"a" + escaped + "\"");
  }
  const std::string visible = "naïve e\u0301 車 ❤\uFE0F 😀 नमस्ते שלום";
  EXPECT_EQ(printable(visible), visible);
}

TEST(Quote, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(quote(std::string(60, 'a')), "\"" + std::string(60, 'a') + "\"");
  EXPECT_EQ(quote(std::string(61, 'a')), "\"" + std::string(60, 'a') + "…\" (61 bytes)");
  EXPECT_EQ(quote(std::string(59, 'a') + "é"), "\"" + std::string(59, 'a') + "…\" (61 bytes)");
  EXPECT_EQ(quote(std::string(1 << 20, 'a')), "\"" + std::string(60, 'a') + "…\" (1048576 bytes)");
}

TEST(Quote, IsLeftOutAroundShortPlainNames) {
  EXPECT_EQ(quote_unless_plain("train.steps_2-b+"), "train.steps_2-b+");
  EXPECT_EQ(quote_unless_plain(""), "\"\"");
  EXPECT_EQ(quote_unless_plain("a b"), "\"a b\"");
  EXPECT_EQ(quote_unless_plain("\x1B[31m"), "\"\\u001b[31m\"");
  EXPECT_EQ(quote_unless_plain("１２"), "\"１２\"");
  EXPECT_EQ(quote_unless_plain(std::string(61, 'a')), "\"" + std::string(60, 'a') + "…\" (61 bytes)");
}

TEST(Printable, EscapesWhatControlsATerminalAndNothingElse) {
  EXPECT_EQ(printable("train: \"a\\b\" is é, needs …"), "train: \"a\\b\" is é, needs …");
  EXPECT_EQ(printable("\x1B]0;title\x07\n\xFF\u0085"), "\\u001b]0;title\\u0007\\n\\xff\\u0085");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, CutsBetweenCharactersAndCountsTheBytes) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdef", 4), "abcd… (6 bytes)");
  EXPECT_EQ(printable("abcé", 4), "abc… (5 bytes)");
  EXPECT_LT(printable(std::string(1 << 20, 'a')).size(), 5000u);
}

TEST(Version, HasThreeNumbers) { EXPECT_EQ(std::count(version().begin(), version().end(), '.'), 2) << version(); }

}  // namespace
}  // namespace edgewise
