// The pages built from web/: HTML files with placeholders for data, and the script that draws their
// charts without a browser.
#pragma once

#include <string_view>

namespace attnscope {

// All are empty in a build without Node.

std::string_view page_template();
/// The small page that shows only attention maps.
std::string_view heads_template();
std::string_view charts_script();
/// The page's font as an OpenType file, for charts as PNG.
std::string_view charts_font();

}  // namespace attnscope
