#include "attnscope/serve/live_page.h"

namespace attnscope {
namespace {

void replace(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

/// The Content-Security-Policy of the page itself; if it has none, a policy that blocks everything.
std::string own_policy(const std::string& html) {
  const std::size_t named = html.find("Content-Security-Policy");
  if (named == std::string::npos) return "default-src 'none'";
  constexpr std::string_view kContent = "content=\"";
  const std::size_t begin = html.find(kContent, named) + kContent.size();
  return html.substr(begin, html.find('"', begin) - begin);
}

}  // namespace

LivePage live_page(std::string_view page) {
  LivePage live{.html = std::string(page)};
  replace(live.html, "connect-src 'none'", "connect-src 'self'");
  for (const char* marker : {"@@results@@", "@@values@@", "@@maps@@"}) {
    replace(live.html, marker, "");
  }
  // Only a header can restrict who may frame the page.
  live.policy = own_policy(live.html) + "; frame-ancestors 'none'";
  return live;
}

}  // namespace attnscope
