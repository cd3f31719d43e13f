#!/usr/bin/env python3
"""Writes compile_commands.json for clangd: tools/compile_commands.py [BAZEL FLAG...]

The command lines are those of `bazel aquery`, so every --config given is in effect. Nothing is compiled.
"""

import json
import os
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), '..'))
# "vellum/..." resolves through one link to the root, so that an editor opens the sources and not Bazel's copies of them.
INCLUDE = '.cache/include'
WITH_VALUE = ('-MF', '-o')
DROPPED = ('-MD', '-frandom-seed', '-fmodule', '-fno-canonical-system-headers', '-Xclang')


def bazel(*args):
  return subprocess.run([os.path.join(ROOT, 'bazelw'), *args], stdout=subprocess.PIPE, check=True, text=True).stdout


def mapped(arguments, output_base):
  result = [arguments[0], '-I' + INCLUDE]
  previous = None
  for argument in arguments[1:]:
    flag = next((f for f in ('-isystem', '-iquote', '-I') if argument.startswith(f)), '')
    path = argument[len(flag):]
    if path.startswith('external/'):
      argument = flag + os.path.join(output_base, path)
    dropped = argument in WITH_VALUE or previous in WITH_VALUE or argument.startswith(DROPPED)
    if not dropped and '/_virtual_includes/' not in argument:
      result.append(argument)
    previous = argument
  return result


def main():
  os.chdir(ROOT)
  os.makedirs(INCLUDE, exist_ok=True)
  if not os.path.islink(INCLUDE + '/vellum'):
    os.symlink(ROOT, INCLUDE + '/vellum')
  output_base = bazel('info', 'output_base').strip()
  graph = json.loads(
      bazel('aquery', *sys.argv[1:], '--output=jsonproto', '--noshow_progress', 'mnemonic("CppCompile", //...)'))
  entries = {}
  for action in graph.get('actions', []):
    arguments = action['arguments']
    if '-c' in arguments:
      source = arguments[arguments.index('-c') + 1]
      entries[source] = {'directory': ROOT, 'file': source, 'arguments': mapped(arguments, output_base)}
  with open('compile_commands.json', 'w', encoding='utf-8') as f:
    json.dump([entries[s] for s in sorted(entries)], f, indent=1)
  print('compile_commands.json: %d files' % len(entries))


if __name__ == '__main__':
  main()
