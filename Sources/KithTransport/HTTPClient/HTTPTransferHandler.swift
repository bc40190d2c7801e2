import KithDocuments
import KithWire

/// Who is told what comes of a request. After `end` or `failed` nothing is told.
@HTTPClientActor
public protocol HTTPTransferHandler: AnyObject {
    /// The head of the answer.
    func head(_ transfer: HTTPTransfer, status: Int, headers: HTTPHeaders)
    /// The next bytes of the answer, unpacked. Say `taken` when they are worked off.
    func body(_ transfer: HTTPTransfer, _ bytes: [UInt8])
    /// There is room for more of the request's body.
    func wantsBody(_ transfer: HTTPTransfer)
    /// The answer is whole.
    func end(_ transfer: HTTPTransfer)
    /// There is no answer, or a part of one.
    func failed(_ transfer: HTTPTransfer, _ error: KithError)
}
