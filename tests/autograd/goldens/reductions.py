#!/usr/bin/env python3
"""Prints what PyTorch says of the gradients in ../reductions_test.cc, in their order; made with torch 1.13.1."""

import torch

INFINITY = float('inf')


def leaf(*values, dtype=torch.float64):
  return torch.tensor(values, dtype=dtype, requires_grad=True)


def show(name, *tensors):
  print(name, *(t.detach().reshape(-1).tolist() for t in tensors))


def prod():
  for values in [(2, 3, 4), (2, 0, 4)]:  # of two zeros this release has no second derivative
    x = leaf(*values)
    first, = torch.autograd.grad(x.prod(), x, create_graph=True)
    weights = torch.arange(1, len(values) + 1, dtype=torch.float64)
    second, = torch.autograd.grad((first * weights).sum(), x)
    show('prod of %s' % (values,), first, second)
  z = leaf(1 + 2j, 3 - 1j, 2j, dtype=torch.complex128)
  show('prod, complex', torch.autograd.grad(z.prod().abs().square(), z)[0])


def norms():
  for p in [0.5, 1, 1.5, 2, 3, INFINITY, -INFINITY]:
    x = leaf(0, 3, -4, 4)
    show('norm %s' % p, torch.autograd.grad(torch.linalg.vector_norm(x, p), x)[0])
  for p in [1, 1.5, 2, 3, INFINITY]:
    z = leaf(3 + 4j, -1j, 2 - 1j, dtype=torch.complex128)
    show('norm %s, complex' % p, torch.autograd.grad(torch.linalg.vector_norm(z, p), z)[0])


def variances():
  x = leaf(1, 2, 4, 8)
  first, = torch.autograd.grad(x.std(), x, create_graph=True)
  show('std', first, torch.autograd.grad(first[0], x)[0])
  x = leaf(3, 3, 3)
  show('std of equals', torch.autograd.grad(x.std(), x)[0])
  z = leaf(3 + 4j, -1j, 2 - 1j, dtype=torch.complex128)
  show('var, complex', z.var(), torch.autograd.grad(z.var(), z)[0])


def ties():
  for name in ['amax', 'amin']:
    x = leaf(2, 1, 2, 1, 1)
    show(name, torch.autograd.grad(getattr(x, name)(), x)[0])
  x = leaf(2, 1, 2, 1, 1)
  show('max along 0', torch.autograd.grad(x.max(0)[0], x)[0])


def others():
  x = leaf(1, 2, 4)
  w = torch.tensor([1., 3, 5], dtype=torch.float64)
  show('cumsum', torch.autograd.grad((x.cumsum(0) * w).sum(), x)[0])
  first, = torch.autograd.grad((x.softmax(0) * w).sum(), x, create_graph=True)
  show('softmax', first, torch.autograd.grad(first[0], x)[0])
  first, = torch.autograd.grad(x.logsumexp(0), x, create_graph=True)
  show('logsumexp', first, torch.autograd.grad(first[0], x)[0])
  x = leaf(3, 1, 2)
  show('sort', torch.autograd.grad((x.sort(descending=True)[0] * w).sum(), x)[0])
  show('topk', torch.autograd.grad((x.topk(2, largest=False)[0] * w[:2]).sum(), x)[0])


prod()
norms()
variances()
ties()
others()
