// The API as an OpenAPI document.
#pragma once

#include <string>

namespace attnscope {

/// OpenAPI 3.1, made from the routes and the descriptions of commands; docs/openapi.json is a copy.
std::string openapi_text();

}  // namespace attnscope
