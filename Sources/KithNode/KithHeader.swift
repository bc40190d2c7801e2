/// The header by which two Kith nodes recognise each other in the upgrade: then all leaves of a document travel.
enum KithHeader {
    static let name = "X-Kith-Node"
    static let value = "1"
}
