// SPDX-License-Identifier: Apache-2.0
#include "tests/support/gradient_check.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/support/test_device.h"

namespace edgewise {
namespace {

constexpr int kReportedElements = 5;

// An element of a tensor with any strides.
struct Element {
  std::vector<std::int64_t> index;
  double* address;
};

// Finds an element by its number in row-major order.
Element find_element(const at::Tensor& tensor, std::int64_t number) {
  Element result{std::vector<std::int64_t>(static_cast<std::size_t>(tensor.dim())), tensor.data_ptr<double>()};
  for (std::int64_t dim = tensor.dim() - 1; dim >= 0; --dim) {
    const std::int64_t coordinate = number % tensor.size(dim);
    number /= tensor.size(dim);
    result.index[static_cast<std::size_t>(dim)] = coordinate;
    result.address += coordinate * tensor.stride(dim);
  }
  return result;
}

// Maps an output to one number: a weighted sum of its elements with random weights.
class Projection {
 public:
  explicit Projection(const at::Tensor& output)
      : weight_(at::randn(output.sizes(), at::detail::createCPUGenerator(/*seed_val=*/7), at::kDouble)) {}

  at::Tensor operator()(const at::Tensor& output) const { return (output * weight_).sum(); }

 private:
  at::Tensor weight_;
};

std::vector<at::Tensor> analytic_gradients(const TensorFunction& f, const std::vector<at::Tensor>& inputs,
                                           const Projection& project) {
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& input : inputs) leaves.push_back(input.detach().requires_grad_());
  auto gradients = torch::autograd::grad({project(f(leaves))}, leaves, /*grad_outputs=*/{}, /*retain_graph=*/false,
                                         /*create_graph=*/false, /*allow_unused=*/true);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    gradients[i] = gradients[i].defined() ? gradients[i].contiguous() : at::zeros(inputs[i].sizes(), at::kDouble);
  }
  return gradients;
}

double numeric_gradient(const TensorFunction& f, const std::vector<at::Tensor>& inputs, const Projection& project,
                        double* element, double step) {
  const double original = *element;
  auto value_at = [&](double moved) {
    *element = moved;
    return project(f(inputs)).item<double>();
  };
  const double difference = value_at(original + step) - value_at(original - step);
  *element = original;
  return difference / (2 * step);
}

}  // namespace

void expect_gradients_match(const TensorFunction& on_device, std::vector<at::Tensor> inputs,
                            const GradientCheckOptions& options) {
  for (at::Tensor& input : inputs) {
    ASSERT_EQ(input.scalar_type(), at::kDouble) << "finite differences need fp64";
    input = input.detach().to(at::kCPU);
  }
  // The differences change elements in memory of the host.
  const TensorFunction f = [&](const std::vector<at::Tensor>& on_host) {
    std::vector<at::Tensor> copies;
    for (const at::Tensor& input : on_host) copies.push_back(input.to(test_device()));
    return on_device(copies).to(at::kCPU);
  };
  const c10::AutoGradMode no_grad(false);
  const Projection project(f(inputs));

  std::vector<at::Tensor> analytic;
  {
    const c10::AutoGradMode with_grad(true);
    analytic = analytic_gradients(f, inputs, project);
    const auto again = analytic_gradients(f, inputs, project);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_TRUE(at::equal(analytic[i], again[i])) << "input " << i << ": two backward passes differ";
    }
  }

  int reported = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(analytic[i].sizes(), inputs[i].sizes()) << "gradient of input " << i;
    const double* analytic_elements = analytic[i].const_data_ptr<double>();
    for (std::int64_t number = 0; number < inputs[i].numel() && reported < kReportedElements; ++number) {
      const Element at_number = find_element(inputs[i], number);
      const double numeric = numeric_gradient(f, inputs, project, at_number.address, options.step);
      const double tolerance = options.absolute_tolerance + options.relative_tolerance * std::abs(numeric);
      if (std::abs(analytic_elements[number] - numeric) <= tolerance) continue;
      ADD_FAILURE() << "input " << i << " at " << testing::PrintToString(at_number.index) << ": autograd gives "
                    << analytic_elements[number] << ", finite differences " << numeric;
      ++reported;
    }
  }
}

}  // namespace edgewise
