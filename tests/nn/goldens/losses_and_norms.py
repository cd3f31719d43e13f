#!/usr/bin/env python3
"""Prints losses_and_norms.inc, the values that ../losses_test.cc and ../norm_test.cc expect; made with torch 1.13.1."""

import itertools

import torch
from torch.nn import functional

f64 = torch.float64
REDUCTIONS = ('none', 'mean', 'sum')
SHAPES = ((4,), (3, 4), (2, 4, 3))


def pattern(*shape, step=5, of=7):
  """Numbers that are exact in binary: ((step k) mod of - of / 2) / 4 in row-major order."""
  count = int(torch.tensor(shape).prod())
  return torch.tensor([((step * k) % of - of // 2) / 4 for k in range(count)], dtype=f64).reshape(shape)


def show(name, *tensors):
  for part, t in enumerate(tensors):
    numbers = ', '.join('%.17g' % v for v in t.detach().to(f64).reshape(-1).tolist())
    print('{"%s/%d", {%s}},' % (name, part, numbers))


def show_gradient(name, loss, *leaves):
  loss.sum().backward()
  show(name, loss, *(leaf.grad for leaf in leaves))


def target_shape(shape):
  return shape[:1] + shape[2:] if len(shape) > 1 else ()


def classes(shape):
  count = int(torch.tensor(target_shape(shape)).prod()) if target_shape(shape) else 1
  return torch.tensor([(3 * k) % 4 for k in range(count)]).reshape(target_shape(shape))


def name_of(*parts):
  return '/'.join(str(p) for p in parts)


def losses_over_classes():
  weights = torch.tensor([0.5, 1, 2, 0.25], dtype=f64)
  for rank, weighted, reduction in itertools.product((1, 2, 3), (0, 1), REDUCTIONS):
    shape, weight = SHAPES[rank - 1], weights if weighted else None
    x = pattern(*shape).requires_grad_()
    loss = functional.nll_loss(x, classes(shape), weight, reduction=reduction, ignore_index=1)
    show_gradient(name_of('nll_loss', rank, weighted, reduction), loss, x)
    for smoothing in (0, 0.25):
      x = pattern(*shape).requires_grad_()
      loss = functional.cross_entropy(x, classes(shape), weight, reduction=reduction, ignore_index=1,
                                      label_smoothing=smoothing)
      show_gradient(name_of('cross_entropy', rank, weighted, reduction, smoothing), loss, x)
      x = pattern(*shape).requires_grad_()
      target = (pattern(*shape, step=3, of=5) + 0.5).requires_grad_()
      loss = functional.cross_entropy(x, target, weight, reduction=reduction, label_smoothing=smoothing)
      show_gradient(name_of('cross_entropy_of_probabilities', rank, weighted, reduction, smoothing), loss, x, target)


def gradients_twice():
  """The gradient of the squared length of the gradient."""
  weights = torch.tensor([0.5, 1, 2, 0.25], dtype=f64)
  for weighted, reduction, smoothing in itertools.product((0, 1), REDUCTIONS, (0, 0.25)):
    x = pattern(3, 4).requires_grad_()
    loss = functional.cross_entropy(x, classes((3, 4)), weights if weighted else None, reduction=reduction,
                                    ignore_index=1, label_smoothing=smoothing)
    slopes, = torch.autograd.grad((loss * loss).sum(), x, create_graph=True)
    show_gradient(name_of('cross_entropy_twice', weighted, reduction, smoothing), (slopes * slopes).sum(), x)


def losses_of_elements():
  def show_loss(name, loss, **options):
    for reduction in REDUCTIONS:
      x, t = pattern(3, 4).requires_grad_(), pattern(3, 4, step=3, of=5).requires_grad_()
      show_gradient(name_of(name, reduction), loss(x, t, reduction=reduction, **options), x, t)

  show_loss('mse_loss', functional.mse_loss)
  show_loss('l1_loss', functional.l1_loss)
  for beta in (0.5, 1.25):
    show_loss(name_of('smooth_l1_loss', beta), functional.smooth_l1_loss, beta=beta)
  for weighted, positive in itertools.product((0, 1), (0, 1)):
    show_loss(name_of('binary_cross_entropy', weighted, positive), functional.binary_cross_entropy_with_logits,
              weight=pattern(4) + 2 if weighted else None, pos_weight=pattern(4) + 3 if positive else None)


def layer_norms():
  for rank, affine in itertools.product((1, 2), (0, 1)):
    x = pattern(2, 3, 4).requires_grad_()
    shape = x.shape[3 - rank:]
    leaves = [x]
    if affine:
      leaves += [(pattern(*shape) + 2).requires_grad_(), pattern(*shape).requires_grad_()]
    y = functional.layer_norm(x, shape, *leaves[1:], eps=1e-3)
    (y * pattern(2, 3, 4, step=3, of=5)).sum().backward()
    show(name_of('layer_norm', rank, affine), y, *(leaf.grad for leaf in leaves))


def batch_norms():
  for shape in ((4, 3), (2, 3, 5), (2, 3, 2, 2)):
    kind = torch.nn.BatchNorm2d if len(shape) == 4 else torch.nn.BatchNorm1d
    for momentum in (0.25, None):
      module = kind(3, eps=1e-3, momentum=momentum).to(f64)
      with torch.no_grad():
        module.weight.copy_(torch.tensor([1.5, -0.5, 2]))
        module.bias.copy_(torch.tensor([0.25, 1, -1]))
      name = name_of('batch_norm', len(shape), 'average' if momentum is None else 'momentum')
      for step in range(3):
        module.train(step < 2)
        x = (pattern(*shape) * (step + 1) + step).requires_grad_()
        module.zero_grad()
        y = module(x)
        (y * pattern(*shape, step=3, of=5)).sum().backward()
        show(name_of(name, step), y, x.grad, module.weight.grad, module.bias.grad, module.running_mean,
             module.running_var, module.num_batches_tracked)


losses_over_classes()
gradients_twice()
losses_of_elements()
layer_norms()
batch_norms()
