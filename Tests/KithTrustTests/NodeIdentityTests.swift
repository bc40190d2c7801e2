import COpenSSL
import Glibc
import KithDocuments
import Testing

@testable import KithTrust

@Suite("The node's identity")
struct NodeIdentityTests {
    let folder = TemporaryFolder()
    var identityPath: String { folder.path + "/identity" }

    @Test("key and certificate are made for the owner alone, and read back as the same node")
    func create() throws {
        let made = try NodeIdentity.create(inFolder: identityPath, name: "kitchen-pi")
        #expect(folder.names == ["identity"])
        #expect(TemporaryFolder.mode(identityPath) == 0o700)
        #expect(TemporaryFolder.mode(identityPath + "/key.pem") == 0o600)
        #expect(TemporaryFolder.mode(identityPath + "/certificate.pem") == 0o600)
        let read = try NodeIdentity.load(fromFolder: identityPath + "/")
        #expect(read.nodeID == made.nodeID)
        #expect(read.certificatePEM == made.certificatePEM)
        #expect(read.privateKeyPEM == made.privateKeyPEM)
        #expect(read.certificateName == "kitchen-pi")
        #expect(String(decoding: read.privateKeyPEM, as: UTF8.self).hasPrefix("-----BEGIN " + "PRIVATE KEY-----"))
    }

    @Test("an identity is never replaced")
    func noReplacing() throws {
        let made = try NodeIdentity.create(inFolder: identityPath, name: "a")
        let error = #expect(throws: KithError.self) { try NodeIdentity.create(inFolder: identityPath, name: "b") }
        #expect(error?.code == .alreadyInitialised)
        #expect(try NodeIdentity.load(fromFolder: identityPath).nodeID == made.nodeID)
        #expect(folder.names == ["identity"])
    }

    @Test("an identity is not written through a symbolic link")
    func noLink() throws {
        let other = TemporaryFolder()
        symlink(other.path, identityPath)
        #expect(throws: KithError.self) { try NodeIdentity.create(inFolder: identityPath, name: "a") }
        #expect(other.names.isEmpty)
        #expect(folder.names == ["identity"])
    }

    @Test("what a crash left half-made is swept away by the next attempt")
    func afterCrash() throws {
        mkdir(identityPath + ".partial", 0o700)
        TemporaryFolder.write(identityPath + ".partial/key.pem", "half a key".utf8)
        expectError(.notInitialised) { try NodeIdentity.load(fromFolder: identityPath) }
        _ = try NodeIdentity.create(inFolder: identityPath, name: "a")
        #expect(folder.names == ["identity"])
    }

    @Test("makers at the same moment give one identity")
    func together() async throws {
        let path = identityPath
        let outcomes = await withTaskGroup(of: NodeID?.self) { group in
            for index in 0..<6 {
                group.addTask { try? NodeIdentity.create(inFolder: path, name: "node \(index)").nodeID }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let made = outcomes.compactMap { $0 }
        #expect(made.count == 1)
        #expect(try NodeIdentity.load(fromFolder: path).nodeID == made.first)
        #expect(folder.names == ["identity"])
    }

    @Test("the certificate is X.509 v3 on P-256, signed by itself, for client and server, valid from yesterday")
    func certificate() throws {
        let name = String(repeating: "é", count: 64)
        let made = try NodeIdentity.create(inFolder: identityPath, name: name)
        #expect(made.certificateName == name)
        let certificate = try #require(
            made.certificatePEM.withUnsafeBytes { bytes -> OpaquePointer? in
                let text = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count))
                defer { BIO_free(text) }
                return PEM_read_bio_X509(text, nil, nil, nil)
            })
        defer { X509_free(certificate) }
        #expect(X509_get_version(certificate) == 2)
        let key = X509_get0_pubkey(certificate)
        #expect(kith_is_p256(key) == 1)
        #expect(X509_verify(certificate, key) == 1)
        #expect(X509_check_purpose(certificate, X509_PURPOSE_SSL_CLIENT, 0) == 1)
        #expect(X509_check_purpose(certificate, X509_PURPOSE_SSL_SERVER, 0) == 1)
        #expect(X509_check_ca(certificate) == 0)
        var now = time(nil)
        var inTwelveHoursAgo = now - 12 * 3600
        var inNineteenYears = now + 19 * 365 * 24 * 3600
        #expect(X509_cmp_time(X509_get0_notBefore(certificate), &inTwelveHoursAgo) == -1)
        #expect(X509_cmp_time(X509_get0_notAfter(certificate), &inNineteenYears) == 1)
        #expect(X509_cmp_time(X509_get0_notAfter(certificate), &now) == 1)
        #expect(KeyAndCertificate.subjectPublicKeyHash(of: certificate) == made.nodeID.subjectPublicKeyHash)
        #expect(ERR_peek_error() == 0)
    }

    @Test(
        "names that cannot be shown safely are refused and nothing is made",
        arguments: [
            "", " a", "a ", "a\nb", "a\u{1B}[2Jb", "a\u{202E}b", "a\u{2028}b", "a\u{0}b",
            String(repeating: "a", count: 65),
            String(repeating: "e\u{301}", count: 33),
            NodeID(subjectPublicKeyHash: [UInt8](repeating: 7, count: 32)).description,
        ])
    func badNames(name: String) {
        let error = #expect(throws: KithError.self) { try NodeIdentity.create(inFolder: identityPath, name: name) }
        #expect(error?.code == .badName)
        #expect(folder.names.isEmpty)
    }

    @Test(
        "names in any script are taken",
        arguments: [
            "kitchen-pi", "Küche", "台所", "Anna's laptop", "👩‍🔧 workshop", "a", "مطبخ", String(repeating: "台", count: 64),
        ])
    func goodNames(name: String) throws {
        #expect(try NodeIdentity.create(inFolder: identityPath, name: name).certificateName == name)
    }

    @Test(
        "a key that others may read is refused, and the error says what to do",
        arguments: [
            0o640, 0o604, 0o660, 0o644, 0o620, 0o601,
        ])
    func openKey(mode: Int) throws {
        _ = try NodeIdentity.create(inFolder: identityPath, name: "a")
        chmod(identityPath + "/key.pem", mode_t(mode))
        let error = #expect(throws: KithError.self) { try NodeIdentity.load(fromFolder: identityPath) }
        #expect(error?.code == .badConfiguration)
        #expect(error?.remedy?.contains("chmod 600") == true)
    }

    @Test("a key and a certificate that do not belong together are refused")
    func mismatch() throws {
        _ = try NodeIdentity.create(inFolder: identityPath, name: "a")
        let other = try NodeIdentity.create(inFolder: folder.path + "/other", name: "a")
        TemporaryFolder.write(identityPath + "/certificate.pem", other.certificatePEM)
        let error = #expect(throws: KithError.self) { try NodeIdentity.load(fromFolder: identityPath) }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("another key") == true)
        #expect(ERR_peek_error() == 0)
    }

    @Test("damaged files are refused, and no error holds any of the key")
    func damaged() throws {
        let made = try NodeIdentity.create(inFolder: identityPath, name: "a")
        let secret = String(decoding: made.privateKeyPEM, as: UTF8.self).split(separator: "\n")[1]
        func load(_ file: String, _ bytes: [UInt8]) -> KithError? {
            let path = identityPath + "/" + file
            let whole = TemporaryFolder.read(path)
            TemporaryFolder.write(path, bytes)
            defer { TemporaryFolder.write(path, whole) }
            return #expect(throws: KithError.self) { try NodeIdentity.load(fromFolder: identityPath) }
        }
        for (file, whole) in [("key.pem", made.privateKeyPEM), ("certificate.pem", made.certificatePEM)] {
            for count in stride(from: 0, to: whole.count - 2, by: 7) {
                let error = load(file, Array(whole.prefix(count)))
                #expect(error?.code == .damaged)
                #expect(error?.description.contains(secret) == false)
            }
            #expect(load(file, [UInt8](repeating: 0, count: 100_000))?.code == .damaged)
        }
        #expect(load("certificate.pem", made.privateKeyPEM)?.code == .damaged)
        #expect(load("key.pem", made.certificatePEM)?.code == .damaged)
        #expect(ERR_peek_error() == 0)
        var shown = ""
        dump(made, to: &shown)
        shown += "\(made) \(String(reflecting: made))"
        #expect(!shown.contains("PRIVATE") && !shown.contains(secret))
    }

    @Test("a missing file is told from a missing identity")
    func missing() throws {
        expectError(.notInitialised) { try NodeIdentity.load(fromFolder: identityPath) }
        _ = try NodeIdentity.create(inFolder: identityPath, name: "a")
        unlink(identityPath + "/certificate.pem")
        expectError(.damaged) { try NodeIdentity.load(fromFolder: identityPath) }
    }

    @Test("keys of other kinds are refused")
    func otherKinds() throws {
        _ = try NodeIdentity.create(inFolder: identityPath, name: "a")
        let key = try #require(kith_generate_p384_for_tests())
        defer { EVP_PKEY_free(key) }
        let text = BIO_new(BIO_s_mem())
        defer { BIO_free(text) }
        PEM_write_bio_PKCS8PrivateKey(text, key, nil, nil, 0, nil, nil)
        var start: UnsafeMutablePointer<CChar>?
        let count = kith_bio_get_mem_data(text, &start)
        TemporaryFolder.write(identityPath + "/key.pem", UnsafeRawBufferPointer(start: start, count: count))
        let error = #expect(throws: KithError.self) { try NodeIdentity.load(fromFolder: identityPath) }
        #expect(error?.message.contains("P-256") == true)
    }

    @Test("a pipe in the key's place is refused at once")
    func pipe() throws {
        _ = try NodeIdentity.create(inFolder: identityPath, name: "a")
        unlink(identityPath + "/key.pem")
        mkfifo(identityPath + "/key.pem", 0o600)
        expectError(.damaged) { try NodeIdentity.load(fromFolder: identityPath) }
    }
}

/// A key that is not P-256.
private func kith_generate_p384_for_tests() -> OpaquePointer? {
    let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, "P-384") == 1,
        EVP_PKEY_generate(context, &key) == 1
    else { return nil }
    return key
}
