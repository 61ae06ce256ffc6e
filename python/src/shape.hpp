// Python's Shape: what a model's shape is made of, with what collision queries need of it, made when first asked.
#pragma once

#include <memory>

#include "touchstone/collision/collision_shape.hpp"
#include "touchstone/geometry/shape.hpp"

namespace touchstone::python {

class PyShape {
 public:
  PyShape() = default;
  explicit PyShape(Shape shape) : shape_(std::move(shape)) {}
  const Shape& shape() const { return shape_; }
  const CollisionShape& prepared() const {
    if (prepared_ == nullptr) prepared_ = std::make_shared<const CollisionShape>(CollisionShape::make(shape_));
    return *prepared_;
  }

 private:
  Shape shape_;
  mutable std::shared_ptr<const CollisionShape> prepared_;
};

}  // namespace touchstone::python
