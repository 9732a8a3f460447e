// What panels remember between frames. A panel's file alone knows its part: a struct with is_busy()
// and finish().
#pragma once

#include <memory>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>

namespace stepscope::viewer {

/// One part a type, made when it is first asked for. Losing the cache costs time only. The scene
/// must outlive it: parts compute on other threads and read the scene.
class PanelCache {
 public:
  template <class Part>
  Part& of() {
    std::unique_ptr<AnyPart>& part = parts_[std::type_index(typeid(Part))];
    if (!part) part = std::make_unique<Holder<Part>>();
    return static_cast<Holder<Part>&>(*part).value;
  }

  /// Whether a part computes: another frame is due when it is done.
  [[nodiscard]] bool is_busy() {
    // Every part is asked: asking takes over what is done.
    bool any = false;
    for (auto& [type, part] : parts_) any = part->is_busy() || any;
    return any;
  }
  /// Waits for everything that panels asked for.
  void finish() {
    for (auto& [type, part] : parts_) part->finish();
  }

 private:
  struct AnyPart {
    AnyPart() = default;
    AnyPart(AnyPart const&) = delete;
    AnyPart& operator=(AnyPart const&) = delete;
    virtual ~AnyPart() = default;
    virtual bool is_busy() = 0;
    virtual void finish() = 0;
  };
  template <class Part>
  struct Holder final : AnyPart {
    bool is_busy() override { return value.is_busy(); }
    void finish() override { value.finish(); }
    Part value;
  };

  std::unordered_map<std::type_index, std::unique_ptr<AnyPart>> parts_;
};

}  // namespace stepscope::viewer
