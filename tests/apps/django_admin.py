"""Django's own admin with 250 customers and 40 others, on a free port of loopback. Prints the port, then serves.

usage: python django_admin.py FOLDER PASSWORD
"""

import socketserver
import sys
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django.conf import settings

folder, password = Path(sys.argv[1]), sys.argv[2]
settings.configure(
    SECRET_KEY="only on loopback",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF="urls_of_the_test",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": folder / "django.sqlite3"}},
    INSTALLED_APPS=[
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.messages",
        "django.contrib.staticfiles",
    ],
    MIDDLEWARE=[
        "django.middleware.security.SecurityMiddleware",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        }
    ],
    STATIC_URL="static/",
    # The real one takes a second a password on purpose.
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
)

import django

django.setup()

from django.contrib import admin
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.urls import path

urls = type(sys)("urls_of_the_test")
urls.urlpatterns = [path("admin/", admin.site.urls)]
sys.modules["urls_of_the_test"] = urls

call_command("migrate", verbosity=0)

from django.contrib.auth.models import User

User.objects.create_superuser("admin", "admin@example.org", password)
people = [("customer", number) for number in range(1, 251)] + [("staff", number) for number in range(1, 40)]
User.objects.bulk_create(
    User(
        username=f"{kind}{number:03}",
        email=f"{kind}{number:03}@example.org",
        first_name=["Ada", "Bea", "Cleo", "Dora", "Ella"][number % 5],
        last_name=["Marsh", "Nolan", "Orr", "Pratt"][number % 4],
        is_staff=kind == "staff",
    )
    for kind, number in people
)


class Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *words):
        pass


with make_server("127.0.0.1", 0, get_wsgi_application(), Server, Quiet) as server:
    print(server.server_port, flush=True)
    server.serve_forever()
