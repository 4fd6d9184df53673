// SPDX-License-Identifier: Apache-2.0
// Texts that are damaged, foreign or unusual: each command that reads text answers them as it answers plain text, or
// refuses them with one sentence that names the line.
#include <gmock/gmock.h>

#include <algorithm>
#include <optional>

#include "tests/apps/alterations.h"
#include "tests/apps/forked_program.h"
#include "tests/apps/program.h"

namespace edgewise {
namespace {

/// The first byte of a text that is not UTF-8.
struct BadByte {
  int line;    // from 1
  int offset;  // in the line, from 0
};

struct HostileText {
  std::string name;
  std::string bytes;
  int lines = 0;
  int sentences = 0;                // lines that are not empty
  int usable = 0;                   // lines that training keeps
  std::optional<BadByte> bad = {};  // unset: the text is UTF-8
  std::string plain = {};           // a text that has the same answers; empty: none
};

const std::string kPlain = "a b\nc\n";

std::vector<HostileText> hostile_texts() {
  const std::string megabyte = std::string(1'000'000, 'a') + "\n";
  return {
      {.name = "an empty file", .bytes = ""},
      {.name = "only newlines", .bytes = "\n\n\n", .lines = 3},
      {.name = "white space", .bytes = " \n\t\n", .lines = 2, .sentences = 2},
      {.name = "NUL bytes", .bytes = std::string("a\0b\nc\n\0\n", 8), .lines = 3, .sentences = 3, .usable = 1},
      {.name = "a lone surrogate", .bytes = "a \xED\xA0\x80 b\nc\n", .usable = 1, .bad = BadByte{1, 2}},
      {.name = "a pair of surrogates", .bytes = "c\n\xED\xA0\xBD\xED\xB8\x80\n", .usable = 1, .bad = BadByte{2, 0}},
      {.name = "two bytes for a slash", .bytes = "c\n\xC0\xAF\n", .usable = 1, .bad = BadByte{2, 0}},
      {.name = "three bytes for a slash", .bytes = "c\n\xE0\x80\xAF\n", .usable = 1, .bad = BadByte{2, 0}},
      {.name = "four bytes for a slash", .bytes = "c\n\xF0\x80\x80\xAF\n", .usable = 1, .bad = BadByte{2, 0}},
      {.name = "a code point above U+10FFFF", .bytes = "c\n\xF4\x90\x80\x80\n", .usable = 1, .bad = BadByte{2, 0}},
      {.name = "a bad byte in the middle", .bytes = "a\nb \xFF c\nd\n", .usable = 2, .bad = BadByte{2, 2}},
      {.name = "an end within a character", .bytes = "a\nb \xE2\x82", .usable = 1, .bad = BadByte{2, 2}},
      {.name = "a line of a megabyte", .bytes = megabyte + "c\n", .lines = 2, .sentences = 2, .usable = 2},
      {.name = "CR LF", .bytes = "a b\r\nc\r\n", .lines = 2, .sentences = 2, .usable = 2, .plain = kPlain},
      {.name = "no final newline", .bytes = "a b\nc", .lines = 2, .sentences = 2, .usable = 2, .plain = kPlain},
      {.name = "a byte order mark",
       .bytes = "\xEF\xBB\xBF" + kPlain,
       .lines = 2,
       .sentences = 2,
       .usable = 2,
       .plain = kPlain},
      {.name = "nothing but a byte order mark", .bytes = "\xEF\xBB\xBF"},
      {.name = "U+2028 and U+0085", .bytes = "a\u2028b\u0085c\n", .lines = 1, .sentences = 1, .usable = 1},
  };
}

class HostileTexts : public ProgramTest {
 protected:
  static void SetUpTestSuite() {
    trained_ = std::filesystem::temp_directory_path() / ("edgewise-hostile-texts-" + std::to_string(getpid()));
    train_run_in(trained_, {"model.kind=universal", "model.encoder_layers=2", "model.decoder_layers=2"});
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(trained_); }

  static std::string model() { return (trained_ / "run").string(); }

  ProcessResult answer(const std::vector<std::string>& command, const std::string& text) const {
    write("text", text);
    const ProcessOptions options = {.folder = path("").string()};
    return command[0] == EDGEWISE_TRANSLATE ? run_briefly(command, options) : run_edgewise_briefly(command, options);
  }

  /// Expects exit code 2 and one sentence that contains `error`.
  static void expect_error(const ProcessResult& result, const std::string& error) {
    EXPECT_EQ(result.exit_code, 2) << result.errors << result.output.substr(0, 1000);
    EXPECT_EQ(std::ranges::count(result.errors, '\n'), 1) << result.errors;
    EXPECT_THAT(result.errors, testing::HasSubstr(error));
    EXPECT_LT(result.errors.size(), 1000U);
  }

  /// Expects success and, for a text with a plain form, the output of the plain form.
  void expect_answer(const ProcessResult& result, const std::vector<std::string>& command,
                     const HostileText& text) const {
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_EQ(result.errors, "");
    if (!text.plain.empty()) {
      EXPECT_EQ(result.output, answer(command, text.plain).output);
    }
  }

 private:
  inline static std::filesystem::path trained_;
};

std::string bad_byte_text(const BadByte& bad) {
  return "text:" + std::to_string(bad.line) + " has a byte that is not UTF-8 at " + std::to_string(bad.offset) +
         ", needs UTF-8";
}

TEST_F(HostileTexts, AreTranslatedLineByLineOrRefused) {
  const std::vector<std::string> command = {EDGEWISE_TRANSLATE, "--model", model(), "text"};
  for (const HostileText& text : hostile_texts()) {
    SCOPED_TRACE(text.name);
    const ProcessResult result = answer(command, text.bytes);
    if (text.bad) {
      expect_error(result, "translate: " + bad_byte_text(*text.bad));
      EXPECT_EQ(std::ranges::count(result.output, '\n'), text.bad->line - 1);
    } else {
      expect_answer(result, command, text);
      EXPECT_EQ(std::ranges::count(result.output, '\n'), text.lines);
    }
  }
}

TEST_F(HostileTexts, AreScoredByAModelLineByLineOrRefused) {
  const std::vector<std::string> command = {"score-pairs", "--model", model(), "text", "text"};
  for (const HostileText& text : hostile_texts()) {
    SCOPED_TRACE(text.name);
    const ProcessResult result = answer(command, text.bytes);
    if (text.bad) {
      expect_error(result, "score-pairs: " + bad_byte_text(*text.bad));
    } else {
      expect_answer(result, command, text);
      EXPECT_EQ(std::ranges::count(result.output, '\n'), text.lines);
    }
  }
}

TEST_F(HostileTexts, AreScoredByBleuOrRefused) {
  const std::vector<std::string> command = {"score", "--reference", "text", "text"};
  for (const HostileText& text : hostile_texts()) {
    SCOPED_TRACE(text.name);
    const ProcessResult result = answer(command, text.bytes);
    if (text.bad) {
      expect_error(result, "score: " + bad_byte_text(*text.bad));
    } else if (text.lines == 0) {
      expect_error(result, "bleu: hypotheses have 0 lines, need at least one");
    } else {
      expect_answer(result, command, text);
      EXPECT_THAT(result.output, testing::Not(testing::HasSubstr("nan")));
    }
  }
}

TEST_F(HostileTexts, GiveAVocabularyOfTheirUsableLinesOrAreRefused) {
  const std::vector<std::string> command = {
      "vocab", "--out", "vocabulary", "--set", R"(data.train=["text", "text"])", "--set", "vocabulary.shared=true"};
  for (const HostileText& text : hostile_texts()) {
    SCOPED_TRACE(text.name);
    std::filesystem::remove_all(path("vocabulary"));
    const ProcessResult result = answer(command, text.bytes);
    if (text.usable == 0) {
      expect_error(result, "read_pairs: text with text has no usable pair");
      EXPECT_FALSE(std::filesystem::exists(path("vocabulary")));
    } else {
      EXPECT_EQ(result.exit_code, 0) << result.errors;
      EXPECT_THAT(result.output, testing::HasSubstr(", from " + std::to_string(text.usable) + " pairs"));
      if (text.bad) {
        EXPECT_THAT(result.output, testing::HasSubstr("text:" + std::to_string(text.bad->line)));
      }
    }
  }
}

TEST_F(HostileTexts, HaveTheirPonderStepsCountedOrAreRefused) {
  const std::vector<std::string> command = {"inspect", model(), "--ponder", "text", "--json"};
  for (const HostileText& text : hostile_texts()) {
    SCOPED_TRACE(text.name);
    const ProcessResult result = answer(command, text.bytes);
    if (text.bad) {
      expect_error(result, "inspect: text:" + std::to_string(text.bad->line) + " has a byte at " +
                               std::to_string(text.bad->offset) + " that is not UTF-8, needs UTF-8");
    } else if (text.sentences == 0) {
      expect_error(result, "inspect: text has no sentence, needs at least one");
    } else if (text.usable == 0) {
      expect_error(result, "count_ponder_steps: none of 2 sentences has a token, needs at least one");
    } else {
      expect_answer(result, command, text);
    }
  }
}

}  // namespace
}  // namespace edgewise
