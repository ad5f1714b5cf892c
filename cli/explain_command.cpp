#include <filesystem>
#include <future>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.hpp"
#include "cli/explain_text.hpp"
#include "cli/input_files.hpp"
#include "cli/wiring.hpp"
#include "sandbox/apiserver/api_server.hpp"
#include "sandbox/apiserver/cluster_loader.hpp"
#include "sandbox/apiserver/object_store.hpp"
#include "sandbox/kubelet/machine_nodes.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::ordered_json;
using namespace std::chrono_literals;

constexpr size_t kNodesShown = 10;
constexpr size_t kTextsShown = 3;

struct Limits {
  size_t nodes;
  size_t texts;
};

Result<Limits> limits_of(const ExplainArguments& arguments) {
  constexpr size_t kAll = std::numeric_limits<size_t>::max();
  const std::string& given = arguments.nodes;
  if (given == "all" || (given.empty() && arguments.output == "json")) return Limits{kAll, kAll};
  if (given.empty()) return Limits{kNodesShown, kTextsShown};
  if (given.size() > 9 || given.find_first_not_of("0123456789") != std::string::npos) {
    return fail(ErrorCode::kInvalid, "--nodes wants a number or \"all\", not \"" + given + "\"");
  }
  return Limits{std::stoul(given), kTextsShown};
}

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
Result<std::string> ask_about_files(const ExplainArguments& arguments,
                                    const std::string& question) {
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
  const auto promise = std::make_shared<std::promise<std::string>>();
  auto answer = promise->get_future();
  (*session)->inspection().ask(question, [promise](const std::function<std::string()>& make) {
    promise->set_value(make());
  });
  const std::string line = answer.get();
  (*session)->stop();
  (*server)->stop();
  return result_of(line);
}

}  // namespace

int explain(const ExplainArguments& arguments, const Ask& ask) {
  const auto limits = limits_of(arguments);
  if (!limits) return failure("explain", limits.error().message);
  const bool from_files = !arguments.cluster.empty();
  if (from_files && arguments.config.empty()) {
    return failure("explain", "--cluster wants the profile file too: --config");
  }
  if (!from_files && (!arguments.config.empty() || !arguments.pods.empty())) {
    return failure("explain",
                   "--config and --pods belong to --cluster; without it a running scheduler is "
                   "asked");
  }
  const std::string question = ordered_json{
      {"command", "explain"},
      {"pod", arguments.pod},
      {"nodes", limits->nodes},
      {"texts", limits->texts}}.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  const auto answer = from_files ? ask_about_files(arguments, question) : ask(question);
  if (!answer) return failure("explain", answer.error().message);
  ordered_json result = ordered_json::parse(*answer, nullptr, false);
  if (!result.is_object()) return failure("explain", "the answer makes no sense");
  if (from_files) result["standby"] = false;  // with files there is no other leader
  if (arguments.output == "json") {
    std::cout << result.dump(2) << "\n";
  } else {
    std::cout << explain_text(result.dump(), limits->nodes);
  }
  return 0;
}

}  // namespace plimsoll::cli
