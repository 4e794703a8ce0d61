"""
Serve what llama.cpp's server would, on the options that calm gives it, as a model that likes the first slot.

What the name of the model file says decides how it fails: `dies-N` ends before it answers request N, `mute` never
listens, `illegal` dies as a build for another processor does.
"""

import json
import os
import re
import signal
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from math import log
from pathlib import Path

OPTIONS = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
NAME = Path(OPTIONS["--model"]).stem
LAST = int(found[1]) if (found := re.match(r"dies-(\d+)", NAME)) else None
SPELLED = re.compile(r" ?\w+|\s|[^\w\s]")


class Handler(BaseHTTPRequestHandler):
    """Answers chat completions with tokens."""

    count = 0

    def do_GET(self):
        self.answer({"data": [{"id": OPTIONS["--model_alias"]}]})

    def do_POST(self):
        Handler.count += 1
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if NAME == "illegal":
            os.kill(os.getpid(), signal.SIGILL)
        if LAST is not None and Handler.count > LAST:
            print("out of memory", flush=True)
            os._exit(7)
        prompt = body["messages"][-1]["content"] if "messages" in body else ""
        score, letter = "from 1 (bad)" in prompt, "one letter" in prompt
        text = "Rating: 3" if score else "A" if letter else "Verdict: A" if prompt.startswith("Question") else "ready"
        tokens = [token(part) for part in SPELLED.findall(text)]
        message = {"role": "assistant", "content": text}
        shown = {"content": tokens} if body.get("logprobs") else None
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": shown}
        used = {"prompt_tokens": 9, "completion_tokens": len(tokens), "total_tokens": 9 + len(tokens)}
        self.answer({"id": "x", "model": OPTIONS["--model_alias"], "choices": [choice], "usage": used})

    def answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def token(text):
    others = {" A": " B", "A": "B", " 3": " 4"}
    ranked = [(text, log(0.9)), *([(others[text], log(0.1))] if text in others else [])]
    top = [{"token": t, "logprob": p, "bytes": None} for t, p in ranked]
    return {"token": text, "logprob": log(0.9), "bytes": None, "top_logprobs": top}


if NAME == "broken":
    sys.exit("error loading model: tensor 'output.weight' is missing")
print(f"serving in process {os.getpid()}", flush=True)
HTTPServer((OPTIONS["--host"], int(OPTIONS["--port"])), Handler).serve_forever()
