"""A headless Chromium over the DevTools protocol's pipe: nothing but Python's own library is needed.

The protocol: https://chromedevtools.github.io/devtools-protocol/. Messages are JSON, each ended by a zero byte, read by the
browser from descriptor 3 and written by it to descriptor 4.
"""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
PATIENCE_SECONDS = 60
KEYS = {"ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37, "ArrowRight": 39, "Escape": 27, "Enter": 13, "Tab": 9, "Home": 36,
        "End": 35, " ": 32}


def find():
    """Path of a Chromium, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One tab. Whatever goes wrong in it, and every request it makes, is kept in `problems` and `requests`."""

    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(prefix="headtorch-browser-", ignore_cleanup_errors=True)
        to_read, self.outgoing = os.pipe()
        self.incoming, to_write = os.pipe()
        arguments = [program, "--remote-debugging-pipe", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                     "--disable-dev-shm-usage", "--force-color-profile=srgb", "--hide-scrollbars",
                     f"--user-data-dir={self.profile.name}", "about:blank"]
        # The shell puts the two pipes where the browser expects them, and becomes the browser.
        script = f"exec 3<&{to_read} 4>&{to_write}; exec \"$@\""
        self.process = subprocess.Popen(["bash", "-c", script, "bash", *arguments], pass_fds=(to_read, to_write),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.numbers = itertools.count(1)
        self.buffer = b""
        self.events, self.problems, self.requests = [], [], []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.outgoing)
        os.close(self.incoming)
        self.profile.cleanup()

    def read(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.incoming], [], [], max(deadline - time.monotonic(), 0))
            chunk = os.read(self.incoming, 1 << 16) if ready else b""
            if not chunk:
                raise TimeoutError("the browser did not answer")
            self.buffer += chunk
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        if "method" in message:
            self.note(message["method"], message["params"])
        return message

    def note(self, method, params):
        self.events.append(method)
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled":
            self.problems.append(f"console.{params['type']}: {params['args']}")
        elif method == "Log.entryAdded":
            self.problems.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def call(self, method, **params):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.outgoing, data):]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            answer = self.read(deadline)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def open(self, path, width=1280, height=900, ratio=1, phone=False, **features):
        """Opens a file, with media features such as prefers_color_scheme="dark", and waits until it has drawn."""
        self.events, self.problems, self.requests = [], [], []
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio, mobile=phone)
        self.call("Emulation.setEmulatedMedia", features=[{"name": name.replace("_", "-"), "value": value}
                                                          for name, value in features.items()])
        self.call("Page.navigate", url=path.resolve().as_uri())
        deadline = time.monotonic() + PATIENCE_SECONDS
        while "Page.loadEventFired" not in self.events:
            self.read(deadline)
        self.settle()

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", expression))
        return answer["result"].get("value")

    def settle(self):
        """Waits for two frames: a change is drawn in the next one."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def key(self, name):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=KEYS[name],
                      **({"text": name} if name == " " and kind == "keyDown" else {}))
        self.settle()

    def mouse(self, x, y, press=False):
        """Moves the pointer to a point of the window and, if asked, clicks there."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased") if press else ():
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def click(self, selector):
        """Clicks the middle of an element as a person would: what lies over it gets the click."""
        x, y = self.evaluate(f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
                             " e.scrollIntoView({block: 'center', behavior: 'instant'});"
                             " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        self.mouse(x, y, press=True)

    def screenshot(self, path, whole=True):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))
