#include "lab/ask/ask_files.hpp"

#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "cli/run/wiring.hpp"
#include "lab/sandbox/apiserver/api_server.hpp"
#include "lab/sandbox/apiserver/cluster_loader.hpp"
#include "lab/sandbox/controllers/controllers.hpp"
#include "lab/sandbox/kubelet/machine_nodes.hpp"
#include "lab/sandbox/store/object_store.hpp"
#include "lab/simulate/ask_session.hpp"
#include "lab/simulate/input_files.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::ordered_json;
using namespace std::chrono_literals;

Result<void> load_objects(sandbox::ObjectStore& store, const std::string& path, InputRole role,
                          bool lenient) {
  std::vector<std::string> notes;
  const auto texts = read_objects(path, role, lenient, notes);
  if (!texts) return fail(texts.error());
  const auto loaded = sandbox::load_cluster(store, *texts);
  if (!loaded) return fail(loaded.error().within("loading " + path));
  notes.insert(notes.end(), loaded->notes.begin(), loaded->notes.end());
  for (const std::string& note : notes) std::cerr << "note: " << note << "\n";
  return {};
}

// The answer of a scheduler in this process, which reads the files through the embedded API server
// and decides nothing.
Result<std::string> ask_about_files(const AskedFiles& arguments,
                                    const informer::HttpRequest& question) {
  const auto modules = load_modules(arguments.plugin_directories);
  if (!modules) return fail(modules.error());
  const auto configuration = load_configuration(arguments.config, *modules);
  if (!configuration) {
    return fail(configuration.error().within("the profile file is not usable:\n"));
  }
  sandbox::ObjectStore store;
  for (const auto& [path, role] : {std::pair(arguments.cluster, InputRole::kCluster),
                                   std::pair(arguments.pods, InputRole::kPods)}) {
    auto loaded = load_objects(store, path, role, arguments.lenient);
    if (!loaded) return fail(loaded.error());
  }
  sandbox::MachineLibrary machines(
      std::filesystem::path(arguments.cluster == "-" ? "" : arguments.cluster).parent_path());
  if (auto installed = sandbox::install_machine_nodes(store, machines); !installed) {
    return fail(installed.error());
  }
  {
    const sandbox::SimulatedControllers controllers(store);  // as a simulation begins
  }
  auto server = sandbox::ApiServer::start(store);
  if (!server) return fail(server.error());
  informer::ServerAccess access;
  access.server = (*server)->url();
  access.source = "the sandbox";
  auto session =
      Session::create(*configuration, *modules, access, nullptr, Session::Mode::kObserve);
  if (!session) return fail(session.error());
  (*session)->start();
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!(*session)->scheduler().stats().synced) {
    if (std::chrono::steady_clock::now() > deadline) {
      return fail(ErrorCode::kUnavailable, "the files were not read within 60 s");
    }
    std::this_thread::sleep_for(2ms);
  }
  const auto said = ask_session(**session)(question);
  (*session)->stop();
  (*server)->stop();
  if (!said) return said;
  ordered_json result = ordered_json::parse(*said);
  result["standby"] = false;  // with files there is no other leader
  return result.dump();
}

}  // namespace

Ask ask_files(AskedFiles files) {
  return [files = std::move(files)](const informer::HttpRequest& question) {
    return ask_about_files(files, question);
  };
}

}  // namespace plimsoll::cli
