#include "tests/kube/kube_client.hpp"

#include <curl/curl.h>

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

namespace plimsoll::test {
namespace {

// libcurl's global state: set up once, before any thread uses it.
void init_curl() {
  static const CURLcode result = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)result;
}

std::size_t append_body(char* data, std::size_t size, std::size_t count, void* reply) {
  static_cast<KubeReply*>(reply)->body.append(data, size * count);
  return size * count;
}

}  // namespace

nlohmann::json KubeReply::json() const {
  return nlohmann::json::parse(body, nullptr, false);
}

std::string KubeReply::reason() const {
  const nlohmann::json status = json();
  return status.is_object() ? status.value("reason", std::string()) : std::string();
}

struct KubeClient::Connection {
  explicit Connection(KubeAccess given) : access(std::move(given)), curl(curl_easy_init()) {}
  ~Connection() { curl_easy_cleanup(curl); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  KubeAccess access;
  CURL* curl;
};

KubeClient::KubeClient(KubeAccess access) {
  init_curl();
  connection_ = std::make_unique<Connection>(std::move(access));
}
KubeClient::~KubeClient() = default;
KubeClient::KubeClient(KubeClient&&) noexcept = default;
KubeClient& KubeClient::operator=(KubeClient&&) noexcept = default;

KubeReply KubeClient::request(std::string_view method, std::string_view path, std::string_view body,
                              std::string_view content_type) {
  CURL* curl = connection_->curl;
  const KubeAccess& access = connection_->access;
  KubeReply reply;
  char error[CURL_ERROR_SIZE] = "";
  curl_easy_reset(curl);  // options only: the connection stays
  curl_easy_setopt(curl, CURLOPT_URL, (access.server + std::string(path)).c_str());
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, std::string(method).c_str());
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, 30L);
  curl_easy_setopt(curl, CURLOPT_CAINFO, access.ca_file.c_str());
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!access.cert_file.empty()) {
    curl_easy_setopt(curl, CURLOPT_SSLCERT, access.cert_file.c_str());
    curl_easy_setopt(curl, CURLOPT_SSLKEY, access.key_file.c_str());
  }
  curl_slist* headers = curl_slist_append(nullptr, "Accept: application/json");
  if (!access.token.empty()) {
    headers = curl_slist_append(headers, ("Authorization: Bearer " + access.token).c_str());
  }
  if (!body.empty()) {
    headers = curl_slist_append(headers, ("Content-Type: " + std::string(content_type)).c_str());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
  }
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &append_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &reply);
  const CURLcode result = curl_easy_perform(curl);
  if (result == CURLE_OK) {
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply.status);
  } else {
    reply.body = error[0] != '\0' ? error : curl_easy_strerror(result);
  }
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, nullptr);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, nullptr);
  curl_slist_free_all(headers);
  return reply;
}

KubeReply KubeClient::get(std::string_view path) {
  return request("GET", path);
}

KubeReply KubeClient::post(std::string_view path, const nlohmann::json& body) {
  return request("POST", path, body.dump());
}

KubeReply KubeClient::put(std::string_view path, const nlohmann::json& body) {
  return request("PUT", path, body.dump());
}

KubeReply KubeClient::patch(std::string_view path, const nlohmann::json& body,
                            std::string_view content_type) {
  return request("PATCH", path, body.dump(), content_type);
}

KubeReply KubeClient::del(std::string_view path) {
  return request("DELETE", path);
}

KubeReply KubeClient::del(std::string_view path, const nlohmann::json& body) {
  return request("DELETE", path, body.dump());
}

Result<std::vector<nlohmann::json>> KubeClient::list(std::string_view path,
                                                     std::string_view query) {
  std::vector<nlohmann::json> items;
  std::string next;
  do {
    std::string url = std::string(path) + "?limit=500";
    if (!query.empty()) url += "&" + std::string(query);
    if (!next.empty()) url += "&continue=" + next;
    const KubeReply reply = get(url);
    if (!reply.ok()) {
      return fail(ErrorCode::kInternal, "listing " + std::string(path) + ": HTTP " +
                                            std::to_string(reply.status) + ": " + reply.body);
    }
    nlohmann::json page = reply.json();
    if (!page.is_object() || !page.contains("items")) {
      return fail(ErrorCode::kInternal, "listing " + std::string(path) + ": not a list");
    }
    for (nlohmann::json& item : page["items"]) items.push_back(std::move(item));
    next = page["metadata"].value("continue", std::string());
  } while (!next.empty());
  return items;
}

Result<void> create_all(const KubeAccess& access, const std::vector<KubeObject>& objects,
                        int threads) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  Result<void> result;
  const auto work = [&] {
    KubeClient client(access);
    for (std::size_t i = next++; i < objects.size() && !failed; i = next++) {
      const KubeReply reply = client.request("POST", objects[i].path, objects[i].body);
      if (reply.ok()) continue;
      const std::lock_guard lock(mutex);
      if (failed.exchange(true)) continue;
      result = fail(ErrorCode::kInternal, "creating object " + std::to_string(i) + " at " +
                                              objects[i].path + ": HTTP " +
                                              std::to_string(reply.status) + ": " + reply.body);
    }
  };
  init_curl();
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
  return result;
}

}  // namespace plimsoll::test
