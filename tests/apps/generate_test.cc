// SPDX-License-Identifier: Apache-2.0
// edgewise generate: prompts, samples, options and errors.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/apps/program.h"
#include "tests/text/compression.h"

namespace edgewise {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

class GenerateProgram : public ProgramTest {
 protected:
  GenerateProgram() {
    write("in", "a b\nc é d\n");
    write("language.toml", kTinyLanguageConfig);
    run_well({"train", "language.toml", "--out", "run"});
  }

  static Words command(const Words& more) {
    Words words = {"generate", "--model", "run", "--max-tokens", "40", "--ignore-end"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  std::string generate(const Words& more, const std::string& input = "") const {
    return run_well(command(more), {.input = input});
  }

  /// Returns the continuations of lines of JSON.
  static std::vector<Json> parse_lines(const std::string& output) {
    std::vector<Json> lines;
    std::istringstream text(output);
    for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
    return lines;
  }

  std::vector<Json> generate_json(const Words& more, const std::string& input = "") const {
    Words words = more;
    words.push_back("--json");
    return parse_lines(generate(words, input));
  }
};

TEST_F(GenerateProgram, ContinuesTheSamePromptFromTheOptionAFileAndStandardInput) {
  const std::string text = generate({"--prompt", "a b\nc"});
  EXPECT_GE(text.size(), 40u);
  write("prompt", "a b\nc\n");
  write("prompt.gz", compress_gzip("a b\nc"));
  EXPECT_EQ(generate({"prompt"}), text);
  EXPECT_EQ(generate({"prompt.gz"}), text);
  EXPECT_EQ(generate({}, "a b\nc\n"), text);
  EXPECT_EQ(generate({"-"}, "a b\nc"), text);
  EXPECT_EQ(generate({}), generate({"--prompt", ""}));
}

TEST_F(GenerateProgram, PrintsThePromptAndSeparatesSamplesOnRequest) {
  const std::vector<Json> samples = generate_json({"--prompt", "a b", "--samples", "3"});
  ASSERT_EQ(samples.size(), 3u);
  std::string expected;
  for (std::size_t i = 0; i < 3; ++i) {
    std::string text = samples[i]["text"];
    EXPECT_EQ(samples[i]["prompt"], 0);
    EXPECT_EQ(samples[i]["sample"], i);
    EXPECT_EQ(samples[i]["tokens"], 40);
    EXPECT_EQ(samples[i]["finish_reason"], "length");
    if (!text.ends_with('\n')) text += '\n';
    expected += (i == 0 ? "" : "---\n") + ("a b" + text);
  }
  EXPECT_NE(samples[0]["text"], samples[1]["text"]);
  EXPECT_EQ(generate({"--prompt", "a b", "--samples", "3", "--echo"}), expected);
  EXPECT_EQ(generate_json({"--prompt", "a b", "--echo"}).front()["text"],
            "a b" + samples[0]["text"].get<std::string>());
}

TEST_F(GenerateProgram, GivesEachLineTheTextThatItGetsAloneInEachPrecision) {
  for (const std::string precision : {"fp32", "bf16", "int8"}) {
    const Words options = {"--precision", precision, "--samples", "2", "--threads", "2"};
    Words together = options;
    together.insert(together.end(), {"--lines", "--batch", "3"});
    const std::vector<Json> lines = generate_json(together, "a b\n\nc é d\na");
    ASSERT_EQ(lines.size(), 8u);
    const std::vector<std::string> prompts = {"a b", "", "c é d", "a"};
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      Words alone = options;
      alone.insert(alone.end(), {"--prompt", prompts[i]});
      const std::vector<Json> expected = generate_json(alone);
      for (std::size_t sample = 0; sample < 2; ++sample) {
        EXPECT_EQ(lines[2 * i + sample]["prompt"], i);
        EXPECT_EQ(lines[2 * i + sample]["text"], expected[sample]["text"]);
      }
    }
  }
}

TEST_F(GenerateProgram, TakesTheLikeliestTokenAtTemperature0AndDrawsBySeedOtherwise) {
  const auto text = [&](const Words& more) {
    Words words = {"--prompt", "a"};
    words.insert(words.end(), more.begin(), more.end());
    return generate(words);
  };
  EXPECT_EQ(text({"--temperature", "0", "--seed", "1"}), text({"--top-k", "1", "--seed", "2"}));
  EXPECT_EQ(text({"--temperature", "0"}), text({"--min-p", "1"}));
  EXPECT_EQ(text({"--temperature", "0"}), text({"--top-p", "0.000001"}));
  EXPECT_EQ(text({"--seed", "1"}), text({}));
  EXPECT_NE(text({"--seed", "2"}), text({}));
  EXPECT_NE(text({"--repetition-penalty", "5"}), text({}));
}

TEST_F(GenerateProgram, EndsBeforeAStopString) {
  const std::string whole = generate_json({"--prompt", "a"}).front()["text"];
  const std::string stop = whole.substr(17, 3);
  const Json stopped = generate_json({"--prompt", "a", "--stop", "#", "--stop", stop}).front();
  EXPECT_EQ(stopped["text"], whole.substr(0, whole.find(stop)));
  EXPECT_EQ(stopped["finish_reason"], "stop");
}

TEST_F(GenerateProgram, PrintsATextWhileItWritesIt) {
  const ProcessResult result = run_process(
      {"/bin/sh", "-c", "\"$0\" generate --model run --prompt a --max-tokens 1000000000 --ignore-end | head -c 300",
       EDGEWISE_PROGRAM},
      {.folder = path("").string()});
  EXPECT_EQ(result.output.size(), 300u);
  EXPECT_EQ(result.errors, "");
}

TEST_F(GenerateProgram, AnswersPromptsOfAnyLengthAndCharacters) {
  EXPECT_FALSE(generate({"--prompt", "Zażółć 🦊 \t€"}).empty());
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "a b\n";
  EXPECT_FALSE(generate({}, text).empty());
  run_well({"train", "language.toml", "--out", "learned", "--set", "model.positions=learned", "--set",
            "model.max_positions=16"});
  EXPECT_GE(run_well({"generate", "--model", "learned", "--ignore-end"}, {.input = text}).size(), 256u);
}

TEST_F(GenerateProgram, RefusesWrongOptionsAndInputs) {
  const auto error = [&](const Words& more, const std::string& text) { expect_refused(command(more), text); };
  error({"--prompt", "a", "in"}, "generate: --prompt is set and the input is \"in\", needs one of them");
  error({"--prompt", "a", "--lines"}, "generate: --prompt and --lines are set, needs one of them");
  error({"--prompt", "a", "--temperature", "-1"},
        "edgewise generate: --temperature is -1, needs a number from 0 to 1000");
  error({"--prompt", "a", "--top-p", "0"}, "edgewise generate: --top-p is 0, needs a number above 0 and at most 1");
  error({"--prompt", "a", "--min-p", "2"}, "edgewise generate: --min-p is 2, needs a number from 0 to 1");
  error({"--prompt", "a", "--samples", "0"}, "edgewise generate: --samples is 0, needs a whole number from 1 to 1000");
  error({"--prompt", "a", "--seed", "x"}, "edgewise generate: --seed is x, needs a whole number of at least 0");
  error({"--prompt", "a", "--stop", ""}, "generate: a stop string is empty, needs at least one character");
  error({"--prompt", "a\xFF"}, "generate: the prompt has a byte at 1 that is not UTF-8, needs UTF-8");
  error({"absent"}, "generate: absent: No such file or directory");
}

}  // namespace
}  // namespace edgewise
