// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/program.h"
#include "tests/translate/nesting.h"

namespace edgewise {
namespace {

class TranslateHtmlProgram : public ProgramTest {
 protected:
  TranslateHtmlProgram() {
    write("tiny.toml", kTinyConfig);
    run_well({"train", "tiny.toml", "--out", "run"});
  }

  std::string translate_html(const std::string& html, std::vector<std::string> arguments = {}) const {
    arguments.insert(arguments.begin(), {"translate", "--model", "run", "--html"});
    return run_well(arguments, {.input = html});
  }

  /// Returns the translation of a sentence, without the line feed.
  std::string sentence(const std::string& text) const {
    std::string line = run_well({"translate", "--model", "run"}, {.input = text + "\n"});
    line.pop_back();
    return line;
  }

  void expect_html_refused(std::vector<std::string> arguments, const std::string& text,
                           const std::string& html = "a") const {
    arguments.insert(arguments.begin(), {"translate", "--model", "run", "--html"});
    expect_refused(arguments, text, {.input = html});
  }
};

TEST_F(TranslateHtmlProgram, TranslatesTheTextAndKeepsTheMarkup) {
  EXPECT_EQ(translate_html("<!DOCTYPE html>\n<title>a b</title>\n<h1 class='x'>\n a b c </h1>\n<code> d </code>\n"),
            "<!DOCTYPE html>\n<title>" + sentence("a b") + "</title>\n<h1 class='x'>\n " + sentence("a b c") +
                " </h1>\n<code> d </code>\n");
  EXPECT_EQ(translate_html(""), "");
}

TEST_F(TranslateHtmlProgram, WritesNestedTags) {
  const std::string html = translate_html("<p>a <b>b <i>c</b> d</i> a <img src=x> b<p>c<br>d</x>");
  EXPECT_EQ(find_bad_nesting(html), "") << html;
  EXPECT_NE(html.find("<img src=x>"), std::string::npos) << html;
}

TEST_F(TranslateHtmlProgram, ReadsAndWritesFiles) {
  write("in.html", "<p>a b</p>");
  run_well({"translate", "--model", "run", "--html", "--out", "out.html", "in.html"});
  EXPECT_EQ(read("out.html"), "<p>" + sentence("a b") + "</p>");
}

TEST_F(TranslateHtmlProgram, RefusesOptionsOfLines) {
  write("prefixes", "a\n");
  const auto needs_one = [](const std::string& option) {
    return "translate: --html and " + option + " are set, needs one of them; " + option +
           " is for one sentence per line";
  };
  expect_html_refused({"--json"}, needs_one("--json"));
  expect_html_refused({"--scores"}, needs_one("--scores"));
  expect_html_refused({"--alignments"}, needs_one("--alignments"));
  expect_html_refused({"--prefix", "prefixes"}, needs_one("--prefix"));
  expect_html_refused({"--max-line", "9"}, needs_one("--max-line"));
  expect_html_refused({"--text"}, "translate: --text and --html are set, needs one of them");
  expect_html_refused(
      {"--beam", "2", "--nbest", "2"},
      "translate: --html is set and n_best is 2, needs 1, because a text has one output; set --nbest 1");
  expect_refused({"translate", "--model", "run", "--max-document", "9"},
                 "edgewise translate: --max-document requires --html; see edgewise translate --help", {.input = "a\n"});
}

TEST_F(TranslateHtmlProgram, RefusesADocumentThatIsTooLongAndKeepsTheOutputFile) {
  write("out.html", "earlier");
  expect_html_refused({"--max-document", "3", "--out", "out.html"},
                      "translate: standard input has more than 3 bytes, needs at most as many; divide the document or "
                      "raise --max-document",
                      "a b c");
  EXPECT_EQ(read("out.html"), "earlier");
  EXPECT_EQ(translate_html("<hr>", {"--max-document", "4"}), "<hr>");
}

TEST_F(TranslateHtmlProgram, RefusesBytesThatAreNotUtf8OrReplacesThem) {
  expect_html_refused({}, "translate: standard input has a byte that is not UTF-8 at 2, needs UTF-8", "a \xFF");
  const ProcessResult result =
      run({"translate", "--model", "run", "--html", "--bad-text", "replace"}, {.input = "<hr \xFF><p>a\xFF</p>"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.errors,
            "translate: standard input has a byte that is not UTF-8 at 4; such bytes are replaced by U+FFFD\n");
  EXPECT_TRUE(result.output.starts_with("<hr \uFFFD><p>")) << result.output;
}

TEST_F(TranslateHtmlProgram, SelectsTheAttentionThatAlignsWords) {
  const std::string html = translate_html("<p>a <b>b</b></p>", {"--attention-layer", "0", "--attention-head", "1"});
  EXPECT_EQ(find_bad_nesting(html), "") << html;
}

}  // namespace
}  // namespace edgewise
