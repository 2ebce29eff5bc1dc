"""tls.py -- `runnel tls`, and the server on the certificates it makes.

Method: the commands on fresh directories; Python's ssl as the client that
verifies, OpenSSL's command where it must be asked what a file holds.
"""
import fcntl
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import tempfile
import termios
import time

from lib import (AS_ROOT, EMULATOR_KEY, LIMIT_S, RUNNEL, Server, case, equal,
                 own_address, run, run_cases, sign)


def init(data, *names):
    status, out, err = run("tls", "init", data, *names)
    equal((status, err), (0, ""))
    return out


def openssl(*arguments):
    return subprocess.run(["openssl", *arguments], capture_output=True,
                          text=True, check=True).stdout


def serial(path):
    return openssl("x509", "-in", path, "-noout", "-serial")


def peer_serial(server, cafile):
    connection = server.connect(cafile)
    connection.connect()
    try:
        return connection.sock.getpeercert()["serialNumber"]
    finally:
        connection.close()


def refused(*arguments, words):
    status, out, err = run(*arguments)
    equal((status, out), (2, ""), err)
    assert err.startswith("runnel: ") and words in err, err


@case("tls init makes files for their owner only")
def _():
    with tempfile.TemporaryDirectory() as home:
        data = os.path.join(home, "data")
        init(data)
        equal(sorted(os.listdir(data + "/tls")),
              ["ca-key.pem", "ca.pem", "cert.pem", "key.pem"])
        for name in os.listdir(data + "/tls"):
            mode = os.stat(f"{data}/tls/{name}").st_mode
            equal(stat.S_IMODE(mode), 0o600, name)


@case("of several tls init at once each is done, and the files fit together")
def _():
    with tempfile.TemporaryDirectory() as data:
        command = [RUNNEL, "tls", "init", data]
        made = [subprocess.Popen(command, stdout=subprocess.DEVNULL)
                for _ in range(6)]
        equal([each.wait(LIMIT_S) for each in made], [0] * 6)
        openssl("verify", "-CAfile", data + "/tls/ca.pem",
                data + "/tls/cert.pem")
        for cert, key in [("ca", "ca-key"), ("cert", "key")]:
            equal(openssl("x509", "-noout", "-pubkey", "-in",
                          f"{data}/tls/{cert}.pem"),
                  openssl("pkey", "-pubout", "-in", f"{data}/tls/{key}.pem"))


@case("the certificate is for localhost, its addresses and the names given")
def _():
    with tempfile.TemporaryDirectory() as data:
        init(data, "db.example.org", "10.1.2.3", "fd00::5")
        for name in ["localhost", "db.example.org"]:
            openssl("verify", "-CAfile", data + "/tls/ca.pem",
                    "-verify_hostname", name, data + "/tls/cert.pem")
        for address in ["127.0.0.1", "::1", "10.1.2.3", "fd00::5"]:
            openssl("verify", "-CAfile", data + "/tls/ca.pem",
                    "-verify_ip", address, data + "/tls/cert.pem")


@case("the authority can vouch for no other name")
def _():
    with tempfile.TemporaryDirectory() as data:
        init(data)
        before = serial(data + "/tls/cert.pem")
        refused("tls", "init", data, "example.org", words="ca-key.pem")
        equal(serial(data + "/tls/cert.pem"), before)
        os.remove(data + "/tls/ca.pem")
        os.remove(data + "/tls/ca-key.pem")
        assert "a new authority" in init(data, "example.org")


@case("what is no name is refused and makes nothing")
def _():
    with tempfile.TemporaryDirectory() as data:
        for name in ["a b", "a,DNS:b", "", "*.x", ".x", "x.", "a..b", "x" * 254,
                     "1.2.3.4/8", "a/b"]:
            refused("tls", "init", data, name, words="neither")
        refused("tls", "init", data, *[f"n{i}" for i in range(65)],
                words="64")
        refused("tls", words="usage")
        refused("tls", "export", words="usage")
        refused("tls", "init", "--force", data, words="--force")
        equal(os.listdir(data), [])


@case("the server uses what it finds in its directory, beside plain HTTP")
def _():
    with tempfile.TemporaryDirectory() as data:
        init(data)
        with Server(data=data) as server:
            equal(server.scheme, "https")
            cafile = data + "/tls/ca.pem"
            equal(server.ask("GET", "/dbs", cafile=cafile)[0], 200)
            equal(server.ask("GET", "/dbs")[0], 200)
            account = server.ask("GET", "/", cafile=cafile)[2]
            equal(account["writableLocations"][0]["databaseAccountEndpoint"],
                  f"https://127.0.0.1:{server.port}/")
            assert server.metrics()["runnel_tls_cert_not_after_seconds"] > 0


@case("TLS 1.2 is spoken with authenticated encryption only")
def _():
    def speak(server, cafile, cipher):
        """The cipher that is agreed upon, or None."""
        context = ssl.create_default_context(cafile=cafile)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(cipher + ":@SECLEVEL=0")
        with socket.create_connection(("127.0.0.1", server.port), 60) as plain:
            try:
                with context.wrap_socket(
                        plain, server_hostname="localhost") as tls:
                    return tls.cipher()[0]
            except (ssl.SSLError, ConnectionError):
                return None

    with tempfile.TemporaryDirectory() as data:
        init(data)
        with Server(data=data) as server:
            for cipher, is_spoken in (
                    ("ECDHE-ECDSA-AES128-GCM-SHA256", True),
                    ("ECDHE-ECDSA-AES256-GCM-SHA384", True),
                    ("ECDHE-ECDSA-CHACHA20-POLY1305", True),
                    ("ECDHE-ECDSA-AES128-SHA", False),
                    ("ECDHE-ECDSA-AES256-SHA", False),
                    ("ECDHE-ECDSA-AES128-SHA256", False),
                    ("ECDHE-ECDSA-AES256-SHA384", False)):
                equal(speak(server, data + "/tls/ca.pem", cipher),
                      cipher if is_spoken else None)


@case("over TLS the protocol chosen is 1.1, and a client that begins in HTTP 2 "
      "is answered to use it")
def _():
    preface = (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
               bytes.fromhex("000000040000000000" "000001010500000001" "82"))
    goaway = bytes.fromhex("000000040000000000" "000008070000000000"
                           "00000000" "0000000d")
    with tempfile.TemporaryDirectory() as data:
        init(data)
        with Server(data=data) as server:
            for offered, chosen in ((["h2", "http/1.1"], "http/1.1"),
                                    (["http/1.1"], "http/1.1"),
                                    (["h2"], None)):
                context = ssl.create_default_context(
                    cafile=data + "/tls/ca.pem")
                context.set_alpn_protocols(offered)
                with socket.create_connection(("127.0.0.1", server.port),
                                              60) as plain, \
                        context.wrap_socket(
                            plain, server_hostname="localhost") as tls:
                    equal(tls.selected_alpn_protocol(), chosen)
                    tls.sendall(preface)
                    got = b""
                    while len(got) < len(goaway):
                        more = tls.recv(1000)
                        assert more, got
                        got += more
                    equal(got, goaway)


@case("a client without trust in the authority refuses the server")
def _():
    with tempfile.TemporaryDirectory() as data:
        init(data)
        with Server(data=data) as server:
            try:
                server.ask("GET", "/dbs", cafile="/etc/ssl/certs/ca-"
                           "certificates.crt")
            except (ssl.SSLCertVerificationError, FileNotFoundError):
                return
        raise AssertionError("it was trusted")


@case("emulator.pem is the authority, for anybody, and absent without one")
def _():
    with tempfile.TemporaryDirectory() as data:
        path = "/_explorer/emulator.pem"
        with Server("--no-auto-tls", data=data) as server:
            equal(server.ask("GET", path, key=None)[0], 404)
            equal(server.scheme, "http")
            init(data)
            server.process.send_signal(signal.SIGHUP)
            server.wait_for_line("reloaded")
            status, headers, text = server.ask("GET", path, key=None, raw=True)
            with open(data + "/tls/ca.pem", "rb") as file:
                equal((status, text), (200, file.read()))
            assert b"PRIVATE" not in text
            equal(headers["content-type"], "application/x-pem-file")
            cafile = data + "/tls/ca.pem"
            equal(server.ask("GET", "/dbs", cafile=cafile)[0], 200)


@case("SIGHUP puts a new certificate in place that old trust covers")
def _():
    with tempfile.TemporaryDirectory() as data:
        init(data)
        cafile = data + "/tls/ca.pem"
        with Server(data=data) as server:
            first = peer_serial(server, cafile)
            assert "the same authority" in init(data)
            server.process.send_signal(signal.SIGHUP)
            server.wait_for_line("reloaded")
            second = peer_serial(server, cafile)
            assert first != second
            equal(f"serial={second}\n", serial(data + "/tls/cert.pem"))
            with open(data + "/tls/cert.pem", "w") as file:
                file.write("none")
            server.process.send_signal(signal.SIGHUP)
            server.wait_for_line("reload failed.*cert.pem")
            equal(peer_serial(server, cafile), second)


@case("SIGHUP reports a certificate that is gone, and keeps the old one")
def _():
    with tempfile.TemporaryDirectory() as home:
        data = home + "/data"
        init(data)
        with Server(data=data) as server:
            first = peer_serial(server, data + "/tls/ca.pem")
            os.rename(data + "/tls", home + "/tls")
            server.process.send_signal(signal.SIGHUP)
            server.wait_for_line("reload failed.*cert.pem: missing")
            server.wait_for_line('reloaded in part.*"certificate":false')
            equal(peer_serial(server, home + "/tls/ca.pem"), first)
            server.lines.clear()
            os.rename(home + "/tls", data + "/tls")
            server.process.send_signal(signal.SIGHUP)
            server.wait_for_line("certificates and keys reloaded")


@case("a certificate that has changed is taken without a signal")
def _():
    with tempfile.TemporaryDirectory() as data:
        init(data)
        cafile = data + "/tls/ca.pem"
        with Server(data=data) as server:
            first = peer_serial(server, cafile)
            init(data)
            server.wait_for_line("reloaded")
            second = peer_serial(server, cafile)
            assert first != second
            equal(f"serial={second}\n", serial(data + "/tls/cert.pem"))
            with open(data + "/tls/cert.pem", "w") as file:
                file.write("none")
            server.wait_for_line("reload failed.*cert.pem")
            equal(peer_serial(server, cafile), second)
            server.lines.clear()
            init(data)
            server.wait_for_line("reloaded")
            assert peer_serial(server, cafile) not in (first, second)


@case("a certificate that a link leads to is taken when the link is turned")
def _():
    """As Kubernetes does it: one rename changes all files of a secret."""
    with tempfile.TemporaryDirectory() as home:
        data, secret = home + "/data", home + "/secret"
        for turn in ("1", "2"):
            init(data)
            os.makedirs(f"{secret}/..{turn}")
            for name in ("cert.pem", "key.pem"):
                shutil.copy(f"{data}/tls/{name}", f"{secret}/..{turn}/")
        os.symlink("..1", secret + "/..data")
        for name in ("cert.pem", "key.pem"):
            os.symlink("..data/" + name, f"{secret}/{name}")
        with Server("--tls-cert", secret + "/cert.pem", "--tls-key",
                    secret + "/key.pem", data=data) as server:
            first = peer_serial(server, data + "/tls/ca.pem")
            os.symlink("..2", secret + "/..new")
            os.rename(secret + "/..new", secret + "/..data")
            shutil.rmtree(secret + "/..1")
            server.wait_for_line("reloaded")
            second = peer_serial(server, data + "/tls/ca.pem")
            assert first != second
            equal(f"serial={second}\n", serial(secret + "/cert.pem"))


@case("a server without a certificate takes the first one that is made")
def _():
    with tempfile.TemporaryDirectory() as data:
        with Server(data=data) as server:
            equal(server.scheme, "http")
            init(data)
            server.wait_for_line("reloaded")
            equal(server.ask("GET", "/dbs", cafile=data + "/tls/ca.pem")[0],
                  200)


@case("a private key that others may read is refused")
def _():
    with tempfile.TemporaryDirectory() as data:
        init(data)
        os.chmod(data + "/tls/key.pem", 0o644)
        refused("serve", "--data", data, "--listen", "127.0.0.1:0",
                words="key.pem: has mode 0644")


def seal(path):
    """Puts a passphrase on a key."""
    text = openssl("pkey", "-in", path, "-aes256", "-passout", "pass:word")
    with open(path, "w") as file:
        file.write(text)


def at_terminal(*arguments):
    """Exit status and standard error of `runnel ...` where it could ask for a
    passphrase, which would last for ever."""
    master, slave = os.openpty()
    process = subprocess.Popen(
        [RUNNEL, *arguments], stdin=slave, stdout=slave,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(slave)
    try:
        err = process.communicate(timeout=LIMIT_S)[1]
    finally:
        process.kill()
        os.close(master)
    return process.returncode, err


@case("a key with a passphrase is refused, and nobody is asked for it")
def _():
    with tempfile.TemporaryDirectory() as data:
        init(data)
        cafile = data + "/tls/ca.pem"
        with Server(data=data) as server:
            first = peer_serial(server, cafile)
            seal(data + "/tls/key.pem")
            server.wait_for_line("reload failed.*key.pem: wants a passphrase")
            equal(peer_serial(server, cafile), first)
        serve = ("serve", "--data", data, "--listen", "127.0.0.1:0")
        status, err = at_terminal(*serve)
        equal(status, 2)
        assert "key.pem: wants a passphrase" in err, err
        seal(data + "/tls/ca-key.pem")
        status, err = at_terminal("tls", "init", data)
        equal(status, 2)
        assert "ca-key.pem: wants a passphrase" in err, err


@case("what is no regular file is no certificate, and holds nobody")
def _():
    with tempfile.TemporaryDirectory() as data:
        init(data)
        os.mkfifo(data + "/fifo", 0o600)
        names = [data + "/tls/cert.pem", data + "/tls/key.pem"]
        for cert, key in [(data + "/fifo", names[1]),
                          (names[0], data + "/fifo"), (data, names[1])]:
            refused("serve", "--data", data, "--listen", "127.0.0.1:0",
                    "--tls-cert", cert, "--tls-key", key,
                    words="not a regular file")


@case("tls export writes what clients need and nothing secret")
def _():
    with tempfile.TemporaryDirectory() as home:
        data, to = home + "/data", home + "/to"
        refused("tls", "export", data, to, words="'runnel tls init' makes")
        init(data)
        status, out, err = run("tls", "export", data, to)
        equal((status, err, sorted(os.listdir(to))),
              (0, "", ["ca.p12", "ca.pem"]))
        for path, mode in [(to, 0o755), (to + "/ca.pem", 0o644),
                           (to + "/ca.p12", 0o644)]:
            equal(stat.S_IMODE(os.stat(path).st_mode), mode, path)
        for words in ["NODE_EXTRA_CA_CERTS=", "REQUESTS_CA_BUNDLE=",
                      "azure.cosmos.aio", "trustStore=" + to, "SSL_CERT_FILE=",
                      ".NET", "--cacert"]:
            assert words in out, words
        held = openssl("pkcs12", "-in", to + "/ca.p12", "-passin",
                       "pass:runnel")
        assert "PRIVATE" not in held and "2.16.840.1.113894.746875.1.1" in held
        with open(data + "/tls/ca.pem") as file:
            assert file.read() in held
        os.chmod(to, 0o700)
        os.chmod(to + "/ca.pem", 0o600)
        equal(run("tls", "export", data, to)[0], 0)
        equal([stat.S_IMODE(os.stat(path).st_mode)
               for path in (to, to + "/ca.pem")], [0o700, 0o644])


@case("off loopback the server wants a certificate")
def _():
    with tempfile.TemporaryDirectory() as data:
        refused("serve", "--data", data, "--listen", "0.0.0.0:0",
                words="runnel tls init")
        equal(os.listdir(data), [])
        init(data)
        with Server(*AS_ROOT, data=data, listen="0.0.0.0:0") as server:
            equal(server.scheme, "https")


@case("at the first start https://localhost works, beside http, and stays so")
def _():
    with tempfile.TemporaryDirectory() as home:
        data = home + "/data"
        cafile = data + "/tls/ca.pem"
        with Server(data=data) as server:
            equal(server.scheme, "http")
            equal(server.ask("GET", "/dbs", cafile=cafile)[0], 200)
            equal(server.ask("GET", "/dbs")[0], 200)
        first = serial(cafile), serial(data + "/tls/cert.pem")
        with Server(data=data) as server:
            equal(server.ask("GET", "/dbs", cafile=cafile)[0], 200)
        equal((serial(cafile), serial(data + "/tls/cert.pem")), first)
        for name in os.listdir(data + "/tls"):
            equal(stat.S_IMODE(os.stat(f"{data}/tls/{name}").st_mode), 0o600)
        assert "Runnel automatic authority" in openssl(
            "x509", "-in", cafile, "-noout", "-subject")


@case("a certificate in memory is trusted by what emulator.pem gives")
def _():
    with Server("--store", "mem") as server:
        path = "/_explorer/emulator.pem"
        _, _, text = server.ask("GET", path, key=None, raw=True)
        with tempfile.NamedTemporaryFile() as file:
            file.write(text)
            file.flush()
            equal(server.ask("GET", "/dbs", cafile=file.name)[0], 200)
        equal(os.path.exists(server.data), False)
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_line("certificates and keys reloaded")


@case("a server in memory gives the authority of the certificate that it uses: "
      "that of its directory, if there is one")
def _():
    def trusted(server):
        _, _, text = server.ask("GET", "/_explorer/emulator.pem", key=None,
                                raw=True)
        with tempfile.NamedTemporaryFile() as file:
            file.write(text)
            file.flush()
            equal(server.ask("GET", "/dbs", cafile=file.name)[0], 200)

    with tempfile.TemporaryDirectory() as home:
        data = home + "/data"
        with Server(data=data) as server:
            trusted(server)
        with Server("--store", "mem", data=data) as server:
            trusted(server)
    with tempfile.TemporaryDirectory() as data:
        with Server("--store", "mem", data=data) as server:
            trusted(server)
            init(data)
            server.wait_for_line("certificates and keys reloaded")
            trusted(server)


def shorten(data):
    """Puts a certificate of ten days by the directory's authority in place."""
    tls = data + "/tls"
    with tempfile.TemporaryDirectory() as home:
        openssl("req", "-new", "-key", tls + "/key.pem", "-subj",
                "/CN=localhost", "-out", home + "/request")
        openssl("x509", "-req", "-in", home + "/request", "-CA",
                tls + "/ca.pem", "-CAkey", tls + "/ca-key.pem", "-days", "10",
                "-out", home + "/cert.pem")
        with open(home + "/cert.pem") as file:
            text = file.read()
    with open(tls + "/cert.pem", "w") as file:
        file.write(text)


@case("an automatic certificate that ends soon is renewed by the same authority")
def _():
    with tempfile.TemporaryDirectory() as home:
        data = home + "/data"
        cafile = data + "/tls/ca.pem"
        with Server(data=data) as server:
            pass
        authority = serial(cafile)
        shorten(data)
        with Server(data=data) as server:
            left = (server.metrics()["runnel_tls_cert_not_after_seconds"]
                    - time.time())
            assert left > 800 * 86400, left
            equal(server.ask("GET", "/dbs", cafile=cafile)[0], 200)
        equal(serial(cafile), authority)


@case("a certificate that was asked for is not renewed by the server")
def _():
    with tempfile.TemporaryDirectory() as home:
        data = home + "/data"
        init(data)
        shorten(data)
        before = serial(data + "/tls/cert.pem")
        with Server(data=data) as server:
            server.wait_for_line("the certificate expires soon")
        equal(serial(data + "/tls/cert.pem"), before)


@case("tls init replaces an automatic authority, which serves no network")
def _():
    with tempfile.TemporaryDirectory() as home:
        data = home + "/data"
        with Server(data=data):
            pass
        refused("serve", "--data", data, "--listen", "0.0.0.0:0",
                words="runnel tls init")
        assert "a new authority" in init(data, "db.example.org")
        assert "the same authority" in init(data, "db.example.org")
        with Server(*AS_ROOT, data=data, listen="0.0.0.0:0") as server:
            equal(server.scheme, "https")


@case("a directory that cannot have a certificate is served over HTTP")
def _():
    with tempfile.TemporaryDirectory() as home:
        data = home + "/data"
        with Server("--no-auto-tls", data=data):
            pass
        equal(os.path.exists(data + "/tls"), False)
        with open(data + "/tls", "w"):
            pass
        with Server(data=data) as server:
            server.wait_for_line("HTTPS is not available")
            equal(server.ask("GET", "/dbs")[0], 200)


@case("the start prints the connection string with the public key, and no other")
def _():
    with Server() as server:
        line = server.process.stdout.readline()
        equal(line, "connection string: AccountEndpoint=http://localhost:"
              f"{server.port}/;AccountKey={EMULATOR_KEY};\n")
        line = server.process.stdout.readline()
        assert line.startswith(f"https://localhost:{server.port}/ works too"), \
            line
        server.stop()
        equal([line for line in server.lines if "AccountKey" in line
               or EMULATOR_KEY in line], [])
        server.start()
    with tempfile.TemporaryDirectory() as data:
        init(data)
        with Server(*AS_ROOT, data=data, listen="0.0.0.0:0") as server:
            server.process.send_signal(signal.SIGTERM)
            equal(server.process.stdout.read(), "")
            server.process.wait(LIMIT_S)


@case("on another address of loopback the connection string names it")
def _():
    with Server(listen="127.0.0.2:0") as server:
        server.process.send_signal(signal.SIGTERM)
        equal(server.process.stdout.read(),
              "connection string: AccountEndpoint=http://127.0.0.2:"
              f"{server.port}/;AccountKey={EMULATOR_KEY};\n")
        server.process.wait(LIMIT_S)


@case("keys and tls take the directory that serve takes")
def _():
    with tempfile.TemporaryDirectory() as home:
        with Server(data=home + "/runnel-data"):
            pass
        status, named, _ = run("keys", "show", home + "/runnel-data", "primary")
        equal(status, 0)
        elsewhere = {**os.environ, "RUNNEL_DATA": home + "/runnel-data"}
        for arguments, more in [
                (["primary"], {"cwd": home}),
                (["--data", "runnel-data", "primary"], {"cwd": home}),
                (["runnel-data", "primary"], {"cwd": home}),
                (["primary"], {"env": elsewhere})]:
            equal(run("keys", "show", *arguments, **more), (0, named, ""))
        equal(run("tls", "export", home + "/to", cwd=home)[0], 0)
        equal(run("tls", "init", "db.example.org", cwd=home)[0], 0)
        assert "db.example.org" in openssl(
            "x509", "-in", home + "/runnel-data/tls/cert.pem", "-noout", "-text")


@case("a misspelt command or option is answered with the one that was meant")
def _():
    refused("serv", words="did you mean 'serve'?")
    refused("bakcup", words="did you mean 'backup'?")
    refused("xyzzy", words="see 'runnel --help'")
    refused("serve", "--lsten", "x", words="did you mean '--listen'?")
    refused("serve", "--frobnicate", words="see 'runnel serve --help'")


def status_in_plain(host, port, path, key):
    connection = http.client.HTTPConnection(host, port, timeout=LIMIT_S)
    connection.request("GET", path, headers={"x-ms-version": "2018-12-31",
                                             **sign("GET", path, key)})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert answer.status != 403 or b"HTTPS only" in body, body
    return answer.status


@case("off loopback nothing but health is served in plain text unless it is "
      "allowed")
def _():
    other = own_address()
    with tempfile.TemporaryDirectory() as data:
        init(data)
        for options, dbs, none, insecure in (
                ([], 403, 403, set()),
                (["--allow-plain-http-on-network"], 200, 404, {"plain_http"})):
            with Server(*options, *AS_ROOT, data=data,
                        listen="0.0.0.0:0") as server:
                with open(data + "/keys") as file:
                    key = json.load(file)["primary"]
                equal(server.ask("GET", "/dbs", key=key)[0], 200)
                body = server.ask("GET", "/readyz", key=None)[2]
                equal(set(body.get("insecure", [])) - {"root"}, insecure)
                for path, status in other and (
                        ("/", dbs), ("/dbs", dbs), ("/none", none),
                        ("/healthz", 200), ("/readyz", 200)) or ():
                    equal((path, status_in_plain(other, server.port, path,
                                                 key)), (path, status))


@case("a client that begins in TLS where there is no certificate is logged")
def _():
    with Server("--no-auto-tls") as server:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(("127.0.0.1", server.port),
                                      LIMIT_S) as plain:
            try:
                context.wrap_socket(plain)
                raise AssertionError("a handshake without a certificate")
            except ssl.SSLError:
                pass
        line = json.loads(server.wait_for_line("a client started TLS"))
        assert "runnel tls init" in line["msg"], line
        equal(server.ask("GET", "/dbs")[0], 200)


@case("help lists every command, option and signal within 80 columns")
def _():
    status, out, _ = run("serve", "--help")
    equal(status, 0)
    for words in ["Usage: runnel serve", "--listen HOST:PORT", "--test-mode",
                  "Default: localhost:8081.", "RUNNEL_LOG_FORMAT", "SIGHUP",
                  "Examples", "Exit status"]:
        assert words in out, words
    for command in ["serve", "keys", "tls", "verify", "dump", "backup",
                    "restore", "compact", "help", "version"]:
        equal([line for line in run("help", command)[1].splitlines()
               if len(line) > 80 or line != line.rstrip()], [])
        assert command in run("--help")[1]


def send_in_records(port, request, pieces):
    """Status line of the answer to a request whose first bytes are TLS records
    of their own, all of them sent at once."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    come, go = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(come, go)
    with socket.create_connection(("127.0.0.1", port), LIMIT_S) as connection:
        def until(step):
            while True:
                try:
                    return step()
                except ssl.SSLWantReadError:
                    connection.sendall(go.read())
                    come.write(connection.recv(65536))
        until(session.do_handshake)
        for i in range(pieces):
            session.write(request[i:i + 1])
        session.write(request[pieces:])
        answer = until(lambda: session.read(65536))
        return answer.split(b"\r\n")[0]


@case("a request is answered however its bytes are cut into records")
def _():
    with tempfile.TemporaryDirectory() as data:
        init(data)
        with Server("--head-ms", "3000", data=data) as server:
            request = (b"POST /dbs HTTP/1.1\r\nHost: localhost\r\n"
                       b"Content-Length: 12000\r\n\r\n" + b"x" * 12000)
            for pieces in (0, 13, 14, 15, 16, 17, 31):
                equal((pieces, send_in_records(server.port, request, pieces)),
                      (pieces, b"HTTP/1.1 401 Unauthorized"))


run_cases()
