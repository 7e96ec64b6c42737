// Replaces the page in a build without Node.
#include "attnscope/page/template.h"

namespace attnscope {

std::string_view page_template() { return {}; }
std::string_view heads_template() { return {}; }
std::string_view charts_script() { return {}; }
std::string_view charts_font() { return {}; }

}  // namespace attnscope
