// SPDX-License-Identifier: Apache-2.0
// Standard streams that are full, closed or read by nobody.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <functional>
#include <map>
#include <set>

#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/files/file_system.h"
#include "tests/apps/program.h"
#include "tests/train/same_run.h"

namespace edgewise {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using Words = std::vector<std::string>;

constexpr const char* kLost = ": standard output: No space left on device; the output is not complete\n";

std::string join(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

class StreamsProgram : public ProgramTest {
 protected:
  StreamsProgram() {
    write("tiny.toml", kTinyConfig);
    write("in", "a b\nc\n");
  }

  /// Runs a shell command, in which `$0` is the program and `$@` are the arguments.
  ProcessResult run_shell(const std::string& line, const Words& arguments = {}) const {
    return run_process(Words{"/bin/sh", "-c", line, EDGEWISE_PROGRAM} + arguments, {.folder = path("").string()});
  }

  /// Returns all commands that have no subcommands, as the help texts list them.
  const std::vector<Words>& list_commands() const {
    static const std::vector<Words> commands = find_commands({});
    return commands;
  }

  std::vector<Words> find_commands(const Words& command) const {
    std::istringstream help(run_well(command + Words{"--help"}));
    std::vector<Words> commands;
    bool is_list = false;
    for (std::string line; std::getline(help, line);) {
      if (is_list && line.starts_with("  ") && line[2] != ' ') {
        const std::string name = line.substr(2, line.find(' ', 2) - 2);
        for (const Words& found : find_commands(command + Words{name})) commands.push_back(found);
      }
      is_list = line == "Subcommands:" || (is_list && line.starts_with("  "));
    }
    return commands.empty() ? std::vector<Words>{command} : commands;
  }

  /// Makes what the arguments below need.
  void make_models() const {
    run_well({"train", "tiny.toml", "--out", "run"});
    run_well({"train", "tiny.toml", "--out", "teacher", "--set", "search.min_length=1"});  // no empty outputs
    run_well({"train", "tiny.toml", "--out", "universal", "--set", "model.kind=universal"});
    run_well(
        {"train", "tiny.toml", "--out", "exits", "--set", "model.decoder_layers=2", "--set", "model.exits.layers=[1]"});
    write("language.toml", kTinyLanguageConfig);
    write("student.toml",
          "[batch]\ntokens = 60\n[model]\nencoder_layers = 1\ndecoder_layers = 1\nsize = 8\nheads = 2\n"
          "feed_forward = 8\n[train]\nepochs = 0\nsteps = 1\nwarmup = 1\n");
    write("distil.toml", "teachers = [\"teacher\"]\ninputs = [\"in\"]\nstudent = \"student.toml\"\n");
    run_well({"train", "language.toml", "--out", "language"});
    run_well({"export", "run", "--format", "ctranslate2", "--out", "foreign"});
  }

  /// Returns arguments with which each command succeeds. A new command needs a line here.
  static const std::map<std::string, Words>& arguments() {
    static const std::map<std::string, Words> all = {
        {"train", {"tiny.toml", "--out", "new"}},
        {"distil", {"distil.toml", "--out", "students"}},
        {"translate", {"--model", "run", "in"}},
        {"vocab", {"tiny.toml", "--out", "vocabulary"}},
        {"average", {"run", "--out", "mean"}},
        {"quantise", {"run", "--out", "small", "--overwrite"}},
        {"shortlist", {"run", "in", "in", "--out", "listed", "--overwrite"}},
        {"calibrate", {"exits", "in", "in", "--out", "calibrated", "--loss", "99", "--risk", "0.5", "--overwrite"}},
        {"export", {"run", "--format", "ctranslate2", "--out", "exported"}},
        {"import", {"foreign", "--out", "imported"}},
        {"compare", {"run", "-o", "page.html"}},
        {"score", {"--reference", "in", "in"}},
        {"serve", {"--print-config"}},
        {"score-pairs", {"--model", "run", "in", "in"}},
        {"perplexity", {"--model", "language", "in"}},
        {"generate", {"--model", "language", "in"}},
        {"inspect", {"run"}},
        {"doctor", {"--json"}},
        {"picture attention", {"--model", "run", "--input", "a b", "-o", "page.html"}},
        {"picture report", {"run", "--input", "in", "-o", "page.html"}},
        {"picture graph complete", {"-o", "page.svg"}},
        {"picture graph causal", {"-o", "page.svg"}},
        {"picture graph window", {"-o", "page.svg"}},
        {"picture graph strided", {"-o", "page.svg"}},
        {"picture graph block", {"-o", "page.svg"}},
        {"picture graph random", {"-o", "page.svg"}},
        {"picture graph pattern", {"window 4", "-o", "page.svg"}},
        {"picture graph pairs", {"-o", "page.svg"}},
        {"picture graph beam", {"--model", "run", "--input", "a b", "-o", "page.svg"}},
        {"picture training", {"run", "-o", "page.html"}},
        {"picture halting", {"--model", "universal", "--input", "in", "-o", "page.html"}},
        {"picture positions", {"-o", "page.html"}},
        {"bench train", {"--input", "in", "--output", "in", "--steps", "1", "--warmup", "1"}},
        {"bench attention", {"--case", "small", "--repetitions", "1"}},
        {"bench message",
         {"--case", "sentences", "--heads", "1", "--head-size", "8", "--repetitions", "1", "--way", "built-in"}},
        {"bench decode", {"--input", "in", "--sentences", "1", "--min-seconds", "0"}},
        {"bench generate", {"--size", "tiny", "--prompt", "3", "--tokens", "2", "--repetitions", "1"}}};
    return all;
  }

  /// Calls `test` with each command and its arguments, and removes what the command wrote.
  void for_each_command(const std::function<void(const std::string& name, const Words& command)>& test) const {
    for (const Words& command : list_commands()) {
      const std::string name = join(command);
      SCOPED_TRACE(name);
      const auto found = arguments().find(name);
      ASSERT_NE(found, arguments().end()) << "this test has no arguments for the command";
      test(name, command + found->second);
      remove_results();
    }
  }

  void remove_results() const {
    for (const char* file :
         {"new", "vocabulary", "mean", "exported", "imported", "students", "page.html", "page.svg"}) {
      std::filesystem::remove_all(path(file));
    }
  }

  /// Returns whether the command of a name writes its result to files.
  static bool writes_files(const std::string& name) {
    static const std::set<std::string> writers = {"train",    "vocab",     "average", "export",   "import",
                                                  "quantise", "shortlist", "distil",  "calibrate"};
    return writers.contains(name) || name.starts_with("picture ");
  }
};

TEST_F(StreamsProgram, EachHelpTextThatDoesNotFitIsAFailure) {
  std::vector<Words> requests = {{"--help"}, {"--version"}, {"bench", "--help"}, {"picture", "graph", "--help"}};
  for (const Words& command : list_commands()) requests.push_back(command + Words{"--help"});
  for (const Words& request : requests) {
    const ProcessResult result = run_shell("\"$0\" \"$@\" >/dev/full", request);
    const Words command(request.begin(), request.end() - 1);
    EXPECT_EQ(result.exit_code, 2) << join(request);
    EXPECT_EQ(result.errors, join(Words{"edgewise"} + command) + kLost);
  }
  const std::string translate = EDGEWISE_TRANSLATE;
  for (const char* request : {" --help", " --version"}) {
    const ProcessResult result = run_shell(translate + request + " >/dev/full");
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.errors, std::string("edgewise-translate") + kLost);
  }
}

TEST_F(StreamsProgram, EachOutputThatDoesNotFitIsAFailureAndFilesAreWritten) {
  make_models();
  for_each_command([&](const std::string& name, const Words& command) {
    const ProcessResult well = run(command);
    ASSERT_EQ(well.exit_code, 0) << well.errors;
    const std::set<std::string> files = names_in(path(""));
    remove_results();

    const ProcessResult full = run_shell("\"$0\" \"$@\" >/dev/full", command);

    EXPECT_EQ(full.exit_code, well.output.empty() ? 0 : 2) << full.errors;
    EXPECT_EQ(full.errors.ends_with(name + kLost), !well.output.empty()) << full.errors;
    EXPECT_EQ(names_in(path("")), files);
  });
}

TEST_F(StreamsProgram, EachCommandThatWritesFilesSucceedsWithClosedStreams) {
  make_models();
  for_each_command([&](const std::string& name, const Words& command) {
    const std::size_t num_files = names_in(path("")).size();

    EXPECT_EQ(run_shell("\"$0\" \"$@\" <&- >&- 2>&-", command).exit_code, writes_files(name) ? 0 : 2);

    EXPECT_EQ(names_in(path("")).size() > num_files, writes_files(name) || name == "compare");
    for (const char* directory : {"new/last", "mean"}) {  // no file has what was meant for a stream
      if (std::filesystem::exists(path(directory))) run_well({"inspect", directory});
    }
  });
}

TEST_F(StreamsProgram, ReadingAClosedStandardInputIsAFailure) {
  make_models();
  const ProcessResult result = run_shell("\"$0\" translate --model run <&-");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors, "translate: standard input: Bad file descriptor\n");
  EXPECT_EQ(run_shell("\"$0\" translate --model run --out out.txt <&- >&- 2>&-").exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(path("out.txt")));
  EXPECT_EQ(run_shell("\"$0\" translate --model run --out out.txt in <&- >&- 2>&-").exit_code, 0);
  EXPECT_EQ(read("out.txt"), run_well({"translate", "--model", "run", "in"}));
}

TEST_F(StreamsProgram, EachCommandSucceedsOrNamesTheReasonIfTheSystemStartsNoThread) {
  make_models();
  const auto run_alone = [&](Words command) {
    const ProcessResult result = run_process(Words{EDGEWISE_WITHOUT_THREADS, EDGEWISE_PROGRAM} + std::move(command),
                                             {.folder = path("").string()});
    if (result.exit_code == 77) return;  // this system has no seccomp filters
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 2) << result.exit_code << result.errors;
    if (result.exit_code == 2) {
      EXPECT_THAT(result.errors, HasSubstr("thread"));
      EXPECT_THAT(result.errors, HasSubstr("ulimit -u"));
      EXPECT_EQ(std::ranges::count(result.errors, '\n'), 1) << result.errors;
    }
  };
  for_each_command([&](const std::string& name, const Words& command) {
    run_alone(command);
    if (name.starts_with("picture ") && name != "picture report") {
      Words pixels = command;
      pixels.back() = "page.png";
      run_alone(pixels);
      std::filesystem::remove(path("page.png"));
    }
  });
  write("words.tsv", "one two\ttwo one\nthree\tthree\n");
  run_alone({"vocab", "--set", R"(data.train=["words.tsv"])", "--set", "vocabulary.kind=sentencepiece", "--set",
             "vocabulary.size=20", "--out", "vocabulary"});
}

// Opens number 4 as the end of a pipe without a reader.
const std::string kOpenPipeWithoutAReader = "mkfifo gone; exec 3<>gone 4>gone 3<&-; rm gone; ";
const std::string kRunWithoutAReader = kOpenPipeWithoutAReader + "\"$0\" \"$@\" >&4 4>&-; echo $? >code";

TEST_F(StreamsProgram, EachFilterEndsQuietlyBySigpipeWithoutAReader) {
  make_models();
  for_each_command([&](const std::string& name, const Words& command) {
    const ProcessResult result = run_shell(kRunWithoutAReader, command);
    EXPECT_EQ(result.errors.find("warning: the files leave out") != std::string::npos, name == "export");
    EXPECT_EQ(std::ranges::count(result.errors, '\n'), name == "export" ? 1 : 0) << result.errors;
    EXPECT_EQ(read("code"), writes_files(name) ? "0\n" : "141\n");
  });
  EXPECT_EQ(run_shell(kRunWithoutAReader, {"--help"}).errors, "");
  EXPECT_EQ(read("code"), "141\n");
}

TEST_F(StreamsProgram, AFilterThatWasStartedToIgnoreSigpipeReportsTheError) {
  const ProcessResult result = run_shell("trap '' PIPE; " + kRunWithoutAReader, {"score", "--reference", "in", "in"});
  EXPECT_EQ(result.errors, "edgewise score: standard output: Broken pipe; the output is not complete\n");
  EXPECT_EQ(read("code"), "2\n");
}

TEST_F(StreamsProgram, TranslatingIntoAFileIsNotHarmedByAReaderOfErrorsThatEnds) {
  make_models();
  std::string text;
  for (int i = 0; i < 100; ++i) text += "a \xFF b\n";
  write("bad", text);
  const Words command = {"translate", "--model", "run", "--bad-text", "replace", "--out", "out.txt", "bad"};

  run_shell(kOpenPipeWithoutAReader + "\"$0\" \"$@\" >&4 2>&4 4>&-; echo $? >code", command);

  EXPECT_EQ(read("code"), "0\n");
  EXPECT_EQ(std::ranges::count(read("out.txt"), '\n'), 100);
}

TEST_F(StreamsProgram, ATranslationWithoutAReaderEndsBeforeItsInput) {
  make_models();
  // The input stays open until the translation has ended.
  const ProcessResult result = run_shell(
      R"({ while [ ! -e code ]; do echo "a b"; sleep 0.1; done; } |
         { "$0" translate --model run --threads 1; echo $? >code; } | head -n 1)");
  EXPECT_EQ(read("code"), "141\n");
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(std::ranges::count(result.output, '\n'), 1);
}

TEST_F(StreamsProgram, AFileThatDoesNotFitEndsATranslationWhoseInputGoesOn) {
  make_models();
  mkfifo(path("pipe").c_str(), 0600);
  const FileDescriptor input(::open(path("pipe").c_str(), O_RDWR | O_CLOEXEC));  // never at its end
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "a b c d\n";
  write_all(input, text);
  RunningProcess process(
      {"/bin/sh", "-c", R"(ulimit -f 1; exec "$0" translate --model run --out out.txt pipe)", EDGEWISE_PROGRAM},
      {.folder = path("").string()});
  EXPECT_TRUE(wait_until([&] { return process.has_ended(); }));
  if (!process.has_ended()) process.send(SIGKILL);
  const ProcessResult result = process.wait();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors, "translate: out.txt: File too large; nothing was replaced\n");
  EXPECT_EQ(names_in(path("")).count("out.txt"), 0U);
}

TEST_F(StreamsProgram, ALimitOfFileSizesIsAnErrorAndDoesNotEndTheProgram) {
  make_models();
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "a b c d\n";
  write("long", text);
  const ProcessResult result = run_shell(R"(ulimit -f 1; exec "$0" translate --model run --out out.txt long)");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors, "translate: out.txt: File too large; nothing was replaced\n");
  EXPECT_EQ(names_in(path("")).count("out.txt"), 0U);
}

TEST(StandardOutput, IsCompleteThoughTheSystemHasNoFileNumberLeft) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const int exit_code = finish_output("test", 0);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(exit_code, 0);
}

class TrainStreams : public StreamsProgram {};

TEST_F(TrainStreams, TrainingGoesOnWithoutAReader) {
  run_well({"train", "tiny.toml", "--out", "whole"});
  run_shell(kRunWithoutAReader, {"train", "tiny.toml", "--out", "run"});
  EXPECT_EQ(read("code"), "0\n");
  expect_same_run(path("run"), path("whole"));
}

TEST_F(TrainStreams, TrainingGoesOnWithAFullOutputAndReportsIt) {
  run_well({"train", "tiny.toml", "--out", "whole"});
  const ProcessResult result = run_shell("\"$0\" train tiny.toml --out run >/dev/full");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors, std::string("edgewise train") + kLost);
  expect_same_run(path("run"), path("whole"));
}

}  // namespace
}  // namespace edgewise
