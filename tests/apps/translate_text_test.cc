// SPDX-License-Identifier: Apache-2.0
// edgewise translate --text
#include <filesystem>
#include <fstream>

#include "tests/apps/program.h"

namespace edgewise {
namespace {

class TranslateTextProgram : public ProgramTest {
 protected:
  TranslateTextProgram() {
    write("tiny.toml", kTinyConfig);
    run_well({"train", "tiny.toml", "--out", "run"});
  }

  using Arguments = std::vector<std::string>;

  std::string translate(const std::string& text, const Arguments& more = {}) const {
    Arguments arguments = {"translate", "--model", "run", "--text"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_well(arguments, {.input = text});
  }

  /// Returns the translation of one sentence, as a text without a line break.
  std::string sentence(const std::string& text) const {
    std::string line = run_well({"translate", "--model", "run"}, {.input = text + "\n"});
    line.pop_back();
    return line;
  }

  void expect_text_refused(const Arguments& more, const std::string& message) const {
    Arguments arguments = {"translate", "--model", "run", "--text"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_refused(arguments, message, {.input = "a\n"});
  }
};

TEST_F(TranslateTextProgram, TranslatesEachSentenceAndKeepsEveryByteBetween) {
  const std::string first = sentence("a b c.");
  const std::string second = sentence("d a.");
  EXPECT_EQ(translate("\uFEFF  a b c. \td a.\r\n\r\n\n***\n\u00A0d a.  "),
            "\uFEFF  " + first + " \t" + second + "\r\n\r\n\n***\n\u00A0" + second + "  ");
  EXPECT_EQ(translate(""), "");
  EXPECT_EQ(translate("\r\n \n"), "\r\n \n");
}

TEST_F(TranslateTextProgram, SplitsByTheLanguageOfTheText) {
  EXPECT_EQ(translate("am 3. Mai", {"--text-language", "deu"}), sentence("am 3. Mai"));
  EXPECT_EQ(translate("am 3. Mai", {"--text-language", "en"}), sentence("am 3.") + " " + sentence("Mai"));
  EXPECT_EQ(translate("am 3. Mai"), sentence("am 3.") + " " + sentence("Mai"));
}

TEST_F(TranslateTextProgram, JoinsWrappedLines) {
  const std::string text = "a\nb\r\nc. d\n\n\n- a\n- b\n";
  EXPECT_EQ(translate(text, {"--line-breaks", "space"}),
            sentence("a b c.") + " " + sentence("d") + "\n\n\n" + "- " + sentence("a") + "\n- " + sentence("b") + "\n");
  EXPECT_EQ(translate(text, {"--line-breaks", "end"}), translate(text));
}

TEST_F(TranslateTextProgram, WritesAFileAndReadsACompressedOne) {
  write("in", "a b. c\n\n");
  run_well({"translate", "--model", "run", "--text", "in", "--out", "out"});
  EXPECT_EQ(read("out"), translate(read("in")));
}

TEST_F(TranslateTextProgram, RefusesOptionsForOneSentencePerLine) {
  const auto needs_one = [](const std::string& option) {
    return "translate: --text and " + option + " are set, needs one of them; " + option +
           " is for one sentence per line";
  };
  write("prefixes", "a\n");
  expect_text_refused({"--json"}, needs_one("--json"));
  expect_text_refused({"--json", "--attention"}, needs_one("--json"));
  expect_text_refused({"--scores"}, needs_one("--scores"));
  expect_text_refused({"--alignments"}, needs_one("--alignments"));
  expect_text_refused({"--prefix", "prefixes"}, needs_one("--prefix"));
  expect_text_refused({"--max-line", "9"}, needs_one("--max-line"));
  const std::string n_best =
      "translate: --text is set and n_best is 2, needs 1, because a text has one output; set --nbest 1";
  expect_text_refused({"--beam", "2", "--nbest", "2"}, n_best);
  expect_text_refused({"--beam", "2", "--set", "search.n_best=2"}, n_best);
}

TEST_F(TranslateTextProgram, RefusesOptionsOfATextWithoutAText) {
  expect_refused({"translate", "--model", "run", "--text-language", "de"},
                 "translate: --text-language is set, needs --text or --html", {.input = "a\n"});
  expect_refused({"translate", "--model", "run", "--line-breaks", "end"},
                 "edgewise translate: --line-breaks requires --text; see edgewise translate --help", {.input = "a\n"});
  expect_text_refused(
      {"--line-breaks", "lines"},
      "edgewise translate: --line-breaks: \"lines\" is none of end, space; see edgewise translate --help");
}

TEST_F(TranslateTextProgram, StopsAtTextThatIsNotUtf8OrReplacesIt) {
  const ProcessResult stopped = run({"translate", "--model", "run", "--text"}, {.input = "a\nb\xFF\n"});
  EXPECT_EQ(stopped.exit_code, 2);
  EXPECT_EQ(stopped.errors, "translate: standard input:2 has a byte that is not UTF-8 at 1, needs UTF-8\n");
  EXPECT_EQ(stopped.output, sentence("a") + "\n");

  const ProcessResult replaced =
      run({"translate", "--model", "run", "--text", "--bad-text", "replace"}, {.input = "b\xFF\r\n"});
  EXPECT_EQ(replaced.output, sentence("b\uFFFD") + "\r\n");
}

TEST_F(TranslateTextProgram, TranslatesALongSentenceInParts) {
  std::string words;
  for (int i = 0; i < 50; ++i) words += "a b c d ";
  std::string line = run_well({"translate", "--model", "run", "--max-input", "8"}, {.input = words});
  line.pop_back();
  EXPECT_EQ(translate(words + "\n", {"--max-input", "8"}), line + " \n");
}

TEST_F(TranslateTextProgram, WritesTheFirstLineBeforeItReadsTheLast) {
  run_process({"/bin/sh", "-c",
               "(echo 'a. b'; until [ -s out ]; do sleep 0.01; done; printf 'b') | "
               "\"$0\" translate --model run --text > out",
               EDGEWISE_PROGRAM},
              {.folder = path("").string()});
  EXPECT_EQ(read("out"), translate("a. b\nb"));
}

// The name puts this test among the slow ones, which run without sanitizers: these use several times the memory.
class TranslateTextMemory : public TranslateTextProgram {};

TEST_F(TranslateTextMemory, IsSmallForALongText) {
  // Files keep the memory of this process small, which counts for a process that it starts.
  constexpr int kLines = 3000;
  const std::string line = std::string(100'000, ' ') + "a\n\n";
  {
    std::ofstream in(path("in"));
    for (int i = 0; i < kLines; ++i) in << line;
  }
  const ProcessResult result =
      run({"translate", "--model", "run", "--text", "--workers", "1", "--threads", "1", "--out", "out", "in"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(std::filesystem::file_size(path("out")), kLines * (line.size() - 1 + sentence("a").size()));
  EXPECT_LT(result.peak_memory, 250'000'000);
}

}  // namespace
}  // namespace edgewise
