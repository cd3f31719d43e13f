#!/usr/bin/env python3
"""Makes cases for //tools:replay from PyTorch's own operator database.

  tools/replay_generate.py OUT                  every case, one file each, as OUT/<operator>/<dtype>_<n>.safetensors
  tools/replay_generate.py --select=BYTES OUT   a fair selection of at most so many, one bundle per operator; that of
                                                tests/replay/cases was made with 3000000

The same PyTorch makes the same cases: every sample has a seed of its own. Needs Debian's python3-torch and no more.
How a case is written stands in tools/replay/case.h.
"""

import argparse
import collections
import hashlib
import json
import os
import random
import re
import struct
import sys
import types
import warnings
import zlib

import numpy
import torch


def _sample_of_any_collection(population, k, sample=random.sample):
  """random.sample as it was before Python 3.11, which the samples of PyTorch 1.13 expect: it takes sets."""
  return sample(sorted(population) if isinstance(population, set) else population, k)


def _load_database():
  """op_db, with a stand-in for the `expecttest` that its module imports but the samples do not use."""
  random.sample = _sample_of_any_collection
  try:
    import expecttest  # pylint: disable=unused-import,import-outside-toplevel
  except ImportError:
    stand_in = types.ModuleType('expecttest')
    stand_in.TestCase, stand_in.ACCEPT = __import__('unittest').TestCase, False
    sys.modules['expecttest'] = stand_in
  from torch.testing._internal.common_methods_invocations import op_db  # pylint: disable=import-outside-toplevel
  return op_db


# By the files of tools/replay/bindings.
OPERATORS = {
    'pointwise':
        'abs neg sign sgn reciprocal square sqrt rsqrt exp expm1 log log1p log2 sin cos tanh sigmoid erf floor ceil '
        'round trunc clamp clamp_min clamp_max minimum maximum lerp addcmul addcdiv eq ne lt le gt ge logical_and '
        'logical_or logical_xor logical_not isnan isinf isfinite add sub mul div true_divide fmod remainder pow rsub '
        '__radd__ __rsub__ __rmul__ __rdiv__ __rmod__ __rpow__ where nn.functional.relu nn.functional.gelu '
        'nn.functional.silu nn.functional.softplus nn.functional.leaky_relu nn.functional.elu',
    'complex':
        'conj conj_physical angle polar real imag complex view_as_real view_as_complex',
    'reduce':
        'sum mean prod max min amax amin argmax argmin any all var std var_mean std_mean norm linalg.norm '
        'linalg.vector_norm linalg.matrix_norm logsumexp cumsum cumprod softmax log_softmax sum_to_size',
    'loss':
        'nn.functional.nll_loss nn.functional.cross_entropy nn.functional.mse_loss nn.functional.l1_loss '
        'nn.functional.smooth_l1_loss nn.functional.binary_cross_entropy_with_logits',
    'linalg':
        'mm bmm addmm baddbmm matmul __rmatmul__ mv dot outer einsum nn.functional.linear',
    'indexing':
        'index_select gather scatter scatter_add index_add index_copy index_put masked_fill masked_select nonzero '
        'take_along_dim topk sort argsort nn.functional.embedding nn.functional.one_hot __getitem__ tril triu',
    'shape':
        'cat stack split split_with_sizes chunk unbind repeat flip roll diagonal nn.functional.pad permute transpose t '
        'T view view_as reshape reshape_as expand expand_as broadcast_to flatten squeeze unsqueeze as_strided narrow '
        'select slice',
    'copy':
        'to float double bfloat16 half int long bool byte char short clone contiguous fill zero_',
    'factory':
        'arange linspace eye full_like ones_like zeros_like new_full new_ones new_zeros ones zeros',
    'norm':
        'nn.functional.layer_norm nn.functional.batch_norm',
}

# The order in which torch.OP takes them, where the database's lambda has another.
ARGUMENT_ORDER = {'where': (1, 0, 2), 'einsum': (1, 0), 'nn.functional.embedding': (1, 0)}

DTYPES = ('float32', 'float64', 'bfloat16', 'complex64', 'complex128', 'int64', 'bool')
FORMAT_NAMES = {
    torch.bool: 'BOOL', torch.uint8: 'U8', torch.int8: 'I8', torch.int16: 'I16', torch.int32: 'I32',
    torch.int64: 'I64', torch.float16: 'F16', torch.bfloat16: 'BF16', torch.float32: 'F32', torch.float64: 'F64',
    torch.complex64: 'C64',
}
PAIRS = 'F64 pairs'  # complex128, which the format lacks
# Where a tensor is and how it lies: nothing that a result's values depend on.
PLACEMENT = {'device', 'layout', 'memory_format', 'pin_memory', 'requires_grad'}


class Unsupported(Exception):
  """A sample that a case file cannot express."""


class Case:
  """One call with what came of it: `description` is its JSON, `tensors` are by name."""

  def __init__(self, description, tensors):
    self.description, self.tensors = description, tensors
    self.bytes = sum(len(data) for _, _, data in tensors.values())

  def key(self):
    digest = hashlib.sha256(json.dumps(self.description, sort_keys=True).encode())
    for name, (dtype, shape, data) in sorted(self.tensors.items()):
      digest.update(repr((name, dtype, shape)).encode() + data)
    return digest.digest()

  def form(self):
    """What tells apart two ways to call an operator: which arguments, of which kinds and ranks."""
    def kind(value):
      if isinstance(value, dict) and 'tensor' in value:
        _, shape, data = self.tensors[value['tensor']]
        return 'tensor%d%s' % (len(shape), '' if data else ' empty')
      if isinstance(value, dict) and 'list' in value:
        return [kind(v) for v in value['list']]
      return value if isinstance(value, (bool, str)) else type(value).__name__
    d = self.description
    return json.dumps([[kind(v) for v in d['args']], {k: kind(v) for k, v in d['kwargs'].items()}], sort_keys=True)


def raw(tensor):
  """A tensor as dtype, shape and little-endian bytes in row-major order."""
  if tensor._is_zerotensor():  # has no memory, and numpy() would read some all the same
    tensor = torch.zeros(tensor.shape, dtype=tensor.dtype)
  t = tensor.detach().resolve_conj().resolve_neg().contiguous()
  if t.dtype == torch.complex128:
    return PAIRS, list(t.shape), t.numpy().tobytes()
  if t.dtype not in FORMAT_NAMES:
    raise Unsupported(str(t.dtype))
  flat = t.reshape(-1)
  flat = flat.view(torch.int16) if t.dtype == torch.bfloat16 else flat
  return FORMAT_NAMES[t.dtype], list(t.shape), flat.numpy().tobytes()


class Encoder:
  """Turns arguments into JSON and gathers their tensors, which it replaces by row-major copies."""

  def __init__(self):
    self.inputs = []

  def tensor(self, t):
    if t.layout != torch.strided or t.is_quantized:
      raise Unsupported(str(t.layout))
    copy = t.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
    self.inputs.append(copy.requires_grad_(t.requires_grad))
    return {'tensor': 'x%d' % (len(self.inputs) - 1)}, self.inputs[-1]

  def encode(self, value):
    """The JSON of `value`, and the value itself made of the copies."""
    if isinstance(value, torch.Tensor):
      return self.tensor(value)
    if value is None or isinstance(value, (bool, str)):
      return value, value
    if isinstance(value, int):
      return int(value), value
    if isinstance(value, float):
      finite = value == value and abs(value) != float('inf')
      return (value if finite else {'float': repr(value)}), value
    if isinstance(value, complex):
      return {'complex': [self.encode(value.real)[0], self.encode(value.imag)[0]]}, value
    if isinstance(value, numpy.generic):
      return self.encode(value.item())
    if isinstance(value, torch.dtype):
      return {'dtype': str(value).replace('torch.', '')}, value
    if isinstance(value, torch.device):
      return str(value), value
    if isinstance(value, slice):
      return {'slice': [value.start, value.stop, value.step]}, value
    if value is Ellipsis:
      return {'ellipsis': True}, value
    if isinstance(value, (list, tuple)):
      pairs = [self.encode(v) for v in value]
      rebuilt = [p[1] for p in pairs]
      return {'list': [p[0] for p in pairs]}, rebuilt if isinstance(value, list) else tuple(rebuilt)
    raise Unsupported(type(value).__name__)


def kept_arguments(kwargs):
  return {k: v for k, v in kwargs.items() if k not in PLACEMENT}


def run(op, sample):
  """The case of one sample; raises what PyTorch raises."""
  encoder = Encoder()
  args = [encoder.encode(v) for v in [sample.input, *sample.args]]
  kwargs = {k: encoder.encode(v) for k, v in kept_arguments(sample.kwargs).items()}
  tensors = {'x%d' % i: raw(t) for i, t in enumerate(encoder.inputs)}  # before the call, which may write into them
  results = op(*[v for _, v in args], **{k: v for k, (_, v) in kwargs.items()})
  outputs = [results] if isinstance(results, torch.Tensor) else list(results)
  if not outputs or not all(isinstance(t, torch.Tensor) for t in outputs):
    raise Unsupported('no tensors as results')
  tensors.update(('out.%d' % i, raw(t)) for i, t in enumerate(outputs))
  gradients = differentiate(encoder.inputs, outputs)
  tensors.update((name, raw(t)) for name, t in gradients.items())
  order = ARGUMENT_ORDER.get(op.name, range(len(args)))
  return Case({'op': op.name, 'variant': op.variant_test_name, 'args': [args[i][0] for i in order],
               'kwargs': {k: v for k, (v, _) in kwargs.items()}, 'grad': bool(gradients)}, tensors)


def differentiate(inputs, outputs):
  """Random cotangents of the outputs that have a gradient, and the gradients of the inputs, by name."""
  roots = {i: t for i, t in enumerate(outputs) if t.requires_grad}
  leaves = {i: t for i, t in enumerate(inputs) if t.requires_grad}
  if not roots or not leaves:
    return {}
  cotangents = {i: torch.randn(t.shape, dtype=torch.promote_types(t.dtype, torch.float32)).to(t.dtype)
                for i, t in roots.items()}
  try:
    gradients = torch.autograd.grad(list(roots.values()), list(leaves.values()), list(cotangents.values()),
                                    allow_unused=True)
  except (RuntimeError, NotImplementedError):  # no backward kernel for this dtype
    return {}
  named = {'cot.%d' % i: t for i, t in cotangents.items()}
  named.update(('grad.x%d' % i, g) for i, g in zip(leaves, gradients) if g is not None)
  return named if any(name.startswith('grad.') for name in named) else {}


def reseed(*what):
  seed = zlib.crc32('/'.join(map(str, what)).encode())
  torch.manual_seed(seed)
  random.seed(seed)
  numpy.random.seed(seed)


def cases_of(op, dtype, small, skipped):
  """All cases of an operator and a dtype; counts in `skipped`, by reason, the samples that give none.

  With `small`, the database makes smaller tensors where it knows how to.
  """
  label = (op.name, op.variant_test_name, dtype)
  reseed(*label)
  differentiable = op.supports_autograd and dtype in op.supported_backward_dtypes('cpu')
  seen = set()
  options = {'small_inputs_only': True} if small else {}
  for index, sample in enumerate(op.sample_inputs('cpu', dtype, requires_grad=differentiable, **options)):
    state = random.getstate(), torch.get_rng_state()
    reseed(*label, index)
    try:
      case = run(op, sample)
      if case.key() not in seen:
        seen.add(case.key())
        yield case
    except (Unsupported, RuntimeError, NotImplementedError, TypeError, ValueError) as e:
      skipped['%s %s: %s' % (op.name, dtype, str(e).split('\n')[0][:100])] += 1
    random.setstate(state[0])
    torch.set_rng_state(state[1])


def write(path, metadata, tensors):
  """A safetensors file: the length of a JSON header, the header, the tensors' bytes."""
  pairs = [name for name, (dtype, _, _) in tensors.items() if dtype == PAIRS]
  if pairs:
    metadata = dict(metadata, complex128=json.dumps(pairs, separators=(',', ':')))
  header, offset = {'__metadata__': metadata}, 0
  for name, (dtype, shape, data) in tensors.items():
    dtype, shape = ('F64', shape + [2]) if dtype == PAIRS else (dtype, shape)
    header[name] = {'dtype': dtype, 'shape': shape, 'data_offsets': [offset, offset + len(data)]}
    offset += len(data)
  text = json.dumps(header, separators=(',', ':')).encode()
  text += b' ' * (-len(text) % 8)
  with open(path, 'wb') as f:
    f.write(struct.pack('<Q', len(text)) + text)
    for _, _, data in tensors.values():
      f.write(data)
  return 8 + len(text) + offset


def write_bundle(path, cases):
  """Several cases in one file: the list of their JSON as `cases`, the tensors of case n as `n.<name>`."""
  tensors = {'%d.%s' % (n, name): t for n, case in enumerate(cases) for name, t in sorted(case.tensors.items())}
  return write(path, {'cases': json.dumps([c.description for c in cases], separators=(',', ':'))}, tensors)


def alternate(lists):
  """The first of each list, then the second of each, and so on."""
  queues = [collections.deque(l) for l in lists]
  while queues:
    for queue in queues:
      yield queue.popleft()
    queues = [q for q in queues if q]


def grouped(cases, key):
  groups = collections.OrderedDict()
  for case in cases:
    groups.setdefault(key(case), []).append(case)
  return groups.values()


def preferred(cases):
  """An order of cases in which any beginning is a fair choice: every set of arguments in turn, in each of these every
  form in turn, the next set starting with the next form; plain calls and small tensors first."""
  def rank(case):
    arguments = len(case.description['args']) + len(case.description['kwargs'])
    return 'empty' in case.form(), arguments, case.bytes
  def arguments(case):
    return re.sub(r'tensor\d( empty)?', 'tensor', case.form())
  turns = []
  for i, own in enumerate(grouped(sorted(cases, key=rank), arguments)):
    forms = list(grouped(own, Case.form))
    first = i % len(forms)
    turns.append(list(alternate(forms[first:] + forms[:first])))
  return list(alternate(turns))


def size_of(case):
  """About what a case adds to a bundle, in bytes."""
  return case.bytes + 75 * len(case.tensors) + len(json.dumps(case.description)) + 20


def select(groups, budget):
  """From each group in turn, while the budget lasts. A later case of a group must be small."""
  chosen, left = collections.OrderedDict((name, []) for name in groups), budget
  for turn, (name, case) in alternate([[(turn, (name, case)) for turn, case in enumerate(preferred(cases))]
                                       for name, cases in groups.items()]):
    size = size_of(case)
    if size <= left and (turn == 0 or size <= 4096):
      chosen[name].append(case)
      left -= size
  return chosen


def parse_arguments():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('out', metavar='OUT', help='folder, made if it is not there')
  parser.add_argument('--op', default='', metavar='REGEX', help='only operators whose whole name matches')
  parser.add_argument('--dtypes', default=','.join(DTYPES), help='default: %(default)s')
  parser.add_argument('--select', type=int, metavar='BYTES', help='keep a selection, as bundles')
  return parser.parse_args()


def label_of(op):
  return op.name + ('.' + op.variant_test_name if op.variant_test_name else '')


def main():
  arguments = parse_arguments()
  warnings.simplefilter('ignore')
  torch.set_num_threads(1)
  names = {name for family in OPERATORS.values() for name in family.split()}
  wanted = sorted((op for op in _load_database() if op.name in names and (
      not arguments.op or re.fullmatch(arguments.op, op.name))), key=label_of)
  skipped, groups, total = collections.Counter(), collections.OrderedDict(), 0
  for op in wanted:
    for name in arguments.dtypes.split(','):
      dtype = getattr(torch, name)
      if dtype in op.supported_dtypes('cpu'):
        groups[label_of(op), name] = list(cases_of(op, dtype, bool(arguments.select), skipped))
  os.makedirs(arguments.out, exist_ok=True)
  if arguments.select:
    groups = select(groups, arguments.select)
    for label in sorted({label for label, _ in groups}):
      cases = [case for (own, _), cases in groups.items() if own == label for case in cases]
      if cases:
        total += write_bundle(os.path.join(arguments.out, label + '.safetensors'), cases)
  else:
    for (label, name), cases in groups.items():
      os.makedirs(os.path.join(arguments.out, label), exist_ok=True)
      for n, case in enumerate(cases):
        path = os.path.join(arguments.out, label, '%s_%03d.safetensors' % (name, n))
        total += write(path, {'case': json.dumps(case.description)}, case.tensors)
  for reason, count in sorted(skipped.items()):
    print('%d left out: %s' % (count, reason), file=sys.stderr)
  print('%d cases of %d operators, %d bytes' % (sum(map(len, groups.values())), len(wanted), total))


if __name__ == '__main__':
  main()
