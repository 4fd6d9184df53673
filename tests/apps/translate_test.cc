// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/apps/program.h"

namespace edgewise {
namespace {

class TranslateProgram : public ProgramTest {
 protected:
  TranslateProgram() {
    write("tiny.toml", kTinyConfig);
    run_well({"train", "tiny.toml", "--out", "run"});
  }

  /// Runs a shell command, in which `$0` is the program.
  ProcessResult run_shell(const std::string& line) const {
    return run_process({"/bin/sh", "-c", line, EDGEWISE_PROGRAM}, {.folder = path("").string()});
  }
};

/// Removes the text before the first TAB of each line.
std::string without_scores(const std::string& output) {
  std::istringstream lines(output);
  std::string rest;
  for (std::string line; std::getline(lines, line);) rest += line.substr(line.find('\t')) + "\n";
  return rest;
}

TEST_F(TranslateProgram, KeepsOrderAndNumberOfLines) {
  const std::string output = run_well({"translate", "--model", "run"}, {.input = "a b\n\nb b a\n   \nc\n"});

  EXPECT_EQ(std::ranges::count(output, '\n'), 5);
  EXPECT_EQ(output.substr(output.find('\n'), 2), "\n\n");  // an empty line stays empty
}

TEST_F(TranslateProgram, GivesASentenceTheSameOutputAloneAndAmongOthers) {
  const std::string alone = run_well({"translate", "--model", "run", "--beam", "3"}, {.input = "a b c\n"});
  const std::string among =
      run_well({"translate", "--model", "run", "--beam", "3"}, {.input = "d\na b c\nd d d d d d d\n"});

  const std::size_t second = among.find('\n') + 1;
  EXPECT_EQ(among.substr(second, among.find('\n', second) + 1 - second), alone);
}

TEST_F(TranslateProgram, ReadsWindowsTextAsIfItWereUnixText) {
  const std::string unix_text = run_well({"translate", "--model", "run"}, {.input = "a b\nc d\n"});
  const std::string windows_text = run_well({"translate", "--model", "run"}, {.input = "\xEF\xBB\xBF"
                                                                                       "a b\r\nc d"});
  EXPECT_EQ(windows_text, unix_text);
}

TEST_F(TranslateProgram, EndsWithTheReasonIfADeviceCannotBeUsed) {
  expect_refused({"translate", "--model", "run", "--device", "gpu"},
                 "Translator: device is gpu, needs cpu, auto, cuda, or cuda: with the number of a GPU, such as cuda:0");
  const ProcessResult result = run({"translate", "--model", "run", "--device", "cuda:127"}, {.input = "a b\n"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.errors, testing::MatchesRegex("Translator: device is cuda:127, needs [^\n]*\n"));
}

TEST_F(TranslateProgram, WritesAFileWholeOrNotAtAll) {
  write("out.txt", "earlier result\n");
  write("good", "a b\n");
  write("bad", "a b\n\xFF\n");

  expect_refused({"translate", "--model", "run", "--out", "out.txt", "bad"},
                 "translate: bad:2 has a byte that is not UTF-8 at 0, needs UTF-8");
  EXPECT_EQ(read("out.txt"), "earlier result\n");
  run_well({"translate", "--model", "run", "--out", "out.txt", "good"});
  EXPECT_NE(read("out.txt"), "earlier result\n");
}

TEST_F(TranslateProgram, ReplacesInvalidUtf8OnRequest) {
  const ProcessResult result = run({"translate", "--model", "run", "--bad-text", "replace"}, {.input = "a\n\xFF b\n"});

  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.errors, "translate: standard input:2 has a byte that is not UTF-8 at 0, replaced by U+FFFD\n");
  EXPECT_EQ(std::ranges::count(result.output, '\n'), 2);
}

TEST_F(TranslateProgram, WritesTheTranslationsBeforeABadLine) {
  const ProcessResult result = run({"translate", "--model", "run"}, {.input = "a b\nc\n\xFF\n"});

  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, run_well({"translate", "--model", "run"}, {.input = "a b\nc\n"}));
}

TEST_F(TranslateProgram, GivesTheSameOutputWithAnyBatchesAndWorkers) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += std::string(i % 5, 'a') + " b c d d"[i % 7] + "\n";
  const std::vector<std::string> plain = {"translate", "--model", "run", "--beam", "2", "--scores", "--alignments"};
  const std::string expected = run_well(plain, {.input = text});
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"--workers", "3"}, {"--batch-sentences", "1"}, {"--batch-tokens", "7", "--threads", "2"}}) {
    std::vector<std::string> arguments = plain;
    arguments.insert(arguments.end(), more.begin(), more.end());
    const std::string output = run_well(arguments, {.input = text});
    EXPECT_EQ(std::ranges::count(output, '\n'), 200);
    EXPECT_EQ(output, expected);
  }
}

TEST_F(TranslateProgram, PrintsScoresAlignmentsAndSeveralOutputs) {
  const std::string output =
      run_well({"translate", "--model", "run", "--beam", "3", "--nbest", "2", "--scores", "--alignments"},
               {.input = "a\n\nb\n"});
  std::vector<std::string> numbers;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(std::ranges::count(line, '\t'), 3) << line;
    numbers.push_back(line.substr(0, line.find('\t')));
  }
  EXPECT_EQ(numbers, (std::vector<std::string>{"1", "1", "2", "3", "3"}));

  const std::string json = run_well({"translate", "--model", "run", "--json"}, {.input = "a\n"});
  EXPECT_TRUE(json.starts_with(R"({"line": 1, "input_tokens": ["a"], "outputs": [{"text": ")")) << json;
}

TEST_F(TranslateProgram, PrintsTheAttentionOfTheSelectedHead) {
  const auto attention_of_head = [&](const std::string& head) {
    const std::string json = run_well(
        {"translate", "--model", "run", "--json", "--attention", "--attention-layer", "0", "--attention-head", head},
        {.input = "a b c\n"});
    const std::size_t begin = json.find("\"attention\": [[");
    EXPECT_NE(begin, std::string::npos) << json;
    return json.substr(begin);
  };
  EXPECT_NE(attention_of_head("0"), attention_of_head("1"));
  expect_refused({"translate", "--model", "run", "--alignments", "--attention-head", "2"},
                 "RuntimeModel: attention's head is 2, needs a number from -1 to 1", {.input = "a\n"});
}

TEST_F(TranslateProgram, NamesTheInputTokenThatEachRowOfAttentionBeginsWith) {
  const auto translated = nlohmann::json::parse(run_well(
      {"translate", "--model", "run", "--json", "--attention", "--max-input", "2", "--set", "search.min_length=1"},
      {.input = "a b c d\n"}));
  const nlohmann::json& output = translated.at("outputs").at(0);
  std::set<int> begins;
  for (const nlohmann::json& row : output.at("attention")) EXPECT_EQ(row.size(), 2U);
  for (const nlohmann::json& begin : output.at("attention_begin")) begins.insert(begin.get<int>());
  EXPECT_EQ(begins, (std::set<int>{0, 2}));
  EXPECT_EQ(output.at("attention").size(), output.at("tokens").size());
  EXPECT_EQ(output.at("attention_begin").size(), output.at("tokens").size());
}

TEST_F(TranslateProgram, CutsLinesAboveTheLimit) {
  const ProcessResult result = run({"translate", "--model", "run", "--max-line", "3"}, {.input = "a\na b c d\n"});

  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.errors, "translate: standard input:2 has more than 3 bytes, the rest is left out\n");
  EXPECT_EQ(result.output, run_well({"translate", "--model", "run"}, {.input = "a\na b\n"}));
}

TEST_F(TranslateProgram, TranslatesWithSeveralModelsOfOneVocabulary) {
  const std::string alone = run_well({"translate", "--model", "run/best", "--beam", "2"}, {.input = "a b\n"});
  const std::string twice =
      run_well({"translate", "--model", "run/best", "--model", "run/best", "--beam", "2"}, {.input = "a b\n"});
  EXPECT_EQ(alone, twice);

  write("other.toml", kTinyConfig + "\n[search]\nbeam = 2\n");
  run_well({"train", "other.toml", "--out", "other", "--set", "data.symbols=3", "--set", "train.epochs=1"});
  expect_refused({"translate", "--model", "run", "--model", "other"},
                 "translate: other has another vocabulary than run, needs the same");
}

TEST_F(TranslateProgram, AcceptsAnySearchOption) {
  const std::vector<std::string> sampled = {"translate", "--model",      "run", "--set", "search.kind=sampling",
                                            "--set",     "search.seed=3"};
  EXPECT_EQ(run_well(sampled, {.input = "a b c\n"}), run_well(sampled, {.input = "a b c\n"}));
  EXPECT_EQ(run_well({"translate", "--model", "run", "--set", "search.max_length=0", "--set", "search.length_factor=0",
                      "--set", "search.length_offset=0"},
                     {.input = "a b c\n"}),
            "\n");
  expect_refused({"translate", "--model", "run", "--set", "search.beem=3"},
                 "--set search.beem=3: search.beem is unknown; did you mean search.beam?");
  expect_refused({"translate", "--model", "run", "--beam", "1", "--nbest", "2"},
                 "search: n_best is 2, needs at most the beam, which is 1");
  expect_refused({"translate", "--model", "run", "--set", "search.kind=scoring"},
                 "translate: kind is scoring, needs beam or sampling; use score-pairs");
}

TEST_F(TranslateProgram, BeginsOutputsWithThePrefixesOfAFile) {
  write("prefixes", "d d\n\n");
  const std::string output = run_well({"translate", "--model", "run", "--prefix", "prefixes"}, {.input = "a\nb\n"});
  EXPECT_TRUE(output.starts_with("d d")) << output;
  expect_refused({"translate", "--model", "run", "--prefix", "prefixes"},
                 "translate: prefixes has 2 lines, needs as many as standard input, which has more",
                 {.input = "a\nb\nc\n"});
  expect_refused({"translate", "--model", "run", "--prefix", "prefixes"},
                 "translate: standard input has 1 lines, needs as many as prefixes, which has more", {.input = "a\n"});
  expect_refused({"translate", "--model", "run", "--prefix", "prefixes"},
                 "translate: standard input has 0 lines, needs as many as prefixes, which has more", {.input = ""});
  EXPECT_EQ(run({"translate", "--model", "run", "--prefix", "prefixes", "--out", "out"}, {.input = "a\n"}).exit_code,
            2);
  EXPECT_FALSE(std::filesystem::exists(path("out")));
}

TEST_F(TranslateProgram, TranslatesLongLinesInPartsOrCutsThem) {
  std::string line;
  for (int i = 0; i < 100; ++i) line += "a b c d. ";
  const std::string split = run_well({"translate", "--model", "run", "--max-input", "8"}, {.input = line + "\nb\n"});
  const std::string cut =
      run_well({"translate", "--model", "run", "--max-input", "8", "--long-inputs", "cut"}, {.input = line + "\nb\n"});

  EXPECT_EQ(std::ranges::count(split, '\n'), 2);
  EXPECT_EQ(std::ranges::count(cut, '\n'), 2);
  EXPECT_GT(split.size(), 3 * cut.size());
}

TEST_F(TranslateProgram, AlignsALineOfTensOfThousandsOfTokensInLittleMemory) {
  std::string line;
  for (int i = 0; i < 5'000; ++i) line += "a b c d ";
  for (const char* output : {"--alignments", "--attention"}) {
    std::vector<std::string> command = {"translate", "--model", "run", "--max-input", "8", output};
    if (output == std::string("--attention")) command.emplace_back("--json");
    const ProcessResult result = run(command, {.input = line + "\n"});

    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_GT(result.output.size(), 50'000U);
    EXPECT_LT(result.peak_memory, 1'000'000'000) << output;
  }
}

TEST_F(TranslateProgram, PrintsSeveralOutputsOfALineThatIsSplitToo) {
  const std::string output =
      run_well({"translate", "--model", "run", "--beam", "3", "--nbest", "3", "--max-input", "3"},
               {.input = "a b c. d a b. c d a.\nb\n"});
  std::string numbers;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) numbers += line.substr(0, line.find('\t'));
  EXPECT_EQ(numbers, "111222");
}

TEST_F(TranslateProgram, AcceptsALineOfTenMegabytesAndNulBytes) {
  const std::string line(10'000'000, 'a');
  const std::string output = run_well({"translate", "--model", "run", "--long-inputs", "cut"},
                                      {.input = "a\n" + line + "\na" + std::string(1, '\0') + "b\nc\n"});
  EXPECT_EQ(std::ranges::count(output, '\n'), 4);
}

TEST_F(TranslateProgram, GivesTheTranslationsOfTheExample) {
  const std::string text = "a b c\n\nd\n";
  const ProcessResult example =
      run_process({EDGEWISE_EXAMPLE_TRANSLATE, "run"}, {.input = text, .folder = path("").string()});
  EXPECT_EQ(example.output, run_well({"translate", "--model", "run", "--batch-sentences", "1"}, {.input = text}));
}

TEST_F(TranslateProgram, HasAnExampleThatReportsMistakesOfTheUser) {
  const ProcessOptions options = {.folder = path("").string()};
  const ProcessResult without_model = run_process({EDGEWISE_EXAMPLE_TRANSLATE}, options);
  EXPECT_EQ(without_model.exit_code, 2);
  EXPECT_EQ(without_model.errors.find("usage: "), 0U) << without_model.errors;

  const ProcessResult wrong_model = run_process({EDGEWISE_EXAMPLE_TRANSLATE, "none"}, options);
  EXPECT_EQ(wrong_model.exit_code, 2);
  EXPECT_NE(wrong_model.errors.find("none"), std::string::npos) << wrong_model.errors;
}

TEST_F(TranslateProgram, WritesTheFirstLineBeforeItReadsTheLast) {
  // The shell writes the second input line when the first translation is in the file.
  run_shell("(echo a; until [ -s out ]; do sleep 0.01; done; echo b) | \"$0\" translate --model run > out");

  const std::string output = read("out");
  EXPECT_EQ(std::ranges::count(output, '\n'), 2);
}

TEST_F(TranslateProgram, LeavesWholeLinesWhenItIsKilled) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "a b c d a b c\n";
  write("in", text);
  run_shell(
      "\"$0\" translate --model run --beam 4 in > out & program=$!;"
      "until [ -s out ]; do sleep 0.01; done; kill -9 $program; wait $program; true");

  const std::string output = read("out");
  EXPECT_TRUE(output.ends_with('\n'));
  EXPECT_LT(std::ranges::count(output, '\n'), 200'000);
  EXPECT_GT(std::ranges::count(output, '\n'), 0);
}

TEST_F(TranslateProgram, KeepsTheOldFileUntilTheNewOneIsWhole) {
  write("out", "earlier\n");
  write("in", std::string(100'000, '\n') + "\xFF\n");
  expect_refused({"translate", "--model", "run", "--out", "out", "in"},
                 "translate: in:100001 has a byte that is not UTF-8 at 0, needs UTF-8");

  EXPECT_EQ(read("out"), "earlier\n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("")), {}), 4);  // no temporary file is left
}

TEST_F(TranslateProgram, EndsWhenTheReaderOfItsOutputEnds) {
  const ProcessResult result = run_shell("yes 'a b' | \"$0\" translate --model run | head -n 1");
  EXPECT_EQ(std::ranges::count(result.output, '\n'), 1);
  EXPECT_EQ(result.errors, "");
}

TEST_F(TranslateProgram, ScoresPairs) {
  write("in", "a b\nc\n\n");
  const std::string translated =
      run_well({"translate", "--model", "run", "--set", "search.length_norm=none", "--scores", "in"});
  std::string outputs;
  std::istringstream lines(translated);
  for (std::string line; std::getline(lines, line);) outputs += line.substr(line.find('\t') + 1) + "\n";
  write("out", outputs);

  const std::string scored = run_well({"score-pairs", "--model", "run", "in", "out"});
  EXPECT_EQ(without_scores(scored), without_scores(translated));
  EXPECT_NEAR(std::stod(scored), std::stod(translated), 1e-5);
  write("short", "a\n");
  expect_refused({"score-pairs", "--model", "run", "in", "short"},
                 "score-pairs: short has 1 lines, needs as many as in, which has more");
  expect_refused({"score-pairs", "--model", "run", "short", "in"},
                 "score-pairs: short has 1 lines, needs as many as in, which has more");
}

TEST_F(TranslateProgram, RefusesAModelThatWasAltered) {
  std::string bytes = read("run/best/model.safetensors");
  bytes[bytes.size() / 2] ^= 1;
  write("run/best/model.safetensors", bytes);

  const ProcessResult result = run({"translate", "--model", "run"}, {.input = "a\n"});

  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.errors.find("run/best/model.safetensors"), std::string::npos) << result.errors;
  EXPECT_EQ(result.output, "");
}

TEST_F(TranslateProgram, RefusesAModelThatWasCutShort) {
  std::filesystem::resize_file(path("run/best/model.safetensors"), 100);

  const ProcessResult result = run({"translate", "--model", "run"}, {.input = "a\n"});

  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.errors.find("has 100 bytes, needs "), std::string::npos) << result.errors;
}

TEST_F(TranslateProgram, InspectsRunsModelsTensorsAndConfigs) {
  EXPECT_NE(run_well({"inspect", "run"}).find("Transformer, 1 + 1 layers, size 16, 2 heads"), std::string::npos);
  EXPECT_NE(run_well({"inspect", "run/last"}).find("8 tokens (words)"), std::string::npos);
  EXPECT_NE(run_well({"inspect", "run/best/model.safetensors"}).find("F32"), std::string::npos);
  EXPECT_NE(run_well({"inspect", "tiny.toml"}).find("encoder_layers = 1"), std::string::npos);
}

}  // namespace
}  // namespace edgewise
