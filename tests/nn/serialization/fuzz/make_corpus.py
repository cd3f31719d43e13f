#!/usr/bin/env python3
"""Writes the seeds of corpus/: small files that are right, and the same with one fault each. The fuzzer added the rest."""

import json
import pathlib
import struct

CORPUS = pathlib.Path(__file__).resolve().parent / 'corpus'


def entry(dtype, shape, begin, end):
  return {'dtype': dtype, 'shape': shape, 'data_offsets': [begin, end]}


def save(name, header, data=b'', length=None):
  text = header if isinstance(header, bytes) else json.dumps(header, separators=(',', ':')).encode()
  (CORPUS / name).write_bytes(struct.pack('<Q', len(text) if length is None else length) + text + data)


SIZES = {'BOOL': 1, 'U8': 1, 'I8': 1, 'F8_E5M2': 1, 'F8_E4M3': 1, 'F8_E8M0': 1, 'I16': 2, 'U16': 2, 'F16': 2, 'BF16': 2,
         'I32': 4, 'U32': 4, 'F32': 4, 'C64': 8, 'F64': 8, 'I64': 8, 'U64': 8}

CORPUS.mkdir(exist_ok=True)
for dtype, size in SIZES.items():
  save('dtype_' + dtype, {'x': entry(dtype, [2], 0, 2 * size)}, b'\1' * 2 * size)
save('dtype_F4', {'x': entry('F4', [2, 2], 0, 2)}, b'12')
save('dtype_F6_E2M3', {'x': entry('F6_E2M3', [4], 0, 3)}, b'123')
save('dtype_unknown', {'x': entry('Q2', [9], 0, 3)}, b'123')
save('empty', {})
save('padded', b'{}      ')
save('metadata', {'__metadata__': {'a': 'b', 'c': '\\"\n'}, 'x': entry('U8', [], 0, 1)}, b'1')
save('empty_tensors', {'a': entry('F32', [0], 0, 0), 'b': entry('F32', [3, 0], 0, 0), 'c': entry('U8', [1], 0, 1)}, b'1')
save('eight_dimensions', {'x': entry('U8', [1] * 8, 0, 1)}, b'1')
save('nine_dimensions', {'x': entry('U8', [1] * 9, 0, 1)}, b'1')
save('unordered', {'a': entry('I16', [1], 1, 3), 'b': entry('U8', [1], 0, 1)}, b'123')
save('unicode', {'\0\U0001f600\u00e9\ud7ff': entry('U8', [], 0, 1)}, b'1')
save('bad_bool', {'x': entry('BOOL', [2], 0, 2)}, b'\1\2')
save('overlap', {'a': entry('U8', [2], 0, 2), 'b': entry('U8', [2], 1, 3)}, b'123')
save('hole', {'a': entry('U8', [1], 0, 1), 'b': entry('U8', [1], 2, 3)}, b'123')
save('behind_the_file', {'x': entry('U8', [4], 0, 4)}, b'123')
save('backwards', {'x': entry('U8', [1], 2, 1)}, b'12')
save('bytes_behind', {'x': entry('U8', [1], 0, 1)}, b'12')
save('large_product', {'x': entry('U8', [2**32, 2**32], 0, 0)})
save('large_empty', {'x': entry('U8', [0, 2**40, 2**20 - 1], 0, 0)})
save('too_large_empty', {'x': entry('U8', [2**40, 0, 2**40], 0, 0)})
save('size_of_64_bits', {'x': entry('U8', [2**63], 0, 0)})
save('size_of_65_bits', {'x': entry('U8', [2**64], 0, 0)})
save('negative_size', {'x': entry('U8', [-1], 0, 0)})
save('fraction', {'x': entry('U8', [1.0], 0, 1)}, b'1')
save('three_offsets', {'x': {'dtype': 'U8', 'shape': [], 'data_offsets': [0, 1, 2]}}, b'1')
save('number_in_metadata', {'__metadata__': {'a': 1}})
save('deep', b'{"x":' + b'[' * 200)
save('zero_byte', b'{}\0')
save('not_utf8', b'{"\xff":1}')
save('twice', b'{"__metadata__":{"a":"","a":""}}')
save('cut', b'{"x":{"dtype":"U8"')
save('list', b'[]')
save('length_too_large', b'{}', length=100_000_001)
save('length_of_64_bits', b'{}', length=2**64 - 1)
save('length_behind_the_file', b'{}', length=3)
(CORPUS / 'no_length').write_bytes(b'1234567')
(CORPUS / 'no_bytes').write_bytes(b'')
