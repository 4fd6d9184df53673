// SPDX-License-Identifier: Apache-2.0
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "edgewise/experiment/sentence_attention.h"
#include "edgewise/models/model_attention.h"
#include "edgewise/pictures/attention_alignment.h"
#include "tests/apps/program.h"
#include "tests/support/browser.h"

namespace edgewise {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class PictureProgram : public ProgramTest {
 protected:
  void train(const std::vector<std::string>& settings = {}, const std::string& config = kTinyConfig) const {
    write("tiny.toml", config);
    std::vector<std::string> command = {"train", "tiny.toml", "--out", "run"};
    for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
    run_well(command);
  }

  /// Returns the command `picture attention --model run` with further arguments.
  static std::vector<std::string> attention(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"picture", "attention", "--model", "run"});
    return arguments;
  }

  nlohmann::json attention_json(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"-o", "a.json"});
    run_well(attention(std::move(arguments)));
    return nlohmann::json::parse(read("a.json"));
  }
};

TEST_F(PictureProgram, GivesTheWeightsThatTheModelUses) {
  train();
  const nlohmann::json json = attention_json({"--input", "a b c", "--output", "b c"});
  const TranslationModel model = load_model(path("run"));
  const TokenPair pair = encode_pair(model, "a b c", "b c", "test");
  const ModelAttention expected = record_attention(*model.model, make_batch(std::span(&pair, 1)));

  EXPECT_EQ(json.at("attention")[2].at("rows"), (std::vector<std::string>{"b", "c", "<end>"}));
  EXPECT_EQ(json.at("attention")[1].at("rows"), (std::vector<std::string>{"<begin>", "b", "c"}));
  std::size_t kind = 0;
  for (const auto* layers : {&expected.encoder, &expected.decoder, &expected.cross}) {
    const nlohmann::json& weights = json.at("attention")[kind++].at("weights");
    ASSERT_EQ(weights.size(), layers->size());
    std::size_t next = 0;
    for (const auto& head : weights[0]) {
      for (const auto& row : head) {
        for (const auto& weight : row) {
          const float right = layers->front().weights[next++];
          ASSERT_EQ(weight.is_null(), std::isnan(right));
          if (!weight.is_null()) {
            EXPECT_EQ(weight.get<float>(), right);
          }
        }
      }
    }
    EXPECT_EQ(next, layers->front().weights.size());
  }
}

TEST_F(PictureProgram, TranslatesAnInputWithoutAGivenOutput) {
  train();
  const std::string output = run_well({"translate", "--model", "run"}, {.input = "a b c\n"});
  EXPECT_EQ(attention_json({"--input", "a b c"}).at("output").get<std::string>() + "\n", output);
}

// A model after few steps may output the tokens "ab" and " ab"; encoding the text of this output gives " ab" twice.
TEST_F(PictureProgram, DrawsTheTokensOfTheOutputAndDoesNotEncodeItsTextAgain) {
  std::string lines;
  for (int i = 0; i < 8; ++i) lines += "aab abab baab abba " + std::to_string(i) + " bbaa ab\n";
  write("text", lines);
  train({"data.train=[\"text\", \"text\"]", "vocabulary.kind=sentencepiece", "vocabulary.model=unigram",
         "vocabulary.size=20", "train.epochs=0", "train.steps=5"},
        kTinyModelConfig);
  const std::string translation = run_well({"translate", "--model", "run", "--json"}, {.input = "abab ab\n"});
  std::vector<std::string> tokens = nlohmann::json::parse(translation).at("outputs")[0].at("tokens");

  const nlohmann::json json = attention_json({"--input", "abab ab"});
  tokens.push_back("<end>");
  EXPECT_EQ(json.at("attention")[2].at("rows"), tokens);
  EXPECT_EQ(json.at("alignment").at("word_of_row").size(), tokens.size());
}

TEST_F(PictureProgram, WritesAPageADrawingAndNumbers) {
  train();
  run_well(attention({"--input", "a b c", "-o", "page.html"}));
  run_well(attention({"--input", "a b c", "-o", "all.svg"}));
  run_well(attention({"--input", "a b c", "--attention", "encoder", "--layer", "0", "--head", "1", "-o", "one.svg"}));
  run_well(attention({"--input", "a b c", "--head", "mean", "-o", "mean.svg"}));

  EXPECT_THAT(read("page.html"), HasSubstr("</html>"));
  EXPECT_THAT(read("all.svg"), HasSubstr(">head 1</text>"));
  EXPECT_THAT(read("one.svg"), HasSubstr("<title>encoder self-attention, layer 0, head 1</title>"));
  EXPECT_THAT(read("mean.svg"), HasSubstr("<title>cross-attention, layer 0, mean of heads</title>"));
  if (!has_browser()) GTEST_SKIP() << kNoBrowser;
  if (!has_validators()) GTEST_SKIP() << "make test-pages installs tidy and xmllint";
  EXPECT_THAT(open_in_browser(path("page.html")).messages, IsEmpty());
  EXPECT_EQ(list_html_errors(path("page.html")), "");
  for (const char* file : {"all.svg", "one.svg", "mean.svg"}) EXPECT_EQ(list_svg_errors(path(file)), "");
}

TEST_F(PictureProgram, DrawsTheAttentionOfEachStepOfAUniversalTransformer) {
  train({"model.kind=universal", "model.encoder_layers=3", "model.decoder_layers=3"});
  const nlohmann::json json = attention_json({"--input", "a b c"});
  EXPECT_EQ(json.at("attention")[0].at("first_dimension"), "step");
  run_well(attention({"--input", "a b c", "-o", "page.html"}));
  EXPECT_THAT(read("page.html"), HasSubstr("Universal Transformer"));
}

TEST_F(PictureProgram, WritesTheAlignmentErrorRateOfEachHead) {
  train();
  write("pairs", "a b ||| b a\nd ||| d\n");
  write("gold", "1-2 2p1\n1-1\n");
  const nlohmann::json alignment =
      attention_json({"--pairs", "pairs", "--gold", "gold", "--line", "2"}).at("alignment");

  EXPECT_EQ(alignment.at("input_words"), std::vector<std::string>{"d"});
  EXPECT_EQ(alignment.at("corpus_pairs"), 2);
  EXPECT_EQ(alignment.at("found").size(), 6U);  // two heads and their mean, for one layer and for the mean of layers
  EXPECT_EQ(alignment.at("found")[0].at("links"), (std::vector<std::vector<int>>{{0, 0}}));  // the only words
  EXPECT_EQ(alignment.at("found")[0].at("error_rate"), 0.0);
  EXPECT_LE(alignment.at("found")[0].at("corpus_error_rate"), 1.0);
}

TEST_F(PictureProgram, CountsErrorsOfAlignmentsOnlyForPairsThatHaveTheStep) {
  train({"model.kind=universal", "model.encoder_layers=6", "model.decoder_layers=6"});
  const TranslationModel model = load_model(path("run"));
  const c10::AutoGradMode no_gradient(false);
  for (const NamedTensor& parameter : model.model->parameters()) {  // tokens halt in the first step, or late
    if (parameter.name == "decoder.halting.linear.weight") at::Tensor(parameter.tensor).mul_(20);
    if (parameter.name == "decoder.halting.linear.bias") at::Tensor(parameter.tensor).zero_();
  }
  AlignmentPairs pairs{.inputs = {"a", "a b c", "d d d d d d", "b", "a b c d"},
                       .outputs = {"b", "c b", "a b c d a b c", "c", "d"},
                       .gold = {}};
  pairs.gold.resize(pairs.inputs.size(), parse_gold_alignment("0-0", 0, "gold"));
  std::vector<AttentionMaps> cross;
  for (std::size_t i = 0; i < pairs.inputs.size(); ++i) {
    cross.push_back(attention_maps(model, encode_pair(model, pairs.inputs[i], pairs.outputs[i], "test")).back());
  }
  const auto [fewest, most] = std::ranges::minmax_element(cross, {}, &AttentionMaps::num_layers);
  ASSERT_LT(fewest->num_layers(), most->num_layers());

  for (const auto& drawn : {fewest, most}) {
    const AlignmentReport report = align_words(model, pairs, drawn - cross.begin(), *drawn, "test");
    const std::size_t maps_of_step = drawn->num_heads() + 1;
    for (std::size_t map = 0; map < report.map_alignments.size(); ++map) {
      const std::size_t step = map / maps_of_step;
      const bool is_mean = step == drawn->num_layers();
      AlignmentErrors errors;
      std::int64_t count = 0;
      for (std::size_t i = 0; i < cross.size(); ++i) {
        if (!is_mean && step >= cross[i].num_layers()) continue;
        const std::size_t same_map = (is_mean ? cross[i].num_layers() : step) * maps_of_step + map % maps_of_step;
        const AlignmentReport of_pair = align_words(model, pairs, i, cross[i], "test");
        std::vector<WordLink> links;
        for (const auto& [input, output] : of_pair.map_alignments[same_map].links) links.push_back({input, output});
        errors.add(links, pairs.gold[i]);
        ++count;
      }
      EXPECT_EQ(report.map_alignments[map].counted_pairs, count) << map;
      EXPECT_EQ(report.map_alignments[map].corpus_error_rate, errors.rate()) << map;
    }
  }
}

TEST_F(PictureProgram, RefusesWrongSentencesAndOptions) {
  train({"data.max_length=8"});
  const std::vector<std::string> sentence = {"--input", "a b", "-o", "page.html"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), sentence.begin(), sentence.end());
    return attention(more);
  };
  expect_refused(with({"--layer", "1"}), "picture attention: --layer is 1, needs a number from 0 to 0, or mean");
  expect_refused(with({"--head", "2"}), "picture attention: --head is 2, needs a number from 0 to 1, or mean");
  expect_refused(with({"--head", "one"}), "picture attention: --head is one, needs a number from 0 to 1, or mean");
  expect_refused(attention({"--input", "a b", "-o", "page.gif"}),
                 "picture attention: --out is \"page.gif\", needs a name that ends with .html, .svg, .json or .png");
  expect_refused(attention({"--input", "a b c d a b c d a", "-o", "page.html"}),
                 "picture attention: the input has 9 tokens, the model was trained with at most 8");
  expect_refused(attention({"--input", "a", "--output", "a b c d a b c d a", "-o", "page.html"}),
                 "picture attention: the output has 9 tokens, the model was trained with at most 8");
  expect_refused(attention({"--input", " ", "-o", "page.html"}),
                 "picture attention: the input has no tokens, needs at least one");
  expect_refused(attention({"-o", "page.html"}), "picture attention: there is no sentence, needs --input or --pairs");
  expect_refused({"picture", "attention", "--model", "none", "--input", "a", "-o", "page.html"},
                 absent_model_text("load_model", "none"));
  expect_refused({"picture", "atention"}, "edgewise picture: unknown argument atention; did you mean attention?");
  EXPECT_FALSE(std::filesystem::exists(path("page.html")));
}

TEST_F(PictureProgram, ReportsOnARunInOnePage) {
  train();
  write("sentences", "a b\n\nc d b\n");
  run_well({"picture", "report", "run", "--input", "sentences", "-o", "report.html"});
  const std::string page = read("report.html");
  for (const char* part :
       {"<title>The run run</title>", "Loss a token", "<td dir=\"auto\">c d b</td>", ">a b</text>"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  if (has_validators()) {
    EXPECT_EQ(list_html_errors(path("report.html")), "");
  }

  write("empty", "\n");
  expect_refused({"picture", "report", "run", "--input", "empty", "-o", "report.html"},
                 "picture report: empty has no sentence, needs at least one");
  expect_refused({"picture", "report", "run", "--input", "sentences", "-o", "report.svg"},
                 "picture report: --out is report.svg, needs a name that ends with .html");
}

TEST_F(PictureProgram, NamesTheMistakeInAGoldAlignment) {
  train();
  write("pairs", "a b ||| b a\nd ||| d\n");
  write("unparted", "a b\n");
  write("short", "1-1\n");
  write("long", "1-1\n1-1\n1-1\n");
  write("beyond", "1-3\n1-1\n");
  write("words", "one-two\n1-1\n");
  const auto refused = [&](const std::string& gold, const std::string& text) {
    expect_refused(attention({"--pairs", "pairs", "--gold", gold, "-o", "page.html"}), "picture attention: " + text);
  };
  refused("short", "short has 1 lines, needs one for each of 2 pairs");
  refused("long", "long has a line 3, needs one for each of 2 pairs");
  refused("beyond", "beyond:1 has a link from word 1 to word 3, the pair has 2 and 2 words");
  refused("words", "words:1 has \"one-two\", needs links as 1-1 (sure) or 1p1 (possible), words counted from 1");
  write("bytes", "a ||| b\na \xFF ||| c\n");
  expect_refused(attention({"--pairs", "bytes", "-o", "page.html"}),
                 "picture attention: bytes:2 has a byte at 2 that is not UTF-8, needs UTF-8");
  expect_refused(attention({"--pairs", "unparted", "-o", "page.html"}),
                 "picture attention: unparted:1 is no pair, needs `input ||| output`");
  expect_refused(attention({"--pairs", "pairs", "--line", "3", "-o", "page.html"}),
                 "picture attention: --line is 3, needs a number from 1 to 2");
}

TEST_F(PictureProgram, KeepsTheOldFileWhenTheDiskIsFull) {
  train();
  write("page.html", "earlier\n");
  const ProcessResult result =
      run_process({"/bin/sh", "-c",
                   "trap '' XFSZ; ulimit -f 4; exec \"$0\" picture attention --model run --input 'a b' -o page.html",
                   EDGEWISE_PROGRAM},
                  {.folder = path("").string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors, "picture attention: page.html: File too large; nothing was replaced\n");
  EXPECT_EQ(read("page.html"), "earlier\n");
}

}  // namespace
}  // namespace edgewise
