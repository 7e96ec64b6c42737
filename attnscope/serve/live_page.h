// The page of a report, as a server gives it: without data, and allowed to ask the server for it.
#pragma once

#include <string>
#include <string_view>

namespace attnscope {

struct LivePage {
  std::string html;
  std::string policy;  // for the header Content-Security-Policy
};

/// `page`: page_template().
LivePage live_page(std::string_view page);

}  // namespace attnscope
