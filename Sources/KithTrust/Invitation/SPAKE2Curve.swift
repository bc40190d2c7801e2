import COpenSSL
import KithDocuments

/// The arithmetic of P-256 that SPAKE2 needs, by OpenSSL. Used by one call on one thread and thrown away.
///
/// Every scalar multiplication has one scalar, which is the case that OpenSSL does in constant time.
struct SPAKE2Curve: ~Copyable {
    /// A point, freed and wiped with its last owner.
    final class Point {
        let pointer: OpaquePointer

        fileprivate init(_ group: OpaquePointer) throws(KithError) {
            guard let pointer = EC_POINT_new(group) else { throw SPAKE2.failed() }
            self.pointer = pointer
        }

        deinit { EC_POINT_clear_free(pointer) }
    }

    /// Owned by this value, which frees both.
    private let group: OpaquePointer
    private let numbers: OpaquePointer

    init() throws(KithError) {
        guard let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else { throw SPAKE2.failed() }
        guard let numbers = BN_CTX_new() else {
            EC_GROUP_free(group)
            throw SPAKE2.failed()
        }
        self.group = group
        self.numbers = numbers
    }

    deinit {
        BN_CTX_free(numbers)
        EC_GROUP_free(group)
    }

    /// M and N of RFC 9382, section 4, for P-256: points of which nobody knows the logarithm.
    func blindingPoint(of side: SPAKE2.Side) throws(KithError) -> Point {
        switch side {
        case .a: try decode(Self.m)
        case .b: try decode(Self.n)
        }
    }

    /// - Throws: `.protocolViolation` when the bytes are no point of the curve, or the point at infinity.
    func decode(_ bytes: [UInt8]) throws(KithError) -> Point {
        let point = try Point(group)
        guard EC_POINT_oct2point(group, point.pointer, bytes, bytes.count, numbers) == 1, !isInfinity(point) else {
            // What OpenSSL says of it is of no use to anybody, and would be taken for an error of the connection.
            _ = OpenSSLFailure.take()
            throw SPAKE2.badShare
        }
        return point
    }

    /// The point as 65 bytes, uncompressed.
    func encode(_ point: Point) throws(KithError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: SPAKE2.shareByteCount)
        let count = EC_POINT_point2oct(
            group, point.pointer, POINT_CONVERSION_UNCOMPRESSED, &bytes, bytes.count, numbers)
        guard count == bytes.count else { throw SPAKE2.failed() }
        return bytes
    }

    func isInfinity(_ point: Point) -> Bool { EC_POINT_is_at_infinity(group, point.pointer) == 1 }

    func generator(times scalar: SecretBytes) throws(KithError) -> Point {
        let point = try Point(group)
        try withNumber(scalar) { (number) throws(KithError) in
            guard EC_POINT_mul(group, point.pointer, number, nil, nil, numbers) == 1 else { throw SPAKE2.failed() }
        }
        return point
    }

    func multiply(_ point: Point, by scalar: SecretBytes) throws(KithError) -> Point {
        let product = try Point(group)
        try withNumber(scalar) { (number) throws(KithError) in
            guard EC_POINT_mul(group, product.pointer, nil, point.pointer, number, numbers) == 1 else {
                throw SPAKE2.failed()
            }
        }
        return product
    }

    func add(_ one: Point, _ other: Point) throws(KithError) -> Point {
        let sum = try Point(group)
        guard EC_POINT_add(group, sum.pointer, one.pointer, other.pointer, numbers) == 1 else { throw SPAKE2.failed() }
        return sum
    }

    /// The point itself is turned into its negative.
    func negated(_ point: Point) throws(KithError) -> Point {
        guard EC_POINT_invert(group, point.pointer, numbers) == 1 else { throw SPAKE2.failed() }
        return point
    }

    /// Bytes, big-endian, modulo the order of the group: how a hash becomes a scalar.
    func reduced(_ bytes: [UInt8]) throws(KithError) -> SecretBytes {
        guard let order = EC_GROUP_get0_order(group), let remainder = BN_secure_new() else { throw SPAKE2.failed() }
        defer { BN_clear_free(remainder) }
        guard let number = BN_bin2bn(bytes, Int32(bytes.count), nil)
        else { throw SPAKE2.failed() }
        defer { BN_clear_free(number) }
        BN_set_flags(number, BN_FLG_CONSTTIME)
        guard BN_div(nil, remainder, number, order, numbers) == 1 else { throw SPAKE2.failed() }
        var scalar = [UInt8](repeating: 0, count: SPAKE2.scalarByteCount)
        defer { scalar.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        guard BN_bn2binpad(remainder, &scalar, Int32(scalar.count)) == Int32(scalar.count) else {
            throw SPAKE2.failed()
        }
        return scalar.withUnsafeBytes { SecretBytes(copying: $0) }
    }

    private func withNumber(
        _ scalar: SecretBytes, _ body: (OpaquePointer) throws(KithError) -> Void
    ) throws(KithError) {
        try scalar.withBytes { (bytes) throws(KithError) in
            let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
            guard let number = BN_bin2bn(start, Int32(bytes.count), nil) else { throw SPAKE2.failed() }
            defer { BN_clear_free(number) }
            BN_set_flags(number, BN_FLG_CONSTTIME)
            try body(number)
        }
    }

    private static let m: [UInt8] = [
        0x02, 0x88, 0x6e, 0x2f, 0x97, 0xac, 0xe4, 0x6e, 0x55, 0xba, 0x9d, 0xd7, 0x24, 0x25, 0x79, 0xf2, 0x99,
        0x3b, 0x64, 0xe1, 0x6e, 0xf3, 0xdc, 0xab, 0x95, 0xaf, 0xd4, 0x97, 0x33, 0x3d, 0x8f, 0xa1, 0x2f,
    ]
    private static let n: [UInt8] = [
        0x03, 0xd8, 0xbb, 0xd6, 0xc6, 0x39, 0xc6, 0x29, 0x37, 0xb0, 0x4d, 0x99, 0x7f, 0x38, 0xc3, 0x77, 0x07,
        0x19, 0xc6, 0x29, 0xd7, 0x01, 0x4d, 0x49, 0xa2, 0x4b, 0x4f, 0x98, 0xba, 0xa1, 0x29, 0x2b, 0x49,
    ]
}
