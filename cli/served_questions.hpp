#pragma once
// The questions that a running scheduler answers over HTTP, to those whom the check who asks lets
// in: what Inspection answers on the local socket. The log level is at /debug/flags/v
// (serving/endpoints.hpp), as in Kubernetes.
//
//   GET /debug/explain?pod=NAMESPACE/NAME&nodes=10&texts=3
//   GET /debug/queue
//   GET /debug/top
//   GET /debug/dump
//   GET /debug/compare?settleSeconds=5
//
// 200 with the result as JSON; 400: the question makes no sense; 404: nothing is known of it.

#include <string>
#include <vector>

#include "cli/inspection.hpp"
#include "serving/http_server.hpp"

namespace plimsoll::cli {

[[nodiscard]] const std::vector<std::string>& question_paths();

// A gate that lets in what `check` lets in, and has these paths answered by `inspection`, which
// must outlive the server.
[[nodiscard]] serving::Gate answer_questions(serving::Gate check, Inspection& inspection);

}  // namespace plimsoll::cli
