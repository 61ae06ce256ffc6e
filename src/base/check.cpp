#include "touchstone/base/check.hpp"

namespace touchstone::detail {

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  throw InternalError(fmt::format("{}:{}: internal check failed: {}{}{}; this is a bug in Touchstone, please report it",
                                  file, line, condition, message.empty() ? "" : ": ", message));
}

}  // namespace touchstone::detail
