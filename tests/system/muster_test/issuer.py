"""An OpenID Connect issuer: discovery, keys, and tokens signed by the openssl program."""

import base64
import hashlib
import hmac
import http.server
import json
import shutil
import ssl
import subprocess
import threading
import time

from .story import Skip

# Of an algorithm's name: what openssl dgst is told.
PSS = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest"]
CURVES = {"ES256": ("prime256v1", "P-256", 32), "ES384": ("secp384r1", "P-384", 48)}


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def run(*command, stdin=None):
    return subprocess.run(command, input=stdin, capture_output=True, check=True).stdout


def raw_of_der(der, size):
    """The two integers of an ECDSA signature, each of that many bytes."""
    out, at = b"", 2 + (der[1] == 0x81)
    for _ in range(2):
        length = der[at + 1]
        out += int.from_bytes(der[at + 2:at + 2 + length], "big").to_bytes(size, "big")
        at += 2 + length
    return out


class Issuer:
    """`start=False`: it is down until start(), on the port that its URL names."""

    def __init__(self, fleet, start=True):
        if not shutil.which("openssl"):
            raise Skip("the openssl program is not installed")
        self.fleet, self.cert = fleet, fleet.path("issuer.crt")
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
            "/CN=issuer", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
            fleet.path("issuer.key"), "-out", self.cert)
        self.keys, self.asked = {}, 0
        self.new_key("one")
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.asked += 1
                body = json.dumps(issuer.answer(self.path)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass
        # Bound, so that the port is its own; a connection waits until somebody takes it.
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler,
                                                      bind_and_activate=False)
        self.server.server_bind()
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}"
        if start:
            self.start()

    def start(self):
        self.server.server_activate()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.cert, self.fleet.path("issuer.key"))
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, path):
        if path.endswith("/openid-configuration"):
            return {"issuer": self.url, "jwks_uri": self.url + "/keys"}
        return self.key_set()

    def key_set(self):
        return {"keys": list(self.keys.values())}

    def key_file(self, kid):
        return self.fleet.path(f"id-{kid}.key")

    def new_key(self, kid, alg="RS256"):
        """A key of that name, in place of one that is there."""
        path = self.key_file(kid)
        if alg in CURVES:
            group, crv, size = CURVES[alg]
            run("openssl", "ecparam", "-name", group, "-genkey", "-noout", "-out", path)
            point = run("openssl", "ec", "-in", path, "-pubout", "-outform", "DER")[-2 * size:]
            jwk = {"kty": "EC", "crv": crv, "x": base64url(point[:size]),
                   "y": base64url(point[size:])}
        else:
            run("openssl", "genrsa", "-out", path, "2048")
            modulus = run("openssl", "rsa", "-in", path, "-noout", "-modulus").decode().strip()
            jwk = {"kty": "RSA", "e": "AQAB", "n": base64url(bytes.fromhex(modulus.split("=")[1]))}
        self.keys[kid] = {"kid": kid, "use": "sig", **jwk}

    def sign(self, alg, kid, text):
        if alg == "none":
            return b""
        path, digest = self.key_file(kid), "sha" + alg[2:]
        if alg.startswith("HS"):  # the mistake of servers that take any algorithm
            public = run("openssl", "pkey", "-in", path, "-pubout")
            return hmac.new(public, text, getattr(hashlib, digest)).digest()
        options = PSS if alg.startswith("PS") else []
        made = run("openssl", "dgst", "-" + digest, *options, "-sign", path, stdin=text)
        return raw_of_der(made, CURVES[alg][2]) if alg in CURVES else made

    def token(self, kid, alg="RS256", header=None, **claims):
        """Claims of None are left out."""
        claims = {"iss": self.url, "aud": "muster", "exp": int(time.time()) + 600, "sub": "jo",
                  "email": "jo@example.com", "groups": ["ml"], **claims}
        claims = {k: v for k, v in claims.items() if v is not None}
        text = ".".join(base64url(json.dumps(part).encode()) for part in (
            {"alg": alg, "kid": kid, **(header or {})}, claims))
        return text + "." + base64url(self.sign(alg, kid, text.encode()))
