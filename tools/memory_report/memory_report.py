#!/usr/bin/env python3
"""Shows what memory_snapshot("file.json") wrote: when memory was fullest, what filled it, and how it lies.

  memory_report snapshot.json -o report.html               one page that needs nothing else
  memory_report snapshot.json --format=text                the peak, on the terminal
  memory_report snapshot.json --format=chrome -o t.json    counters for Perfetto
  memory_report snapshot.json --format=pytorch -o s.json   PyTorch's schema; pytorch-pickle for its viewer

Exits with 2 where the snapshot cannot be read.
"""

import argparse
import json
import os
import pickle
import sys

# The modules beside this script are sources: nothing is written there.
sys.dont_write_bytecode = True

import chrome_export  # pylint: disable=wrong-import-position
import page  # pylint: disable=wrong-import-position
import pytorch_export  # pylint: disable=wrong-import-position
import snapshot  # pylint: disable=wrong-import-position
import text_report  # pylint: disable=wrong-import-position
import timeline  # pylint: disable=wrong-import-position


def _as_json(value):
  # Compact: traces are large.
  return json.dumps(value, separators=(',', ':')).encode() + b'\n'


def _as_pickle(read):
  # What the public viewer's own reader of pickles understands.
  return pickle.dumps(pytorch_export.export(read), protocol=2)


FORMATS = {
    'html': (lambda read: page.html(read, timeline.Timeline(read)).encode(), 'report.html'),
    'text': (lambda read: text_report.text(read, timeline.Timeline(read)).encode(), None),
    'chrome': (lambda read: _as_json(chrome_export.export(read, timeline.Timeline(read))), None),
    'pytorch': (lambda read: _as_json(pytorch_export.export(read)), None),
    'pytorch-pickle': (_as_pickle, 'snapshot.pickle'),
}


def from_where_the_user_is(path):
  """`bazel run` starts the program elsewhere; people name paths from where they are."""
  return os.path.join(os.environ.get('BUILD_WORKING_DIRECTORY', ''), path)


def _write(data, path):
  if path is None or path == '-':
    sys.stdout.buffer.write(data)
    return
  with open(from_where_the_user_is(path), 'wb') as f:
    f.write(data)
  print('memory_report: wrote %s (%.1f MiB)' % (path, len(data) / (1 << 20)), file=sys.stderr)


def main(arguments):
  parser = argparse.ArgumentParser(prog='memory_report', description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('snapshot', help='the file that memory_snapshot() or VELLUM_MEMORY_SNAPSHOT wrote')
  parser.add_argument('-o', '--output', help='where to write; - is the terminal')
  parser.add_argument('--format', choices=FORMATS, default='html')
  options = parser.parse_args(arguments)
  make, usual_output = FORMATS[options.format]
  try:
    with open(from_where_the_user_is(options.snapshot), 'rb') as f:
      read = snapshot.parse(f.read())
    _write(make(read), options.output or usual_output)
  except snapshot.SnapshotError as e:
    print('memory_report: %s: %s' % (options.snapshot, e), file=sys.stderr)
    return 2
  except OSError as e:
    print('memory_report: %s' % e, file=sys.stderr)
    return 2
  return 0


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
