"""A collector on loopback that decodes each OTLP request with the published protobuf, and prints it as a JSON line."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse


class Collector(BaseHTTPRequestHandler):
    """It refuses a wrong key, and events whose judge is called `partial`. It redirects from below `/moved`."""

    def do_GET(self) -> None:
        """Give the empty page."""
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Print nothing."""

    def do_POST(self) -> None:
        """Take a request."""
        if self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", "/empty")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        request = ExportLogsServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"])))
        reply = ExportLogsServiceResponse()
        if b"partial" in request.SerializeToString():
            reply.partial_success.rejected_log_records = 1
        status, data = (200, reply.SerializeToString()) if self.headers["api-key"] == "key-of-a-test" else (401, b"no")
        if status == 200:
            print(json.dumps({"path": self.path, **MessageToDict(request)}), flush=True)
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
print(server.server_address[1], flush=True)
server.serve_forever()
