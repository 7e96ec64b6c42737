#include "attnscope/serve/live_page.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

TEST(LivePage, MayConnectOnlyToItsServer) {
  const LivePage page = live_page(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; connect-src "
      "'none'\"><script type=\"application/gzip;base64\" id=\"results\">@@results@@</script>"
      "<b>@@values@@</b><b>@@maps@@</b>");
  EXPECT_EQ(
      page.html,
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; connect-src "
      "'self'\"><script type=\"application/gzip;base64\" id=\"results\"></script>"
      "<b></b><b></b>");
  EXPECT_EQ(page.policy, "default-src 'none'; connect-src 'self'; frame-ancestors 'none'");
}

TEST(LivePage, WithoutAPolicyNothingMayRun) {
  EXPECT_EQ(live_page("<p>").policy, "default-src 'none'; frame-ancestors 'none'");
}

}  // namespace
}  // namespace attnscope
