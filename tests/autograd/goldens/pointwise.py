#!/usr/bin/env python3
"""Prints what PyTorch says of the programs in ../pointwise_golden_test.cc, in their order; made with torch 1.13.1."""

import math

import torch
import torch.nn.functional as F


def leaf(*values, dtype=torch.float64):
  return torch.tensor(values, dtype=dtype, requires_grad=True)


def complex_leaf(*values):
  return leaf(*values, dtype=torch.complex128)


def constant(*values):
  return torch.tensor(values, dtype=torch.float64)


def show(name, *leaves):
  print(name)
  for t in leaves:
    print('  ', 'none' if t.grad is None else (t.grad + 0).reshape(-1).tolist())


def backward(name, f, *leaves):
  y = f(*leaves)
  weights = torch.arange(1, y.numel() + 1).reshape(y.shape).to(y.dtype)
  (y * weights).real.sum().backward() if y.is_complex() else (y * weights).sum().backward()
  show(name, *leaves)


NAN = math.nan
backward('maximum', torch.maximum, leaf(1, 2, 3, NAN), leaf(2, 2, 1, 1))
backward('minimum', torch.minimum, leaf(1, 2, 3, NAN), leaf(2, 2, 1, 1))
backward('clamp', lambda x: torch.clamp(x, -1, 2), leaf(-2, -1, 0, 2, 3, NAN))
backward('clamp_tensor', torch.clamp, leaf(-2, -1, 0, 2, 3, 0), leaf(-1, -1, -1, -1, -1, 2), leaf(2, 2, 2, 2, 2, 1))
backward('clamp_min', lambda x, m: torch.clamp(x, min=m), leaf(-2, -1, 0), leaf(-1, -1, -1))
backward('clamp_max', lambda x, m: torch.clamp(x, max=m), leaf(2, -1, 0), leaf(-1, -1, 0.5))
backward('pow', torch.pow, leaf(0, 0, 0, 2, -2, 3), leaf(0, 1, 2, 0, 3, -1))
for exponent in (0, 1, 2, 0.5, -1):
  backward(f'pow_{exponent}', lambda x: torch.pow(x, exponent), leaf(0, 1, 4))
backward('number_pow', lambda e: torch.pow(0, e), leaf(0, 1, 2))
backward('number_pow', lambda e: torch.pow(3, e), leaf(0, 1, -2))
backward('pow of integers', lambda e: torch.pow(torch.tensor([2, 3, 0]), e), leaf(0, 1, 2))
backward('abs', torch.abs, leaf(-2, 0, 3))
backward('abs complex', torch.abs, complex_leaf(3 + 4j, 0))
backward('sgn complex', torch.sgn, complex_leaf(3 + 4j, 0, -1))
backward('sgn', torch.sgn, leaf(-2, 0, 3))
backward('sign', torch.sign, leaf(-2, 0, 3))
backward('angle', torch.angle, leaf(-2, 0, 3))
backward('angle complex', torch.angle, complex_leaf(3 + 4j, 0, -1))
backward('floor', torch.floor, leaf(-2, 0.5, 3))
backward('round', torch.round, leaf(-2, 0.5, 3))
backward('div floor', lambda a, b: torch.div(a, b, rounding_mode='floor'), leaf(7, -7), leaf(2, 2))
backward('remainder', torch.remainder, leaf(7, -7, 7.5), leaf(2, 2, -2))
backward('fmod', torch.fmod, leaf(7, -7, 7.5), leaf(2, 2, -2))
backward('relu', torch.relu, leaf(-1, 0, 2))
backward('leaky_relu', lambda x: F.leaky_relu(x, 0.1), leaf(-1, 0, 2))
backward('leaky_relu negative', lambda x: F.leaky_relu(x, -0.5), leaf(-1, 0, 2))
backward('elu', lambda x: F.elu(x, 1.5), leaf(-1, 0, 2))
backward('softplus', lambda x: F.softplus(x, 2, 3), leaf(-1, 1.5, 2))
backward('gelu', F.gelu, leaf(-1, 0, 2))
backward('gelu tanh', lambda x: F.gelu(x, approximate='tanh'), leaf(-1, 0, 2))
backward('masked_fill', lambda x, v: x.masked_fill(torch.tensor([True, False, True]), v), leaf(1, 2, 3),
         torch.tensor(5., dtype=torch.float64, requires_grad=True))
backward('polar', torch.polar, leaf(1, 2), leaf(0.5, -1))
backward('lerp complex', lambda a, b: torch.lerp(a, b, 0.25 + 0.5j), complex_leaf(1 + 2j, -1), complex_leaf(2j, 3))
