#include "lab/simulate/ask_session.hpp"

#include <functional>
#include <future>
#include <memory>
#include <string>

#include "framework/base/quote.hpp"

namespace plimsoll::cli {

Ask ask_session(Session& session) {
  return [&session](const informer::HttpRequest& question) -> Result<std::string> {
    const size_t query = question.path.find('?');
    serving::Request request;
    request.method = question.method;
    request.path = question.path.substr(0, query);
    if (query != std::string::npos) request.query = question.path.substr(query + 1);
    const auto promise = std::make_shared<std::promise<serving::Response>>();
    std::future<serving::Response> answer = promise->get_future();
    session.inspection().answer(request, [promise](const std::function<serving::Response()>& make) {
      promise->set_value(make());
    });
    serving::Response said = answer.get();
    if (said.status == 200) return std::move(said.body);
    return fail(ErrorCode::kNotFound, without_last_newlines(std::move(said.body)));
  };
}

}  // namespace plimsoll::cli
