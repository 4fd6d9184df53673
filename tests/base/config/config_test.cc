// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/config/config.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "edgewise/base/config/fields.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/utf8.h"
#include "tests/base/support.h"
#include "tests/support/whole_files.h"

namespace edgewise {
namespace {

enum class NormPlacement { kPre, kPost, kNone };

inline constexpr auto enum_names(NormPlacement) {
  return std::array{EnumName{NormPlacement::kPre, "pre"}, EnumName{NormPlacement::kPost, "post"},
                    EnumName{NormPlacement::kNone, "without"}};
}

struct ModelOptions {
  std::int64_t heads = 8;
  NormPlacement norm = NormPlacement::kPre;
  std::optional<double> scale;
  bool bias = true;

  bool operator==(const ModelOptions&) const = default;

  template <class Self, class FieldOf>
  static void list_fields(Self& self, FieldOf&& field) {
    field("heads", self.heads, "attention heads of a layer", at_least(1));
    field("norm", self.norm, "position of the norm");
    field("scale", self.scale, "factor of the scores", above(0));
    field("bias", self.bias, "whether linear layers have a bias");
  }
};

struct DataOptions {
  std::string train;
  std::vector<std::string> extra = {"a", "b"};
  std::vector<std::int64_t> lengths = {1, 2};
  std::optional<std::string> vocabulary = "word";
  StringLists groups = {{"a"}};

  bool operator==(const DataOptions&) const = default;

  template <class Self, class FieldOf>
  static void list_fields(Self& self, FieldOf&& field) {
    field("train", self.train, "file with the training pairs");
    field("extra", self.extra, "more files with training pairs");
    field("lengths", self.lengths, "lengths of a bucket in tokens", at_least(1).at_most(100));
    field("vocabulary", self.vocabulary, "vocabulary file");
    field("groups", self.groups, "groups of languages");
  }
};

struct TrainOptions {
  int steps = 100;
  double dropout = 0.1;
  double rate = 1e-3;
  std::uint64_t seed = 1;
  std::optional<std::int64_t> every;
  DataOptions data;

  bool operator==(const TrainOptions&) const = default;

  template <class Self, class FieldOf>
  static void list_fields(Self& self, FieldOf&& field) {
    field("data", self.data, "training data");
    field("steps", self.steps, "updates of the weights", at_least(1));
    field("dropout", self.dropout, "dropout probability", at_least(0).below(1));
    field("rate", self.rate, "learning rate", above(0).at_most(10));
    field("seed", self.seed, "seed of the random numbers");
    field("every", self.every, "steps between validations", at_least(1));
  }
};

struct Options {
  std::string name = "run";
  ModelOptions model;
  TrainOptions train;

  bool operator==(const Options&) const = default;

  template <class Self, class FieldOf>
  static void list_fields(Self& self, FieldOf&& field) {
    field("name", self.name, "name of the run");
    field("model", self.model, "the model");
    field("train", self.train, "training");
  }
};

Options parse(std::string_view toml, std::vector<std::string> overrides = {}) {
  return parse_config<Options>(toml, "config.toml", overrides);
}

std::string error_of_config(std::string_view toml, std::vector<std::string> overrides = {}) {
  return error_of([&] { parse(toml, std::move(overrides)); });
}

TEST(Config, KeepsTheDefaultsOfAbsentKeys) { EXPECT_EQ(parse(""), Options()); }

TEST(Config, ReadsEveryTypeOfField) {
  const Options options = parse(R"(
name = "äöü"
[model]
heads = 4
norm = "post"
scale = 2
bias = false
[train]
steps = 7
dropout = 0.25
seed = 9
every = 3
data.train = "x.tsv"
data.extra = []
data.lengths = [5, 100]
data.vocabulary = "none"
)");

  Options expected;
  expected.name = "äöü";
  expected.model = {.heads = 4, .norm = NormPlacement::kPost, .scale = 2.0, .bias = false};
  expected.train.steps = 7;
  expected.train.dropout = 0.25;
  expected.train.seed = 9;
  expected.train.every = 3;
  expected.train.data = {.train = "x.tsv", .extra = {}, .lengths = {5, 100}, .vocabulary = std::nullopt};
  EXPECT_EQ(options, expected);
}

struct BadConfig {
  const char* toml;
  const char* error;
};

TEST(Config, ReportsEachErrorWithItsPosition) {
  const BadConfig rows[] = {
      {"[train]\n  step = 5", "config.toml:2:3: train.step is unknown; did you mean train.steps?"},
      {"[trian]\nsteps = 5", "config.toml:1:2: trian is unknown; did you mean train?"},
      {"steps = 5", "config.toml:1:1: steps is unknown; did you mean train.steps?"},
      {"[train.data]\ntest = 5",
       "config.toml:2:1: train.data.test is unknown; known are train.data.train, train.data.extra, "
       "train.data.lengths, train.data.vocabulary, train.data.groups"},
      {"\"a\\nb c\" = 1", "config.toml:1:1: \"a\\nb c\" is unknown; known are name, model, train"},
      {"train.zzz = 1\nmodel.zzz = 1",
       "config.toml:1:7: train.zzz is unknown; known are train.data, train.steps, train.dropout, train.rate, "
       "train.seed, train.every"},
      {"[model]\nheads = \"four\"", "config.toml:2:1: model.heads is \"four\", needs a whole number of at least 1"},
      {"model.heads = 4.0", "config.toml:1:7: model.heads is 4.0, needs a whole number of at least 1"},
      {"model.heads = 0", "config.toml:1:7: model.heads is 0, needs a whole number of at least 1"},
      {"model.heads = true", "config.toml:1:7: model.heads is true, needs a whole number of at least 1"},
      {"model.heads = 1979-05-27",
       "config.toml:1:7: model.heads is a date or time, needs a whole number of at least 1"},
      {"model.heads.x = 1", "config.toml:1:7: model.heads is a section, needs a whole number of at least 1"},
      {"model = 5", "config.toml:1:1: model is 5, needs a section"},
      {"[[model]]\nheads = 1", "config.toml:1:3: model is [a section], needs a section"},
      {"model.norm = \"mid\"", "config.toml:1:7: model.norm is \"mid\", needs \"pre\", \"post\" or \"without\""},
      {"model.norm = 1", "config.toml:1:7: model.norm is 1, needs \"pre\", \"post\" or \"without\""},
      {"model.scale = -1.5", "config.toml:1:7: model.scale is -1.5, needs a number above 0 or \"none\""},
      {"model.bias = 1", "config.toml:1:7: model.bias is 1, needs true or false"},
      {"name = 5", "config.toml:1:1: name is 5, needs a string"},
      {"train.steps = 3000000000", "config.toml:1:7: train.steps is 3000000000, needs a whole number of at least 1"},
      {"train.dropout = 1.5", "config.toml:1:7: train.dropout is 1.5, needs a number from 0 to below 1"},
      {"train.dropout = 1", "config.toml:1:7: train.dropout is 1, needs a number from 0 to below 1"},
      {"train.dropout = nan", "config.toml:1:7: train.dropout is nan, needs a number from 0 to below 1"},
      {"train.rate = 0", "config.toml:1:7: train.rate is 0, needs a number above 0 and at most 10"},
      {"train.rate = inf", "config.toml:1:7: train.rate is inf, needs a number above 0 and at most 10"},
      {"train.seed = -1", "config.toml:1:7: train.seed is -1, needs a whole number of at least 0"},
      {"train.seed = \"18446744073709551616\"",
       "config.toml:1:7: train.seed is \"18446744073709551616\", needs a whole number of at least 0"},
      {"train.every = 0", "config.toml:1:7: train.every is 0, needs a whole number of at least 1 or \"none\""},
      {"train.data.extra = [\"a\", 1]", "config.toml:1:12: train.data.extra is [\"a\", 1], needs a list of strings"},
      {"train.data.lengths = [1, 101]",
       "config.toml:1:12: train.data.lengths is [1, 101], needs a list of whole numbers, each from 1 to 100"},
      {"train.data.vocabulary = 1", "config.toml:1:12: train.data.vocabulary is 1, needs a string or \"none\""},
      {"[model]\nheads = 1\nheads = 2",
       "config.toml:3:9: the text is not TOML: cannot redefine existing integer 'heads'"},
      {"[model]\nheads = ", "config.toml:2:9: the text is not TOML: encountered end-of-file"},
      {"name = \"abc", "config.toml:1:12: the text is not TOML: encountered end-of-file"},
      {"[=a]",
       "config.toml:1:2: the text is not TOML: expected bare key starting character or string delimiter, saw '='"},
      {"\uFEEF = 3",
       "config.toml:1:1: the text is not TOML: expected keys, tables, whitespace or comments, saw '\uFEEF'"},
      {"name = \"é\"\n a = \"\xFF\"", "config.toml:2:7: the text is not UTF-8, needs to be"},
  };
  for (const auto& row : rows) EXPECT_EQ(error_of_config(row.toml), row.error) << row.toml;
}

TEST(Config, ReportsTheFirstErrorOfTheFile) {
  EXPECT_EQ(error_of_config("train.steps = 0\nmodel.heads = 0"),
            "config.toml:1:7: train.steps is 0, needs a whole number of at least 1");
}

TEST(Config, SurvivesDeepNesting) {
  const std::string deep = "name = " + std::string(100'000, '[');
  EXPECT_EQ(error_of_config(deep).substr(0, 15), "config.toml:1:2") << error_of_config(deep);
}

TEST(Config, QuotesTheBeginningOfALongValue) {
  const std::string error = error_of_config("name = [" + std::string(1000, ' ') + "1" + [] {
    std::string more;
    for (int i = 0; i < 1000; ++i) more += ", 1";
    return more;
  }() + "]");
  EXPECT_LT(error.size(), 150u);
  EXPECT_NE(error.find("…], needs a string"), std::string::npos) << error;
}

TEST(Override, ReplacesTheFilesValueAndEarlierOverrides) {
  EXPECT_EQ(parse("train.steps = 5", {"train.steps=6", "train.steps=7"}).train.steps, 7);
}

TEST(Override, ReadsItsValueAsToml) {
  const Options options = parse("", {"model.heads=4", "model.norm=\"post\"", "train.data.extra=[\"x\", 'y']",
                                     "train.rate=1e-2", "model={bias = false}", "model.scale=none"});
  EXPECT_EQ(options.model.heads, 4);
  EXPECT_EQ(options.model.norm, NormPlacement::kPost);
  EXPECT_EQ(options.train.data.extra, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(options.train.rate, 0.01);
  EXPECT_FALSE(options.model.bias);
  EXPECT_EQ(options.model.scale, std::nullopt);
}

TEST(Override, ReadsAStringAListOrAListOfListsAsListsOfStrings) {
  const auto groups_of = [](const std::string& value) {
    return parse("", {"train.data.groups=" + value}).train.data.groups;
  };
  EXPECT_EQ(groups_of("de"), (StringLists{{"de"}}));
  EXPECT_EQ(groups_of("de en"), (StringLists{{"de en"}}));
  EXPECT_EQ(groups_of("\"de\""), (StringLists{{"de"}}));
  EXPECT_EQ(groups_of("['de', 'en']"), (StringLists{{"de", "en"}}));
  EXPECT_EQ(groups_of("[['de', 'en'], ['fr']]"), (StringLists{{"de", "en"}, {"fr"}}));
  EXPECT_EQ(groups_of("[]"), StringLists());
  EXPECT_EQ(groups_of("[[]]"), StringLists(1));
  for (std::string value : {"1", "['de', ['en']]", "[['de'], 'en']", "[[['de']]]", "[1]"}) {
    const std::string error = error_of_config("", {"train.data.groups=" + value});
    const std::string position = "--set train.data.groups=" + value;
    std::ranges::replace(value, '\'', '"');
    EXPECT_EQ(error, position + ": train.data.groups is " + value +
                         ", needs a string, a list of strings or a list of such lists");
  }
}

TEST(Override, ReadsTextWithoutQuotesAsAString) {
  EXPECT_EQ(parse("", {"train.data.train=data/a=b, #1.tsv"}).train.data.train, "data/a=b, #1.tsv");
  EXPECT_EQ(parse("", {"name=2016-01-01"}).name, "2016-01-01");
  EXPECT_EQ(parse("", {"name=true"}).name, "true");
  EXPECT_EQ(parse("", {"name=[x"}).name, "[x");
  EXPECT_EQ(parse("", {"name="}).name, "");
  EXPECT_EQ(parse("", {"model.norm=post"}).model.norm, NormPlacement::kPost);
  EXPECT_EQ(parse("", {"train.data.vocabulary=none"}).train.data.vocabulary, std::nullopt);
}

TEST(Override, IsNamedInErrors) {
  const std::pair<const char*, const char*> rows[] = {
      {"train.step=5", "--set train.step=5: train.step is unknown; did you mean train.steps?"},
      {"trian.steps=5", "--set trian.steps=5: trian.steps is unknown; did you mean train.steps?"},
      {"steps=5", "--set steps=5: steps is unknown; did you mean train.steps?"},
      {"train.dropout=1.5", "--set train.dropout=1.5: train.dropout is 1.5, needs a number from 0 to below 1"},
      {"train.steps=five", "--set train.steps=five: train.steps is \"five\", needs a whole number of at least 1"},
      {"train.steps=", "--set train.steps=: train.steps is \"\", needs a whole number of at least 1"},
      {"train.steps=1\nname='x'",
       "--set train.steps=1\\nname='x': train.steps is \"1\\nname='x'\", needs a whole number of at least 1"},
      {"train.steps", "--set train.steps: no value is given, needs section.key=value"},
      {"=5", "--set =5: no value is given, needs section.key=value"},
      {"train=5", "--set train=5: train is 5, needs a section"},
      {"train={step=5}", "--set train={step=5}: train.step is unknown; did you mean train.steps?"},
      {"train.steps.x=5", "--set train.steps.x=5: train.steps is no section, needs a whole number of at least 1"},
      {"train..steps=5",
       "--set train..steps=5: train..steps is unknown; known are train.data, train.steps, train.dropout, train.rate, "
       "train.seed, train.every"},
      {"train.data.extra=[1",
       "--set train.data.extra=[1: the value is \"[1\", needs valid TOML; is a quote or bracket not closed?"},
      {"name=\"x", "--set name=\"x: the value is \"\\\"x\", needs valid TOML; is a quote or bracket not closed?"},
  };
  for (const auto& [text, error] : rows) EXPECT_EQ(error_of_config("", {text}), error);
}

TEST(ReadConfig, ReadsAFileAndNamesIt) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a.toml", "[model]\nheads = 3\n");
  write_file_atomically(folder / "b.toml", "[model]\nhaeds = 3\n");
  const std::string prefix = folder.path().string();

  EXPECT_EQ(read_config<Options>(folder / "a.toml").model.heads, 3);
  EXPECT_EQ(error_of([&] { read_config<Options>(folder / "b.toml"); }),
            prefix + "/b.toml:2:1: model.haeds is unknown; did you mean model.heads?");
  EXPECT_EQ(error_of([&] { read_config<Options>(folder / "c.toml"); }),
            "read_config: " + prefix + "/c.toml: No such file or directory");
}

TEST(ToToml, WritesEveryFieldWithSectionsLast) {
  EXPECT_EQ(to_toml(TrainOptions()),
            "steps = 100\n"
            "dropout = 0.1\n"
            "rate = 0.001\n"
            "seed = 1\n"
            "every = \"none\"\n"
            "\n"
            "[data]\n"
            "train = \"\"\n"
            "extra = [\"a\", \"b\"]\n"
            "lengths = [1, 2]\n"
            "vocabulary = \"word\"\n"
            "groups = \"a\"\n");
}

TEST(ToToml, WritesHelpAsComments) {
  const std::string toml = to_toml(Options(), TomlComments::kHelp);

  EXPECT_NE(toml.find("\n# the model\n"
                      "[model]\n"
                      "# attention heads of a layer; a whole number of at least 1\n"
                      "heads = 8\n"
                      "# position of the norm; \"pre\", \"post\" or \"without\"\n"
                      "norm = \"pre\"\n"),
            std::string::npos)
      << toml;
  EXPECT_NE(toml.find("\n[train.data]\n"), std::string::npos) << toml;
  EXPECT_EQ(parse(toml), Options());
}

TEST(ToToml, RejectsTextThatTomlCannotHold) {
  Options options;
  options.name = "a\xFF";
  EXPECT_EQ(error_of([&] { to_toml(options); }), "to_toml: name is \"a\\xff\", needs UTF-8");
  options = {};
  options.train.data.vocabulary = "none";
  EXPECT_EQ(error_of([&] { to_toml(options); }),
            "to_toml: train.data.vocabulary is \"none\", needs another text; that one means unset");
}

rc::Gen<std::string> any_text() {
  return rc::gen::map(rc::gen::container<std::vector<std::uint32_t>>(rc::gen::weightedOneOf<std::uint32_t>(
                          {{3, rc::gen::inRange<std::uint32_t>(0, 0x80)},
                           {1, rc::gen::element<std::uint32_t>('"', '\\', 0x7F, 0x85, 0x2028, 0xFEFF, 0x1F600)}})),
                      [](const std::vector<std::uint32_t>& code_points) {
                        std::string text;
                        for (const auto code_point : code_points) append_utf8(text, code_point);
                        return text;
                      });
}

// Draws bit patterns, so that all exponents occur.
double any_number_above(double low, double high) {
  const auto bits = *rc::gen::arbitrary<std::uint64_t>();
  const auto number = std::bit_cast<double>(bits);
  return number > low && number < high ? number : (low + high) / 3;
}

RC_GTEST_PROP(ToToml, WritesTextThatParsesToEqualOptions, ()) {
  Options options;
  options.name = *any_text();
  options.model.heads = *rc::gen::inRange<std::int64_t>(1, std::numeric_limits<std::int64_t>::max());
  options.model.norm = *rc::gen::element(NormPlacement::kPre, NormPlacement::kPost, NormPlacement::kNone);
  options.model.bias = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) {
    options.model.scale = any_number_above(0, std::numeric_limits<double>::max());
  }
  options.train.dropout = any_number_above(0, 1);
  options.train.rate = any_number_above(0, 10);
  options.train.seed =
      *rc::gen::oneOf(rc::gen::arbitrary<std::uint64_t>(), rc::gen::just(std::numeric_limits<std::uint64_t>::max()));
  options.train.data.extra = *rc::gen::container<std::vector<std::string>>(any_text());
  options.train.data.lengths = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(1, 101));
  options.train.data.vocabulary.reset();
  options.train.data.groups =
      *rc::gen::resize(9, rc::gen::container<StringLists>(rc::gen::container<std::vector<std::string>>(any_text())));

  RC_ASSERT(parse(to_toml(options)) == options);
  RC_ASSERT(parse(to_toml(options, TomlComments::kHelp)) == options);
}

TEST(ToToml, WritesTheHelpOfEachField) {
  EXPECT_EQ(to_toml(ModelOptions(), TomlComments::kHelp),
            "# attention heads of a layer; a whole number of at least 1\n"
            "heads = 8\n"
            "# position of the norm; \"pre\", \"post\" or \"without\"\n"
            "norm = \"pre\"\n"
            "# factor of the scores; a number above 0 or \"none\"\n"
            "scale = \"none\"\n"
            "# whether linear layers have a bias; true or false\n"
            "bias = true\n");
}

TEST(Range, DescribesItsNumbers) {
  EXPECT_EQ(Range().text(), "");
  EXPECT_EQ(at_least(1).text(), " of at least 1");
  EXPECT_EQ(above(0).text(), " above 0");
  EXPECT_EQ(at_most(2.5).text(), " of at most 2.5");
  EXPECT_EQ(below(1e-9).text(), " below 1e-09");
  EXPECT_EQ(at_least(0).at_most(1).text(), " from 0 to 1");
  EXPECT_EQ(at_least(0).below(1).text(), " from 0 to below 1");
  EXPECT_EQ(above(0).at_most(1).text(), " above 0 and at most 1");
  EXPECT_EQ(above(0).below(1).text(), " above 0 and below 1");
}

TEST(Config, CutsAndEscapesTheTextOfTheFile) {
  const std::string megabyte(1 << 20, 'k');
  const std::string cut = "\"" + std::string(60, 'k') + "…\" (1048576 bytes)";
  EXPECT_EQ(error_of_config(megabyte + " = 1"),
            "config.toml:1:1: " + cut + " is unknown; known are name, model, train");
  EXPECT_EQ(error_of_config("[model]\n" + megabyte + " = 1").substr(0, 70),
            "config.toml:2:1: \"model." + std::string(46, 'k'));
  EXPECT_EQ(error_of_config("model.norm = \"" + megabyte + "\""),
            "config.toml:1:7: model.norm is " + cut + ", needs \"pre\", \"post\" or \"without\"");
  for (const std::string& toml : {megabyte + " = 1\n" + megabyte + " = 1", "[steps." + megabyte + "]",
                                  "name = " + megabyte, "name = '" + megabyte}) {
    EXPECT_LT(error_of_config(toml).size(), 400u) << toml.substr(0, 20);
  }
  EXPECT_EQ(error_of_config("\"\\u001B[31m\" = 1"),
            "config.toml:1:1: \"\\u001b[31m\" is unknown; known are name, model, train");
}

TEST(Override, IsCutInErrors) {
  const std::string megabyte(1 << 20, 'k');
  for (const std::string& text : {megabyte, megabyte + "=1", "name." + megabyte + "=1", "train.steps=" + megabyte,
                                  "train.stps" + megabyte + "=1", "train.rate=[" + megabyte}) {
    EXPECT_LT(error_of_config("", {text}).size(), 400u) << text.substr(0, 20);
  }
}

TEST(Config, TakesMinusZeroAsZero) {
  EXPECT_FALSE(std::signbit(parse("train.dropout = -0.0").train.dropout));
  EXPECT_EQ(parse("", {"train.seed=-0"}).train.seed, 0u);
}

TEST(Config, RefusesNumbersThatAreNotFiniteOrDoNotFitTheType) {
  for (const char* value : {"inf", "-inf", "nan", "1e400", "true", "\"\"", "\"1.5\""}) {
    EXPECT_NE(error_of_config(std::string("model.scale = ") + value), "no error") << value;
  }
  for (const char* value : {"", "１２", "1 2", "0x", "1_", "18446744073709551616", "-1", "+", "\"0x10\"", "\" 1\""}) {
    EXPECT_NE(error_of_config("", {std::string("train.seed=") + value}), "no error") << value;
  }
  EXPECT_EQ(
      error_of_config("", {"model.heads=99999999999999999999"}),
      "--set model.heads=99999999999999999999: model.heads is \"99999999999999999999\", needs a whole number of at "
      "least 1");
}

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
  const auto parse_whole = [](std::string_view text) {
    std::int64_t number = -7;
    return parse_number(text, at_least(0).at_most(1000), number) ? number : -1;
  };
  EXPECT_EQ(parse_whole("0"), 0);
  EXPECT_EQ(parse_whole("010"), 10);
  EXPECT_EQ(parse_whole("1000"), 1000);
  for (const char* text : {"", "-1", "1001", "+1", " 1", "1 ", "0x1", "1e2", "1.0", "１", "true", "inf", "nan",
                           "9223372036854775807", "9223372036854775808", "99999999999999999999"}) {
    EXPECT_EQ(parse_whole(text), -1) << text;
  }
  double real = 7;
  EXPECT_TRUE(parse_number("-0", at_least(0), real));
  EXPECT_FALSE(std::signbit(real));
  for (const char* text : {"inf", "nan", "1e400", "-1e-5", "1,5", "0x1p3", "1f"}) {
    EXPECT_FALSE(parse_number(text, at_least(0), real)) << text;
  }
}

TEST(Range, ContainsNoInfinityUnlessItSaysSo) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(Range().contains(kInfinity));
  EXPECT_FALSE(above(0).contains(kInfinity));
  EXPECT_FALSE(at_most(0).contains(-kInfinity));
  EXPECT_TRUE(any_number().contains(kInfinity));
  EXPECT_TRUE(any_number().contains(-kInfinity));
  EXPECT_FALSE(any_number().contains(std::nan("")));
}

TEST(Range, KeepsTheInfinityOfTheSideWithoutAnEnd) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const Range& range : {any_number().at_least(0), any_number().above(0), at_least(0).or_infinite()}) {
    EXPECT_TRUE(range.contains(kInfinity));
    EXPECT_FALSE(range.contains(-kInfinity));
    EXPECT_FALSE(range.contains(-1));
  }
  EXPECT_TRUE(any_number().at_most(0).contains(-kInfinity));
  EXPECT_TRUE(any_number().below(0).contains(-kInfinity));
  EXPECT_FALSE(any_number().at_least(0).at_most(1).contains(kInfinity));
}

TEST(Range, ReturnsItsOutermostNumbers) {
  EXPECT_EQ(at_least(1).at_most(8).smallest(), 1);
  EXPECT_EQ(at_least(1).at_most(8).largest(), 8);
  EXPECT_EQ(above(0).below(1).smallest(), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(above(0).below(1).largest(), std::nextafter(1.0, 0.0));
  EXPECT_EQ(Range().smallest(), std::nullopt);
  EXPECT_EQ(Range().largest(), std::nullopt);
}

TEST(CheckRanges, NamesTheFirstNumberOutOfItsRange) {
  Options options;
  EXPECT_EQ(error_of([&] { check_ranges(options, "run"); }), "no error");
  options.train.data.lengths = {1, 101};
  EXPECT_EQ(error_of([&] { check_ranges(options, "run"); }),
            "run: train.data.lengths is [1, 101], needs a list of whole numbers, each from 1 to 100");
  options.model.scale = std::numeric_limits<double>::infinity();
  EXPECT_EQ(error_of([&] { check_ranges(options, "run"); }),
            "run: model.scale is inf, needs a number above 0 or \"none\"");
}

TEST(Range, ContainsItsInclusiveEndsOnly) {
  EXPECT_TRUE(at_least(0).at_most(1).contains(0));
  EXPECT_TRUE(at_least(0).at_most(1).contains(1));
  EXPECT_FALSE(above(0).below(1).contains(0));
  EXPECT_FALSE(above(0).below(1).contains(1));
  EXPECT_FALSE(at_least(0).contains(-1));
  EXPECT_FALSE(Range().contains(std::numeric_limits<double>::quiet_NaN()));
}

TEST(EnumName, ReturnsTheListedName) {
  EXPECT_EQ(enum_name(NormPlacement::kPost), "post");
  EXPECT_EQ(find_enum<NormPlacement>("post"), NormPlacement::kPost);
  EXPECT_EQ(find_enum<NormPlacement>("Post"), std::nullopt);
  EXPECT_EQ(error_of([] { enum_name(static_cast<NormPlacement>(7)); }),
            "enum_name: value is 7, needs one that enum_names lists");
}

}  // namespace
}  // namespace edgewise
