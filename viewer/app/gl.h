// OpenGL's functions, asked for by name. The viewer links no OpenGL library, so that it starts, and
// draws pictures in software, where there is none.
#pragma once

#define GLFW_INCLUDE_GLEXT
#include <GLFW/glfw3.h>

namespace stepscope::viewer {

/// The function of the current context, or null: gl_function<decltype(&glClear)>("glClear").
template <class Function>
Function gl_function(char const* name) {
  return reinterpret_cast<Function>(glfwGetProcAddress(name));
}

}  // namespace stepscope::viewer
