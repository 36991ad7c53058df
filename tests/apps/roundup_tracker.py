"""The Roundup issue tracker with 130 issues, on a free port of loopback. Prints the port, then serves.

usage: python roundup_tracker.py FOLDER PASSWORD
"""

import socketserver
import sys
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from roundup import configuration, init, instance, password
from roundup.cgi.wsgi_handler import RequestDispatcher

home, secret = Path(sys.argv[1]) / "tracker", sys.argv[2]


class Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *words):
        pass


server = make_server("127.0.0.1", 0, None, Server, Quiet)
port = server.server_port

template = init.loadTemplateInfo(str(Path(sys.prefix) / "share/roundup/templates/classic"))
init.install(str(home), template["path"], settings={"rdbms_backend": "sqlite"})
config = configuration.CoreConfig(str(home))
config["RDBMS_BACKEND"] = "sqlite"
config["TRACKER_WEB"] = f"http://127.0.0.1:{port}/"
config["MAIL_DOMAIN"] = "localhost"
config["MAIL_HOST"] = "localhost"
config["MAIL_DEBUG"] = str(home / "mail.log")
config.save()

tracker = instance.open(str(home))
tracker.init(password.Password(secret, config=config))
database = tracker.open("admin")
user = database.user.create(
    username="demo", password=password.Password(secret, config=config), realname="Demo", roles="User", address="demo@localhost"
)
priorities = database.priority.list()
for number in range(1, 131):
    kind = "Leaking tap" if number % 2 else "Broken lamp"
    database.issue.create(title=f"{kind} in room {number:03}", priority=priorities[number % len(priorities)])
database.commit()
database.close()

server.set_app(RequestDispatcher(str(home)))
print(port, flush=True)
server.serve_forever()
