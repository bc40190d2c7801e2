#!/usr/bin/env python3
"""An attacker between two machines: speaks TLS with each under a key of its own, and passes on what they say.

    machine_in_the_middle.py CERTIFICATE KEY PORT

Prints the port of 127.0.0.1 on which it listens, then a line with the number of bytes for each piece that it passes on to or
from PORT. The protocol of the application is the one that the caller asked for. Standard library only.
"""

import contextlib
import socket
import ssl
import sys
import threading

PROTOCOLS = ["kith-pair/1", "kith-join/1"]


def pass_on(source, target, arrow):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
            print(arrow, len(data), flush=True)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def context(purpose, certificate, key, protocols):
    made = ssl.SSLContext(purpose)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.load_cert_chain(certificate, key)
    made.set_alpn_protocols(protocols)
    return made


def serve(caller, certificate, key, port):
    with contextlib.suppress(OSError):
        front = context(ssl.PROTOCOL_TLS_SERVER, certificate, key, PROTOCOLS).wrap_socket(caller, server_side=True)
        spoken = front.selected_alpn_protocol()
        back = context(ssl.PROTOCOL_TLS_CLIENT, certificate, key, [spoken]).wrap_socket(
            socket.create_connection(("127.0.0.1", port)))
        threading.Thread(target=pass_on, args=(front, back, ">"), daemon=True).start()
        pass_on(back, front, "<")


def main():
    certificate, key, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        caller, _ = listener.accept()
        threading.Thread(target=serve, args=(caller, certificate, key, port), daemon=True).start()


if __name__ == "__main__":
    main()
