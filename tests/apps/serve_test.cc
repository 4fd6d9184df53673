// SPDX-License-Identifier: Apache-2.0
// edgewise serve and edgewise-server
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/apps/serve/line_log.h"
#include "edgewise/apps/serve/signal_pipe.h"
#include "edgewise/base/files/file_system.h"
#include "tests/apps/signals.h"
#include "tests/server/raw_client.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;
using Json = nlohmann::json;

std::string post(const std::string& path, const std::string& json) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                     path, json.size(), json);
}

std::string get(const std::string& path) { return fmt::format("GET {} HTTP/1.1\r\nHost: a\r\n\r\n", path); }

Json body_of(const std::string& response) { return Json::parse(response.substr(response.find("\r\n\r\n") + 4)); }

class ServeProgram : public ProgramTest {
 protected:
  ServeProgram() {
    write("tiny.toml", kTinyConfig);
    run_well({"train", "tiny.toml", "--out", "run"});
  }

  /// Starts a server, whose standard error goes to the file `log`, and waits until it is ready.
  RunningProcess start(const Words& more = {}, const std::string& redirection = "") {
    Words command = {"/bin/sh",       "-c",       "exec \"$0\" \"$@\" 2>log " + redirection,
                     EDGEWISE_SERVER, "--listen", "127.0.0.1:0"};
    command.insert(command.end(), more.begin(), more.end());
    std::filesystem::remove(path("log"));
    RunningProcess server(command, {.folder = path("").string()});
    EXPECT_TRUE(wait_until([&] { return server.has_ended() || log_has("ready at "); }));
    EXPECT_THAT(read("log"), StartsWith("server: ready at http://127.0.0.1:"));
    return server;
  }

  bool log_has(const std::string& text) const { return read("log").find(text) != std::string::npos; }

  std::uint16_t port() const {
    const std::string log = read("log");
    return static_cast<std::uint16_t>(std::stoi(log.substr(log.find("127.0.0.1:") + 10)));
  }

  std::string translate(const std::string& model, const std::string& line) const {
    std::string text = run_well({"translate", "--model", model}, {.input = line + "\n"});
    text.pop_back();
    return text;
  }

  std::string served_translation(const std::string& line) const {
    RawClient client(port());
    const Json request = {{"q", line}, {"source", "en"}, {"target", "de"}};
    return body_of(client.ask(post("/translate", request.dump())))["translatedText"];
  }
};

TEST_F(ServeProgram, AnswersAsTheCommandTranslateDoes) {
  const std::string text = "a b c";
  const std::string expected = translate("run", text);
  RunningProcess server = start({"--model", "en-de=run"});
  RawClient client(port());
  const Json request = {{"text", {text}}, {"source", "en"}, {"target", "de"}, {"target_lang", "DE"}};
  EXPECT_EQ(served_translation(text), expected);
  EXPECT_EQ(body_of(client.ask(post("/v2/translate", request.dump())))["translations"][0]["text"], expected);
  EXPECT_EQ(body_of(client.ask(post("/v1/translate", request.dump())))["translations"][0]["text"], expected);
  EXPECT_THAT(client.ask(get("/health")), HasSubstr("200 OK"));
  EXPECT_THAT(client.ask(get("/metrics")),
              HasSubstr("edgewise_requests_total{endpoint=\"/v1/translate\",code=\"200\"} 1\n"));
  server.send(SIGTERM);
  const ProcessResult result = server.wait();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(Json::parse(result.output.substr(0, result.output.find('\n')))["endpoint"], "/translate");
}

TEST_F(ServeProgram, FindsTheModelsOfAFolderAfterSighup) {
  std::filesystem::create_directory(path("models"));
  RunningProcess server = start({"--set", "server.models_folder=models"});
  RawClient client(port());
  EXPECT_THAT(client.ask(get("/ready")), HasSubstr("503 Service Unavailable"));
  std::filesystem::copy(path("run/best"), path("models/en-de"));
  std::filesystem::create_directory(path("models/en-fr"));
  server.send(SIGHUP);
  ASSERT_TRUE(wait_until([&] { return log_has("server: reload: models/en-fr is not loaded: server: models/en-fr"); }));
  EXPECT_TRUE(log_has("server: reload: models/en-de is loaded\n"));
  EXPECT_EQ(served_translation("a b c"), translate("run", "a b c"));
  std::filesystem::remove_all(path("models/en-de"));
  server.send(SIGHUP);
  ASSERT_TRUE(wait_until([&] { return log_has("server: reload: models/en-de is removed\n"); }));
  EXPECT_THAT(client.ask(get("/languages")), HasSubstr("[]"));
  server.send(SIGTERM);
  EXPECT_EQ(server.wait().exit_code, 0);
}

TEST_F(ServeProgram, AnswersRunningRequestsBeforeSigtermEndsIt) {
  RunningProcess server =
      start({"--model", "en-de=run", "--drain-seconds", "1000", "--set", "server.characters=1000000"});
  RawClient client(port());
  std::string text;  // takes 0.5 s on fast processors: a poll sees its sentences running
  for (int i = 0; i < 100'000; ++i) text += "a b. ";
  const Json request = {{"q", text}, {"source", "en"}, {"target", "de"}};
  client.send(post("/translate", request.dump()));
  RawClient other(port());
  ASSERT_TRUE(wait_until(
      [&] { return other.ask(get("/metrics")).find("edgewise_sentences_running 0\n") == std::string::npos; }));
  server.send(SIGTERM);
  const std::string response = client.read_response();
  EXPECT_THAT(response, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(response, HasSubstr("Connection: close"));
  EXPECT_EQ(server.wait().exit_code, 0);
}

TEST_F(ServeProgram, EndsAfterItsTimeForRunningRequestsOrAtASecondSignal) {
  for (const bool is_second : {false, true}) {
    RunningProcess server = start({"--model", "en-de=run", "--drain-seconds", is_second ? "1000" : "0.2"});
    RawClient client(port());
    client.send("GET /health HTTP/1.1\r\n");
    RawClient other(port());
    other.ask(get("/health"));  // after it, the server has the first client's bytes
    server.send(SIGTERM);
    ASSERT_TRUE(wait_until([&] { return log_has("ends after the running requests"); }));
    if (is_second) {
      pass_time_of_repetitions();
      server.send(SIGTERM);
    }
    EXPECT_EQ(server.wait().exit_code, is_second ? 128 + SIGTERM : 0);
    EXPECT_EQ(log_has("closes 1 connections with unfinished requests"), !is_second);
  }
}

// `timeout` sends each signal twice.
TEST_F(ServeProgram, AnswersRunningRequestsWhenTheSignalIsRepeatedAtOnce) {
  RunningProcess server = start({"--model", "en-de=run", "--drain-seconds", "1000"});
  RawClient client(port());
  client.send("GET /health HTTP/1.1\r\n");
  RawClient other(port());
  other.ask(get("/health"));  // after it, the server has the first client's bytes
  server.send(SIGSTOP);       // both other signals arrive while the process is stopped
  server.send(SIGTERM);
  server.send(SIGINT);
  server.send(SIGCONT);
  ASSERT_TRUE(wait_until([&] { return log_has("ends after the running requests"); }));
  client.send("Host: localhost\r\n\r\n");
  EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_EQ(server.wait().exit_code, 0);
}

TEST_F(ServeProgram, LoadsAChangedModelAtSighupAndKeepsTheOldOneIfTheNewOneIsBroken) {
  run_well({"train", "tiny.toml", "--out", "other", "--set", "train.seed=5", "--set", "train.epochs=1"});
  const std::string text = "a b c d a b";
  const std::string before = translate("run", text);
  const std::string after = translate("other", text);
  ASSERT_NE(before, after);
  RunningProcess server = start({"--model", "en-de=run"});
  EXPECT_EQ(served_translation(text), before);
  std::filesystem::rename(path("run"), path("old"));
  std::filesystem::copy(path("other"), path("run"), std::filesystem::copy_options::recursive);
  server.send(SIGHUP);
  ASSERT_TRUE(wait_until([&] { return log_has("reload: run is loaded"); }));
  EXPECT_EQ(served_translation(text), after);
  for (const auto& file : std::filesystem::recursive_directory_iterator(path("run"))) {
    if (file.path().filename() == "manifest.json") std::ofstream(file.path()) << "{}";
  }
  server.send(SIGHUP);
  ASSERT_TRUE(wait_until([&] { return log_has("reload: run is not loaded, and its last version stays: "); }));
  EXPECT_EQ(served_translation(text), after);
  server.send(SIGINT);
  EXPECT_EQ(server.wait().exit_code, 0);
}

TEST_F(ServeProgram, ReadsItsKeysAgainAtSighup) {
  const std::string config = "[server]\nmodels = [\"en-de=run\"]\nrequire_api_key = true\napi_keys = ";
  write("server.toml", config + "[\"old\"]\n");
  RunningProcess server = start({"--config", "server.toml"});
  write("server.toml", config + "[\"alice new 100\"]\n");
  server.send(SIGHUP);
  ASSERT_TRUE(wait_until([&] { return log_has("server: reload: the API keys are replaced\n"); }));
  RawClient client(port());
  for (const auto& [key, status] : {std::pair("new", "200"), std::pair("old", "403")}) {
    const Json request = {{"q", "a"}, {"source", "en"}, {"target", "de"}, {"api_key", key}};
    EXPECT_THAT(client.ask(post("/translate", request.dump())), StartsWith(std::string("HTTP/1.1 ") + status));
  }
  server.send(SIGTERM);
  EXPECT_EQ(server.wait().exit_code, 0);
}

TEST_F(ServeProgram, ReadsItsConfig) {
  write("server.toml", "[server]\nmodels = [\"en-de=run\"]\ncharacters = 3\naccess_log = false\n");
  RunningProcess server = start({"--config", "server.toml", "--set", "server.texts=1"});
  RawClient client(port());
  EXPECT_THAT(client.ask(post("/translate", R"({"q": "a b c", "source": "en", "target": "de"})")),
              HasSubstr("Invalid request: request (5) exceeds text limit (3)"));
  server.send(SIGTERM);
  EXPECT_EQ(server.wait().output, "");
  const std::string config = run_well({"serve", "--config", "server.toml", "--print-config"});
  EXPECT_THAT(config, HasSubstr("\nmodels = [\"en-de=run\"]\n"));
  write("printed.toml", config);
  EXPECT_EQ(run_well({"serve", "--config", "printed.toml", "--print-config"}), config);
}

TEST_F(ServeProgram, RefusesWhatItCannotServe) {
  expect_refused({"serve"}, "server: --model is missing, needs at least one model");
  expect_refused({"serve", "--model", "en-de=run", "--listen", "5000"},
                 "server: listen is \"5000\", needs ADDRESS:PORT, [IPV6]:PORT or unix:PATH");
  expect_refused({"serve", "--model", "en-de=run", "--set", "http.key=k"},
                 "server: only one of http.certificate and http.key is set, TLS needs both");
  RunningProcess server = start({"--model", "en-de=run"});
  const std::string address = fmt::format("127.0.0.1:{}", port());
  const ProcessResult refused = run({"serve", "--model", "en-de=run", "--listen", address});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, MatchesRegex(fmt::format("server: cannot listen on {}: Address already in use; "
                                                       "edgewise-server \\(process [0-9]+\\) listens there; end it, or "
                                                       "choose another port with --listen\n",
                                                       address)));
  expect_refused({"serve", "--model", "en-de=run", "--model", "en-de=run"},
                 "server: en-de is given twice, with run and with run, needs one model");
  expect_refused({"serve", "--model", "en-en=run"},
                 "server: --model run translates no language into another one, needs two languages");
  expect_refused({"serve", "--model", "en-de=run", "--set", "server.pivot=xx"},
                 "server: server.pivot is xx, which no model has, needs a language of the models");
}

TEST_F(ServeProgram, IsNotDelayedByAReaderOfTheAccessLogThatDoesNotReadOrThatEnds) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  ::fcntl(ends[1], F_SETPIPE_SZ, 4096);
  const std::string redirection = fmt::format(">/proc/{}/fd/{}", ::getpid(), ends[1]);
  for (const bool has_ended : {false, true}) {
    RunningProcess server = start({"--model", "en-de=run"}, redirection);
    if (has_ended) ::close(ends[0]);
    RawClient client(port());
    for (int i = 0; i < 100; ++i) ASSERT_THAT(client.ask(get("/health")), StartsWith("HTTP/1.1 200 OK"));
    server.send(SIGTERM);
    EXPECT_EQ(server.wait().exit_code, 0);
  }
  ::close(ends[1]);
}

TEST_F(ServeProgram, ServesThoughItsStandardStreamsAreFullOrClosed) {
  for (const std::string redirection : {">/dev/full", "<&- >&-"}) {
    RunningProcess server = start({"--model", "en-de=run"}, redirection);
    RawClient client(port());
    for (int i = 0; i < 3; ++i) EXPECT_THAT(client.ask(get("/health")), StartsWith("HTTP/1.1 200 OK"));
    server.send(SIGTERM);
    EXPECT_EQ(server.wait().exit_code, 0);
  }
}

TEST_F(ServeProgram, NamesTheReasonIfTheSystemStartsNoThread) {
  const ProcessResult result =
      run_process({EDGEWISE_WITHOUT_THREADS, EDGEWISE_SERVER, "--listen", "127.0.0.1:0", "--model", "en-de=run"},
                  {.folder = path("").string()});
  if (result.exit_code == 77) GTEST_SKIP() << "this system has no seccomp filters";
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("thread"));
  EXPECT_THAT(result.errors, HasSubstr("ulimit -u"));
  EXPECT_EQ(std::ranges::count(result.errors, '\n'), 1) << result.errors;
}

/// The socket on which a service manager receives the states of its service.
class ServiceManager {
 public:
  explicit ServiceManager(const std::string& path)
      : states_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)),
        connections_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    const int bound = ::bind(states_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    check(bound == 0 && ::listen(connections_.number(), 1) == 0, "no sockets");
    const timeval timeout{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(states_.number(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  }

  int connections() const { return connections_.number(); }

  std::string receive_state() const {
    std::array<char, 200> bytes{};
    const ssize_t size = ::recv(states_.number(), bytes.data(), bytes.size(), 0);
    return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

 private:
  FileDescriptor states_;
  FileDescriptor connections_;
};

TEST_F(ServeProgram, UsesTheSocketOfTheServiceManagerAndTellsItsStates) {
  const ServiceManager manager(path("notify").string());
  const auto run_server = [&] {
    ::dup2(manager.connections(), 3);
    ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
    ::setenv("LISTEN_FDS", "1", 1);
    ::setenv("NOTIFY_SOCKET", path("notify").c_str(), 1);
    ::execl(EDGEWISE_SERVER, EDGEWISE_SERVER, "--model", "en-de=run", nullptr);
    return 1;
  };
  RunningProcess server(run_server, {.folder = path("").string()});
  EXPECT_EQ(manager.receive_state(), "READY=1");
  server.send(SIGHUP);
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  ::getsockname(manager.connections(), reinterpret_cast<sockaddr*>(&address), &size);
  RawClient client(ntohs(address.sin_port));
  EXPECT_THAT(client.ask(get("/ready")), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(manager.receive_state(), StartsWith("RELOADING=1\nMONOTONIC_USEC="));
  EXPECT_EQ(manager.receive_state(), "READY=1");
  server.send(SIGTERM);
  EXPECT_EQ(manager.receive_state(), "STOPPING=1");
  EXPECT_EQ(server.wait().exit_code, 0);
}

TEST(SignalPipe, PassesASighupThatCameBeforeIt) {
  block_reload_signal();
  std::raise(SIGHUP);
  const SignalPipe signals;
  EXPECT_EQ(signals.wait(), SIGHUP);
}

TEST(SignalPipe, PassesSighupUnderNohupAndRestoresIt) {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  {
    const SignalPipe signals;
    std::raise(SIGHUP);
    EXPECT_EQ(signals.wait(), SIGHUP);
  }
  EXPECT_EQ(std::signal(SIGHUP, before), SIG_IGN);
}

/// Writes lines until `is_enough`, and fails to write the first of them. Returns their number and the other lines.
std::pair<std::ptrdiff_t, std::string> lose_first_lines(
    const std::function<bool(std::string_view written)>& is_enough) {
  std::ptrdiff_t num_lost = 0;
  std::string written;
  std::atomic<bool> ends = false;
  {
    LineLog log([&](std::string_view text) {
      const bool is_first = num_lost == 0;
      if (is_first) num_lost = std::ranges::count(text, '\n');
      if (!is_first) written += text;
      ends = is_enough(written);
      return !is_first;
    });
    while (!ends) log.add("a");
  }
  return {num_lost, written};
}

TEST(LineLog, TellsBeforeTheNextLineHowManyLinesWereLost) {
  const auto [num_lost, written] = lose_first_lines([](std::string_view text) { return !text.empty(); });
  EXPECT_THAT(written, StartsWith(fmt::format("{{\"lost_lines\": {}}}\na\n", num_lost)));
}

TEST(LineLog, TellsAtItsEndHowManyLinesWereLost) {
  const auto [num_lost, written] = lose_first_lines([](std::string_view) { return true; });
  EXPECT_THAT(written, StartsWith(fmt::format("{{\"lost_lines\": {}}}\n", num_lost)));
}

TEST(LineLog, CountsLinesAgainIfTheLineThatTellsOfThemIsLost) {
  std::array<std::promise<void>, 2> write_begins;
  std::array<std::promise<void>, 2> write_may_end;
  std::vector<std::string> written;  // the beginnings of texts
  {
    LineLog log([&](std::string_view text) {
      const std::size_t i = written.size();
      if (i < write_begins.size()) {
        write_begins[i].set_value();
        write_may_end[i].get_future().wait();
      }
      written.emplace_back(text.substr(0, 100));
      return i != 2;
    });
    log.add("a");
    write_begins[0].get_future().wait();
    log.add(std::string(5 << 20, 'b'));
    log.add("does not fit");
    log.add("does not fit");
    write_may_end[0].set_value();
    write_begins[1].get_future().wait();
    log.add("c");
    write_may_end[1].set_value();
  }
  EXPECT_THAT(written, ElementsAre("a\n", StartsWith("b"), "{\"lost_lines\": 2}\nc\n", "{\"lost_lines\": 3}\n"));
}

}  // namespace
}  // namespace edgewise
