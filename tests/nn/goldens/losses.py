#!/usr/bin/env python3
"""Prints the values in ../functional_test.cc, ../training_test.cc and ../layers_test.cc; made with torch 1.13.1."""

import torch
from torch.nn import functional

f64 = torch.float64


def pattern(*shape):
  """Numbers that are exact in binary: ((5 k) mod 7 - 3) / 4 in row-major order."""
  count = int(torch.tensor(shape).prod())
  return torch.tensor([((5 * k) % 7 - 3) / 4 for k in range(count)], dtype=f64).reshape(shape)


def numbers(t):
  return ', '.join('%.17g' % v for v in t.detach().reshape(-1).tolist())


def cross_entropy():
  for targets, ignore in (([2, 0, 3], -100), ([2, -100, 3], -100), ([1, 0, 1], 1)):
    for reduction in ('none', 'mean', 'sum'):
      x = pattern(3, 4).requires_grad_()
      loss = functional.cross_entropy(x, torch.tensor(targets), reduction=reduction, ignore_index=ignore)
      loss.sum().backward()
      print('cross_entropy', targets, ignore, reduction, '{%s}, {%s}' % (numbers(loss), numbers(x.grad)))


def mse_loss():
  for reduction in ('none', 'mean', 'sum'):
    x = pattern(2, 3).requires_grad_()
    loss = functional.mse_loss(x, pattern(3, 2).reshape(2, 3) * 3, reduction=reduction)
    loss.sum().backward()
    print('mse_loss', reduction, '{%s}, {%s}' % (numbers(loss), numbers(x.grad)))


def training(make):
  model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Linear(5, 4)).to(f64)
  with torch.no_grad():
    for p in model.parameters():
      p.copy_(pattern(*p.shape))
  x, y = pattern(6, 3), torch.tensor([0, 1, 2, 3, 0, 1])
  optimizer = make(model.parameters())
  losses = []
  for _ in range(8):
    optimizer.zero_grad()
    loss = functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss)
  print('training', numbers(torch.stack(losses)))


def gains():
  for name in ('linear', 'sigmoid', 'tanh', 'relu', 'leaky_relu', 'selu'):
    print('gain', name, '%.17g' % torch.nn.init.calculate_gain(name, 0.3 if name == 'leaky_relu' else None))


cross_entropy()
mse_loss()
training(lambda p: torch.optim.SGD(p, lr=0.3, momentum=0.9, weight_decay=0.01, nesterov=True))
training(lambda p: torch.optim.AdamW(p, lr=0.05, weight_decay=0.1))
gains()
