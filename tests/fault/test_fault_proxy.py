#!/usr/bin/env python3
"""The fault proxy does what each of its commands says. Usage: test_fault_proxy.py FAULT_PROXY"""
import socket
import subprocess
import sys
import threading
import time
import unittest

PROXY = sys.argv.pop(1)
DEADLINE = 10


class Echo:
    """Sends back what it gets."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(conn,), daemon=True).start()

    def serve(self, conn):
        with conn:
            try:
                while data := conn.recv(65536):
                    conn.sendall(data)
            except OSError:
                pass


class FaultProxy(unittest.TestCase):
    def setUp(self):
        self.echo = Echo()
        self.p = subprocess.Popen(
            [PROXY, "--to", f"127.0.0.1:{self.echo.port}", "--control", "0"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        word, self.port, self.control = self.p.stdout.readline().split()
        self.assertEqual(word, "ready")

    def tearDown(self):
        self.p.terminate()
        self.assertEqual(self.p.wait(DEADLINE), 0)
        self.p.stdin.close()
        self.p.stdout.close()
        self.echo.listener.close()

    def tell(self, command):
        self.p.stdin.write(command + "\n")
        self.p.stdin.flush()
        return self.p.stdout.readline().strip()

    def connect(self):
        s = socket.create_connection(("127.0.0.1", int(self.port)), DEADLINE)
        s.settimeout(DEADLINE)
        self.addCleanup(s.close)
        return s

    def exchange(self, s, text=b"hello"):
        s.sendall(text)
        got = b""
        while len(got) < len(text):
            more = s.recv(65536)
            if not more:
                break
            got += more
        return got

    def test_pass_forwards_everything(self):
        s = self.connect()
        big = bytes(range(256)) * 8192
        sender = threading.Thread(target=s.sendall, args=(big,))
        sender.start()
        got = b""
        while len(got) < len(big):
            got += s.recv(65536)
        sender.join()
        self.assertEqual(got, big)
        s.shutdown(socket.SHUT_WR)
        self.assertEqual(s.recv(1), b"")

    def test_control_port_obeys_too(self):
        c = socket.create_connection(("127.0.0.1", int(self.control)), DEADLINE)
        self.addCleanup(c.close)
        c.sendall(b"stats\nnonsense\n")
        f = c.makefile()
        self.addCleanup(f.close)
        self.assertTrue(f.readline().startswith("connections 0 open 0"))
        self.assertEqual(f.readline(), "error: unknown command\n")

    def test_refuse_and_pass_again_on_the_same_port(self):
        old = self.connect()
        self.assertEqual(self.exchange(old), b"hello")
        self.assertEqual(self.tell("refuse"), "ok")
        with self.assertRaises(ConnectionRefusedError):
            self.connect()
        self.assertEqual(self.exchange(old), b"hello")
        self.assertEqual(self.tell("pass"), "ok")
        self.assertEqual(self.exchange(self.connect()), b"hello")

    def test_hang_freezes_and_pass_thaws(self):
        s = self.connect()
        self.assertEqual(self.exchange(s), b"hello")
        self.assertEqual(self.tell("hang"), "ok")
        s.sendall(b"later")
        s.settimeout(0.3)
        with self.assertRaises(TimeoutError):
            s.recv(1)
        fresh = self.connect()
        fresh.sendall(b"x")
        self.assertEqual(self.tell("pass"), "ok")
        s.settimeout(DEADLINE)
        self.assertEqual(s.recv(5), b"later")
        self.assertEqual(fresh.recv(1), b"x")

    def test_reset_and_kick(self):
        s = self.connect()
        self.assertEqual(self.exchange(s), b"hello")
        self.assertEqual(self.tell("kick"), "ok")
        with self.assertRaises(ConnectionResetError):
            s.recv(1)
        self.assertEqual(self.exchange(self.connect()), b"hello")
        self.assertEqual(self.tell("reset"), "ok")
        with self.assertRaises(OSError):
            self.exchange(self.connect())
            raise OSError  # closed without a word is as good

    def test_cut_forwards_exactly_so_many_bytes_once(self):
        for side in ("client", "server"):
            self.assertEqual(self.tell(f"cut {side} 7"), "ok")
            s = self.connect()
            s.sendall(b"0123456789")
            got = b""
            with self.assertRaises(ConnectionResetError):
                while more := s.recv(100):
                    got += more
            if side == "server":
                self.assertEqual(got, b"0123456")
            self.assertEqual(self.exchange(self.connect()), b"hello")
        self.assertIn("cuts 2", self.tell("stats"))

    def test_delay_keeps_order(self):
        self.assertEqual(self.tell("delay 100"), "ok")
        s = self.connect()
        start = time.monotonic()
        self.assertEqual(self.exchange(s, b"abc"), b"abc")
        self.assertGreaterEqual(time.monotonic() - start, 0.19)

    def test_rate_drips(self):
        self.assertEqual(self.tell("rate 100"), "ok")
        s = self.connect()
        start = time.monotonic()
        self.assertEqual(self.exchange(s, b"x" * 50), b"x" * 50)
        self.assertGreaterEqual(time.monotonic() - start, 0.3)


if __name__ == "__main__":
    unittest.main()
