#include "node/exporter/file_events.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace plimsoll::node {

Result<FileEvents> FileEvents::create(KubeletPaths paths) {
  const int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0) {
    return fail(ErrorCode::kInternal,
                std::string("cannot watch folders: ") + std::strerror(errno) +
                    "; raise the node's sysctl fs.inotify.max_user_instances");
  }
  FileEvents events(fd, std::move(paths));
  events.follow();
  return events;
}

FileEvents::FileEvents(FileEvents&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), paths_(std::move(other.paths_)) {}

FileEvents::~FileEvents() {
  if (fd_ >= 0) close(fd_);
}

void FileEvents::follow() {
  // Asking again for a folder that is watched changes nothing.
  for (const auto& folder : {paths_.root, paths_.device_plugins, paths_.socket().parent_path()}) {
    inotify_add_watch(fd_, folder.c_str(), IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_ONLYDIR);
  }
}

bool FileEvents::take() {
  bool concerns_us = false;
  alignas(inotify_event) std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t size = read(fd_, buffer.data(), buffer.size());
    if (size <= 0) return concerns_us;
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      const std::string_view name(event->name, event->len == 0 ? 0 : std::strlen(event->name));
      // A queue that overflowed may have lost anything.
      if ((event->mask & IN_Q_OVERFLOW) != 0) concerns_us = true;
      for (const auto& path : {paths_.cpu_state(), paths_.memory_state(), paths_.device_state(),
                               paths_.socket(), paths_.socket().parent_path()}) {
        if (name == path.filename().native()) concerns_us = true;
      }
    }
  }
}

}  // namespace plimsoll::node
