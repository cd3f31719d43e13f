"""A headless Chromium, driven over its debugging pipe with nothing but the standard library."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ('chromium', 'chromium-browser', 'google-chrome')
PATIENCE = 60  # seconds until a browser that does not answer counts as broken


def find():
  """The path of a browser, or None."""
  return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
  """One window. Everything that its page throws, logs as an error or is refused ends up in `complaints`."""

  def __init__(self, executable, width=1280, height=1700):
    self.profile = tempfile.mkdtemp(dir=os.environ.get('TEST_TMPDIR'))
    self.complaints, self.events, self.numbers, self.buffer = [], [], 0, b''
    to_browser, self.write_end = os.pipe()
    self.read_end, from_browser = os.pipe()
    arguments = [executable, '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
                 '--no-first-run', '--remote-debugging-pipe', '--hide-scrollbars', '--user-data-dir=' + self.profile,
                 '--window-size=%d,%d' % (width, height), 'about:blank']
    self.process = self._start(arguments, to_browser, from_browser)
    target = next(t for t in self._ask('Target.getTargets')['targetInfos'] if t['type'] == 'page')
    self.session = None
    self.session = self._ask('Target.attachToTarget', targetId=target['targetId'], flatten=True)['sessionId']
    for domain in ('Page', 'Runtime', 'Log'):
      self._ask(domain + '.enable')

  def _start(self, arguments, to_browser, from_browser):
    self.session = None

    def give_pipes():  # the browser reads from 3 and writes to 4
      reading, writing = os.dup(to_browser), os.dup(from_browser)
      os.dup2(reading, 3)
      os.dup2(writing, 4)

    environment = dict(os.environ, HOME=self.profile)
    process = subprocess.Popen(arguments, close_fds=False, preexec_fn=give_pipes, env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    os.close(to_browser)
    os.close(from_browser)
    return process

  def close(self):
    os.killpg(self.process.pid, signal.SIGKILL)  # its own group: the browser's helpers
    self.process.wait()
    os.close(self.write_end)
    os.close(self.read_end)
    shutil.rmtree(self.profile, ignore_errors=True)

  def _ask(self, method, **parameters):
    self.numbers += 1
    message = {'id': self.numbers, 'method': method, 'params': parameters}
    if self.session:
      message['sessionId'] = self.session
    rest = json.dumps(message).encode() + b'\0'
    while rest:
      rest = rest[os.write(self.write_end, rest):]
    answer = self._wait(lambda m: m.get('id') == message['id'])
    if 'error' in answer:
      raise RuntimeError('%s: %s' % (method, answer['error']))
    return answer['result']

  def _wait(self, is_it):
    deadline = time.monotonic() + PATIENCE
    while True:
      message = self._receive(deadline)
      self._note(message)
      if is_it(message):
        return message

  def _receive(self, deadline):
    while b'\0' not in self.buffer:
      ready, _, _ = select.select([self.read_end], [], [], max(0, deadline - time.monotonic()))
      data = os.read(self.read_end, 1 << 20) if ready else b''
      if not data:
        raise RuntimeError('the browser does not answer')
      self.buffer += data
    text, _, self.buffer = self.buffer.partition(b'\0')
    return json.loads(text)

  def _note(self, message):
    method, parameters = message.get('method'), message.get('params', {})
    if method == 'Runtime.exceptionThrown':
      self.complaints.append(json.dumps(parameters['exceptionDetails'])[:2000])
    elif method == 'Runtime.consoleAPICalled' and parameters['type'] in ('error', 'warning', 'assert'):
      self.complaints.append(json.dumps(parameters['args'])[:2000])
    elif method == 'Log.entryAdded' and parameters['entry']['level'] in ('error', 'warning'):
      self.complaints.append(parameters['entry']['text'])

  def load(self, path):
    """Shows a file and waits until its scripts have run."""
    self._ask('Page.navigate', url='file://' + path)
    self._wait(lambda m: m.get('method') == 'Page.loadEventFired')

  def run(self, script):
    """The value of an expression in the page, which must be JSON."""
    answer = self._ask('Runtime.evaluate', expression=script, returnByValue=True)
    if 'exceptionDetails' in answer:
      raise RuntimeError(json.dumps(answer['exceptionDetails'])[:2000])
    return answer['result'].get('value')

  def mouse(self, kind, x, y, **more):
    """One event of the real input path: mouseMoved, mousePressed or mouseReleased, in pixels of the window."""
    self._ask('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

  def click(self, x, y):
    for kind in ('mousePressed', 'mouseReleased'):
      self.mouse(kind, x, y, button='left', clickCount=1)

  def screenshot(self, path):
    with open(path, 'wb') as f:
      f.write(base64.b64decode(self._ask('Page.captureScreenshot', format='png')['data']))
