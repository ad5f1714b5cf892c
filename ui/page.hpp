#pragma once
// The page that draws a cluster (docs/ui.md): index.html, style.css and the scripts of this folder,
// which are part of the program. It only reads, and asks nobody but where it came from.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serving/request.hpp"

namespace plimsoll::ui {

// Of its files, as they are asked for below the page's address; empty: the page itself.
[[nodiscard]] const std::vector<std::string>& names();
// 404: there is no such file. Browsers run nothing but these files, and show them in no frame.
[[nodiscard]] serving::Response file(std::string_view name);

// The whole page with its data ("plimsoll.io/view/v1") as one file, which asks nobody for anything.
// Nothing that the data says can end the block that it stands in.
[[nodiscard]] std::string single_file(std::string_view json);
[[nodiscard]] serving::Response single_file_answer(std::string_view json);
// The data of such a file; nothing: it is none.
[[nodiscard]] std::optional<std::string_view> data_of(std::string_view page);

}  // namespace plimsoll::ui
