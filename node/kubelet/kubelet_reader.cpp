#include "node/kubelet/kubelet_reader.hpp"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace plimsoll::node {
namespace {

constexpr int kTries = 3;

using Identities = std::array<std::uint64_t, 3>;

Identities identities_of(const KubeletPaths& paths) {
  return {identity_of(paths.cpu_state()), identity_of(paths.memory_state()),
          identity_of(paths.device_state())};
}

// A file that does not exist is an empty state: its manager is off, or was never asked.
template <typename State, typename Parse>
Result<void> read_state(const std::filesystem::path& path, const Parse& parse, State& into) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int error = errno;
    if (error == ENOENT) return {};
    return fail(ErrorCode::kInvalid, path.string() + ": " + std::strerror(error));
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Result<State> state = parse(text);
  if (!state) return fail(ErrorCode::kInvalid, path.string() + ": " + state.error().message);
  into = std::move(*state);
  return {};
}

Result<KubeletView> read_once(const KubeletPaths& paths) {
  KubeletView view;
  auto done = read_state(paths.cpu_state(), parse_cpu_state, view.cpus);
  if (done) done = read_state(paths.memory_state(), parse_memory_state, view.memory);
  if (done) done = read_state(paths.device_state(), parse_device_state, view.devices);
  if (!done) return fail(done.error());
  const PodResources api(paths.socket());
  auto pods = api.list();
  if (!pods) return fail(pods.error());
  view.pods = std::move(*pods);
  auto allocatable = api.allocatable();
  if (!allocatable) return fail(allocatable.error());
  view.allocatable = std::move(*allocatable);
  return view;
}

}  // namespace

std::uint64_t identity_of(const std::filesystem::path& file) {
  struct stat found {};
  if (stat(file.c_str(), &found) != 0) return 0;
  std::uint64_t value = found.st_ino;
  for (const auto part : {found.st_mtim.tv_sec, found.st_mtim.tv_nsec, found.st_size}) {
    value = value * 0x9E3779B97F4A7C15ull + static_cast<std::uint64_t>(part);
  }
  return value | 1;
}

Result<KubeletView> read_kubelet(const KubeletPaths& paths) {
  for (int i = 1;; ++i) {
    const Identities before = identities_of(paths);
    Result<KubeletView> view = read_once(paths);
    if (!view || i == kTries || before == identities_of(paths)) return view;
  }
}

}  // namespace plimsoll::node
