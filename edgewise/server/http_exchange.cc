// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http_exchange.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace edgewise {

ConnectionExchange::ConnectionExchange(boost::asio::any_io_executor executor,
                                       std::weak_ptr<ExchangeConnection> connection, std::int64_t id,
                                       HttpRequest request)
    : executor_(std::move(executor)), connection_(std::move(connection)), id_(id), request_(std::move(request)) {}

void ConnectionExchange::finish_if_forgotten() {
  if (!is_answered_) return respond(error_response(500, "the request has no answer"));
  if (is_finished_) return;
  post(&ExchangeConnection::cut_off);
}

/// Calls a function of the connection in the connection's thread, unless the connection is gone.
template <class Call, class... Arguments>
void ConnectionExchange::post(Call call, Arguments... arguments) {
  boost::asio::post(executor_, [weak = connection_, id = id_, call, ... values = std::move(arguments)]() mutable {
    if (const auto connection = weak.lock()) ((*connection).*call)(id, std::move(values)...);
  });
}

void ConnectionExchange::respond(HttpResponse response) {
  if (is_answered_.exchange(true)) return;
  is_finished_ = true;
  post(&ExchangeConnection::respond, std::move(response));
}

void ConnectionExchange::begin_stream(HttpResponse head) {
  is_answered_ = true;
  post(&ExchangeConnection::begin_stream, std::move(head));
}

bool ConnectionExchange::write(std::string piece) {
  if (piece.empty()) return true;
  {
    const std::lock_guard lock(mutex_);
    if (is_abandoned_ || is_complete_) return false;
  }
  post(&ExchangeConnection::write, std::move(piece));
  return true;
}

void ConnectionExchange::end_stream() {
  is_finished_ = true;
  post(&ExchangeConnection::end_stream);
}

void ConnectionExchange::on_abandon(std::function<void()> function) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_abandoned_) {
      if (!is_complete_) on_abandon_ = std::move(function);
      return;
    }
  }
  function();
}

void ConnectionExchange::abandon() {
  std::function<void()> function;
  {
    const std::lock_guard lock(mutex_);
    if (is_complete_) return;
    is_abandoned_ = true;
    function = std::exchange(on_abandon_, {});
  }
  if (function) function();
}

void ConnectionExchange::complete() {
  const std::lock_guard lock(mutex_);
  is_complete_ = true;
  on_abandon_ = {};
}

}  // namespace edgewise
