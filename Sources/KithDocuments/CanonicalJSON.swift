/// The canonical form of JSON, which is what is stored and hashed: from bytes to bytes, without a tree in between.
///
/// Canonical form: UTF-8, no blanks; object keys rising by their UTF-8 bytes; strings with the shortest legal escapes; an
/// integer (no point, no exponent) as its exact digits; any other number as the double it denotes, written as plain
/// digits when it is integral and below 2^53 in size, else with the fewest digits that read back to the same double, laid
/// out as in RFC 8785 but always with an exponent when it is integral; zero of either sign as `0`.
///
/// Refused with `bad_document`, saying what and at which byte and line: what is not JSON (RFC 8259), a byte order mark,
/// broken UTF-8, half a surrogate pair, the same key twice in an object, a number too large for a double, a number of more
/// than `DocumentLimits.numberCharactersMax` characters, and nesting beyond `DocumentLimits.nestingLevelsMax`. A text of
/// more than `DocumentLimits.documentBytesMax` bytes is refused with `too_large`.
public enum CanonicalJSON {
    /// The canonical form of any JSON value.
    ///
    /// - Throws: `bad_document` or `too_large`.
    public static func canonicalize(
        _ bytes: UnsafeRawBufferPointer, bytesMax: Int = DocumentLimits.documentBytesMax
    ) throws(KithError) -> [UInt8] {
        try run(bytes, mode: .value, bytesMax: bytesMax).bytes
    }

    /// The canonical form of any JSON value.
    ///
    /// - Throws: `bad_document` or `too_large`.
    public static func canonicalize(
        _ bytes: [UInt8], bytesMax: Int = DocumentLimits.documentBytesMax
    ) throws(KithError) -> [UInt8] {
        try run(bytes, mode: .value, bytesMax: bytesMax).bytes
    }

    /// The canonical form of a document's body as it comes in replication, where its ID and the like travel beside it: an
    /// object, in which no top-level name begins with `_`.
    ///
    /// - Throws: `bad_document` (which names a reserved property) or `too_large`.
    public static func canonicalizeBody(_ bytes: UnsafeRawBufferPointer) throws(KithError) -> [UInt8] {
        try run(bytes, mode: .body, bytesMax: DocumentLimits.documentBytesMax).bytes
    }

    /// The canonical form of a document's body as it comes in replication: an object, in which no top-level name begins
    /// with `_`.
    ///
    /// - Throws: `bad_document` (which names a reserved property) or `too_large`.
    public static func canonicalizeBody(_ bytes: [UInt8]) throws(KithError) -> [UInt8] {
        try run(bytes, mode: .body, bytesMax: DocumentLimits.documentBytesMax).bytes
    }

    /// Takes a document as REST has it apart: `_id`, `_rev`, `_deleted`, `_revisions`, `_attachments` and `_exp` are
    /// checked and split off, and the rest is made canonical. `_conflicts`, `_deleted_conflicts`, `_revs_info` and
    /// `_local_seq`, which are told with a document and say nothing of it, are left out. Any other top-level name that
    /// begins with `_` is an error that names it. The rest alone must fit in `DocumentLimits.documentBytesMax`, since
    /// attachments may come within the text.
    ///
    /// - Throws: `bad_document` (which names a reserved property or one of the wrong type), `bad_name` (an ID, a revision
    ///   ID or the name of an attachment that is not legal) or `too_large`.
    public static func split(_ bytes: UnsafeRawBufferPointer) throws(KithError) -> DocumentParts {
        let result = try run(bytes, mode: .document, bytesMax: CanonicalPass.inputBytesMax)
        try checkSize(result, DocumentLimits.documentBytesMax)
        return try DocumentParts(takenOut: result.takenOut, body: result.bytes)
    }

    /// Takes a document as REST has it apart; see the function of the same name for a buffer.
    ///
    /// - Throws: `bad_document`, `bad_name` or `too_large`.
    public static func split(_ bytes: [UInt8]) throws(KithError) -> DocumentParts {
        let result = try run(bytes, mode: .document, bytesMax: CanonicalPass.inputBytesMax)
        try checkSize(result, DocumentLimits.documentBytesMax)
        return try DocumentParts(takenOut: result.takenOut, body: result.bytes)
    }

    /// Takes a document as it comes in replication apart: `_attachments`, whose entries are stubs with digest and length, is
    /// split off and the rest made canonical. Any other top-level name that begins with `_` is an error that names it.
    ///
    /// - Throws: `bad_document` (which names a reserved property, or an attachment that is no such stub), `bad_name` (the
    ///   name of an attachment that is not legal) or `too_large`.
    public static func splitAttachments(
        _ bytes: [UInt8]
    ) throws(KithError) -> (body: [UInt8], attachments: AttachmentList) {
        // What is said of attachments does not count as part of the document.
        let bytesMax = DocumentLimits.documentBytesMax + DocumentLimits.attachmentStubsBytesMax
        let result = try run(bytes, mode: .transfer, bytesMax: bytesMax)
        try checkSize(result, DocumentLimits.documentBytesMax)
        guard let (_, stubs) = result.takenOut.first else { return (result.bytes, AttachmentList()) }
        return (result.bytes, try AttachmentList(canonical: stubs))
    }

    struct Output {
        var bytes: [UInt8] = []
        var takenOut: [(CanonicalPass.Reserved, [UInt8])] = []
        var failure: JSONFailure?
        var needsMoreRoom = false
    }

    private static func run(_ bytes: [UInt8], mode: CanonicalPass.Mode, bytesMax: Int) throws(KithError) -> Output {
        let output = bytes.withUnsafeBytes { attempt($0, mode: mode, bytesMax: bytesMax) }
        if let failure = output.failure { throw bytes.withUnsafeBytes { failure.error(in: $0) } }
        try checkSize(output, bytesMax)
        return output
    }

    private static func run(
        _ bytes: UnsafeRawBufferPointer, mode: CanonicalPass.Mode, bytesMax: Int
    ) throws(KithError) -> Output {
        let output = attempt(bytes, mode: mode, bytesMax: bytesMax)
        if let failure = output.failure { throw failure.error(in: bytes) }
        try checkSize(output, bytesMax)
        return output
    }

    /// The canonical form can be longer than the text (`1e15` has 16 digits); what is kept and sent on is what must fit.
    private static func checkSize(_ output: Output, _ bytesMax: Int) throws(KithError) {
        guard output.bytes.count <= bytesMax else {
            throw KithError(
                .tooLarge, "the canonical form has \(output.bytes.count) bytes; \(bytesMax) are allowed",
                remedy: "Divide the document into smaller ones")
        }
    }

    private static func attempt(
        _ bytes: UnsafeRawBufferPointer, mode: CanonicalPass.Mode, bytesMax: Int
    ) -> Output {
        guard bytes.count <= min(bytesMax, CanonicalPass.inputBytesMax) else {
            return Output(failure: JSONFailure(kind: .tooLarge, offset: 0))
        }
        guard !bytes.isEmpty else { return Output(failure: JSONFailure(kind: .unexpectedEnd, offset: 0)) }
        return bytes.withMemoryRebound(to: UInt8.self) { input in
            let output = attempt(input, mode: mode, room: input.count + 2 * NumberText.bytesMax)
            guard output.needsMoreRoom else { return output }
            return attempt(input, mode: mode, room: input.count * 4 + 2 * NumberText.bytesMax)
        }
    }

    private static func attempt(
        _ input: UnsafeBufferPointer<UInt8>, mode: CanonicalPass.Mode, room: Int
    ) -> Output {
        var output = Output()
        output.bytes = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            var pass = CanonicalPass(input: input, output: buffer, mode: mode)
            do throws(JSONFailure) {
                count = try pass.run()
            } catch {
                output.failure = error
                count = 0
            }
            output.needsMoreRoom = pass.needsMoreRoom
            output.takenOut = pass.takenOut
        }
        return output
    }
}
