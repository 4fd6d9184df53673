// SPDX-License-Identifier: Apache-2.0
// Manual pages and completions, compared with the help texts.
#include <gmock/gmock.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "tests/apps/program.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;

using Words = std::vector<std::string>;

/// A command with the names in its help text.
struct HelpNames {
  Words path;  // the program, and subcommands
  Words options;
  Words subcommands;
};

class Manual : public ProgramTest {
 protected:
  static std::string output_of(const Words& arguments) {
    const ProcessResult result = run_process(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return result.output;
  }

  /// Returns the names in the help texts of a program and of all its subcommands.
  static std::vector<HelpNames> read_help(const Words& path) {
    Words request = path;
    request.emplace_back("--help");
    std::istringstream help(output_of(request));
    HelpNames names{path, {}, {}};
    std::string section;
    for (std::string line; std::getline(help, line);) {
      if (line.ends_with(":") && !line.starts_with(" ")) section = line;
      if (!line.starts_with("  ") || line[2] == ' ') continue;
      const std::string word = line.substr(2, line.find(' ', 2) - 2);
      if (section == "Subcommands:") names.subcommands.push_back(word);
      std::istringstream list(word.starts_with("-") ? word : "");
      for (std::string name; std::getline(list, name, ',');) names.options.push_back(name);
    }
    std::vector<HelpNames> all = {names};
    for (const std::string& subcommand : names.subcommands) {
      Words below = path;
      below.push_back(subcommand);
      for (const HelpNames& found : read_help(below)) all.push_back(found);
    }
    return all;
  }

  static std::vector<Words> programs() {
    return {{EDGEWISE_PROGRAM}, {EDGEWISE_TRANSLATE}, {EDGEWISE_DOCTOR}, {EDGEWISE_SERVER}};
  }

  static std::string name_of(const HelpNames& command) {
    return std::filesystem::path(command.path.front()).filename().string();
  }

  /// Completes the last of the words that follow the program, as bash does.
  Words complete_in_bash(const HelpNames& command, const Words& words) const {
    std::string array = name_of(command);
    for (std::size_t i = 1; i < command.path.size(); ++i) array += " " + command.path[i];
    for (const std::string& word : words) array += " '" + word + "'";
    std::string function = "_" + name_of(command);
    std::ranges::replace(function, '-', '_');
    const std::string script = "compopt() { :; }; source completion; COMP_WORDS=(" + array +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); " + function +
                               "; printf '%s\\n' \"${COMPREPLY[@]}\"";
    const ProcessResult result = run_process({"/bin/bash", "-c", script}, {.folder = path("").string()});
    EXPECT_EQ(result.errors, "");
    std::istringstream lines(result.output);
    Words found;
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty()) found.push_back(line);
    }
    return found;
  }

  /// Returns packaging/manual/PROGRAM.ENDING; 1 is the manual page.
  std::string text_of(const Words& program, const std::string& ending) const {
    const std::string name = std::filesystem::path(program.front()).filename().string();
    return read(EDGEWISE_SOURCE "/packaging/manual/" + name + "." + ending);
  }
};

TEST_F(Manual, NamesEachOptionAndSubcommandOfTheHelpTexts) {
  for (const Words& program : programs()) {
    const std::string page = std::regex_replace(text_of(program, "1"), std::regex(R"(\\-)"), "-");
    for (const HelpNames& command : read_help(program)) {
      std::string heading = name_of(command);
      for (std::size_t i = 1; i < command.path.size(); ++i) heading += " " + command.path[i];
      const std::size_t begin = page.find(command.path.size() == 1 ? ".SH OPTIONS\n" : ".SS \\fB" + heading + "\\fR\n");
      ASSERT_NE(begin, std::string::npos) << heading;
      const std::string section = page.substr(begin, page.find("\n.S", begin + 1) - begin);
      for (const std::string& option : command.options) {
        EXPECT_THAT(section, HasSubstr("\\fB" + option + "\\fR")) << heading;
      }
    }
  }
}

TEST_F(Manual, CompletesEachOptionAndSubcommandInBash) {
  for (const Words& program : programs()) {
    write("completion", text_of(program, "bash"));
    for (const HelpNames& command : read_help(program)) {
      EXPECT_THAT(complete_in_bash(command, {"-"}), IsSupersetOf(command.options))
          << testing::PrintToString(command.path);
      if (command.subcommands.empty()) continue;
      EXPECT_EQ(complete_in_bash(command, {""}), command.subcommands);
    }
  }
}

TEST_F(Manual, CompletesValuesAndFilesInBash) {
  write("completion", text_of({EDGEWISE_TRANSLATE}, "bash"));
  write("file of text", "");
  const HelpNames translate = {{EDGEWISE_TRANSLATE}, {}, {}};
  EXPECT_THAT(complete_in_bash(translate, {"--precision", ""}), ElementsAre("fp32", "bf16", "int8"));
  EXPECT_THAT(complete_in_bash(translate, {"--precision", "=", "b"}), ElementsAre("bf16"));
  EXPECT_THAT(complete_in_bash(translate, {"--beam", ""}), IsEmpty());
  EXPECT_THAT(complete_in_bash(translate, {"--model", "file"}), ElementsAre("file of text"));
  EXPECT_THAT(complete_in_bash(translate, {"file"}), ElementsAre("file of text"));
}

TEST_F(Manual, NamesEachOptionAndSubcommandInTheCompletionsOfZshAndFish) {
  for (const Words& program : programs()) {
    const std::string zsh = text_of(program, "zsh");
    const std::string fish = text_of(program, "fish");
    for (const HelpNames& command : read_help(program)) {
      std::string function = "_" + name_of(command);
      std::string path;
      for (std::size_t i = 1; i < command.path.size(); ++i) {
        function += "_" + command.path[i];
        path += " " + command.path[i];
      }
      const std::size_t begin = zsh.find("\n" + function + "() {\n");
      ASSERT_NE(begin, std::string::npos) << function;
      const std::string body = zsh.substr(begin, zsh.find("\n}\n", begin) - begin);
      for (const std::string& option : command.options) {
        EXPECT_THAT(body, testing::ContainsRegex("[)*]" + option + "[=+[]"));
        const std::string flag = option.starts_with("--") ? " -l " + option.substr(2) : " -s " + option.substr(1);
        EXPECT_THAT(fish, testing::ContainsRegex("_at \"" + path + "\"'.*" + flag + " "));
      }
      for (const std::string& subcommand : command.subcommands) {
        EXPECT_THAT(body, HasSubstr("'" + subcommand + ":"));
        EXPECT_THAT(fish, HasSubstr("_at \"" + path + "\"' -f -a " + subcommand + " "));
      }
    }
  }
}

TEST_F(Manual, IsReadableForManAndTheShells) {
  for (const Words& program : programs()) {
    write("page", text_of(program, "1"));
    const ProcessResult page = run_process({"/bin/sh", "-c",
                                            "command -v groff >/dev/null || exit 0; "
                                            "groff -man -Tutf8 -ww -z page 2>&1"},
                                           {.folder = path("").string()});
    EXPECT_EQ(page.output, "");
    for (const std::string shell : {"bash", "zsh", "fish"}) {
      write("completion", text_of(program, shell));
      const std::string check = "command -v " + shell + " >/dev/null || exit 0; " + shell + " -n completion";
      const ProcessResult result = run_process({"/bin/sh", "-c", check}, {.folder = path("").string()});
      EXPECT_EQ(result.exit_code, 0) << shell;
      EXPECT_EQ(result.errors, "") << shell;
    }
  }
}

}  // namespace
}  // namespace edgewise
