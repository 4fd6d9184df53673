// SPDX-License-Identifier: Apache-2.0
// edgewise serve --model en-de=RUN
#include <fcntl.h>
#include <malloc.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <future>
#include <memory>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/apps/serve/line_log.h"
#include "edgewise/apps/serve/signal_pipe.h"
#include "edgewise/base/background.h"
#include "edgewise/base/config/config.h"
#include "edgewise/base/config/fields.h"
#include "edgewise/base/files/file_system.h"
#include "edgewise/base/utf8.h"
#include "edgewise/server/translation_server.h"

namespace edgewise {
namespace {

// The protocol between systemd and a service: sd_listen_fds(3) and sd_notify(3). libsystemd, which also has it, would
// bring compression libraries into a server.

constexpr int kFirstDescriptor = 3;

std::int64_t number_in_environment(const char* name) {
  const char* text = std::getenv(name);
  std::int64_t number = 0;
  return text != nullptr && parse_number(text, Range(), number) ? number : 0;
}

/// Returns the descriptor of the listening socket that systemd has opened for this process; nothing if there is none.
/// Throws Error for several sockets.
std::optional<int> passed_socket() {
  if (number_in_environment("LISTEN_PID") != ::getpid()) return std::nullopt;
  const std::int64_t sockets = number_in_environment("LISTEN_FDS");
  check(sockets <= 1, "server: systemd passes {} sockets, needs one; name one ListenStream= in the socket unit",
        sockets);
  if (sockets < 1) return std::nullopt;
  ::fcntl(kFirstDescriptor, F_SETFD, FD_CLOEXEC);
  return kFirstDescriptor;
}

/// Sends a state such as `READY=1` to the socket that the environment variable NOTIFY_SOCKET names. Ignores failures;
/// has no effect without the variable.
void notify_service_manager(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr) return;
  const std::string_view name(path);
  sockaddr_un address{};
  if (name.empty() || name.size() >= sizeof(address.sun_path)) return;
  address.sun_family = AF_UNIX;
  std::ranges::copy(name, address.sun_path);
  if (name.front() == '@') address.sun_path[0] = '\0';  // a name of the abstract namespace
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  ::sendto(socket.number(), state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
           size);
}

struct ServeCommand {
  std::vector<std::string> models;
  std::vector<std::string> language_models;
  std::string config;
  std::string listen;
  std::optional<double> drain_seconds;
  std::vector<std::string> set;
  int threads = 0;
  bool prints_config = false;
};

ServerConfig read_server_config(const ServeCommand& command) {
  ServerConfig config = command.config.empty() ? parse_config<ServerConfig>("", "server", command.set)
                                               : read_config<ServerConfig>(command.config, command.set);
  if (!command.models.empty()) config.server.models = command.models;
  if (!command.language_models.empty()) config.server.language_models = command.language_models;
  if (!command.listen.empty()) config.http.listen = command.listen;
  if (command.drain_seconds) config.server.drain_seconds = *command.drain_seconds;
  return config;
}

void report(std::string_view line) { print_error("server: {}\n", printable(line)); }

/// Returns the address for people: a URL, or the path of a Unix socket.
std::string address_of(const HttpServerOptions& options, std::uint16_t port) {
  if (options.socket != -1) return "the socket of the service manager";
  if (port == 0) return options.listen;
  const std::string host = options.listen.substr(0, options.listen.rfind(':'));
  return fmt::format("{}://{}:{}", options.certificate.empty() ? "http" : "https", host, port);
}

std::string monotonic_microseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::to_string(std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000);
}

/// Gives free memory back to the system. The process would keep that of files and of replaced models.
void return_free_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

/// Reloads in the background, because a signal to end must not wait for the models.
class Reloads {
 public:
  Reloads(TranslationServer& server, const ServeCommand& command) : server_(server), command_(command) {}

  void start() {
    std::erase_if(running_, [](const auto& reload) {
      return reload.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    running_.push_back(run_in_background([this] {
      notify_service_manager("RELOADING=1\nMONOTONIC_USEC=" + monotonic_microseconds());
      server_.reload(try_read_config());
      return_free_memory();
      notify_service_manager("READY=1");
    }));
  }

 private:
  std::optional<ServerConfig> try_read_config() const {
    if (command_.config.empty()) return std::nullopt;
    try {
      return read_server_config(command_);
    } catch (const Error& error) {
      report(fmt::format("reload: the config stays as it was: {}", error.what()));
      return std::nullopt;
    }
  }

  TranslationServer& server_;
  const ServeCommand& command_;
  std::vector<std::future<void>> running_;
};

void run_server(const ServeCommand& command, const ServerConfig& config) {
  static StopRequest is_ending = false;
  SignalPipe signals;  // first, so that SIGHUP waits while the models are loaded
  give_up_blocked_streams(is_ending);
  make_output_optional();
  LineLog access_log(try_write_output);
  TranslationServer server(
      config, {.report = report, .access = [&access_log](std::string_view line) { access_log.add(line); }});
  return_free_memory();
  Reloads reloads(server, command);
  signals.pass_end_signals();  // before the report, whose reader may send a signal at once
  report("ready at " + address_of(config.http, server.port()));
  notify_service_manager("READY=1");
  while (signals.wait() == SIGHUP) reloads.start();  // until SIGINT or SIGTERM
  notify_service_manager("STOPPING=1");
  report("ends after the running requests");
  const std::int64_t open_connections = server.drain();
  if (open_connections > 0) report(fmt::format("closes {} connections with unfinished requests", open_connections));
  is_ending = true;
}

void run_serve(const ServeCommand& command) {
  ServerConfig config = read_server_config(command);
  if (command.prints_config) {
    write_output(to_toml(config, TomlComments::kHelp));
    return;
  }
  if (const auto socket = passed_socket()) config.http.socket = *socket;
  use_threads(command.threads);
  run_server(command, config);
}

}  // namespace

void make_serve_command(CLI::App& serve) {
  auto command = std::make_shared<ServeCommand>();
  serve
      .add_option("--model", command->models,
                  "a run or model directory with its languages, such as en-de=runs/en-de, or alone if the model knows "
                  "the names of its languages; or the name of a model, such as en-de; may be repeated; replaces "
                  "server.models")
      ->allow_extra_args(false);
  serve
      .add_option("--language-model", command->language_models,
                  "a run or model directory of a language model, NAME=DIR or DIR, which continues texts for clients of "
                  "OpenAI's completions; may be repeated; replaces server.language_models")
      ->allow_extra_args(false);
  add_path(serve, "--config", command->config, "a server's config, SERVER.toml; --print-config shows all options");
  serve.add_option("--listen", command->listen,
                   "ADDRESS:PORT, [IPV6]:PORT or unix:PATH; default 127.0.0.1:5000; replaces http.listen");
  add_number(serve, "--drain-seconds", &command->drain_seconds,
             "time for running requests after SIGTERM or SIGINT; default 30; replaces server.drain_seconds",
             range_of<ServerOptions>("drain_seconds"));
  add_settings_option(serve, command->set);
  add_threads_option(serve, command->threads);
  serve.add_flag("--print-config", command->prints_config, "print the config with all options, and end");
  serve.callback([command] { run_serve(*command); });
}

void add_serve(CLI::App& program) {
  make_serve_command(*program.add_subcommand("serve",
                                             "Translate texts for clients that speak HTTP, with the interfaces of "
                                             "LibreTranslate and DeepL, and continue texts "
                                             "with that of OpenAI's completions"));
}

}  // namespace edgewise
