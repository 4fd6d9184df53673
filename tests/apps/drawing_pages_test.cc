// SPDX-License-Identifier: Apache-2.0
// Pages and drawings of graphs, ponder steps, positions and training: their numbers, and pages opened in a browser.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "edgewise/positions/position_formula.h"
#include "tests/apps/program.h"
#include "tests/support/browser.h"

namespace edgewise {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using Json = nlohmann::json;

class PictureDrawings : public ProgramTest {
 protected:
  void train(const std::vector<std::string>& settings = {}) const {
    write("tiny.toml", kTinyConfig);
    std::vector<std::string> command = {"train", "tiny.toml", "--out", "run"};
    for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
    run_well(command);
  }

  void train_universal() const { train({"model.kind=universal", "model.encoder_layers=4", "model.decoder_layers=3"}); }

  /// Writes a picture in each format, validates the formats and returns the JSON.
  Json write_picture(std::vector<std::string> command) const {
    command.insert(command.begin(), "picture");
    command.insert(command.end(), {"-o", "picture.html"});
    for (const std::string form : {"html", "svg", "json", "png"}) {
      command.back() = "picture." + form;
      run_well(command);
    }
    EXPECT_EQ(read("picture.png").substr(0, 4), "\x89PNG");
    if (has_validators()) {
      EXPECT_EQ(list_html_errors(path("picture.html")), "");
      EXPECT_EQ(list_svg_errors(path("picture.svg")), "");
    }
    return Json::parse(read("picture.json"));
  }

  /// Runs a script in the page that was written last and returns the text that it reports.
  std::string run_script(const std::string& script) const {
    const OpenedPage page = open_in_browser(path("picture.html"), script);
    EXPECT_THAT(page.messages, IsEmpty());
    return reported_text(page);
  }
};

#define NEEDS_BROWSER() \
  if (!has_browser()) GTEST_SKIP() << kNoBrowser

TEST_F(PictureDrawings, HaveAValidFormOfEachKindOfGraph) {
  const std::vector<std::vector<std::string>> kinds = {{"complete", "--nodes", "5"},
                                                       {"causal", "--nodes", "1200"},
                                                       {"window", "--before", "3", "--after", "0"},
                                                       {"strided", "--nodes", "9", "--stride", "3"},
                                                       {"block", "--nodes", "9", "--block", "3", "--causal"},
                                                       {"random", "--in-degree", "2", "--seed", "5"},
                                                       {"pattern", "window 4", "sinks 1"},
                                                       {"pattern", "window 1", "--encoder", "--nodes", "5"},
                                                       {"pairs", "--lengths", "2:3", "1:1"}};
  const std::vector<std::int64_t> edges = {25, 1200 * 1201 / 2, 4 * 12 - 6, 9 + 6 + 3, 3 * 6,
                                           24, 4 * 12 - 6 + 8,  13,         4 + 1};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    SCOPED_TRACE(kinds[i].front());
    std::vector<std::string> command = {"graph"};
    command.insert(command.end(), kinds[i].begin(), kinds[i].end());
    const Json json = write_picture(command);
    EXPECT_EQ(json.at("relations")[0].at("edges"), edges[i]);
  }
}

TEST_F(PictureDrawings, HaveThePatternOfALayerOfAConfig) {
  std::string config = kTinyConfig;
  const std::string layers = "decoder_layers = 1";
  config.replace(config.find(layers), layers.size(),
                 "decoder_layers = 2\nrelation = [[\"window 2\"], [\"causal\"]]\nencoder_relation = \"blocks 3\"");
  write("patterns.toml", config);
  const auto title_with = [&](const std::vector<std::string>& options) {
    std::vector<std::string> command = {"graph", "pattern", "--config", "patterns.toml", "--nodes", "6"};
    command.insert(command.end(), options.begin(), options.end());
    return write_picture(command).at("title").get<std::string>();
  };
  EXPECT_EQ(title_with({}), "window 2, 6 nodes, 11 edges");
  EXPECT_EQ(title_with({"--layer", "1"}), "causal, 6 nodes, 21 edges");
  EXPECT_EQ(title_with({"--encoder"}), "blocks 3, 6 nodes, 18 edges");
  expect_refused({"picture", "graph", "pattern", "--config", "patterns.toml", "--layer", "2", "-o", "x.svg"},
                 "picture graph: --layer is 2, needs a number below 2, the layers of the decoder");
}

TEST_F(PictureDrawings, NumberABatchAsTheGraphTutorialDoes) {
  const Json json = write_picture({"graph", "pairs", "--lengths", "9:10"});
  EXPECT_EQ(json.at("title"), "A batch of 1 sentence pair: 19 nodes, 226 edges");
  EXPECT_EQ(json.at("sets")[1].at("nodes")[0], "9");
  EXPECT_THAT(read("picture.svg"), HasSubstr(">ee: 81 edges, 0–80<"));
  EXPECT_THAT(read("picture.svg"), HasSubstr(">dd: 55 edges, 171–225<"));
}

constexpr const char* kLit = R"(
const svg = document.querySelector(".lightable svg");
const says = document.querySelector("output");
const lit = kind => svg.querySelectorAll(kind + ".lit").length;
const point = name => svg.querySelector(`[data-node="${name}"]:not(path) :is(circle, rect)`)
  .dispatchEvent(new PointerEvent("pointerover", {bubbles: true}));
const press = key => svg.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
)";

TEST_F(PictureDrawings, HighlightAndDescribeTheEdgesIntoANode) {
  NEEDS_BROWSER();
  run_well({"picture", "graph", "causal", "--nodes", "6", "-o", "picture.html"});
  EXPECT_EQ(run_script(std::string(kLit) + R"(
report(`${svg.querySelectorAll(".node").length} nodes, ${lit("path")} lit`);
point("0-3");
report(`${lit("path")} ${lit(".node")} ${says.textContent}`);
press("ArrowRight");
report(says.textContent);
press("Escape");
report(`${lit("path")} ${svg.classList.contains("dimmed")}`);
press("ArrowLeft");
report(says.textContent);
)"),
            "6 nodes, 0 lit\n1 1 3 sees 0 … 3\n4 sees 0 … 4\n0 false\n5 sees 0 … 5\n");
}

TEST_F(PictureDrawings, EscapeTokensAsText) {
  const std::string hostile = "</script><img/src=x/onerror=report(1)> \"&' \xd7\xa9\xd7\x9c e\xcc\x81 \xf0\x9f\x98\x80";
  const Json json = write_picture({"graph", "pairs", "--input", hostile, "--output", std::string(200, 'w')});
  EXPECT_EQ(json.at("sets")[0].at("nodes")[0], "</script><img/src=x/onerror=report(1)>");
  EXPECT_EQ(json.at("sets")[0].at("nodes").size(), 5U);
  NEEDS_BROWSER();
  EXPECT_EQ(run_script("report(document.querySelectorAll(\"img\").length);"), "0\n");
}

/// Returns the score and the tokens of each output in the tree, best first.
std::vector<std::pair<double, std::string>> outputs_of(const Json& tree) {
  std::vector<std::pair<double, std::string>> found;
  for (const Json& node : tree.at("nodes")) {
    if (!node.contains("score")) continue;
    std::string text;
    for (std::int64_t i = node.at("parent"); i > 0; i = tree.at("nodes")[i].at("parent")) {
      text = tree.at("nodes")[i].at("text").get<std::string>() + (text.empty() ? "" : " ") + text;
    }
    found.emplace_back(node.at("score").get<double>(), text);
  }
  std::ranges::sort(found, std::greater<>());
  return found;
}

TEST_F(PictureDrawings, DrawTheTreeThatTheSearchScores) {
  train();
  const Json tree = write_picture({"graph", "beam", "--model", "run", "--input", "a b c", "--beam", "3", "--cut", "2"});
  const Json translated = Json::parse(
      run_well({"translate", "--model", "run", "--beam", "3", "--nbest", "3", "--json"}, {.input = "a b c\n"}));
  std::vector<std::pair<double, std::string>> outputs;
  for (const Json& output : translated.at("outputs")) outputs.emplace_back(output.at("score"), output.at("text"));
  std::ranges::sort(outputs, std::greater<>());
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_EQ(outputs_of(tree), outputs);
  std::map<std::string, int> fates;
  for (const Json& node : tree.at("nodes")) ++fates[node.at("fate")];
  EXPECT_GT(fates["cut"], 0);
  EXPECT_EQ(fates["ended"], 2);

  NEEDS_BROWSER();
  EXPECT_EQ(run_script(std::string(kLit) + R"(
const node = [...svg.querySelectorAll(".hypothesis.best")].at(-1);
let depth = 1;
for (let at = node; Number(at.dataset.parent) >= 0; ++depth)
  at = svg.querySelector(`.hypothesis[data-node="${at.dataset.parent}"]`);
point(node.dataset.node);
report(lit(".hypothesis") === depth && depth > 1);
)"),
            "true\n");
}

constexpr const char* kPlayers = R"(
const players = [...document.querySelectorAll(".player")];
const shown = player => [...player.querySelectorAll(".shot")].filter(shot => !shot.hidden);
const slide = (player, to) => { const slider = player.querySelector("input"); slider.value = to;
  slider.dispatchEvent(new Event("input", {bubbles: true})); };
)";

TEST_F(PictureDrawings, DrawThePonderStepsOfEachToken) {
  train_universal();
  const Json json = write_picture({"halting", "--model", "run", "--input", "a b c", "--input", "d a"});
  const Json& first = json.at("halting").at("sentences")[0].at("input");
  ASSERT_EQ(first.size(), 3U);
  EXPECT_GT(json.at("training").size(), 0U);
  std::int64_t steps = 0;
  for (const Json& token : first) steps += token.at("steps").get<std::int64_t>();
  const Json counted = Json::parse(run_well({"inspect", "run", "--ponder", "-", "--json"}, {.input = "a b c\nd a\n"}));
  EXPECT_EQ(json.at("halting"), counted);

  NEEDS_BROWSER();
  const std::string blocks = "[...document.querySelectorAll('svg')][0].querySelectorAll('rect.f0').length";
  EXPECT_EQ(run_script(std::string(kPlayers) + "report(" + blocks + R"();
report(players.length);
for (const player of players) {
  slide(player, 0);
  report(shown(player).length + " " + (player.querySelector("output").textContent === shown(player)[0].dataset.caption));
}
players[1].querySelector("button").click();
report(players[1].querySelector("button").textContent);
)"),
            std::to_string(steps) + "\n2\n1 true\n1 true\nPause\n");
}

TEST_F(PictureDrawings, RefuseAModelWithoutAdaptiveComputation) {
  train();
  expect_refused(
      {"picture", "halting", "--model", "run", "--input", "a", "-o", "x.html"},
      "steps: the model is a transformer, whose nodes take all its layers, needs a universal one, or exits whose "
      "threshold is below 1");
}

TEST_F(PictureDrawings, DrawThePositionalEncodings) {
  const Json json = write_picture({"positions", "--positions", "30", "--size", "8", "--dimensions", "0,7"});
  for (const auto& named : enum_names(PositionKind{})) {
    EXPECT_EQ(json.contains(named.name), has_formula(named.value)) << named.name;
    if (!has_formula(named.value)) continue;
    std::vector<double> expected(8);
    PositionFormula(8, named.value).write(29, expected.data());
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_NEAR(json.at(std::string(named.name))[29][i].get<double>(), expected[i], 1e-6);
    }
  }
}

TEST_F(PictureDrawings, LeaveOutAPositionalEncodingThatNeedsLargerVectors) {
  const Json json = write_picture({"positions", "--positions", "5", "--size", "3", "--dimensions", "0"});
  EXPECT_TRUE(json.contains("halves"));
  EXPECT_FALSE(json.contains("fairseq"));
}

const std::vector<std::string> kShow = {"show.input=a b c", "show.output=a b c"};

TEST_F(PictureDrawings, AnimateTheAttentionOfValidations) {
  train(kShow);
  const Json json = write_picture({"training", "run"});
  const Json& moments = json.at("attention").at("run");
  ASSERT_EQ(moments.size(), 2U) << "an epoch each";
  EXPECT_GT(json.at("runs")[0].at("curves").at("valid_loss").size(), 1U);

  // The last snapshot equals the attention of the saved model.
  run_well({"picture", "attention", "--model", "run/last", "--input", "a b c", "--output", "a b c", "-o", "last.json"});
  const Json now = Json::parse(read("last.json"));
  const Json& last = moments.back().at("maps");
  ASSERT_EQ(last.size(), 3U);
  for (std::size_t kind = 0; kind < 3; ++kind)
    EXPECT_EQ(last[kind].at("weights"), now.at("attention")[kind].at("weights"));
  for (const Json& row : last[2].at("weights")[0][0]) {
    double sum = 0;
    for (const Json& weight : row) sum += weight.get<double>();
    EXPECT_NEAR(sum, 1, 1e-5);
  }

  NEEDS_BROWSER();
  EXPECT_EQ(run_script(std::string(kPlayers) + R"(
report(players.length + " " + players[0].querySelectorAll(".shot").length);
const last = shown(players[0])[0].innerHTML;
slide(players[0], 0);
report(shown(players[0]).length + " " + (shown(players[0])[0].innerHTML !== last));
report(document.querySelectorAll(".charts svg").length);
)"),
            "2 2\n1 true\n4\n");
}

TEST_F(PictureDrawings, RecordNoStepTwiceWhenARunIsResumed) {
  train(kShow);
  // The file looks as if the run was killed after a validation, before the next checkpoint.
  std::istringstream lines(read("run/attention.jsonl"));
  std::string first;
  std::getline(lines, first);
  const Json moment = Json::parse(first);
  Json later = moment;
  later["step"] = 1'000'000;
  write("run/attention.jsonl", read("run/attention.jsonl") + later.dump() + "\n{\"step\": 7, \"ma");
  std::vector<std::string> command = {"train", "tiny.toml", "--out", "run", "--resume", "--set", "train.epochs=3"};
  for (const std::string& setting : kShow) command.insert(command.end(), {"--set", setting});
  run_well(command);

  std::istringstream all(read("run/attention.jsonl"));
  std::vector<std::int64_t> steps;
  for (std::string line; std::getline(all, line);) steps.push_back(Json::parse(line).at("step"));
  const std::int64_t epoch = moment.at("step");
  EXPECT_THAT(steps, testing::ElementsAre(epoch, 2 * epoch, 3 * epoch));
}

TEST_F(PictureDrawings, NameTheMistakeInAWrongOption) {
  expect_refused({"picture", "graph", "complete", "-o", "x.gif"},
                 "picture graph: --out is \"x.gif\", needs a name that ends with .html, .svg, .json or .png");
  expect_refused({"picture", "graph", "pairs", "--lengths", "9", "-o", "x.svg"},
                 "picture graph: --lengths has 9, needs INPUT:OUTPUT, as 9:10");
  expect_refused({"picture", "graph", "pairs", "--input", "a", "--input", "b", "--output", "c", "-o", "x.svg"},
                 "picture graph: --input is there 2 times and --output 1 times, needs as many");
  expect_refused({"picture", "graph", "pattern", "-o", "x.svg"},
                 "picture graph: no term is given, needs terms, such as \"window 8\", or --config");
  expect_refused(
      {"picture", "graph", "pattern", "windw 8", "-o", "x.svg"},
      "picture graph: the pattern has \"windw 8\", needs a term: causal, document, window N, dilated N by S, "
      "sinks N, global every N, blocks N, random N, random N seed R; did you mean window?");
  expect_refused({"picture", "positions", "--size", "4", "--dimensions", "1,4", "-o", "x.svg"},
                 "picture positions: --dimensions has 4, needs 0 to 3 of size 4");
  expect_refused({"picture", "training", "nowhere", "-o", "x.svg"},
                 "picture training: nowhere has no metrics.jsonl, needs a run directory");
  write("tiny.toml", kTinyConfig);
  expect_refused({"train", "tiny.toml", "--out", "run", "--set", "show.input=a"},
                 "train: show.output is empty, needs the output that belongs to show.input");
  train();
  for (const char* option : {"--attention=encoder", "--layer=0", "--head=mean"}) {
    expect_refused({"picture", "training", "run", option, "-o", "x.svg"},
                   "picture training: run saved no attention, --attention, --layer and --head need a run that did; "
                   "train with [show] in the config");
  }
  std::filesystem::remove_all(path("run"));
  train(kShow);
  expect_refused({"picture", "graph", "beam", "--model", "run", "--input", " ", "-o", "x.svg"},
                 "picture graph: input has no tokens, needs at least one");
  expect_refused({"picture", "halting", "--model", "run", "-o", "x.svg"},
                 "picture halting: there is no sentence, needs one; give --input or --corpus");
  expect_refused({"picture", "training", "run", "--layer", "1", "-o", "x.svg"},
                 "picture training: --layer is 1, needs a number from 0 to 0, or mean");
  write("run/attention.jsonl",
        "{\"step\": 1, \"maps\": [{\"rows\": [\"a\"], \"columns\": [\"b\"], \"weights\": [[[[1, 2]]]]}]}\n");
  EXPECT_THAT(run({"picture", "training", "run", "-o", "x.svg"}).errors,
              HasSubstr("the maps have a head of 1 rows of 2 weights, need 1 rows of 1"));
  EXPECT_FALSE(std::filesystem::exists(path("x.svg")));
}

}  // namespace
}  // namespace edgewise
