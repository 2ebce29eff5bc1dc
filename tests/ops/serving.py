"""serving.py -- where the server listens, what it calls itself, and what of its
secrets can be seen from outside."""
import http.client
import json
import os
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile

from lib import (AS_ROOT, EMULATOR_KEY, LIMIT_S, Server, Skipped, case, equal,
                 open_socket, own_address, request, run, run_cases, sign,
                 web_token)


def locations(server, **more):
    account = server.ask("GET", "/", **more)[2]
    return {(each["name"], each["databaseAccountEndpoint"])
            for name in ("writableLocations", "readableLocations")
            for each in account[name]}


def endpoints(server, **more):
    return {url for _, url in locations(server, **more)}


def make_certificate(data, *names):
    """One that was not made by `runnel tls`, for these names only."""
    os.mkdir(data + "/own")
    subprocess.run([
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
        "ec_paramgen_curve:P-256", "-nodes", "-days", "9", "-subj", "/CN=own",
        "-addext", "subjectAltName=" + ",".join(names),
        "-keyout", data + "/own/key.pem", "-out", data + "/own/cert.pem"],
        check=True, capture_output=True)
    os.chmod(data + "/own/key.pem", 0o600)
    return ["--tls-cert", data + "/own/cert.pem",
            "--tls-key", data + "/own/key.pem"]


@case("on loopback the account has the emulator's region, and 127.0.0.1 for a "
      "client that came by localhost, if that leads here")
def _():
    region = "South Central US"

    def advertised(server, host, **more):
        [(name, url)] = locations(server, headers={"Host": host}, **more)
        equal(name, region)
        return url

    with Server(listen="localhost:0") as server:
        for host, url in (("localhost:7", "http://127.0.0.1:7/"),
                          ("LocalHost", "http://127.0.0.1/"),
                          ("127.0.0.2:7", "http://127.0.0.2:7/"),
                          ("[::1]:7", "http://[::1]:7/")):
            equal(advertised(server, host), url)
    with Server(listen="127.0.0.2:0") as server:
        server.connect = lambda cafile: http.client.HTTPConnection(
            "127.0.0.2", server.port, timeout=LIMIT_S)
        equal(advertised(server, "localhost:7"), "http://localhost:7/")
    with Server("--advertise", "http://localhost:9/") as server:
        equal(advertised(server, "localhost:7"), "http://localhost:9/")
    for names, host in ((["DNS:localhost"], "localhost"),
                        (["DNS:localhost", "IP:127.0.0.1"], "127.0.0.1")):
        with tempfile.TemporaryDirectory() as data:
            with Server(*make_certificate(data, *names)) as server:
                equal(advertised(server, "localhost:7",
                                 cafile=data + "/own/cert.pem"),
                      f"https://{host}:7/")
    address = own_address()
    if not address:
        return
    with Server("--allow-plain-http-on-network", "--auth-delay-ms", "1",
                "--allow-well-known-key-on-network", *AS_ROOT,
                listen=f"{address}:0") as server:
        server.connect = lambda cafile: http.client.HTTPConnection(
            address, server.port, timeout=LIMIT_S)
        for host in (f"{address}:7", "machine:7", "localhost:7"):
            equal(locations(server, headers={"Host": host}),
                  {("Runnel", f"http://{host}/")})
        status, _, body = server.ask("GET", "/dbs", key=None, headers={
            "authorization": web_token()})
        equal(status, 401)
        assert "not on loopback" in body["message"], body


@case("endpoints are those the client came by, or the one that is advertised")
def _():
    with tempfile.TemporaryDirectory() as data:
        equal(run("tls", "init", data)[0], 0)
        cafile = data + "/tls/ca.pem"
        with Server(data=data) as server:
            port = server.port
            equal(endpoints(server), {f"http://127.0.0.1:{port}/"})
            equal(endpoints(server, cafile=cafile),
                  {f"https://127.0.0.1:{port}/"})
            for host in (f"127.0.0.3:{port}", "127.0.0.1", f"[::1]:{port}"):
                equal(endpoints(server, headers={"Host": host}),
                      {f"http://{host}/"})
        url = "https://db.example.org:9000/"
        with Server("--advertise", url, data=data) as server:
            equal(endpoints(server), {url})
            equal(endpoints(server, cafile=cafile), {url})
            for host, status in (("db.example.org:9000", 200),
                                 ("DB.example.org", 200),
                                 ("db.example.org.", 403),
                                 ("example.org", 403)):
                equal((host, server.ask("GET", "/dbs",
                                        headers={"Host": host})[0]),
                      (host, status))


@case("what cannot be advertised is refused")
def _():
    with tempfile.TemporaryDirectory() as data:
        for url in ("", "db.example.org", "ftp://db.example.org/", "http://",
                    "https:///x", "http://db:0/", "http://db:65536/",
                    "http://db:x/", "http://db/path", "http://a b/",
                    "http://u@db/", "http://[::1/", "HTTP://db?x"):
            status, out, words = run("serve", "--data", data + "/new",
                                     "--advertise", url, "--listen",
                                     "127.0.0.1:0")
            equal((url, status, out), (url, 2, ""), words)
            assert "--advertise" in words, words
        equal(os.listdir(data), [])
    for url in ("http://db", "https://[::1]:8081/", "http://db:65535"):
        with Server("--advertise", url, "--store", "mem") as server:
            equal(server.ask("GET", "/dbs")[0], 200)


@case("it listens on loopback by default, and then takes the emulators' key "
      "and plain HTTP only by an option")
def _():
    status, text, _ = run("serve", "--help")
    equal(status, 0)
    assert "Default: localhost:8081" in text, text
    with Server() as server:
        equal(server.ask("GET", "/dbs")[0], 200)
        for host in ("example.org", "127.example.org", "127.0.0.1.example.org",
                     "localhost.example.org", "localhost:1.example.org",
                     "[::1].example.org", "128.0.0.1", "127:1"):
            equal((host, server.ask("GET", "/dbs", headers={"Host": host})[0]
                   in (400, 403)), (host, True))
        for host in ("127.0.0.1", "127.1.2.3:8081", "LOCALHOST", "[::1]:1"):
            equal((host, server.ask("GET", "/dbs", headers={"Host": host})[0]),
                  (host, 200))
    plain = "--allow-plain-http-on-network"
    with tempfile.TemporaryDirectory() as data:
        status, _, words = run("serve", "--data", data, "--listen",
                               "0.0.0.0:0")
        equal(status, 2)
        assert plain in words, words
        with Server(plain, *AS_ROOT, data=data,
                    listen="0.0.0.0:0") as server:
            equal(server.ask("GET", "/dbs")[0], 401)
            with open(data + "/keys") as file:
                key = json.load(file)["primary"]
            equal(server.ask("GET", "/dbs", key=key)[0], 200)
        with Server(plain, "--allow-well-known-key-on-network", *AS_ROOT, data=data,
                    listen="0.0.0.0:0") as server:
            equal(server.ask("GET", "/dbs")[0], 200)


def speaks(host, port):
    """Whether a server is there that takes the emulators' key."""
    connection = http.client.HTTPConnection(host, port, timeout=30)
    try:
        connection.request("GET", "/dbs", headers={
            "x-ms-version": "2018-12-31", **sign("GET", "/dbs")})
        return connection.getresponse().status == 200
    except ConnectionRefusedError:
        return False
    finally:
        connection.close()


def has_ipv6():
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@case("localhost is both loopback addresses, and an address is itself alone")
def _():
    both = has_ipv6()
    for listen, v4, v6 in (("localhost:0", True, both),
                           ("LOCALHOST:0", True, both),
                           ("127.0.0.1:0", True, False),
                           ("[::1]:0", False, True)):
        if listen.startswith("[") and not both:
            continue
        with Server(listen=listen) as server:
            equal((listen, speaks("127.0.0.1", server.port),
                   speaks("::1", server.port)), (listen, v4, v6))
            said = json.loads(server.wait_for_line("started"))["listen"]
            equal(said.split(), [f"127.0.0.1:{server.port}"] * v4 +
                  [f"[::1]:{server.port}"] * v6)
            equal(any("no IPv6" in line for line in server.lines),
                  listen.lower().startswith("localhost") and not both)


@case("localhost with a port that someone has on either address is refused")
def _():
    places = [("127.0.0.1", socket.AF_INET)]
    if has_ipv6():
        places.append(("::1", socket.AF_INET6))
    for host, family in places:
        with socket.create_server((host, 0), family=family) as taken, \
                tempfile.TemporaryDirectory() as data:
            status, out, words = run("serve", "--data", data, "--listen",
                                     f"localhost:{taken.getsockname()[1]}")
            equal((status, out, "in use" in words), (2, "", True), words)
            equal(os.listdir(data), [])


@case("what is no address, or no port, is refused")
def _():
    with tempfile.TemporaryDirectory() as data:
        for listen in ("", "localhost", "localhost:", "localhost:x",
                       "localhost:65536", "127.0.0.1:-1", "127.0.0.1:80x",
                       ":8081", "127.0.0.1:99999999999999999999"):
            status, out, words = run("serve", "--data", data, "--listen",
                                     listen)
            equal((listen, status, out), (listen, 2, ""), words)
            equal(words.count("\n"), 1)
        equal(os.listdir(data), [])


def identity(server):
    """User and group ids and groups of its process, as the kernel has them."""
    with open(f"/proc/{server.process.pid}/status") as file:
        lines = dict(line.split(":\t", 1) for line in file if ":\t" in line)
    return [lines[name].split() for name in ("Uid", "Gid", "Groups")]


@case("root becomes the user of --user, for good, and serves no network as "
      "root")
def _():
    plain = "--allow-plain-http-on-network"
    if os.geteuid() != 0:
        status, _, words = run("serve", "--store", "mem", "--user", "root",
                               "--listen", "127.0.0.1:0")
        equal(status, 2)
        assert "only root" in words, words
        raise Skipped("only root can become another user")
    status, _, words = run("serve", "--store", "mem", "--listen", "0.0.0.0:0",
                           plain)
    equal(status, 2)
    assert "--user" in words and "--allow-root" in words, words
    status, _, words = run("serve", "--store", "mem", "--user", "no such",
                           "--listen", "127.0.0.1:0")
    equal(status, 2)
    assert "no such user" in words, words
    nobody = pwd.getpwnam("nobody")
    sanitizer = os.environ.get("ASAN_OPTIONS", "")
    # A process that changed its user may not be traced, not even by itself.
    os.environ["ASAN_OPTIONS"] = sanitizer + ":detect_leaks=0"
    try:
        with tempfile.TemporaryDirectory() as home:
            os.chmod(home, 0o711)
            os.mkdir(home + "/data", 0o700)
            os.chown(home + "/data", nobody.pw_uid, nobody.pw_gid)
            with Server("--user", "nobody", plain, data=home + "/data",
                        listen="0.0.0.0:0") as server:
                user, group = str(nobody.pw_uid), str(nobody.pw_gid)
                equal(identity(server), [[user] * 4, [group] * 4, [group]])
                container_key = json.load(open(home + "/data/keys"))["primary"]
                equal(server.post("/dbs", {"id": "d"},
                                  key=container_key)[0], 201)
                found = server.metrics()
                equal(found['runnel_insecure_config{reason="root"}'], 0)
            equal({os.lstat(home + "/data/" + name).st_uid
                   for name in os.listdir(home + "/data")}, {nobody.pw_uid})
    finally:
        os.environ["ASAN_OPTIONS"] = sanitizer
    with Server("--allow-root", plain, listen="0.0.0.0:0") as server:
        server.wait_for_line("runs as root and serves a network")
        equal(server.metrics()['runnel_insecure_config{reason="root"}'], 1)


@case("readiness and metrics name what is opened that is closed by default")
def _():
    def opened(*options, listen="0.0.0.0:0"):
        with Server("--store", "mem", *options, listen=listen) as server:
            status, _, body = server.ask("GET", "/readyz", key=None)
            equal((status, body["ready"]), (200, True))
            found = {name.split('"')[1] for name, value
                     in server.metrics().items() if value
                     and name.startswith("runnel_insecure_config")}
            equal(set(body.get("insecure", [])), found)
            equal(set(body) - {"insecure"}, {"ready"})
            if "admin" in found:
                server.wait_for_line("control routes are open to the network")
            return found - {"root"}

    plain, key, test, admin = (
        "--allow-plain-http-on-network", "--allow-well-known-key-on-network",
        "--test-mode", "--admin")
    equal(opened(listen="127.0.0.1:0"), set())
    equal(opened(plain, key, admin, *AS_ROOT, listen="127.0.0.1:0"), set())
    equal(opened(test, listen="127.0.0.1:0"), {"test_mode"})
    equal(opened(plain, *AS_ROOT), {"plain_http"})
    equal(opened(plain, key, test, *AS_ROOT),
          {"plain_http", "well_known_key", "test_mode"})
    equal(opened(plain, admin, *AS_ROOT), {"plain_http", "admin"})


@case("a client that names no host gets the address it came to")
def _():
    with Server("--store", "mem", "--allow-plain-http-on-network", *AS_ROOT,
                "--allow-well-known-key-on-network",
                listen="0.0.0.0:0") as server:
        asked = request("GET", "/").replace(b"Host: localhost\r\n", b"")
        with open_socket(server) as s, s.makefile("rb") as answer:
            s.sendall(asked.replace(b"HTTP/1.1", b"HTTP/1.0"))
            body = json.loads(answer.read().split(b"\r\n\r\n")[1])
        equal(body["writableLocations"][0]["databaseAccountEndpoint"],
              f"http://127.0.0.1:{server.port}/")


@case("what root's commands make in the directory of another is his")
def _():
    if os.geteuid() != 0:
        raise Skipped("only root can write to the directory of another user")
    nobody = pwd.getpwnam("nobody")
    sanitizer = os.environ.get("ASAN_OPTIONS", "")
    os.environ["ASAN_OPTIONS"] = sanitizer + ":detect_leaks=0"
    try:
        with tempfile.TemporaryDirectory() as home:
            data = home + "/data"
            os.chmod(home, 0o711)
            os.mkdir(data, 0o700)
            os.chown(data, nobody.pw_uid, nobody.pw_gid)
            with Server("--user", "nobody", data=data) as server:
                equal(run("keys", "rotate", data, "primary")[0], 0)
                server.wait_for_line("reloaded")
                server.lines.clear()
                equal(run("tls", "init", data)[0], 0)
                server.wait_for_line("reloaded")
                cafile = data + "/tls/ca.pem"
                with open(data + "/keys") as file:
                    key = json.load(file)["primary"]
                equal(server.ask("GET", "/dbs", key=key, cafile=cafile)[0], 200)
            equal(run("compact", data)[0], 0)
            owners = {(os.lstat(path).st_uid, os.lstat(path).st_gid)
                      for place, _, files in os.walk(data)
                      for path in [place, *(f"{place}/{f}" for f in files)]}
            equal(owners, {(nobody.pw_uid, nobody.pw_gid)})
            # what is replaced keeps its readers
            os.chown(data + "/tls/key.pem", 0, nobody.pw_gid)
            os.chmod(data + "/tls/key.pem", 0o640)
            equal(run("tls", "init", data)[0], 0)
            found = os.stat(data + "/tls/key.pem")
            equal((found.st_uid, found.st_gid, found.st_mode & 0o777),
                  (0, nobody.pw_gid, 0o640))
            # a certificate that cannot be looked for is not one that is absent
            os.chown(data + "/tls", 0, 0)
            status, _, words = run("serve", "--user", "nobody", "--data", data,
                                   "--listen", "127.0.0.1:0")
            equal((status, "cert.pem: Permission denied" in words), (2, True),
                  words)
    finally:
        os.environ["ASAN_OPTIONS"] = sanitizer


@case("a pipelined request that waits for 100 Continue gets it")
def _():
    with Server() as server:
        with socket.create_connection(("127.0.0.1", server.port),
                                      30) as connection:
            connection.sendall(
                b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
                b"POST /dbs HTTP/1.1\r\nHost: localhost\r\n"
                b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            came = b""
            while b"100 Continue\r\n\r\n" not in came:
                more = connection.recv(65536)
                assert more, came
                came += more
            connection.sendall(b"{}")
            while b"HTTP/1.1 401" not in came:
                more = connection.recv(65536)
                assert more, came
                came += more


@case("a client that comes over IPv4 to an address of IPv6 is logged with its "
      "address of IPv4")
def _():
    if not has_ipv6():
        return
    with Server("--allow-plain-http-on-network", *AS_ROOT, "--log-requests",
                listen="[::]:0") as server:
        equal(server.ask("GET", "/metrics", key=None, raw=True)[0], 200)
        line = json.loads(server.wait_for_line('"path":"/metrics"'))
        equal(line["client"].rsplit(":", 1)[0], "127.0.0.1")


@case("a page under a name of its own that leads here reads no metrics")
def _():
    with Server() as server:
        for path, status in (("/metrics", 403), ("/healthz", 200),
                             ("/readyz", 200), ("/livez", 200),
                             ("/_explorer/emulator.pem", 403)):
            equal((path, server.ask("GET", path, key=None, raw=True, headers={
                "Host": "rebound.example.org"})[0]), (path, status))


@case("an answer under way is sent to its end before a stop")
def _():
    with Server("--drain-ms", "120000", "--stall-ms", "120000") as server:
        container = server.make()
        for i in range(2):
            equal(server.put(container, {"id": str(i), "pk": "x",
                                         "text": "x" * 1900000})[0], 201)
        head = "".join(f"{name}: {value}\r\n" for name, value in {
            "Host": "localhost", "x-ms-version": "2018-12-31",
            **sign("GET", container + "/docs")}.items())
        client = socket.socket()
        # so little that much is left with the server
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(LIMIT_S)
        client.connect(("127.0.0.1", server.port))
        client.sendall(f"GET {container}/docs HTTP/1.1\r\n{head}\r\n".encode())
        equal(client.recv(12), b"HTTP/1.1 200")
        server.process.send_signal(signal.SIGTERM)
        server.wait_for_line("stopping")
        answer = b""
        while more := client.recv(1 << 20):
            answer += more
        top, _, body = answer.partition(b"\r\n\r\n")
        length = int(re.search(rb"(?i)content-length: (\d+)", top)[1])
        assert length > 3700000, top
        equal(len(body), length)
        client.close()


def write_token(path, text, mode=0o600):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)


@case("off loopback metrics are there for a client with the token")
def _():
    plain = "--allow-plain-http-on-network"
    with tempfile.TemporaryDirectory() as home:
        path = home + "/token"
        for text, mode, words in [("short\n", 0o600, "16 to"),
                                  ("x" * 40 + "\nand more", 0o600, "16 to"),
                                  ("x" * 200, 0o600, "16 to"),
                                  ("x" * 40, 0o644, "mode 0644")]:
            write_token(path, text, mode)
            status, _, said = run("serve", "--store", "mem", "--listen",
                                  "127.0.0.1:0", "--metrics-token-file", path)
            equal(status, 2)
            assert words in said, said
        write_token(path, "x" * 40 + "\n")
        with Server(plain, *AS_ROOT, "--metrics-token-file", path,
                    listen="0.0.0.0:0") as server:
            def status_of(word, target="/metrics"):
                connection = http.client.HTTPConnection(
                    own_address() or "127.0.0.1", server.port, timeout=30)
                connection.request("GET", target, headers={
                    "Authorization": word} if word else {})
                answer = connection.getresponse()
                text = answer.read()
                connection.close()
                equal(b"runnel_build_info" in text, answer.status == 200)
                return answer.status
            equal(server.ask("GET", "/metrics", key=None, raw=True)[0], 200)
            if not own_address():
                return
            for word in (None, "Bearer ", "Bearer " + "x" * 39,
                         "Bearer " + "x" * 41, "x" * 40, "Bearer " + "y" * 40):
                equal(status_of(word), 401, word)
            equal(status_of("Bearer " + "x" * 40), 200)
            equal(status_of("Bearer " + "x" * 40, "/dbs"), 401)
            write_token(path, "z" * 40)
            server.wait_for_line("reloaded")
            equal(status_of("Bearer " + "x" * 40), 401)
            equal(status_of("Bearer " + "z" * 40), 200)


@case("the file of options and the token may be links, as Kubernetes has them")
def _():
    with tempfile.TemporaryDirectory() as home:
        def turn(where):
            os.symlink(where, home + "/..new")
            os.rename(home + "/..new", home + "/..data")

        for name, mode in (("1", 0o600), ("2", 0o644), ("3", 0o640)):
            os.mkdir(f"{home}/..{name}")
            write_token(f"{home}/..{name}/token", "x" * 40, mode)
            with open(f"{home}/..{name}/options", "w") as file:
                json.dump({"metrics-token-file": home + "/token",
                           "store": "mem"}, file)
        for name in ("token", "options"):
            os.symlink("..data/" + name, f"{home}/{name}")
        turn("..1")
        with Server("--config", home + "/options") as server:
            turn("..2")
            server.wait_for_line("reload failed.*token: has mode 0644")
            turn("..3")
            server.wait_for_line("certificates and keys reloaded")


@case("the unit for systemd starts the server with options that it has")
def _():
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    with open(os.path.join(root, "contrib/runnel.service")) as file:
        line = [each.split() for each in file if each.startswith("ExecStart=")]
    equal((len(line), line[0][1]), (1, "serve"))
    help_text = run("serve", "--help")[1]
    options = [word for word in line[0] if word.startswith("--")]
    assert options
    for option in options:
        assert f"  {option} " in help_text, option


@case("the unit for systemd leaves the server little to do harm with")
def _():
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    unit = os.path.join(root, "contrib/runnel.service")
    if not shutil.which("systemd-analyze"):
        with open(unit) as file:  # what weighs most of what is looked at
            lines = set(file.read().splitlines())
        for line in ("DynamicUser=yes", "NoNewPrivileges=yes",
                     "CapabilityBoundingSet=", "ProtectSystem=strict"):
            assert line in lines, line
        return
    done = subprocess.run(["systemd-analyze", "security", "--offline=true",
                           unit], capture_output=True, text=True)
    score = re.search(r"Overall exposure level.*: ([0-9.]+) ", done.stdout)
    assert score and float(score[1]) <= 1.2, done.stdout + done.stderr


@case("a directory that others may write to, or own, is refused")
def _():
    def refused(data, word):
        status, _, words = run("serve", "--data", data, "--listen",
                               "127.0.0.1:0")
        equal(status, 2, words)
        assert word in words and len(words.splitlines()) == 1, words
        equal(os.listdir(data), [])

    with tempfile.TemporaryDirectory() as home:
        data = home + "/data"
        os.mkdir(data)
        for mode in (0o777, 0o770, 0o1777, 0o702):
            os.chmod(data, mode)
            refused(data, f"mode {mode:04o}")
        if os.geteuid() == 0:
            os.chmod(data, 0o700)
            os.chown(data, 65534, 65534)
            refused(data, "belongs to user 65534")
            os.chown(data, 0, 0)
        os.chmod(data, 0o750)
        with Server(data=data) as server:
            equal(server.ask("GET", "/dbs")[0], 200)
        for name in os.listdir(data):
            mode = os.lstat(data + "/" + name).st_mode
            if not stat.S_ISLNK(mode):
                equal((name, mode & 0o77), (name, 0))
        with Server(data=home + "/made"):
            equal(os.stat(home + "/made").st_mode & 0o777, 0o700)


@case("the server cannot get new rights or start another program")
def _():
    with Server() as server:
        with open(f"/proc/{server.process.pid}/status") as file:
            text = file.read()
        assert "\nNoNewPrivs:\t1\n" in text, text
        if "\nSeccomp:\t2\n" not in text:  # a kernel without it
            server.wait_for_line("does not support the sandbox")


@case("no secret is in the process list, in an error or in a core")
def _():
    with Server() as server:
        container = server.make()
        server.put(container, {"id": "1", "pk": "p", "x": "canary-1"})
        with open(os.path.join(server.data, "keys")) as file:
            secrets = [EMULATOR_KEY, "canary-1", *json.load(file).values()]
        signed = sign("GET", container, EMULATOR_KEY)
        shown = [json.dumps(server.ask(verb, path, body, key=None,
                                       headers=headers)[2])
                 for verb, path, body, headers in (
                     ("GET", container, None,
                      {**signed, "x-ms-date": "Mon, 16 Nov 2026 08:00:00 GMT"}),
                     ("DELETE", container, None, signed),
                     ("POST", container + "/docs",
                      '{"id":"1","pk":"p","x":"canary-1"}',
                      sign("POST", container + "/docs", EMULATOR_KEY)),
                     ("POST", container + "/docs", '{"x":"canary-1","id":',
                      sign("POST", container + "/docs", EMULATOR_KEY)))]
        assert all("message" in each for each in shown), shown
        proc = f"/proc/{server.process.pid}/"
        for name in ("cmdline", "comm", "environ"):
            with open(proc + name, errors="replace") as file:
                shown.append(file.read())
        with open(proc + "limits") as file:
            core = [line.split()[4:6] for line in file
                    if line.startswith("Max core file size")]
        equal(core, [["0", "0"]])
        for secret in secrets + [signed["authorization"]]:
            assert not any(secret in each for each in shown), secret


@case("systemd is notified when the server is ready, reloads and stops")
def _():
    with tempfile.TemporaryDirectory() as home:
        for name in (home + "/notify", f"@runnel-{os.getpid()}"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                manager.settimeout(LIMIT_S)
                manager.bind(name.replace("@", "\0"))
                os.environ["NOTIFY_SOCKET"] = name
                try:
                    with Server() as server:
                        equal(manager.recv(999), b"READY=1")
                        server.process.send_signal(signal.SIGHUP)
                        assert re.fullmatch(rb"RELOADING=1\nMONOTONIC_USEC=\d+",
                                            manager.recv(999))
                        equal(manager.recv(999), b"READY=1")
                finally:
                    del os.environ["NOTIFY_SOCKET"]
                equal(manager.recv(999), b"STOPPING=1")


@case("a manager that cannot be notified is no reason not to serve")
def _():
    for name in ("", "/", "@", "relative", "/nowhere/notify", "/" + "x" * 200):
        os.environ["NOTIFY_SOCKET"] = name
        try:
            with Server() as server:
                equal(server.ask("GET", "/readyz", key=None)[0], 200)
        finally:
            del os.environ["NOTIFY_SOCKET"]


run_cases()
