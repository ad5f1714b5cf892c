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

void Connections::ask(std::shared_ptr<Connection> connection) {
  if (!options.gate) return checked(connection, {});
  ask(options.gate, std::move(connection), &Connections::checked);
}

void Connections::checked(const std::shared_ptr<Connection>& connection, const Make& instead) {
  if (instead) return answered(connection, instead);
  ask(handler_, connection, &Connections::answered);
}

void Connections::answered(const std::shared_ptr<Connection>& connection, const Make& make) {
  Response response{500, "internal server error\n"};
  try {
    response = make();
  } catch (const std::exception& error) {
    log_error("answering a request failed",
              {{"path", connection->request().path}, {"error", error.what()}});
  }
  connection->respond(std::move(response));
}

void Connections::ask(const LateHandler& whom, std::shared_ptr<Connection> connection, Then then) {
  const Request& request = connection->request();
  const std::uint64_t id = now();
  asked_.emplace(id, std::move(connection));
  Reply reply = [this, id, then, door = door_](Make make) {
    const std::lock_guard lock(door->mutex);
    if (door->io == nullptr) return;  // the server has stopped, and `this` may be gone
    boost::asio::post(*door->io, [this, id, then, make = std::move(make)] {
      const auto waiting = asked_.extract(id);
      if (!waiting.empty()) (this->*then)(waiting.mapped(), make);
    });
  };
  try {
    whom(request, reply);
  } catch (const std::exception& error) {
    log_error("a request cannot be answered", {{"path", request.path}, {"error", error.what()}});
    reply(ready({500, "internal server error\n"}));
  }
}

void Connections::cut_all() {
  asked_.clear();
  const std::set<Connection*> open = open_;
  for (Connection* connection : open) connection->cut();
}

void Connections::close_door() {
  const std::lock_guard lock(door_->mutex);
  door_->io = nullptr;
}

}  // namespace plimsoll::serving
