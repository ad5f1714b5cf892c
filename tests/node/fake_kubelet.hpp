#pragma once
// What can be seen of a kubelet from outside: its folder, its state files, its socket. It does not
// decide anything: the test says who holds what.
//
// A machine of two zones with four CPUs each (0 to 3, 4 to 7), of which 0 and 4 are reserved, and
// the devices that the test names. CPU manager static, memory manager off.

#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "node/kubelet/kubelet_reader.hpp"
#include "node/machine/machine.hpp"
#include "tests/node/grpc_server.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::node::test {

inline constexpr const char* kGpu = "example.com/gpu";

class FakeKubelet {
 public:
  FakeKubelet();

  [[nodiscard]] KubeletPaths paths() const;
  [[nodiscard]] static Hardware hardware();

  // Its socket is served again; the API lists nothing but what register_device() and list() say
  // from now on.
  void start();
  // Its socket stays, and nobody answers.
  void kill();

  // A pod holds CPUs and a device (empty: none): in the files and in the API.
  void admit(const std::string& name, const std::string& uid, const std::set<std::uint32_t>& cpus,
             const std::string& gpu = {});
  // The API lists it no more; the files stay as they are.
  void end(const std::string& name);
  // It closes every connection, and takes new ones.
  void drop_connections();
  // Its files are written again, and say the same.
  void write_again();
  // Nobody holds CPUs any more, by the files.
  void clean();
  // The API lists the pods that it knew before it was killed.
  void list_all();

  // A healthy device of zone 0.
  void add_gpu(const std::string& id);
  // Its health is gone.
  void lose_gpu(const std::string& id);

 private:
  GrpcAnswer answer(const std::string& method);
  void write_files();  // with `mutex_` held

  plimsoll::test::TempDir folder_{"plimsoll-kubelet"};
  mutable std::mutex mutex_;
  std::map<std::string, std::map<std::string, std::set<std::uint32_t>>> cpus_;  // uid, container
  std::vector<DeviceState::Entry> entries_;
  std::vector<PodUse> pods_;
  std::vector<PodUse> listed_;
  Allocatable allocatable_;
  std::set<std::string> gpus_;
  std::optional<GrpcServer> server_;
};

}  // namespace plimsoll::node::test
