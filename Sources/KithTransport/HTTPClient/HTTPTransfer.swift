import CCurl
import Glibc
import KithDocuments
import KithWire

/// A request of HTTP under way, by libcurl.
///
/// It owns the easy handle and its list of header fields, both freed in `close`; libcurl has an unretained pointer to it, which is
/// used only while the transfer is among those of `HTTPClientThread`, which keep it alive.
@HTTPClientActor
public final class HTTPTransfer {
    /// What the handler knows it by.
    public let number: UInt64
    private weak var handler: (any HTTPTransferHandler)?
    private var easy: UnsafeMutableRawPointer?
    private var fields: UnsafeMutablePointer<curl_slist>?

    private var status = 0
    private var headers = HTTPHeaders()
    private var headerBytes = 0
    private var hasHead = false
    private var failure: KithError?
    private var untaken = 0
    private var isReadingPaused = false
    private var unsent: [UInt8] = []
    private var unsentHead = 0
    private var isBodyWhole = true
    private var isSendingPaused = false
    private var hasAskedForBody = false

    /// Begins a request.
    ///
    /// - Throws: `.badRequest` when libcurl does not take it.
    @discardableResult
    public static func start(
        _ request: HTTPClientRequest, number: UInt64, handler: any HTTPTransferHandler
    ) throws(KithError) -> HTTPTransfer {
        let transfer = try HTTPTransfer(request, number: number, handler: handler)
        // Not from within libcurl's own call, which a request may be the answer to.
        HTTPClientActor.post { transfer.begin() }
        return transfer
    }

    private init(
        _ request: HTTPClientRequest, number: UInt64, handler: any HTTPTransferHandler
    ) throws(KithError) {
        guard let easy = curl_easy_init() else {
            throw KithError(.internal, "there is no memory for a request of HTTP")
        }
        self.easy = easy
        self.number = number
        self.handler = handler
        do {
            try configure(easy, request)
        } catch {
            close()
            throw error
        }
    }

    private func configure(_ easy: UnsafeMutableRawPointer, _ request: HTTPClientRequest) throws(KithError) {
        func check(_ code: CURLcode, _ what: String) throws(KithError) {
            guard code == CURLE_OK else { throw KithError(.badRequest, "libcurl does not take \(what)") }
        }
        try check(kith_curl_set_text(easy, CURLOPT_URL, request.url), "the URL")
        try check(kith_curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https"), "its protocols")
        // A server that sends elsewhere would be told who asks; whoever wants that names the other URL.
        try check(kith_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0), "no redirections")
        try check(kith_curl_set_long(easy, CURLOPT_PATH_AS_IS, 1), "paths as they are")
        try check(kith_curl_set_long(easy, CURLOPT_NOSIGNAL, 1), "no signals")
        try check(kith_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT, HTTPClientLimits.connectSecondsMax), "a time limit")
        try check(kith_curl_set_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)), "HTTP/1.1")
        try check(kith_curl_set_long(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)), "TLS 1.2")
        try check(kith_curl_set_long(easy, CURLOPT_BUFFERSIZE, 64 << 10), "the size of its buffer")
        // Nothing from the surroundings: no proxy that would see the password, no .netrc.
        try check(kith_curl_set_text(easy, CURLOPT_PROXY, ""), "no proxy")
        try check(kith_curl_set_long(easy, CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue)), "no .netrc")
        try check(kith_curl_set_text(easy, CURLOPT_ACCEPT_ENCODING, "gzip"), "gzip")
        if let file = request.authorityFile {
            try check(kith_curl_set_text(easy, CURLOPT_CAINFO, file), "the file of authorities")
            // Else the folder of the system's authorities counts beside the file.
            try check(kith_curl_set_text(easy, CURLOPT_CAPATH, nil), "no folder of authorities")
        }
        if let credentials = request.credentials {
            try check(kith_curl_set_long(easy, CURLOPT_HTTPAUTH, 1), "Basic")
            try check(kith_curl_set_text(easy, CURLOPT_USERNAME, credentials.user), "the user")
            try check(kith_curl_set_text(easy, CURLOPT_PASSWORD, credentials.password), "the password")
        }
        try check(kith_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, request.method), "the method")
        switch request.body {
        case .none: if request.method == "HEAD" { try check(kith_curl_set_long(easy, CURLOPT_NOBODY, 1), "no body") }
        case .bytes(let bytes):
            try check(kith_curl_set_long(easy, CURLOPT_POST, 1), "a body")
            let code = bytes.withUnsafeBytes { buffer in
                kith_curl_set_body(easy, buffer.bindMemory(to: CChar.self).baseAddress, curl_off_t(buffer.count))
            }
            try check(code, "the body")
        case .stream(let length):
            isBodyWhole = false
            try check(kith_curl_set_long(easy, CURLOPT_UPLOAD, 1), "a body")
            try check(kith_curl_set_offset(easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(length)), "the body's length")
        }
        // Without the wait for "100 Continue", which many servers do not send.
        for (name, value) in request.headers + [("Expect", ""), ("User-Agent", "Kith")] {
            fields = curl_slist_append(fields, value.isEmpty ? "\(name):" : "\(name): \(value)")
        }
        try check(kith_curl_set_headers(easy, fields), "the header fields")
        let context = Unmanaged.passUnretained(self).toOpaque()
        for (data, function, callback) in [
            (CURLOPT_WRITEDATA, CURLOPT_WRITEFUNCTION, receiveCallback),
            (CURLOPT_HEADERDATA, CURLOPT_HEADERFUNCTION, headerCallback),
            (CURLOPT_READDATA, CURLOPT_READFUNCTION, sendCallback),
        ] {
            try check(kith_curl_set_pointer(easy, data, context), "a callback")
            try check(kith_curl_set_callback(easy, function, callback), "a callback")
        }
    }

    private func begin() {
        guard let easy, handler != nil else { return close() }
        HTTPClientThread.shared.transfers[UInt(bitPattern: easy)] = self
        let code = curl_multi_add_handle(HTTPClientThread.shared.multi, easy)
        guard code == CURLM_OK else {
            close()
            handler?.failed(self, KithError(.internal, "libcurl does not begin a request: error \(code.rawValue)"))
            return
        }
    }

    /// Gives it up; the handler hears nothing more.
    public func cancel() {
        handler = nil
        // Not from within libcurl's own call.
        HTTPClientActor.post { [self] in close() }
    }

    private func close() {
        guard let easy else { return }
        HTTPClientThread.shared.transfers[UInt(bitPattern: easy)] = nil
        curl_multi_remove_handle(HTTPClientThread.shared.multi, easy)
        curl_easy_cleanup(easy)
        curl_slist_free_all(fields)
        self.easy = nil
        fields = nil
    }

    // MARK: The answer

    /// So many bytes of the answer were worked off.
    public func taken(_ count: Int) {
        untaken -= count
        guard isReadingPaused, untaken <= HTTPClientLimits.untakenBytesMax / 2 else { return }
        isReadingPaused = false
        resume()
    }

    /// One header line, or the empty line behind the last.
    fileprivate func receiveHeader(_ bytes: UnsafeRawBufferPointer) -> Int {
        headerBytes += bytes.count
        guard headerBytes <= HTTPClientLimits.headerBytesMax else {
            failure = KithError(
                .protocolViolation, "the header of the answer is longer than \(HTTPClientLimits.headerBytesMax) bytes")
            return 0
        }
        let line = String(decoding: bytes, as: UTF8.self).trimmingLineEnd
        if line.hasPrefix("HTTP/") {
            // Another one follows `100 Continue`.
            (status, headers) = (line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0, HTTPHeaders())
        } else if let colon = line.firstIndex(of: ":") {
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            headers.add(String(line[..<colon]), String(value))
        } else if line.isEmpty, status >= 200, !hasHead {
            hasHead = true
            handler?.head(self, status: status, headers: headers)
        }
        return bytes.count
    }

    fileprivate func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard handler != nil else { return 0 }
        guard untaken < HTTPClientLimits.untakenBytesMax else {
            isReadingPaused = true
            return Int(CURL_WRITEFUNC_PAUSE)
        }
        untaken += bytes.count
        handler?.body(self, Array(bytes))
        return bytes.count
    }

    // MARK: The request's body

    /// Gives the next bytes of the body.
    public func send(_ bytes: [UInt8], isLast: Bool) {
        unsent.removeFirst(unsentHead)
        unsentHead = 0
        unsent.append(contentsOf: bytes)
        isBodyWhole = isLast
        hasAskedForBody = false
        if !isLast { askForBody() }
        guard isSendingPaused else { return }
        isSendingPaused = false
        resume()
    }

    private func askForBody() {
        guard !isBodyWhole, !hasAskedForBody, unsent.count - unsentHead < HTTPClientLimits.unsentBytesMax / 2 else {
            return
        }
        hasAskedForBody = true
        HTTPClientActor.post { [weak self] in
            guard let self, easy != nil else { return }
            handler?.wantsBody(self)
        }
    }

    fileprivate func giveBody(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, unsent.count - unsentHead)
        guard count > 0 else {
            guard !isBodyWhole else { return 0 }
            askForBody()
            isSendingPaused = true
            return Int(CURL_READFUNC_PAUSE)
        }
        unsent.withUnsafeBytes { bytes in
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[unsentHead..<(unsentHead + count)]))
        }
        unsentHead += count
        askForBody()
        return count
    }

    /// Goes on with what is not paused. From outside of libcurl's own calls, since it may call back at once.
    private func resume() {
        HTTPClientActor.post { [weak self] in
            guard let self, let easy else { return }
            var pause = CURLPAUSE_CONT
            if isReadingPaused { pause |= CURLPAUSE_RECV }
            if isSendingPaused { pause |= CURLPAUSE_SEND }
            curl_easy_pause(easy, pause)
        }
    }

    // MARK: The end

    func finish(_ code: CURLcode) {
        let handler = self.handler
        self.handler = nil
        var verified = 0
        if let easy { kith_curl_get_long(easy, CURLINFO_SSL_VERIFYRESULT, &verified) }
        close()
        if let failure { return handler?.failed(self, failure) ?? () }
        guard code == CURLE_OK, hasHead else { return handler?.failed(self, Self.error(code)) ?? () }
        handler?.end(self)
    }

    private static func error(_ code: CURLcode) -> KithError {
        let text = String(cString: curl_easy_strerror(code))
        switch code {
        case CURLE_OPERATION_TIMEDOUT: return KithError(.timedOut, "the server does not answer: \(text)")
        case CURLE_PEER_FAILED_VERIFICATION:
            return KithError(
                .notTrusted, "the certificate of the server is not believed: \(text)",
                remedy: "Name the file of its authority with --ca-file, or check the name in the URL")
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CIPHER:
            return KithError(.tlsFailed, text)
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: return KithError(.badRequest, "the URL is wrong: \(text)")
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT: return KithError(.internal, text)
        case CURLE_BAD_CONTENT_ENCODING, CURLE_WEIRD_SERVER_REPLY:
            return KithError(.protocolViolation, "the answer is no HTTP: \(text)")
        default: return KithError(.connectionLost, text)
        }
    }
}

extension String {
    fileprivate var trimmingLineEnd: String {
        var scalars = Substring(self).unicodeScalars
        while let last = scalars.last, last == "\r" || last == "\n" || last == " " { scalars.removeLast() }
        return String(scalars)
    }
}

private let receiveCallback: @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?) -> Int =
    {
        bytes, size, count, context in
        guard let context else { return 0 }
        let buffer = UnsafeRawBufferPointer(start: bytes, count: size * count)
        nonisolated(unsafe) let (pointer, given) = (context, buffer)
        return HTTPClientActor.assumeIsolated {
            Unmanaged<HTTPTransfer>.fromOpaque(pointer).takeUnretainedValue().receive(given)
        }
    }

private let headerCallback: @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?) -> Int = {
    bytes, size, count, context in
    guard let context else { return 0 }
    let buffer = UnsafeRawBufferPointer(start: bytes, count: size * count)
    nonisolated(unsafe) let (pointer, given) = (context, buffer)
    return HTTPClientActor.assumeIsolated {
        Unmanaged<HTTPTransfer>.fromOpaque(pointer).takeUnretainedValue().receiveHeader(given)
    }
}

private let sendCallback: @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?) -> Int = {
    bytes, size, count, context in
    guard let context, let bytes else { return 0 }
    nonisolated(unsafe) let (pointer, given) = (
        context, UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    )
    return HTTPClientActor.assumeIsolated {
        Unmanaged<HTTPTransfer>.fromOpaque(pointer).takeUnretainedValue().giveBody(given)
    }
}
