#include "lab/ask/page_options.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/ask/ask_options.hpp"
#include "cli/line/failure.hpp"
#include "cli/line/options.hpp"
#include "config/manifest.hpp"
#include "lab/simulate/simulate_command.hpp"
#include "ui/page.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;

struct Files {
  std::vector<std::string> files;
  SimulateArguments simulation;
  PageArguments page;
};

// The document of a page that was saved; nothing: the file is something else. Of a page only the
// data is taken, never its scripts.
std::optional<std::string> saved_document(std::string_view text) {
  if (const auto data = ui::data_of(text)) text = *data;
  if (text.find("\"simulatedSeconds\"") == std::string_view::npos) return std::nullopt;
  const json saved = json::parse(text, nullptr, false);
  if (!saved.is_object()) return std::nullopt;
  if (saved.contains("simulation")) return std::string(text);
  if (saved.contains("simulatedSeconds")) return page_of_result(saved);
  return std::nullopt;
}

int show(const Files& asked) {
  std::string document;
  if (asked.files.size() == 1) {
    const auto text = config::read_text_file(asked.files.front());
    if (!text) return failure("ui", text.error().message);
    try {
      document = saved_document(*text).value_or("");
    } catch (const json::exception&) {
      return failure("ui", asked.files.front() + ": this simulation cannot be read");
    }
  }
  if (document.empty()) {
    SimulateArguments arguments = asked.simulation;
    arguments.cluster = asked.files.front();
    arguments.more_of_cluster.assign(asked.files.begin() + 1, asked.files.end());
    const int status = simulate(arguments, &document);
    if (document.empty()) return status;
  }
  return show_saved_page(asked.page, document);
}

}  // namespace

RunCommand add_page_of_files(CLI::App& command) {
  const auto asked = std::make_shared<Files>();
  // Whoever looks at a cluster wants to see where every pod would go that waits.
  asked->simulation.as_schedulers = {"default-scheduler"};
  command
      .add_option("files", asked->files,
                  "A page of simulate --html, what simulate -o json printed, or objects of a "
                  "cluster (plimsoll export, kubectl get -o json)")
      ->required()
      ->check(CLI::ExistingFile);
  command.add_option("--config", asked->simulation.config,
                     "Profile file by which pods of a cluster get their places (default: the "
                     "default profile with all plugins that are installed)");
  command.add_option("--pods", asked->simulation.pods, "Further pods, YAML or JSON");
  add_lenient_flag(command, asked->simulation.lenient);
  add_plugin_option(command, asked->simulation.plugin_directories);
  add_page_options(command, asked->page);
  return [asked](const Words&) {
    log_to_stderr(LogLevel::kWarn, LogFormat::kText);
    return show(*asked);
  };
}

}  // namespace plimsoll::cli
