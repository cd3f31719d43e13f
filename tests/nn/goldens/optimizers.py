#!/usr/bin/env python3
"""Prints the tables of ../optim_test.cc: parameters after five steps; made with torch 1.13.1."""

import itertools

import torch


def gradient(step):
  return torch.tensor([((7 * step + 3 * i) % 11 - 5) / 4 for i in range(4)], dtype=torch.float64)


def after_steps(make):
  parameter = torch.tensor([1, -2, 0.5, 3], dtype=torch.float64, requires_grad=True)
  optimizer = make([parameter])
  for step in range(5):
    if step == 3:
      optimizer.param_groups[0]['lr'] /= 2
    parameter.grad = gradient(step)
    optimizer.step()
  return '{' + ', '.join('%.17g' % v for v in parameter.tolist()) + '}'


def literal(name, value):
  return '.%s = %s' % (name, str(value).lower() if isinstance(value, bool) else value)


def sgd():
  for momentum, dampening, weight_decay, nesterov in itertools.product((0, 0.9), (0, 0.3), (0, 0.1), (False, True)):
    if nesterov and (momentum == 0 or dampening != 0):
      continue
    options = {'lr': 0.1, 'momentum': momentum, 'dampening': dampening, 'weight_decay': weight_decay, 'nesterov': nesterov}
    row = after_steps(lambda p: torch.optim.SGD(p, **options))
    print('{{%s}, %s},' % (', '.join(literal(*item) for item in options.items()), row))


def adamw():
  for betas, eps, weight_decay in itertools.product(((0.9, 0.999), (0.5, 0.8)), (1e-8, 0.1), (0, 0.01, 0.5)):
    row = after_steps(lambda p: torch.optim.AdamW(p, lr=0.1, betas=betas, eps=eps, weight_decay=weight_decay))
    options = {'lr': 0.1, 'beta1': betas[0], 'beta2': betas[1], 'eps': eps, 'weight_decay': weight_decay}
    print('{{%s}, %s},' % (', '.join(literal(*item) for item in options.items()), row))


def adamw_defaults():
  row = after_steps(torch.optim.AdamW)
  print('{{}, %s},' % row)


def adamw_complex():
  z = torch.tensor([1 - 2j, 0.5 + 3j], dtype=torch.complex128, requires_grad=True)
  optimizer = torch.optim.AdamW([z], lr=0.1)
  for step in range(5):
    z.grad = torch.view_as_complex(gradient(step).reshape(2, 2))
    optimizer.step()
  print(z.tolist())


sgd()
adamw_defaults()
adamw()
adamw_complex()
