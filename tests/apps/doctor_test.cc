// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "edgewise/base/version.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/apps/program.h"

namespace edgewise {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class DoctorProgram : public ProgramTest {
 protected:
  static ProcessResult run_doctor(std::vector<std::string> arguments, const ProcessOptions& options = {}) {
    arguments.insert(arguments.begin(), EDGEWISE_DOCTOR);
    return run_process(arguments, options);
  }

  static Json report(const std::vector<std::string>& environment = {}) {
    const ProcessResult result = run_doctor({"--json"}, {.environment = environment});
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return Json::parse(result.output);
  }
};

TEST_F(DoctorProgram, FindsEachTestRightOnEveryInstructionSet) {
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    const std::string name(kernels::instruction_set_name(set));
    const Json found = report({"EDGEWISE_KERNELS=" + name});
    EXPECT_EQ(found["kernels"]["in_force"], name);
    EXPECT_EQ(found["kernels"]["is_forced"], true);
    EXPECT_EQ(found["is_right"], true);
    EXPECT_THAT(found["tests"], Not(IsEmpty()));
    for (const Json& test : found["tests"]) EXPECT_EQ(test["is_right"], true) << name << ": " << test;
  }
}

TEST_F(DoctorProgram, DescribesTheMachine) {
  const Json found = report({"EDGEWISE_KERNELS="});
  EXPECT_EQ(found["edgewise"], std::string(version()));
  EXPECT_EQ(found["kernels"]["in_force"], found["kernels"]["runnable"].back());
  EXPECT_EQ(found["kernels"]["is_forced"], false);
  EXPECT_GE(found["cores"]["machine"], found["cores"]["allowed"]);
  EXPECT_GE(found["cores"]["threads"], 1);
  EXPECT_GT(found["memory"]["machine"], found["memory"]["available"]);
  for (const char* library : {"oneDNN", "ICU", "SentencePiece", "OpenSSL"}) {
    EXPECT_TRUE(std::regex_match(found["libraries"][library].get<std::string>(), std::regex("[0-9]+([.][0-9]+)+")))
        << found["libraries"];
  }
}

TEST_F(DoctorProgram, PrintsALineForEachTest) {
  const ProcessResult result = run_doctor({"--threads", "2"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.errors, "");
  EXPECT_THAT(result.output, HasSubstr("edgewise      " + std::string(version()) + "\n"));
  EXPECT_THAT(result.output, HasSubstr("; 2 threads\n"));
  EXPECT_THAT(result.output,
              testing::ContainsRegex("\ndecoding, fp32  +right  largest error [0-9]+ % of the allowed one\n"));
  EXPECT_THAT(result.output, testing::ContainsRegex("\n([0-9]+) of [0-9]+ tests are right, in [0-9.]+ s\n$"));
}

TEST_F(DoctorProgram, NotesASlowerInstructionSetAndAWrongNumberOfThreads) {
  const ProcessResult result = run_doctor({"--threads", "1024"}, {.environment = {"EDGEWISE_KERNELS=generic"}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output,
              testing::ContainsRegex("\nnote          EDGEWISE_KERNELS is generic; [a-z0-9]+ is faster\n"));
  EXPECT_THAT(result.output,
              testing::ContainsRegex("\nnote          1024 threads share [0-9]+ cores, which is slower"));
}

TEST_F(DoctorProgram, IsACommandOfEdgewiseWithTheVersionOfLibtorch) {
  const Json found = Json::parse(run_well({"doctor", "--json"}));
  EXPECT_EQ(found["is_right"], true);
  EXPECT_THAT(found["libraries"]["libtorch"].get<std::string>(), testing::StartsWith("2."));
  EXPECT_FALSE(report()["libraries"].contains("libtorch"));
}

TEST_F(DoctorProgram, RefusesBadInput) {
  expect_refused({"doctor", "--threads", "0x2"},
                 "edgewise doctor: --threads is 0x2, needs a whole number from 0 to 1024");
  expect_refused({"doctor", "--jason"}, "edgewise doctor: unknown option --jason; did you mean --json?");
  const ProcessResult result = run_doctor({}, {.environment = {"EDGEWISE_KERNELS=avx3"}});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, testing::StartsWith("EDGEWISE_KERNELS: value is 'avx3', needs one of reference, generic"));
}

// Another name, because sanitizers do not accept that another library is loaded first.
using DoctorFault = DoctorProgram;

TEST_F(DoctorFault, EndsWithExitCode1) {
  const ProcessOptions options = {.environment = {"LD_PRELOAD=" EDGEWISE_ROUND_UPWARD}};
  const ProcessResult text = run_doctor({}, options);
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_EQ(text.errors, "");
  EXPECT_THAT(text.output,
              testing::ContainsRegex("\ndecoding, fp32  +WRONG  the parameters of the fixed model have other bits, "));
  const ProcessResult report = run_doctor({"--json"}, options);
  EXPECT_EQ(report.exit_code, 1);
  EXPECT_EQ(Json::parse(report.output)["is_right"], false);
}

}  // namespace
}  // namespace edgewise
