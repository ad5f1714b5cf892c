#pragma once
// Notices at once that a kubelet has written a state file or has made its socket again. A kubelet
// replaces its files by renames, so folders are watched, not files.

#include "framework/base/result.hpp"
#include "node/kubelet/kubelet_reader.hpp"

namespace plimsoll::node {

// One thread at a time.
class FileEvents {
 public:
  // Fails with kInternal if the kernel refuses (fs.inotify.max_user_instances).
  [[nodiscard]] static Result<FileEvents> create(KubeletPaths paths);
  ~FileEvents();
  FileEvents(FileEvents&& other) noexcept;
  FileEvents& operator=(FileEvents&&) = delete;

  // Watches the folders that exist now. A folder that is made, or made again, is watched from the
  // next call on: call it now and then.
  void follow();
  // Readable when something has happened in a folder.
  [[nodiscard]] int fd() const { return fd_; }
  // Takes what has happened; says whether it concerns a file that is read.
  [[nodiscard]] bool take();

 private:
  FileEvents(int fd, KubeletPaths paths) : fd_(fd), paths_(std::move(paths)) {}

  int fd_;
  KubeletPaths paths_;
};

}  // namespace plimsoll::node
