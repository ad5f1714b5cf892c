// The `plimsoll-node` program: publishes the topology and the devices of the node that it runs on.

#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <iostream>
#include <map>
#include <thread>

#include "framework/base/log.hpp"
#include "framework/base/shown.hpp"
#include "framework/metrics/process_metrics.hpp"
#include "informer/http/kubeconfig.hpp"
#include "node/exporter/doctor.hpp"
#include "node/exporter/exporter.hpp"
#include "node/exporter/settings_source.hpp"
#include "node/machine/hwloc_reader.hpp"
#include "serving/endpoints.hpp"

namespace {

using namespace plimsoll;
using namespace plimsoll::node;
using namespace std::chrono_literals;

constexpr auto kHang = 60s;

struct Arguments {
  std::string node;
  std::string kubelet_root = "/var/lib/kubelet";
  std::string device_plugins;
  std::string kubelet_config;
  std::string kubelet_ca;
  bool kubelet_insecure = false;
  std::string host_root;
  std::string devices = "off";
  std::string device_types;
  std::string nvml = FinderOptions().nvml;
  bool hook = false;
  std::string nri_socket = HookOptions().socket;
  std::string kubeconfig;
  std::string context;
  std::string bind_address = "127.0.0.1";
  std::uint16_t port = 10252;
  bool print = false;
  bool doctor = false;
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
};

void add_options(CLI::App& app, Arguments& into) {
  app.add_option("--node-name", into.node, "This machine's Node object")
      ->envname("NODE_NAME")
      ->required();
  app.add_option("--kubelet-root", into.kubelet_root,
                 "The kubelet's folder (its --root-dir), with its state files and pod-resources/")
      ->capture_default_str();
  app.add_option("--device-plugin-dir", into.device_plugins,
                 "The folder of device plugins (default: /var/lib/kubelet/device-plugins, whatever "
                 "the kubelet's --root-dir is)");
  app.add_option("--kubelet-config", into.kubelet_config,
                 "Where the kubelet's settings come from: a file (default: config.yaml in its "
                 "folder; lacks what flags and drop-in files say), the kubelet's own "
                 "https://ADDRESS:10250, or apiserver: asked through the API server");
  app.add_option("--kubelet-ca", into.kubelet_ca,
                 "Certificate authority of the kubelet's certificate (PEM), with an address in "
                 "--kubelet-config");
  app.add_flag("--kubelet-insecure-tls", into.kubelet_insecure,
               "Do not verify the kubelet's certificate: whoever answers at its address sees the "
               "credential that is sent");
  app.add_option(
      "--host-root", into.host_root,
      "Where the machine's root folder is mounted (default: /sys as this process sees it)");
  app.add_option("--devices", into.devices,
                 "Whether the node's devices are published, as a Device object and in the Node: "
                 "off, report, or remove (take back what was published)")
      ->check(CLI::IsMember({"off", "report", "remove"}))
      ->capture_default_str();
  app.add_option("--device-types", into.device_types,
                 "A file with further kinds of devices (YAML or JSON)");
  app.add_option("--nvml", into.nvml, "NVIDIA's management library")->capture_default_str();
  app.add_flag(
      "--hook", into.hook,
      "Give containers the devices that a scheduler has chosen for their pods, as a plugin "
      "of the container runtime (with --devices=report)");
  app.add_option("--nri-socket", into.nri_socket, "The runtime's socket for plugins (NRI)")
      ->capture_default_str();
  app.add_option("--kubeconfig", into.kubeconfig,
                 "How to reach the API server (default: kubectl's rules, or the pod's service "
                 "account)");
  app.add_option("--context", into.context, "Context of the kubeconfig");
  app.add_option("--bind-address", into.bind_address,
                 "IP address to serve metrics and health on (0.0.0.0: all)")
      ->capture_default_str();
  app.add_option("--port", into.port, "Its port (0: serve nothing)")->capture_default_str();
  app.add_flag("--print", into.print,
               "Print the NodeResourceTopology that would be written, as JSON, and end");
  app.add_subcommand("doctor",
                     "Say what is seen of this node, what is lacking, and what would happen to a "
                     "pod, and end (status 1: something is lacking)")
      ->fallthrough()
      ->callback([&into] { into.doctor = true; });
  static const std::map<std::string, LogLevel> kLevels{{"debug", LogLevel::kDebug},
                                                       {"info", LogLevel::kInfo},
                                                       {"warn", LogLevel::kWarn},
                                                       {"error", LogLevel::kError}};
  static const std::map<std::string, LogFormat> kFormats{{"text", LogFormat::kText},
                                                         {"json", LogFormat::kJson}};
  app.add_option_function<std::string>(
         "--log-level", [&into](const std::string& word) { into.level = kLevels.at(word); },
         "How much is written to standard error")
      ->check(CLI::IsMember(kLevels))
      ->default_str("info");
  app.add_option_function<std::string>(
         "--log-format", [&into](const std::string& word) { into.format = kFormats.at(word); },
         "How it is written")
      ->check(CLI::IsMember(kFormats))
      ->default_str("text");
}

using Client = std::shared_ptr<informer::HttpClient>;

Result<Client> connect(const informer::ServerAccess& access) {
  auto client =
      informer::HttpClient::create(access, std::make_shared<informer::CredentialSource>(access));
  if (!client) return fail(client.error());
  return Client(std::move(*client));
}

// The kubelet takes the credential that the API server takes (webhook authentication).
Result<Client> connect_to_kubelet(const Arguments& arguments, informer::ServerAccess access) {
  access.server = arguments.kubelet_config;
  access.source = "--kubelet-config";
  access.tls_server_name.clear();
  access.proxy_url.clear();
  access.insecure_skip_tls_verify = arguments.kubelet_insecure;
  access.certificate_authority_file = arguments.kubelet_ca;
  access.certificate_authority_pem.clear();
  if (!arguments.kubelet_ca.empty()) {
    auto authority = informer::read_file(arguments.kubelet_ca, "--kubelet-ca");
    if (!authority) return fail(authority.error());
    access.certificate_authority_pem = std::move(*authority);
  }
  return connect(access);
}

using Settings = std::function<Result<KubeletSettings>(const std::stop_token&)>;

Result<Settings> settings_source(const Arguments& arguments, const Client& api_server) {
  const std::string& from = arguments.kubelet_config;
  if (from == "apiserver") {
    const std::string path =
        "/api/v1/nodes/" + informer::url_encode(arguments.node) + "/proxy/configz";
    return Settings([api_server, path](const std::stop_token& stop) {
      return settings_from_server(*api_server, path, stop);
    });
  }
  if (from.starts_with("https://")) {
    auto kubelet = connect_to_kubelet(arguments, api_server->access());
    if (!kubelet) return fail(kubelet.error());
    return Settings([kubelet = *kubelet](const std::stop_token& stop) {
      return settings_from_server(*kubelet, "/configz", stop);
    });
  }
  if (from.find("://") != std::string::npos) {
    return fail(ErrorCode::kInvalid, "--kubelet-config " + from +
                                         " is neither a file nor an address that begins with "
                                         "https://, nor apiserver");
  }
  const std::filesystem::path file = from.empty() ? arguments.kubelet_root + "/config.yaml" : from;
  return Settings([file](const std::stop_token&) { return settings_from_file(file); });
}

Result<std::unique_ptr<serving::HttpServer>> serve(const Arguments& arguments,
                                                   metrics::Registry& registry,
                                                   const Exporter& exporter) {
  registry.gauges({"plimsoll_node_build_info", "1, with the version of the program.", {"version"}})
      .with({PLIMSOLL_VERSION})
      .set(1);
  const serving::HealthCheck loop{"loop", [&exporter]() -> std::optional<std::string> {
                                    if (exporter.since_last_pass() < kHang) return std::nullopt;
                                    return "nothing was looked at for a minute";
                                  }};
  const serving::HealthCheck report{"report", [&exporter]() -> std::optional<std::string> {
                                      std::string trouble = exporter.trouble();
                                      if (trouble.empty()) return std::nullopt;
                                      return trouble;
                                    }};
  serving::Endpoints endpoints;
  endpoints.registry = &registry;
  endpoints.healthz = endpoints.livez = {loop};
  endpoints.readyz = {loop, report};
  serving::ServerOptions options;
  options.address = arguments.bind_address;
  options.port = arguments.port;
  auto server = serving::HttpServer::start(options, serving::make_handler(std::move(endpoints)));
  if (server) log_info("serving metrics and health", {{"url", (*server)->url()}});
  return server;
}

Result<FinderOptions> finder_options(const Arguments& arguments) {
  FinderOptions finder;
  finder.sys = arguments.host_root + "/sys";
  finder.nvml = arguments.nvml;
  if (arguments.device_types.empty()) return finder;
  auto rules = type_rules_from_file(arguments.device_types);
  if (!rules) return fail(rules.error());
  finder.rules = std::move(*rules);
  return finder;
}

Result<void> work(const Arguments& arguments, const sigset_t& signals) {
  const auto access = informer::load_server_access({arguments.kubeconfig, arguments.context});
  if (!access) return fail(access.error());
  auto api_server = connect(*access);
  if (!api_server) return fail(api_server.error());
  auto settings = settings_source(arguments, *api_server);
  if (!settings) return fail(settings.error());

  ExporterOptions options;
  options.node = arguments.node;
  options.kubelet.root = arguments.kubelet_root;
  if (!arguments.device_plugins.empty()) options.kubelet.device_plugins = arguments.device_plugins;
  options.hardware = this_machine;
  options.settings = std::move(*settings);
  if (arguments.hook && arguments.devices != "report") {
    return fail(ErrorCode::kInvalid, "--hook needs --devices=report: it gives what is reported");
  }
  const auto finder = finder_options(arguments);
  if (!finder) return fail(finder.error());
  if (arguments.devices != "off") {
    options.devices.emplace().finder = *finder;
    options.devices->remove = arguments.devices == "remove";
    if (arguments.hook) {
      options.devices->hook.emplace().socket = arguments.nri_socket;
      HostFiles& files = options.devices->hook->files;
      files.root = arguments.host_root + "/";
      files.sys = finder->sys;
      const std::filesystem::path proc = arguments.host_root + "/proc";
      if (std::filesystem::exists(proc / "devices")) files.proc = proc;
    }
    options.devices->boot = sys_text("/proc/sys/kernel/random/boot_id").value_or("unknown");
  }
  if (arguments.doctor) {
    const Diagnosis diagnosis = diagnose(options, *finder, **api_server, {});
    std::cout << diagnosis.text << std::flush;
    if (diagnosis.lacks) return fail(ErrorCode::kUnavailable, "something is lacking, see above");
    return {};
  }
  metrics::Registry registry;
  const auto process = metrics::add_process_metrics(registry);
  auto exporter = Exporter::create(std::move(options), **api_server, &registry);
  if (!exporter) return fail(exporter.error());
  if (arguments.print) {
    const auto object = (*exporter)->preview(10s, {});
    if (!object) return fail(object.error());
    std::cout << *object << std::endl;
    return {};
  }
  std::unique_ptr<serving::HttpServer> server;
  if (arguments.port != 0) {
    auto started = serve(arguments, registry, **exporter);
    if (!started) return fail(started.error());
    server = std::move(*started);
  }
  const std::jthread loop([&](const std::stop_token& stop) { (*exporter)->run(stop); });
  int signal = 0;
  sigwait(&signals, &signal);
  log_info("ending", {{"signal", signal}});
  return {};
}

// Blocks the signals that end the program, for all threads: work() waits for them.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

int run(int argc, char** argv) {
  CLI::App app(
      "Publishes the topology of the node that it runs on, as a NodeResourceTopology, and "
      "its devices.",
      "plimsoll-node");
  app.set_version_flag("--version", PLIMSOLL_VERSION);
  app.option_defaults()->take_last();  // of a flag that is given twice, as in Kubernetes' programs
  Arguments arguments;
  add_options(app, arguments);
  CLI11_PARSE(app, argc, argv);
  log_to_stderr(arguments.level, arguments.format);
  if (!arguments.host_root.empty()) use_host_root(arguments.host_root);
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  if (!arguments.print && !arguments.doctor) signals = block_signals();
  if (auto done = work(arguments, signals); !done) {
    std::cerr << "plimsoll-node: " << done.error().message << "\n";
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const plimsoll::ShownOutput output(std::cout);
  const plimsoll::ShownOutput errors(std::cerr);
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "plimsoll-node: " << error.what() << "\n";
    return 1;
  }
}
