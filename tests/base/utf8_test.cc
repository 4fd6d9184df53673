// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

namespace edgewise {
namespace {

bool is_scalar(std::uint32_t value) { return value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF); }

TEST(Utf8, ReadsEveryCodePointThatAppendUtf8Writes) {
  for (std::uint32_t value = 0; value <= 0x10FFFF; ++value) {
    if (!is_scalar(value)) continue;
    std::string text;
    append_utf8(text, value);

    const CodePoint point = code_point_at(text, 0);

    ASSERT_EQ(point.value, value);
    ASSERT_EQ(point.size, text.size());
    ASSERT_EQ(find_bad_utf8(text), std::nullopt);
  }
}

TEST(Utf8, AcceptsTwoBytesOnlyIfTheyAreACodePoint) {
  for (int first = 0x80; first < 0x100; ++first) {
    for (int second = 0; second < 0x100; ++second) {
      const std::string bytes = {static_cast<char>(first), static_cast<char>(second)};
      const bool is_good = first >= 0xC2 && first <= 0xDF && second >= 0x80 && second <= 0xBF;
      ASSERT_EQ(!find_bad_utf8(bytes), is_good) << first << " " << second;
    }
  }
}

TEST(Utf8, RejectsMalformedSequences) {
  const std::vector<std::string> bad = {"\x80",
                                        "\xC0\x80",
                                        "\xC1\xBF",
                                        "\xE0\x80\x80",
                                        "\xE0\x9F\xBF",
                                        "\xED\xA0\x80",
                                        "\xED\xBF\xBF",
                                        "\xF0\x80\x80\x80",
                                        "\xF0\x8F\xBF\xBF",
                                        "\xF4\x90\x80\x80",
                                        "\xF5\x80\x80\x80",
                                        "\xFF",
                                        "\xC3",
                                        "\xE2\x82",
                                        "\xF0\x9F\x98",
                                        "\xC3\x41",
                                        "\xE2\x82\x41",
                                        "\xF8\x88\x80\x80\x80"};
  for (const std::string& bytes : bad) {
    EXPECT_EQ(find_bad_utf8("abc" + bytes), 3u) << quote(bytes);
    EXPECT_EQ(find_bad_utf8("0123456789" + bytes + "0123456789"), 10u) << quote(bytes);
  }
}

TEST(Utf8, FindsABadByteAfterGoodText) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint32_t>& values, std::uint8_t byte) {
    std::string text;
    for (const std::uint32_t value : values) append_utf8(text, is_scalar(value % 0x110000) ? value % 0x110000 : 'x');
    RC_ASSERT(!find_bad_utf8(text));
    const std::size_t end = text.size();
    text += static_cast<char>(0x80 | (byte & 0x3F));  // a continuation byte without a lead byte

    RC_ASSERT(find_bad_utf8(text) == end);
  }));
}

TEST(Utf8, TellsACodePointThatIsCutFromOneThatIsWrong) {
  const std::string text = "aé€😀";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const std::string_view part = std::string_view(text).substr(0, size);
    EXPECT_EQ(is_cut_code_point(part, utf8_prefix(text, size).size()), utf8_prefix(text, size).size() < size) << size;
  }
  for (const std::string wrong :
       {"\x80", "\xC0", "\xFF", "\xE2\x41", "\xE0\x80", "\xED\xA0", "\xF4\x90", "\xF0\x9F\x41", "\xC3\x41"}) {
    EXPECT_FALSE(is_cut_code_point(wrong, 0)) << quote(wrong);
  }
}

TEST(Utf8, CutsBetweenCodePoints) {
  const std::string text = "aé€😀";
  std::vector<std::size_t> sizes;
  for (std::size_t size = 0; size <= text.size() + 1; ++size) sizes.push_back(utf8_prefix(text, size).size());

  EXPECT_EQ(sizes, (std::vector<std::size_t>{0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10}));
  EXPECT_EQ(utf8_prefix("\x80\x80\x80\x80\x80\x80", 5).size(), 5u);
}

}  // namespace
}  // namespace edgewise
