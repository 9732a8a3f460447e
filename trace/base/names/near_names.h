// What somebody who mistyped a name may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepscope::base {

/// What is meant by a name that does not exist, best first, at most three: spelled nearly so, or a
/// longer or shorter form of it.
std::vector<std::string_view> near_names(std::string_view name,
                                         std::vector<std::string_view> const& known);

/// " (did you mean analyze?)", or empty when no name is near. `wrong` is as the user wrote it.
std::string did_you_mean(std::string_view wrong, std::vector<std::string> const& known);

/// The first word of a parser's message that is an option, such as "--stpes"; empty where it has
/// none.
std::string_view option_in(std::string_view message);

}  // namespace stepscope::base
