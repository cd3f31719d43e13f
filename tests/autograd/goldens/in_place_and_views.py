#!/usr/bin/env python3
"""Prints what PyTorch says of the programs in ../golden_test.cc, in their order; made with torch 1.13.1."""

import torch


def leaf(*values, dtype=torch.float64):
  return torch.tensor(values, dtype=dtype, requires_grad=True)


def complex_leaf(*values):
  return leaf(*values, dtype=torch.complex128)


def show(name, *leaves):
  print(name)
  for t in leaves:
    print('  ', 'none' if t.grad is None else t.grad.reshape(-1).tolist())


def in_place_on_a_row():
  x, w = leaf(1, 2, 3, 4), leaf(5, 6)
  b = (x * x).reshape(2, 2)
  b[0].mul_(w)
  (b * b).sum().backward()
  show('in_place_on_a_row', x, w)


def copy_into_a_column():
  x, w = leaf(1, 2, 3, 4), leaf(5, 6)
  b = (x * 2).view(2, 2)
  b[:, 1].copy_(w * w)
  (b * torch.tensor([[1., 2.], [3., 4.]], dtype=torch.float64)).sum().backward()
  show('copy_into_a_column', x, w)


def view_of_a_view():
  x = leaf(1, 2, 3, 4, 5, 6)
  b = (x * x).view(2, 3)
  v = b.t()[1:]
  v[0].mul_(3)
  v.add_(1)
  (b * b * b).sum().backward()
  show('view_of_a_view', x)


def transposed_base_inside_a_storage():
  u, w = leaf(2, 3), leaf(5, 7)
  b = torch.arange(1., 9, dtype=torch.float64).view(4, 2)[1:3].t().detach()
  b.mul_(u)
  b[0].mul_(w)
  (b * b).sum().backward()
  show('transposed_base_inside_a_storage', u, w)


def older_view_sees_the_write():
  x, w = leaf(1, 2, 3), leaf(4, 5, 6)
  b = x * 1
  first = b[0:2]
  b.mul_(w)
  (first * first).sum().backward()
  show('older_view_sees_the_write', x, w)


def view_of_a_constant_gets_a_history():
  w = leaf(4, 5, 6)
  b = torch.ones(3, dtype=torch.float64)
  first = b[0:2]
  b.mul_(w)
  (first * first).sum().backward()
  show('view_of_a_constant_gets_a_history', w)


def overlapping_operand():
  x = leaf(1, 2, 3, 4)
  b = x * 1
  upper = b[1:4]
  b[0:3].add_(upper.clone())  # PyTorch refuses the overlap itself
  (upper * upper).sum().backward()
  show('overlapping_operand', x)


def real_part_of_a_base():
  z, w = complex_leaf(1 + 2j, 3 - 1j), leaf(2, 5)
  b = z * 1
  b.real.mul_(w)
  (b * b.conj()).real.sum().backward()
  show('real_part_of_a_base', z, w)


def imaginary_part_of_a_base():
  z, w = complex_leaf(1 + 2j, 3 - 1j), leaf(2, 5)
  b = z * z
  b.imag.copy_(w * w)
  (b * b).real.sum().backward()
  show('imaginary_part_of_a_base', z, w)


def pairs_of_a_base():
  z = complex_leaf(1 + 2j, 3 - 1j)
  b = z * z
  torch.view_as_real(b)[1].mul_(3)
  (b * b.conj()).real.sum().backward()
  show('pairs_of_a_base', z)


def complex_product():
  a, b = complex_leaf(1 + 2j, 3 - 1j), complex_leaf(2 - 1j, 0.5 + 1j)
  (a * b / (a + 2)).imag.sum().backward()
  show('complex_product', a, b)


def complex_times_real():
  z, x = complex_leaf(1 + 2j, 3 - 1j), leaf(2, 3)
  y = z * x
  (y.exp() * y.conj()).real.sum().backward()
  show('complex_times_real', z, x)


def complex_power():
  z = complex_leaf(1 + 2j, 3 - 1j)
  (z**3).real.sum().backward()
  show('complex_power', z)


def broadcast():
  a, b = leaf(1, 2, 3), leaf(4, 5)
  (a / b.view(2, 1)).pow(2).sum().backward()
  show('broadcast', a, b)


def in_place_with_broadcast_operand():
  a, b = leaf(1, 2, 3, 4), leaf(5)
  y = (a * 1).view(2, 2)
  y.mul_(b)
  y.div_(a[:2])
  (y * y).sum().backward()
  show('in_place_with_broadcast_operand', a, b)


def second_derivative_through_a_view():
  x, w = leaf(2, 3), leaf(5)
  b = x * x
  b[0:1].mul_(w * w)
  g, = torch.autograd.grad((b * b).sum(), x, create_graph=True)
  (g * g).sum().backward()
  show('second_derivative_through_a_view', x, w)


def relu_and_ties():
  x = leaf(-1, 0, 2, 2)
  (x.relu().mul(3) + x.amax()).sum().backward()
  show('relu_and_ties', x)


if __name__ == '__main__':
  for program in [f for f in list(globals().values()) if callable(f) and getattr(f, '__module__', '') == '__main__']:
    if program.__name__ not in ('leaf', 'complex_leaf', 'show'):
      program()
