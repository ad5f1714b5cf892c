#pragma once
// Connects the reflectors of one server: when one of them sees the server work again, the others
// cut their wait for the next try.

#include <functional>
#include <map>
#include <utility>

namespace plimsoll::informer {

// I/O thread only.
class ReflectorPeers {
 public:
  // `hurry`: called when the server works again for another member.
  void join(const void* member, std::function<void()> hurry) {
    members_[member] = Member{std::move(hurry), false, false};
  }
  void leave(const void* member) { members_.erase(member); }

  void failed(const void* member) {
    Member& own = members_[member];
    own.works = false;
    own.failed = true;
  }

  // Only the first answer after a failure is passed on.
  void works(const void* member) {
    Member& own = members_[member];
    own.works = true;
    if (!std::exchange(own.failed, false)) return;
    for (const auto& [other, told] : members_) {
      if (other != member && told.hurry) told.hurry();
    }
  }

  [[nodiscard]] bool others_work(const void* member) const {
    for (const auto& [other, known] : members_) {
      if (other != member && known.works) return true;
    }
    return false;
  }

 private:
  struct Member {
    std::function<void()> hurry;
    bool works = false;   // its last request was answered as expected
    bool failed = false;  // since its last good answer
  };
  std::map<const void*, Member> members_;
};

}  // namespace plimsoll::informer
