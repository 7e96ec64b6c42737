// The page built from web/: one HTML file with placeholders for data, and the script that draws its
// charts without a browser.
#pragma once

#include <string_view>

namespace attnscope {

/// Both are empty in a build without Node.
std::string_view page_template();
std::string_view charts_script();

}  // namespace attnscope
