// The page of a report as a server sends it: without data, but allowed to request data from the
// server.
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
