#include "serving/connections.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>

#include "framework/base/log.hpp"

namespace plimsoll::serving {

void Connections::make_room_for(Peer peer) {
  if (open_.size() < options.max_connections) return;
  const auto priority = [&](const Connection* one) {
    const std::size_t with_the_new = of_peer_.at(one->peer) + (one->peer == peer ? 1 : 0);
    return std::pair(-static_cast<std::int64_t>(with_the_new), one->stage);
  };
  Connection* gone = *std::ranges::min_element(open_, {}, priority);
  remove(gone);
  options.metrics.turned_away.with({}).add();
  gone->cut();
}

void Connections::ask_gate(const Request& request, std::shared_ptr<Connection> connection) {
  const std::uint64_t id = now();
  at_gate_.emplace(id, std::move(connection));
  Verdict come_in = [this, id, door = door_](std::function<Response()> instead) {
    const std::lock_guard lock(door->mutex);
    if (door->io == nullptr) return;  // the server has stopped, and `this` may be gone
    boost::asio::post(*door->io, [this, id, instead = std::move(instead)] {
      const auto waiting = at_gate_.extract(id);
      if (!waiting.empty()) waiting.mapped()->checked(instead);
    });
  };
  try {
    options.gate(request, come_in);
  } catch (const std::exception& error) {
    log_error("checking who asks failed", {{"path", request.path}, {"error", error.what()}});
    come_in(ready({500, "internal server error\n"}));
  }
}

Response Connections::answer(const Request& request,
                             const std::function<Response()>& instead) const {
  try {
    return instead ? instead() : handler_(request);
  } catch (const std::exception& error) {
    log_error("answering a request failed", {{"path", request.path}, {"error", error.what()}});
    return {500, "internal server error\n"};
  }
}

void Connections::cut_all() {
  at_gate_.clear();
  const std::set<Connection*> open = open_;
  for (Connection* connection : open) connection->cut();
}

void Connections::close_door() {
  const std::lock_guard lock(door_->mutex);
  door_->io = nullptr;
}

}  // namespace plimsoll::serving
