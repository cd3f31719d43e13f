"""Finds a LibTorch and compiles libtorch_peer.cc with it."""

import glob
import hashlib
import os
import re
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
SOURCES = ['libtorch_peer.cc', 'worker.cc', 'work.cc']
HEADERS = ['rows.h', 'worker.h', 'work.h']
API = 'torch/csrc/api/include'

HOW_TO_GET_IT = """There is no LibTorch here to compare with. Either
  apt-get install libtorch-dev          (Debian, Ubuntu)
or unpack the C++ distribution of https://pytorch.org/get-started/locally (LibTorch, CPU) and give its folder:
  --libtorch_root=DIR                   (it has include/ and lib/)"""


SLOW_BLAS = """LibTorch multiplies matrices with the reference BLAS here, many times slower than with a tuned one. Install
libopenblas0 (Debian, Ubuntu), or have LD_LIBRARY_PATH lead to another libblas.so.3, to see the peer at its best."""


class Missing(Exception):
  """There is no LibTorch, or none that can be compiled with."""


class LibTorch:
  """Where a LibTorch's files are. `library` is libtorch_cpu.so; `flags` is what its own users compile with."""

  def __init__(self, include, library, flags=()):
    self.include = include
    self.library = library
    self.flags = list(flags)

  def compile_options(self):
    # The compiler's own folder must not be named: it would come before those that the C++ headers look further in.
    own = [] if os.path.realpath(self.include) == '/usr/include' else ['-isystem', self.include]
    return self.flags + own + ['-isystem', os.path.join(self.include, API)]

  def link_options(self):
    folder = os.path.dirname(self.library)
    return ['-L' + folder, '-Wl,-rpath,' + folder, '-ltorch_cpu', '-lc10', '-pthread']


def find(root=None, system='/usr'):
  """The LibTorch under `root`, laid out as in the downloadable archive, else the one that Debian's package puts into
  `system`. Throws Missing."""
  if root:
    found = _at(os.path.join(root, 'include'), [os.path.join(root, 'lib')])
    if not found:
      raise Missing('%s is no LibTorch: there is no include/%s/torch/torch.h or no lib/libtorch_cpu.so' % (root, API))
    found.flags = _abi_flags(root)
    return found
  found = _at(os.path.join(system, 'include'), glob.glob(os.path.join(system, 'lib', '*')) + [os.path.join(system, 'lib')])
  if not found:
    raise Missing(HOW_TO_GET_IT)
  return found


def _at(include, library_folders):
  if not os.path.isfile(os.path.join(include, API, 'torch', 'torch.h')):
    return None
  for folder in library_folders:
    library = os.path.join(folder, 'libtorch_cpu.so')
    if os.path.isfile(library):
      return LibTorch(include, library)
  return None


def _abi_flags(root):
  """Archives of older versions are built for the C++ ABI before C++11 and say so to CMake."""
  try:
    with open(os.path.join(root, 'share', 'cmake', 'Torch', 'TorchConfig.cmake'), encoding='utf-8') as f:
      return sorted(set(re.findall(r'-D_GLIBCXX_USE_CXX11_ABI=[01]', f.read())))
  except OSError:
    return []


def blas(libraries):
  """The file name of the BLAS among the paths of loaded libraries, or None where LibTorch has its own inside, and
  whether it is Netlib's reference implementation, which Debian keeps in a folder blas/."""
  found = sorted(path for path in libraries if re.search(r'lib(open)?blas|libblis|libmkl', os.path.basename(path)))
  # OpenBLAS is a library of its own behind a thin libblas.so.3.
  tuned = [path for path in found if not os.path.basename(path).startswith('libblas.')]
  names = [os.path.basename(path) for path in tuned or found]
  reference = bool(found) and not tuned and os.path.basename(os.path.dirname(found[0])) == 'blas'
  return (names[0] if names else None), reference


def build(libtorch, say, cache=None):
  """The path of the compiled peer. `say` is called with a line of text when it has to be compiled first, which takes
  about a minute; what was compiled before is kept in `cache` under a name made of all that went into it."""
  compiler = os.environ.get('CXX') or shutil.which('g++') or shutil.which('clang++')
  if not compiler:
    raise Missing('There is no C++ compiler: install g++ or clang++, or set CXX.')
  options = ['-std=c++20', '-O2'] + libtorch.compile_options()
  cache = cache or os.path.join(
      os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'vellum', 'vs_libtorch')
  binary = os.path.join(cache, _key(compiler, options, libtorch))
  if os.path.isfile(binary):
    return binary

  say('compiling the programs of the peer with %s' % libtorch.library)
  os.makedirs(cache, exist_ok=True)
  with tempfile.TemporaryDirectory(dir=cache) as folder:
    # Sources include one another as "vellum/<path from the root>".
    os.symlink(os.path.dirname(HERE), os.path.join(folder, 'vellum'))
    made = os.path.join(folder, 'peer')
    command = [compiler] + options + ['-I' + folder] + [os.path.join(HERE, s) for s in SOURCES]
    result = subprocess.run(command + ['-o', made] + libtorch.link_options(), stderr=subprocess.PIPE, text=True)
    if result.returncode:
      raise Missing('%s cannot compile the peer with %s:\n%s' % (compiler, libtorch.library, result.stderr[-4000:]))
    os.replace(made, binary)
  return binary


def _key(compiler, options, libtorch):
  version = subprocess.run([compiler, '--version'], stdout=subprocess.PIPE, check=True).stdout
  library = os.stat(libtorch.library)
  key = hashlib.sha256(version)
  key.update(repr((compiler, options, libtorch.link_options(), library.st_size, library.st_mtime_ns)).encode())
  for name in SOURCES + HEADERS:
    with open(os.path.join(HERE, name), 'rb') as f:
      key.update(hashlib.sha256(f.read()).digest())
  return key.hexdigest()
