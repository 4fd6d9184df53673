// SPDX-License-Identifier: Apache-2.0
// Uses the page in a browser as a person does. The models copy their input, each word aligned with itself.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <set>

#include "edgewise/server/translation_server.h"
#include "tests/server/copying_server.h"
#include "tests/server/raw_client.h"
#include "tests/support/browser.h"
#include "tests/support/browser_session.h"
#include "tests/support/process.h"

namespace edgewise {
namespace {

using testing::Each;
using testing::IsEmpty;
using testing::StartsWith;
using Json = nlohmann::json;

constexpr const char* kText = "document.getElementById('text').value";
constexpr const char* kTranslation = "document.getElementById('translation').value";
constexpr const char* kStatus = "document.getElementById('status').textContent";
constexpr const char* kFocus = "document.activeElement.id";
constexpr const char* kRadios = "[...document.querySelectorAll('#alternatives input')]";

std::string by_id(const std::string& id) { return "document.getElementById('" + id + "')"; }

/// Returns an expression for the lit words of a text, such as `b|c`.
std::string lit_words(const std::string& id) {
  return "[..." + by_id(id) + ".parentElement.querySelectorAll('.origin, .partner')].map(e => e.textContent).join('|')";
}

/// Returns an expression for a word of a text.
std::string word_of(const std::string& id, int index) {
  return fmt::format("{}.parentElement.querySelectorAll('.mirror span')[{}]", by_id(id), index);
}

/// A server on a free port, and its page in a browser.
class PageInBrowser : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_browser()) GTEST_SKIP() << kNoBrowser;
  }

  void start(ServerOptions options = {}, ModelLoader loader = copying_loader(), const BrowserWindow& window = {}) {
    if (options.models.empty()) options.models = {"en-de=one", "de-en=two"};
    browser_.emplace(window);
    const auto log = [this](std::string_view line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(Json::parse(line));
    };
    const ServerConfig config{
        .server = std::move(options), .http = {.listen = "127.0.0.1:0"}, .translation = {}, .generation = {}};
    server_.emplace(config, ServerLogs{.report = {}, .access = log}, std::move(loader));
    browser_->open(url());
    EXPECT_EQ(browser_->wait_for_value(by_id("target-language") + ".disabled", false), false);
  }

  void start_in(const BrowserWindow& window) { start({}, copying_loader(), window); }

  /// Types a text and waits for the translation, which is the text.
  void translate(const std::string& text) {
    browser_->type(text);
    EXPECT_EQ(browser_->wait_for_value(kTranslation, text), text);
    EXPECT_EQ(browser_->wait_for_value(kStatus + std::string(".slice(0, 10)"), "Translated"), "Translated");
  }

  Json evaluate(const std::string& expression) { return browser_->evaluate(expression); }

  void press(const std::string& key, int times = 1) {
    for (int i = 0; i < times; ++i) browser_->press(key);
  }

  /// Presses the Tab key until the focus is on the element.
  void tab_to(const std::string& id) {
    constexpr int kMostStops = 30;
    for (int i = 0; i < kMostStops && evaluate(kFocus) != id; ++i) press("Tab");
    EXPECT_EQ(evaluate(kFocus), id);
  }

  std::string url() const { return fmt::format("http://127.0.0.1:{}/", server_->port()); }

  /// Returns the number of responses with a status.
  std::int64_t count_responses(const std::string& endpoint, int status) {
    const std::lock_guard lock(mutex_);
    return std::ranges::count_if(
        lines_, [&](const Json& line) { return line["endpoint"] == endpoint && line["status"] == status; });
  }
  std::int64_t count_translations(int status) { return count_responses("/v1/translate", status); }

  void expect_clean() {
    EXPECT_THAT(browser_->errors(), IsEmpty());
    EXPECT_THAT(browser_->requests(), Each(StartsWith(url())));
  }

  std::mutex mutex_;
  std::vector<Json> lines_;  // access log
  std::optional<TranslationServer> server_;
  std::optional<BrowserSession> browser_;
};

TEST_F(PageInBrowser, LoadsUnchangedFilesOnlyOnce) {
  start();
  browser_->open(url());
  EXPECT_EQ(browser_->wait_for_value(by_id("target-language") + ".disabled", false), false);
  EXPECT_GT(count_responses("/page.js", 304), 0);
  translate("a");
  expect_clean();
}

TEST_F(PageInBrowser, TranslatesWhileAPersonTypes) {
  start();
  translate("a b g. c d");
  EXPECT_EQ(evaluate(by_id("count") + ".textContent"), "10 / 5,000");
  EXPECT_THAT(evaluate(kStatus).get<std::string>(), StartsWith("Translated from "));
  EXPECT_EQ(evaluate("location.href"), url());
  browser_->click(by_id("clear"));
  EXPECT_EQ(browser_->wait_for_value(kTranslation, ""), "");
  EXPECT_EQ(evaluate(kFocus), "text");
  expect_clean();
}

TEST_F(PageInBrowser, TranslatesTheTextOfALink) {
  start();
  browser_->open("about:blank");
  browser_->open(url() + "#de/en/a%20b");
  EXPECT_EQ(browser_->wait_for_value(kTranslation, "a b"), "a b");
  EXPECT_EQ(evaluate(by_id("source-language") + ".value"), "de");
  EXPECT_EQ(evaluate(by_id("target-language") + ".value"), "en");
  evaluate("location.hash = '#/de/c%0A'");
  EXPECT_EQ(browser_->wait_for_value(kTranslation, "c\n"), "c\n");
  EXPECT_EQ(evaluate(by_id("target-language") + ".value"), "en") << "German is not translated into German";
  expect_clean();
}

TEST_F(PageInBrowser, TakesFromALinkWhatItHas) {
  start();
  for (const auto& [link, text] : std::vector<std::pair<std::string, std::string>>{
           {"#en/de/a/b", "a/b"}, {"#xx/xx/100%", "100%"}, {"#//c", "c"}, {"#", "c"}}) {
    evaluate("location.hash = '" + link + "'");
    EXPECT_EQ(browser_->wait_for_value(kText, text), text);
    EXPECT_EQ(evaluate(by_id("target-language") + ".value"), "de");
  }
  expect_clean();
}

TEST_F(PageInBrowser, KeepsLineBreaks) {
  start();
  translate("a b g.\n\n  c d h! e\n");
  expect_clean();
}

TEST_F(PageInBrowser, SwapsTheLanguagesAndTheTexts) {
  start();
  evaluate("(() => { const menu = " + by_id("source-language") +
           "; menu.value = 'en'; menu.dispatchEvent(new Event('change')); })()");
  translate("a b");
  EXPECT_EQ(evaluate(by_id("target-language") + ".value"), "de");
  browser_->click(by_id("swap"));
  EXPECT_EQ(evaluate(by_id("source-language") + ".value"), "de");
  EXPECT_EQ(evaluate(by_id("target-language") + ".value"), "en");
  EXPECT_EQ(browser_->wait_for_value(kStatus, "Translated from German to English."),
            "Translated from German to English.");
  EXPECT_EQ(evaluate(kText), "a b");
  EXPECT_EQ(evaluate(by_id("text") + ".lang + ' ' + " + by_id("translation") + ".lang"), "de en");
  expect_clean();
}

TEST_F(PageInBrowser, OffersOnlyLanguagesBetweenWhichModelsTranslate) {
  start({.models = {"en-de=one", "fr-en=two"}});
  const std::string sources = "[..." + by_id("source-language") + ".options].map(o => o.value).join()";
  const std::string targets = "[..." + by_id("target-language") + ".options].map(o => o.value).join()";
  EXPECT_EQ(evaluate(sources), "auto,en,fr");
  EXPECT_EQ(evaluate(targets), "en,de");
  const auto choose = [&](const std::string& code) {
    evaluate("(() => { const menu = " + by_id("source-language") + "; menu.value = '" + code +
             "'; menu.dispatchEvent(new Event('change')); })()");
  };
  choose("fr");
  EXPECT_EQ(evaluate(targets), "en");
  choose("en");
  EXPECT_EQ(evaluate(targets), "de");
  EXPECT_EQ(evaluate(by_id("swap") + ".disabled"), true);
  expect_clean();
}

TEST_F(PageInBrowser, PutsAnAlternativeInPlace) {
  start();
  translate("a b g. c d");
  EXPECT_EQ(evaluate(by_id("alternatives-heading") + ".textContent"), "Alternatives for sentence 1 of 2");
  const std::string second =
      evaluate("document.querySelectorAll('#alternatives label')[1].textContent").get<std::string>();
  ASSERT_NE(second, "a b g.");
  browser_->click("document.querySelectorAll('#alternatives label')[1]");
  EXPECT_EQ(browser_->wait_for_value(kTranslation, second + " c d"), second + " c d");
  EXPECT_EQ(evaluate(std::string(kRadios) + ".map(radio => radio.checked).slice(0, 2).join()"), "false,true");
  expect_clean();
}

TEST_F(PageInBrowser, KeepsAChosenAlternativeInANewTranslation) {
  start();
  translate("a b g.");
  browser_->click("document.querySelectorAll('#alternatives label')[1]");
  const std::string chosen = evaluate(kTranslation).get<std::string>();
  ASSERT_NE(chosen, "a b g.");
  browser_->click(by_id("text"));
  press("End");
  browser_->type(" c d");
  EXPECT_EQ(browser_->wait_for_value(kTranslation, chosen + " c d"), chosen + " c d");
  expect_clean();
}

TEST_F(PageInBrowser, ListsTheAlternativesOfTheSentenceWithTheCaret) {
  start();
  translate("a b g. c d");
  browser_->click(word_of("translation", 4));
  EXPECT_EQ(browser_->wait_for_value("document.querySelector('#alternatives label').textContent", "c d"), "c d");
  EXPECT_EQ(evaluate(by_id("alternatives-heading") + ".textContent"), "Alternatives for sentence 2 of 2");
  expect_clean();
}

TEST_F(PageInBrowser, LightsTheAlignmentUnderThePointer) {
  start();
  translate("a b g. c d");
  for (const char* id : {"text", "translation"}) {
    browser_->point_at(word_of(id, 3));
    EXPECT_EQ(browser_->wait_for_value(lit_words("text"), "c"), "c");
    EXPECT_EQ(evaluate(lit_words("translation")), "c");
    browser_->point_at(by_id("count"));
    EXPECT_EQ(browser_->wait_for_value(lit_words("translation"), ""), "");
  }
  expect_clean();
}

TEST_F(PageInBrowser, LightsTheAlignmentUnderTheKeyboardFocus) {
  start();
  translate("a b g. c d");
  press("Home");
  EXPECT_EQ(browser_->wait_for_value(lit_words("translation"), "a"), "a");
  press("ArrowRight", 2);
  EXPECT_EQ(browser_->wait_for_value(lit_words("translation"), "b"), "b");
  tab_to("translation");
  press("ArrowRight", 2);
  EXPECT_EQ(browser_->wait_for_value(lit_words("text"), "b"), "b");
  EXPECT_EQ(evaluate("getSelection().toString()"), "b");
  press("End");
  EXPECT_EQ(browser_->wait_for_value(lit_words("text"), "d"), "d");
  press("ArrowLeft");
  EXPECT_EQ(browser_->wait_for_value(lit_words("text"), "c"), "c");
  expect_clean();
}

TEST_F(PageInBrowser, FindsWordsBehindCharactersOfSeveralBytes) {
  ModelLoader loader = copying_loader();
  loader.load = [](const ModelSpec& spec) {
    const auto vocabulary = make_word_vocabulary("😀 ä 你好 b");
    const TextCodec codec = {.vocabularies = {vocabulary, vocabulary}};
    return make_served_model(spec, codec, copying_scorers(codec));
  };
  start({}, loader);
  translate("😀 ä 你好 b");
  browser_->point_at(word_of("text", 3));
  EXPECT_EQ(browser_->wait_for_value(lit_words("translation"), "b"), "b");
  expect_clean();
}

TEST_F(PageInBrowser, DrawsTheAttentionWeights) {
  start();
  translate("a b");
  browser_->click(by_id("attention-button"));
  const std::string weights =
      "[...document.querySelectorAll('.attention tbody tr')].map(row => [...row.cells].map(c => c.textContent).join(' "
      "'))"
      ".join('; ')";
  EXPECT_EQ(browser_->wait_for_value(weights, "a 1.00 0.00; b 0.00 1.00"), "a 1.00 0.00; b 0.00 1.00");
  EXPECT_EQ(evaluate(by_id("attention-button") + ".ariaExpanded"), "true");
  browser_->point_at("document.querySelectorAll('.attention tbody td')[3]");
  const std::string readout = by_id("readout") + ".textContent";
  EXPECT_EQ(browser_->wait_for_value(readout, "“b” attends to “b” with the weight 1.00."),
            "“b” attends to “b” with the weight 1.00.");
  browser_->click(by_id("attention-button"));
  EXPECT_EQ(evaluate(by_id("attention") + ".hidden"), true);
  expect_clean();
}

TEST_F(PageInBrowser, IsUsedWithTheKeyboardAlone) {
  start();
  EXPECT_EQ(evaluate(kFocus), "text");
  translate("a b g. c");
  tab_to("attention-button");
  press(" ");
  EXPECT_EQ(browser_->wait_for_value("document.querySelectorAll('.attention td').length > 0", true), true);
  tab_to("copy");
  press("Tab");
  press("ArrowDown");
  EXPECT_EQ(browser_->wait_for_value(std::string(kRadios) + "[1].checked", true), true);
  EXPECT_NE(evaluate(kTranslation), "a b g. c");
  press("Tab");
  EXPECT_EQ(evaluate("document.activeElement.tagName"), "TD");
  press("ArrowRight");
  EXPECT_THAT(evaluate(by_id("readout") + ".textContent").get<std::string>(), testing::HasSubstr("attends to “b”"));
  for (const char* id : {"source-language", "swap", "target-language", "text"}) tab_to(id);
  expect_clean();
}

TEST_F(PageInBrowser, CopiesTheTranslation) {
  start();
  translate("a b");
  browser_->click(by_id("copy"));
  EXPECT_EQ(browser_->wait_for_value(kStatus, "The translation is in the clipboard."),
            "The translation is in the clipboard.");
  expect_clean();
}

TEST_F(PageInBrowser, ShowsTheTextBetweenTwoModels) {
  start({.models = {"fr-en=one", "en-de=two"}, .pivot = "en"});
  evaluate("(() => { const menu = " + by_id("source-language") +
           "; menu.value = 'fr'; menu.dispatchEvent(new Event('change')); " + by_id("target-language") +
           ".value = 'de'; })()");
  translate("a b");
  EXPECT_EQ(evaluate(by_id("middle-text") + ".value"), "a b");
  browser_->point_at(word_of("translation", 1));
  EXPECT_EQ(browser_->wait_for_value(lit_words("middle-text"), "b"), "b");
  expect_clean();
}

TEST_F(PageInBrowser, AsksForAKeyIfTheServerNeedsOne) {
  start({.api_keys = {"secret"}, .require_api_key = true});
  EXPECT_EQ(evaluate(by_id("key-row") + ".hidden"), false);
  browser_->type("a");
  EXPECT_EQ(browser_->wait_for_value(kStatus, "Enter an API key to translate."), "Enter an API key to translate.");
  browser_->click(by_id("key"));
  browser_->type("secret");
  EXPECT_EQ(browser_->wait_for_value(kTranslation, "a"), "a");
  expect_clean();
  browser_->type("x");
  EXPECT_EQ(browser_->wait_for_value(kStatus, "The server refuses the API key: Invalid API key."),
            "The server refuses the API key: Invalid API key.");
}

TEST_F(PageInBrowser, HasNoFieldForAKeyThatTheServerDoesNotNeed) {
  start({.api_keys = {"secret"}});
  EXPECT_EQ(evaluate(by_id("key-row") + ".hidden"), true);
}

TEST_F(PageInBrowser, SaysThatATextIsTooLong) {
  start({.characters = 4});
  browser_->type("a b c");
  const std::string message = "The text has 5 characters. The server translates at most 4.";
  EXPECT_EQ(browser_->wait_for_value(kStatus, message), message);
  EXPECT_EQ(count_translations(400), 0);
  expect_clean();
}

TEST_F(PageInBrowser, CancelsTheRequestOfAnOlderText) {
  std::atomic<bool> may_go_on = false;
  ModelLoader loader = copying_loader();
  loader.load = [&](const ModelSpec& spec) {
    const TextCodec codec = make_codec();
    return make_served_model(spec, codec, waiting_scorers(codec, may_go_on));
  };
  start({}, loader);
  browser_->type("a b");
  const auto num_requests = [this] {
    evaluate("0");  // receives events
    return std::ranges::count_if(browser_->requests(), [](const auto& url) { return url.ends_with("/v1/translate"); });
  };
  EXPECT_TRUE(wait_until([&] { return num_requests() == 1; }));
  browser_->type(" c");
  EXPECT_TRUE(wait_until([&] { return num_requests() == 2; }));
  may_go_on = true;
  may_go_on.notify_all();
  EXPECT_EQ(browser_->wait_for_value(kTranslation, "a b c"), "a b c");
  constexpr int kClientIsGone = 499;
  EXPECT_TRUE(wait_until([&] { return count_translations(kClientIsGone) == 1 && count_translations(200) == 1; }));
  expect_clean();
}

TEST_F(PageInBrowser, TriesAgainWhenTheServerIsBusy) {
  std::atomic<bool> may_go_on = false;
  ModelLoader loader = copying_loader();
  loader.load = [&](const ModelSpec& spec) {
    const TextCodec codec = make_codec();
    return make_served_model(spec, codec, waiting_scorers(codec, may_go_on), 4);
  };
  start({}, loader);
  RawClient other(server_->port());
  const std::string body = R"({"q": "a b c", "source": "en", "target": "de"})";
  other.send("POST /translate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: " +
             std::to_string(body.size()) + "\r\n\r\n" + body);
  browser_->type("a b");
  const std::string message = "The server is busy. The page tries again in 1 second.";
  EXPECT_EQ(browser_->wait_for_value(kStatus, message), message);
  may_go_on = true;
  may_go_on.notify_all();
  EXPECT_EQ(browser_->wait_for_value(kTranslation, "a b"), "a b");
  EXPECT_EQ(evaluate(by_id("again") + ".hidden"), true);
}

TEST_F(PageInBrowser, SaysThatTheServerDoesNotAnswer) {
  start();
  translate("a");
  server_.reset();
  browser_->type(" b");
  const std::string message = "The server does not answer.";
  const std::string begin = kStatus + fmt::format(".slice(0, {})", message.size());
  EXPECT_EQ(browser_->wait_for_value(begin, message), message);
  EXPECT_EQ(evaluate(by_id("again") + ".hidden"), false);
}

TEST_F(PageInBrowser, FitsANarrowPhone) {
  start_in({.width = 320, .height = 640});
  translate("a b c d e f a b c d e f");
  browser_->click(by_id("attention-button"));
  EXPECT_EQ(browser_->wait_for_value("document.querySelectorAll('.attention td').length > 0", true), true);
  EXPECT_EQ(evaluate("document.documentElement.scrollWidth"), 320);
  EXPECT_EQ(evaluate("[...document.querySelectorAll('button, select, textarea')].filter(e => e.offsetParent)"
                     ".every(e => e.getBoundingClientRect().right <= 320)"),
            true);
  expect_clean();
}

/// Returns an expression for the contrast ratio of the text of an element and a background (WCAG 2.2).
std::string contrast(const std::string& element, const std::string& background) {
  return "(() => {"
         "const part = (value) => { const c = value / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** "
         "2.4; };"
         "const luminance = (colour) => { const [r, g, b] = colour.match(/[0-9.]+/g).map(Number).map(part);"
         "  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };"
         "const ends = [luminance(getComputedStyle(" +
         element + ").color), luminance(getComputedStyle(" + background +
         ").backgroundColor)].sort((a, b) => b - a);"
         "return (ends[0] + 0.05) / (ends[1] + 0.05); })()";
}

TEST_F(PageInBrowser, FollowsThePreferredColours) {
  std::set<std::string> grounds;
  for (const bool is_dark : {false, true}) {
    server_.reset();
    start_in({.is_dark = is_dark, .has_less_motion = true});
    translate("a b");
    browser_->point_at(word_of("text", 0));
    EXPECT_EQ(browser_->wait_for_value(lit_words("text"), "a"), "a");
    constexpr double kLeastContrast = 4.5;
    const std::string lit = "document.querySelector('.origin')";
    for (const auto& [element, ground] :
         std::vector<std::pair<std::string, std::string>>{{by_id("text"), "document.body"},
                                                          {by_id("text"), lit},
                                                          {by_id("status"), "document.body"},
                                                          {by_id("count"), "document.body"},
                                                          {by_id("copy"), "document.querySelector('.result')"},
                                                          {"document.querySelector('footer a')", "document.body"}}) {
      EXPECT_GE(evaluate(contrast(element, ground)).get<double>(), kLeastContrast) << is_dark << element << ground;
    }
    EXPECT_EQ(evaluate("getComputedStyle(" + lit + ").transitionDuration"), "0s");
    grounds.insert(evaluate("getComputedStyle(document.body).backgroundColor").get<std::string>());
    expect_clean();
  }
  EXPECT_EQ(grounds.size(), 2U);
}

TEST_F(PageInBrowser, NamesEveryControlForScreenReaders) {
  start();
  translate("a b");
  EXPECT_EQ(evaluate("[...document.querySelectorAll('button, select, textarea, input')].filter(e => e.offsetParent &&"
                     " !e.ariaLabel && !e.labels?.length && !e.textContent.trim()).map(e => e.outerHTML).join()"),
            "");
  EXPECT_EQ(evaluate(by_id("status") + ".getAttribute('role')"), "status");
  EXPECT_EQ(evaluate("[...document.querySelectorAll('.mirror')].every(e => e.ariaHidden === 'true')"), true);
}

}  // namespace
}  // namespace edgewise
