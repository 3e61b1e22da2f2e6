"""Certificates, by openssl(1): a CA of a minute's use; a server's certificate for localhost, one for another name, and
a client's; and a CA that signed none of them.
"""
import os
import subprocess


class Certificates:
    def __init__(self, folder):
        self._folder = folder
        os.makedirs(folder)
        for name in ("ca", "stranger"):
            self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
                          "2", "-subj", "/CN=conformance " + name, "-keyout", name + ".key", "-out", name + ".pem")
        for name, extension in (("server", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
                                ("elsewhere", "subjectAltName=DNS:elsewhere.test"),
                                ("client", "subjectAltName=DNS:client.test")):
            with open(self.path(name + ".ext"), "w") as text:
                text.write("basicConstraints=critical,CA:FALSE\nextendedKeyUsage=serverAuth,clientAuth\n"
                           + extension + "\n")
            self._openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                          "/CN=" + name, "-keyout", name + ".key", "-out", name + ".csr")
            self._openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                          "-CAcreateserial", "-days", "2", "-extfile", name + ".ext", "-out", name + ".pem")

    def path(self, name):
        return os.path.join(self._folder, name)

    def _openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self._folder, check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
