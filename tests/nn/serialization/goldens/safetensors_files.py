#!/usr/bin/env python3
"""Writes every_dtype.safetensors and foreign_dtypes.safetensors with the format's own library; made with safetensors 0.8.0.

Only one text of metadata: the library writes several in random order.
"""

import pathlib

import numpy
from safetensors import TensorSpec, serialize_file

HERE = pathlib.Path(__file__).resolve().parent


def save(file, tensors, metadata=None):
  specs = {}
  for name, (dtype, array) in tensors.items():
    specs[name] = TensorSpec(dtype=dtype, shape=array.shape, data_ptr=array.ctypes.data, data_len=array.nbytes)
  serialize_file(specs, str(HERE / file), metadata)


def array(values, dtype):
  return numpy.array(values, dtype)


save('every_dtype.safetensors', {
    'mask': ('bool', array([True, False, True], '?')),
    'layer.u8': ('uint8', array([[0, 1], [254, 255]], 'u1')),
    'layer.i8': ('int8', array([-128, 0, 127], 'i1')),
    'layer.i16': ('int16', array([-32768, 32767], 'i2')),
    'layer.i32': ('int32', array([[-2**31, 2**31 - 1]], 'i4')),
    'steps': ('int64', array(-2**62 - 1, 'i8')),
    'layer.f16': ('float16', array([1.5, -0.25], 'f2')),
    # The upper halves of the float32 numbers 1.5 and -3.
    'layer.bf16': ('bfloat16', array([0x3fc0, 0xc040], 'u2')),
    'layer.f32': ('float32', array([[0.5, 1, 1.5], [-2, 1e30, 0.1]], 'f4')),
    'another.f32': ('float32', array([7], 'f4')),
    'layer.f64': ('float64', array([0.1], 'f8')),
    'layer.c64': ('complex64', array([1 + 2j, -0.5j], 'c8')),
    'empty': ('float32', numpy.zeros((0, 4), 'f4')),
    'nämé "\\\n\x7f': ('uint8', array([9], 'u1')),
}, {'format': 'pt "1"\t'})

save('foreign_dtypes.safetensors', {
    'u16': ('uint16', array([1, 2], 'u2')),
    'u32': ('uint32', array([3], 'u4')),
    'u64': ('uint64', array([4], 'u8')),
    'f8_e4m3': ('float8_e4m3fn', array([[1, 2, 3]], 'u1')),
    'f4': ('float4_e2m1fn_x2', array([[1, 2]], 'u1')),
    'ours': ('float32', array([2.5], 'f4')),
})
