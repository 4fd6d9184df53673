// SPDX-License-Identifier: Apache-2.0
// Compares searches with outputs of generate() in transformers, which tests/search/make_generate_fixtures wrote.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "edgewise/base/files/json_scanner.h"
#include "tests/search/table_scorer.h"

namespace edgewise {
namespace {

constexpr std::int64_t kVocabulary = 40;

/// A call of generate().
struct GenerateCall {
  std::uint64_t seed = 0;
  double spread = 0;
  double end_bias = 0;
  std::vector<Tokens> inputs;
  Tokens forced;
  Tokens prefix;
  SearchOptions options = {.rules = BeamRules::kHuggingFace};
  std::vector<std::vector<Hypothesis>> outputs;

  TableScorer scorer() const {
    return {kVocabulary, biased_table(kVocabulary, seed, spread, options.end_token, end_bias)};
  }
  SearchInput input(std::size_t i) const { return {.tokens = inputs[i], .forced = forced, .prefix = prefix}; }
};

/// Reads the values of a line of the file.
class CallReader {
 public:
  explicit CallReader(std::string_view line) : json_(line, "generate.jsonl") {
    json_.read_object("the call", [&](const std::string& key) { read(key); });
    json_.expect_end();
  }

  GenerateCall call;

 private:
  std::int64_t read_whole() { return static_cast<std::int64_t>(json_.read_whole_number("a value")); }

  Tokens read_tokens() {
    Tokens tokens;
    json_.read_array("tokens", [&] { tokens.push_back(read_whole()); });
    return tokens;
  }

  Hypothesis read_output() {
    Hypothesis output;
    json_.read_object("an output", [&](const std::string& key) {
      if (key == "tokens") {
        output.tokens = read_tokens();
      } else {
        output.score = json_.read_number(key);
      }
    });
    return output;
  }

  void read_outputs() {
    json_.read_array("outputs", [&] {
      auto& n_best = call.outputs.emplace_back();
      json_.read_array("outputs", [&] { n_best.push_back(read_output()); });
    });
  }

  StopWhen read_stop_when() {
    const std::string name = json_.read_string("stop_when");
    for (const auto& [value, known] : enum_names(StopWhen())) {
      if (known == name) return value;
    }
    json_.fail_at_value("unknown stop_when");
  }

  void read(const std::string& key) {
    SearchOptions& options = call.options;
    const std::map<std::string, std::int64_t*> whole_numbers = {{"begin", &options.begin_token},
                                                                {"end", &options.end_token},
                                                                {"beam", &options.beam},
                                                                {"n_best", &options.n_best},
                                                                {"max_length", &options.max_length},
                                                                {"min_length", &options.min_length},
                                                                {"no_repeat_ngram", &options.no_repeat_ngram}};
    const std::map<std::string, double*> numbers = {{"spread", &call.spread},
                                                    {"end_bias", &call.end_bias},
                                                    {"length_penalty", &options.length_penalty},
                                                    {"repetition_penalty", &options.repetition_penalty}};
    const std::map<std::string, bool*> flags = {{"force_end", &options.force_end},
                                                {"renormalize", &options.renormalize}};
    const std::map<std::string, Tokens*> lists = {
        {"forced", &call.forced}, {"prefix", &call.prefix}, {"never", &options.never}};
    if (whole_numbers.contains(key)) {
      *whole_numbers.at(key) = read_whole();
    } else if (numbers.contains(key)) {
      *numbers.at(key) = json_.read_number(key);
    } else if (flags.contains(key)) {
      *flags.at(key) = json_.read_boolean(key);
    } else if (lists.contains(key)) {
      *lists.at(key) = read_tokens();
    } else if (key == "seed") {
      call.seed = json_.read_whole_number(key);
    } else if (key == "inputs") {
      json_.read_array(key, [&] { call.inputs.push_back(read_tokens()); });
    } else if (key == "stop_when") {
      options.stop_when = read_stop_when();
    } else if (key == "outputs") {
      read_outputs();
    } else {
      json_.fail_at_value("unknown key " + key);
    }
  }

  JsonScanner json_;
};

/// Calls `body` with each call of the file.
template <class Body>
void visit_calls(const Body& body) {
  std::ifstream file(EDGEWISE_SEARCH_FIXTURES "/generate.jsonl");
  std::string line;
  std::getline(file, line);  // versions
  int number = 1;
  while (std::getline(file, line)) {
    SCOPED_TRACE("line " + std::to_string(++number));
    body(CallReader(line).call);
  }
  EXPECT_GT(number, 300);
}

void expect_same(const std::vector<Hypothesis>& found, const std::vector<Hypothesis>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].tokens, expected[i].tokens) << "output " << i;
    EXPECT_NEAR(found[i].score, expected[i].score, 1e-4) << "output " << i;
  }
}

TEST(HuggingFaceRules, GiveTheOutputsAndScoresOfGenerate) {
  visit_calls([](const GenerateCall& call) {
    TableScorer scorer = call.scorer();
    std::vector<SearchInput> inputs;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) inputs.push_back(call.input(i));

    const auto found = search(scorer, inputs, call.options);

    for (std::size_t i = 0; i < found.size(); ++i) expect_same(found[i], call.outputs[i]);
  });
}

}  // namespace
}  // namespace edgewise
