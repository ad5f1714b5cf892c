#include "informer/http/http2_links.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll::informer {

Http2Links::Http2Links(const TransferSetup& setup, CURLM* multi, MakeHandle make_handle)
    : setup_(setup), multi_(multi), make_handle_(std::move(make_handle)), in_use_(setup.linked) {}

bool Http2Links::serve(const Credential& credential) const {
  return in_use_ && credential.username.empty();
}

Http2Links::Place Http2Links::place(Transfer& transfer) {
  if (transfer.fresh_connection) {
    for (const auto& link : links_) link->retire();
  }
  for (const auto& link : links_) {
    if (link->takes_more() && link->is_of(*transfer.credential)) {
      link->carry(transfer);
      return Place::kGiven;
    }
  }
  const std::size_t limit = setup_.options.max_connections;
  const auto used =
      static_cast<std::size_t>(std::count_if(links_.begin(), links_.end(), [](const auto& link) {
        return !link->is_retired() && link->state() != Http2Link::State::kDead;
      }));
  if (limit != 0 && used >= limit) return Place::kNone;
  Handle handle = make_handle_(transfer.credential);
  if (handle.easy == nullptr) return Place::kNoMemory;
  for (const auto& link : links_) {  // links of an outdated certificate
    if (!link->is_of(*transfer.credential)) link->retire();
  }
  links_.push_back(std::make_unique<Http2Link>(setup_, multi_, std::move(handle), ended_));
  links_.back()->carry(transfer);
  return Place::kGiven;
}

void Http2Links::connected(const CURL* easy, CURLcode code) {
  for (const auto& link : links_) {
    if (link->easy() != easy) continue;
    link->connected(code);
    if (link->state() != Http2Link::State::kOtherProtocol) continue;
    in_use_ = false;
    const auto all = link->hand_over();
    handed_over_.insert(handed_over_.end(), all.begin(), all.end());
  }
}

void Http2Links::look(Http2Link::Clock::time_point now) {
  for (const auto& link : links_) link->look(now);
}

Http2Link::Clock::time_point Http2Links::next_look() const {
  auto next = Http2Link::Clock::time_point::max();
  for (const auto& link : links_) next = std::min(next, link->next_look());
  return next;
}

void Http2Links::flush() {
  for (const auto& link : links_) link->flush();
}

void Http2Links::add_sockets(std::vector<curl_waitfd>& into) {
  polled_.clear();
  for (const auto& link : links_) {
    if (link->state() != Http2Link::State::kOpen) continue;
    polled_.push_back(link.get());
    const int events = CURL_WAIT_POLLIN | (link->wants_to_write() ? CURL_WAIT_POLLOUT : 0);
    into.push_back({link->socket(), static_cast<short>(events), 0});
  }
}

bool Http2Links::read(const std::vector<curl_waitfd>& from, std::size_t first) {
  bool more = false;
  for (std::size_t i = 0; i < polled_.size(); ++i) {
    // flush() handles writability.
    if ((from[first + i].revents & ~CURL_WAIT_POLLOUT) != 0) more = polled_[i]->read() || more;
  }
  return more;
}

void Http2Links::tidy() {
  std::erase_if(links_, [](const auto& link) { return link->is_useless(); });
}

}  // namespace plimsoll::informer
