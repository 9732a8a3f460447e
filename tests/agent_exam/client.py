"""A client of the Model Context Protocol that starts a server and talks to it over pipes.

It knows the protocol and nothing of what the tools mean.
"""
import json
import queue
import subprocess
import threading

PROTOCOL = "2025-06-18"
# The last lines of the server's own words that a failure shows.
KEPT_WARNINGS = 20


class ServerError(Exception):
    """The server died, was silent for too long, or answered something that is no answer."""


class ToolError(Exception):
    """The server refused a tool call; the text is its reason."""


class Client:
    """One server, started with the paths that it may read."""

    def __init__(self, command, timeout_s=60):
        self.timeout_s = timeout_s
        self.calls = 0
        self._next_id = 0
        self._messages = queue.Queue()
        self._warnings = []
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        # Both pipes are read all the time: a server whose stderr is full would block, and so would its answers.
        self._readers = [threading.Thread(target=read, daemon=True) for read in (self._read_messages, self._read_warnings)]
        for reader in self._readers:
            reader.start()

    def __enter__(self):
        try:
            self.initialize()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def initialize(self):
        answer = self.request("initialize", {"protocolVersion": PROTOCOL, "capabilities": {},
                                             "clientInfo": {"name": "stepscope-exam", "version": "1"}})
        if answer.get("protocolVersion") != PROTOCOL:
            raise ServerError(f"the server speaks {answer.get('protocolVersion')}, not {PROTOCOL}")
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def tool_names(self):
        return [tool["name"] for tool in self.request("tools/list", {})["tools"]]

    def call(self, tool, **arguments):
        """What the tool returns as data. Raises ToolError with the reason where it refuses."""
        self.calls += 1
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise ToolError("\n".join(part.get("text", "") for part in result["content"]).strip())
        if not isinstance(result.get("structuredContent"), dict):
            raise ServerError(f"{tool}: an answer without structuredContent")
        return result["structuredContent"]

    def request(self, method, params):
        self._next_id += 1
        self._send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})

        while True:
            message = self._receive(method)
            if message.get("id") != self._next_id:
                continue  # a notification, or the late answer to a request that was given up
            if "error" in message:
                raise ServerError(f"{method}: {message['error'].get('message')}")
            return message["result"]

    def close(self):
        """Ends the input. A server that does not end then is killed, and its exit status is not 0."""
        try:
            self._process.stdin.close()
        except OSError:
            pass  # it is dead already, and what was still to be written is lost

        try:
            status = self._process.wait(timeout=self.timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        for reader in self._readers:
            reader.join(timeout=1)
        return status

    def _send(self, message):
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError) as error:
            raise ServerError(self._with_warnings(f"the server takes no input ({error})")) from error

    def _receive(self, method):
        try:
            line = self._messages.get(timeout=self.timeout_s)
        except queue.Empty:
            raise ServerError(self._with_warnings(f"{method}: no answer in {self.timeout_s} s")) from None
        if line is None:
            self._messages.put(None)  # the next request must not wait either
            raise ServerError(self._with_warnings(f"{method}: the server has ended"))

        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            raise ServerError(f"the output has a line that is no message: {line[:200]!r}")
        return message

    def _read_messages(self):
        for line in self._process.stdout:
            self._messages.put(line)
        self._messages.put(None)

    def _read_warnings(self):
        for line in self._process.stderr:
            self._warnings.append(line.decode(errors="replace").rstrip())
            del self._warnings[:-KEPT_WARNINGS]

    def _with_warnings(self, text):
        return "\n  ".join([text] + self._warnings)
